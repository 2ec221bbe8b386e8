import Testing

@testable import LanternlyCore

struct ConvergenceTests {
  /// C44: one text on each device: two entries on both, the same ones, also if both fork at the same time.
  @Test func textsOfTwoDevicesAreKeptOnBoth() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    laptop.clock = 5000
    try phone.setText(id, "from the phone")
    try laptop.setText(id, "from the laptop")
    try Relay.settle([phone, laptop], relay)
    #expect(try phone.shown == laptop.shown)
    #expect(try phone.shown.values.map(\.text).sorted() == ["from the laptop", "from the phone"])
    #expect(try phone.shown[id]?.text == "from the laptop")
    for device in [phone, laptop] {
      #expect(try device.store.outbox().isEmpty)
      #expect(try device.store.conflictCount() == 1)
    }
    guard case .texts(_, let copy)? = try phone.store.conflicts().first else { return }
    #expect(try phone.store.settleTexts(copy, keep: .copy, device: "phone", at: Moment(seconds: 9000)))
    try Relay.settle([phone, laptop], relay)
    #expect(try laptop.shown.values.map(\.text) == ["from the phone"])
    #expect(try laptop.store.conflictCount() == 0)
    #expect(try phone.store.versions(of: id).map(\.entry.text).contains("from the laptop"))
  }

  /// C34: what was sent and not answered is no ancestor; what the server took is known as our own afterwards.
  @Test func aLostAnswerMakesNoConflict() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    try phone.setText(id, "first")
    try phone.send(to: relay, losesAnswers: true)
    #expect(try phone.store.stored(id)?.ancestor?.text == "base")
    try phone.setText(id, "second")
    try Relay.settle([phone, laptop], relay)
    #expect(try laptop.shown.values.map(\.text) == ["second"])
    #expect(try phone.store.conflictCount() == 0)
  }

  /// C34: an edit made while its predecessor was under way stays pending.
  @Test func anEditDuringTheFlightStaysPending() throws {
    let (phone, _, relay, id) = try Relay.pair()
    try phone.setText(id, "first")
    let row = try #require(try phone.store.outbox().first)
    let sent = try #require(try phone.store.stored(id))
    try phone.setText(id, "second")
    let saved = try #require(relay.save(id, sent.entry, tag: Relay.tag(sent.systemFields)))
    try phone.store.acknowledge(saved, generation: row.generation, at: phone.now)
    #expect(try phone.store.outbox().count == 1)
    #expect(try phone.store.stored(id)?.ancestor?.text == "first")
    #expect(try phone.store.stored(id)?.entry.text == "second")
  }

  /// C18: in both orders the edit stays on both devices, with its attachment, and somebody is told.
  @Test(arguments: [true, false]) func editWinsOverDeletionInBothOrders(isDeletionFirst: Bool) throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    let attachment = try phone.attachment("a1", of: id)
    let before = try #require(try phone.store.stored(id)).entry
    var entry = before
    entry.text = "base ![](attachment:a1)"
    try phone.store.save(id, base: before, edited: entry, adding: [attachment], at: phone.now)
    try Relay.settle([phone, laptop], relay)
    #expect(try phone.store.delete(id, device: "phone", at: Moment(seconds: 4000)))
    try laptop.setText(id, "base ![](attachment:a1), and more")
    let order = isDeletionFirst ? [phone, laptop] : [laptop, phone]
    for device in order { try device.send(to: relay) }
    try Relay.settle([phone, laptop], relay)
    for device in [phone, laptop] {
      #expect(try device.shown.values.map(\.text) == ["base ![](attachment:a1), and more"])
      #expect(try device.store.allAttachments().map(\.attachment.id.name) == ["a1"])
      #expect(try device.store.outbox().isEmpty)
    }
    #expect(relay.attachments.count == 1)
    #expect(try phone.store.conflictCount() + laptop.store.conflictCount() > 0)
  }

  /// C64: a removed attachment is removed everywhere and never sent again.
  @Test func aDetachedAttachmentIsGoneEverywhere() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    let attachment = try phone.attachment("a1", of: id)
    let base = try #require(try phone.store.stored(id)).entry
    var entry = base
    entry.text = "base ![](attachment:a1)"
    try phone.store.save(id, base: base, edited: entry, adding: [attachment], at: phone.now)
    try Relay.settle([phone, laptop], relay)
    var cleared = entry
    (cleared.text, cleared.edited.text) = ("base", Moment(seconds: 7000))
    try phone.store.save(id, base: entry, edited: cleared, removing: [attachment.id], at: phone.now)
    try Relay.settle([phone, laptop], relay)
    let (clock, uploads) = (relay.clock, relay.uploads)
    try Relay.settle([phone, laptop], relay)
    #expect((relay.clock, relay.uploads) == (clock, uploads))
    #expect(relay.attachments.isEmpty)
    #expect(try laptop.store.allAttachments().isEmpty)
  }

  /// A kept text shows the pictures of its original, and keeps them when the original goes.
  @Test func keptTextsKeepTheirPictures() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    let attachment = try phone.attachment("a1", of: id)
    let base = try #require(try phone.store.stored(id)).entry
    var entry = base
    entry.text = "base ![](attachment:a1)"
    try phone.store.save(id, base: base, edited: entry, adding: [attachment], at: phone.now)
    try Relay.settle([phone, laptop], relay)
    laptop.clock = 5000
    try phone.setText(id, "phone ![](attachment:a1)")
    try laptop.setText(id, "laptop ![](attachment:a1)")
    try Relay.settle([phone, laptop], relay)
    guard case .texts(_, let copy)? = try laptop.store.conflicts().first else {
      Issue.record("no conflict is shown")
      return
    }
    #expect(try laptop.store.attachments(of: copy).map(\.attachment.id.name) == ["a1"])
    #expect(try phone.store.delete(id, device: "phone", at: Moment(seconds: 8000)))
    try Relay.settle([phone, laptop], relay)
    for device in [phone, laptop] {
      let kept = try #require(try device.store.stored(copy)).entry
      let attachments = try device.store.attachments(of: copy).map(\.attachment.id)
      #expect(attachments == [AttachmentID.copied(AttachmentID("a1"), to: copy)])
      #expect(kept.text == "phone ![](attachment:\(attachments.first?.name ?? ""))")
      #expect(try device.store.allAttachments().count == 1)
    }
  }

  /// A server whose clock was set back gives a later version the time of the one before it.
  @Test func aLaterVersionOfTheSameTimeIsTaken() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    let known = try #require(try phone.store.stored(id)?.changedAt)
    try laptop.setText(id, "later")
    try laptop.send(to: relay)
    var changes = RemoteChanges()
    var remote = try #require(relay.remote(id))
    remote.changedAt = known
    changes.entries = [remote]
    #expect(try phone.store.apply(changes, device: "phone", at: phone.now) == [.updated(id)])
    #expect(try phone.shown[id]?.text == "later")
  }

  /// After its place in the feed was too old, a device reads all that lives. No device removes the record of an entry: what
  /// is not named any more was lost, and is sent again.
  @Test func aFullReadingFindsWhatTheServerLost() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    relay.backUp()
    let other = try phone.write("other", id: "e2")
    try Relay.settle([phone, laptop], relay)
    let unsent = try phone.write("unsent", id: "e3")
    let before = try phone.shown
    relay.restore()
    try phone.fetch(from: relay)
    #expect(try phone.shown == before)
    #expect(try Set(phone.store.outbox().map(\.record)) == [other.name, unsent.name])
    try Relay.settle([phone, laptop], relay)
    #expect(try phone.shown == before && laptop.shown == before)
    #expect(Set(relay.entries.keys) == [id, other, unsent])
  }

  /// Nothing is read between the loss and the next save.
  @Test func anEditOfWhatTheServerHasOlderIsSent() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    relay.backUp()
    try phone.setText(id, "lost")
    try Relay.settle([phone, laptop], relay)
    relay.restore()
    try phone.setText(id, "lost, and more")
    for _ in 0..<2 { try phone.send(to: relay) }
    #expect(try phone.store.outbox().isEmpty)
    #expect(relay.entries[id]?.entry.text == "lost, and more")
    try Relay.settle([laptop, phone], relay)
    #expect(try laptop.shown.values.map(\.text) == ["lost, and more"])
    #expect(try laptop.store.conflictCount() == 0)
  }

  /// Two devices edited what the server lost, each without knowing of the other's.
  @Test(arguments: [1000, 9000]) func editsThatWereLostApartAreBothKept(clock: Int64) throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    phone.clock = 5000
    relay.backUp()
    try phone.setText(id, "from the phone")
    try phone.send(to: relay)
    relay.restore()
    // The laptop meets the restored server and edits, before the phone brings back what was lost.
    laptop.clock = clock
    try laptop.fetch(from: relay)
    try laptop.setText(id, "from the laptop")
    try laptop.send(to: relay)
    try Relay.settle([phone, laptop], relay)
    #expect(try phone.shown == laptop.shown)
    let kept = try phone.shown.values.map(\.text) + phone.store.versions(of: id).map(\.entry.text)
    #expect(Set(kept).isSuperset(of: ["from the phone", "from the laptop"]))
  }

  /// A clock that is behind makes no edit look older than what it edits.
  @Test func anEditIsLaterThanWhatItEdits() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    phone.clock = 90_000
    try phone.setText(id, "from the phone")
    try Relay.settle([phone, laptop], relay)
    try laptop.setText(id, "from the laptop, whose clock is behind")
    try laptop.send(to: relay)
    try phone.readAgain(relay)
    #expect(try phone.shown[id]?.text == "from the laptop, whose clock is behind")
    #expect(try phone.store.outbox().isEmpty)
  }

  /// C103: imported on two devices that do not know of each other, edited on one: one entry, with the edit.
  @Test func anImportOnTwoDevicesIsOneEntry() throws {
    let (phone, laptop, relay) = (try Device("phone"), try Device("laptop"), Relay())
    let id = EntryID.imported(uuid: "A1")
    var entry = Entry(
      text: "imported", written: Written(moment: Moment(seconds: 1), zone: "GMT"),
      edited: EditTimes(all: Moment(seconds: 2)))
    entry.origin = Origin(source: "dayone:A1", modified: Moment(seconds: 2))
    let export = [DayOneEntry(id: id, entry: entry, media: [], label: id.name)]
    for device in [phone, laptop] { _ = try device.store.take(export, at: device.now) }
    try laptop.setText(id, "imported, and edited")
    try Relay.settle([phone, laptop], relay)
    #expect(try phone.shown.values.map(\.text) == ["imported, and edited"])
    #expect(try phone.shown == laptop.shown)
    #expect(try phone.store.conflictCount() == 0)
  }

  private static func export(_ text: String, modified: Int64) -> [DayOneEntry] {
    let id = EntryID.imported(uuid: "A1")
    var entry = Entry(
      text: text, written: Written(moment: Moment(seconds: 1), zone: "GMT"),
      edited: EditTimes(all: Moment(seconds: modified)))
    entry.origin = Origin(source: "dayone:A1", modified: Moment(seconds: modified))
    return [DayOneEntry(id: id, entry: entry, media: [], label: id.name)]
  }

  /// C103: a device that imports a later export than the one that was synced does not lose what that says.
  @Test(arguments: [true, false]) func theLaterOfTwoExportsStays(isOlderFirst: Bool) throws {
    let (phone, laptop, relay) = (try Device("phone"), try Device("laptop"), Relay())
    let (older, newer) = (Self.export("in January", modified: 2), Self.export("in March", modified: 60))
    _ = try phone.store.take(isOlderFirst ? older : newer, at: phone.now)
    try Relay.settle([phone], relay)
    _ = try laptop.store.take(isOlderFirst ? newer : older, at: laptop.now)
    try Relay.settle([phone, laptop], relay)
    #expect(try phone.shown == laptop.shown)
    #expect(try phone.shown[EntryID.imported(uuid: "A1")]?.text == "in March")
    // Nobody knows whether the older one was edited there, so it is kept in a copy.
    #expect(try phone.shown.count == (isOlderFirst ? 2 : 1))
  }

  /// A note on an entry that is gone could not be settled.
  @Test func aDeletedEntryHasNoOpenConflict() throws {
    let (phone, laptop, relay, id) = try Relay.pair()
    try phone.edit(id) { ($0.mood, $0.edited.mood) = (1, phone.now) }
    laptop.clock = 5000
    try laptop.edit(id) { ($0.mood, $0.edited.mood) = (5, laptop.now) }
    try Relay.settle([phone, laptop], relay)
    #expect(try laptop.store.conflictCount() == 1)
    #expect(try phone.store.delete(id, device: "phone", at: Moment(seconds: 9000)))
    try Relay.settle([phone, laptop], relay)
    #expect(try laptop.shown.isEmpty)
    #expect(try laptop.store.conflictCount() == 0)
  }

  /// C33, C39, C44, C46: whatever three devices do, in whatever order they send and fetch and whatever answers are lost:
  /// in the end they agree, nothing waits, and every line that somebody wrote is in an entry or among the versions.
  @Test(arguments: 0..<40) func fleetsConverge(seed: Int) throws {
    var random = Seeded(UInt64(seed))
    let relay = Relay()
    let devices = try ["phone", "laptop", "tablet"].map(Device.init)
    var ids: [EntryID] = []
    var written: Set<String> = []
    for step in 0..<60 {
      let device = devices[Int.random(in: 0..<3, using: &random)]
      device.clock += Int64.random(in: 0...2, using: &random)
      let id = ids.randomElement(using: &random)
      switch Int.random(in: 0..<9, using: &random) {
      case 0:
        ids.append(try device.write("top \(step)\n\nmiddle \(step)\n\nend \(step)", id: "e\(step)"))
        written.formUnion(["top \(step)", "middle \(step)", "end \(step)"])
      case 1, 2:
        guard let id, let entry = try device.store.stored(id)?.entry, !entry.isDeleted else { continue }
        var lines = entry.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        lines[Int.random(in: 0..<lines.count, using: &random)] = "line \(step)"
        try device.setText(id, lines.joined(separator: "\n"))
        written.insert("line \(step)")
      case 3:
        guard let id else { continue }
        try device.edit(id) { $0.tags["t\(step % 4)"] = device.now }
      case 4:
        guard let id else { continue }
        try device.edit(id) {
          $0.tags["t\(step % 4)"] = nil
          ($0.mood, $0.edited.mood) = (step % 5 + 1, device.now)
        }
      case 5:
        guard let id, Int.random(in: 0..<3, using: &random) == 0 else { continue }
        _ = try device.store.delete(id, device: device.name, at: device.now)
      case 6: try device.send(to: relay, losesAnswers: Int.random(in: 0..<3, using: &random) == 0)
      default: try device.fetch(from: relay)
      }
      // The server of every other fleet goes back to an older copy of its data, once.
      if seed % 2 == 1 && step == 20 { relay.backUp() }
      if seed % 2 == 1 && step == 40 { relay.restore() }
    }
    try Relay.settle(devices, relay)
    let shown = try devices.map { try $0.shown }
    #expect(shown[0] == shown[1] && shown[1] == shown[2], "seed \(seed)")
    for device in devices { #expect(try device.store.outbox().isEmpty, "seed \(seed)") }
    var kept = Set(shown[0].values.flatMap { $0.text.split(separator: "\n").map(String.init) })
    for device in devices {
      for id in ids {
        kept.formUnion(
          try device.store.versions(of: id).flatMap { $0.entry.text.split(separator: "\n").map(String.init) })
      }
    }
    #expect(written.isSubset(of: kept), "seed \(seed): lost \(written.subtracting(kept).sorted())")
  }
}

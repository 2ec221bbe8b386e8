import Foundation
import Testing

@testable import LanternlyCore

/// What becomes of files when entries are edited, deleted and forked on several devices.
struct AttachmentConvergenceTests {
  /// An entry on both devices, with one attachment that its text shows or not.
  private static func pair(text: String) throws -> (Device, Device, Relay, EntryID) {
    let (phone, laptop, relay, id) = try Relay.pair()
    let base = try #require(try phone.store.stored(id)).entry
    var entry = base
    entry.text = text
    try phone.store.save(id, base: base, edited: entry, adding: [try phone.attachment("a1", of: id)], at: phone.now)
    try Relay.settle([phone, laptop], relay)
    laptop.clock = 5000
    // The relay brings no bytes.
    _ = try laptop.attachment("a1", of: id)
    return (phone, laptop, relay, id)
  }

  private static func fork(_ text: String) throws -> (Device, Device, Relay, EntryID, copy: EntryID) {
    let (phone, laptop, relay, id) = try pair(text: "base \(text)")
    try phone.setText(id, "phone \(text)")
    try laptop.setText(id, "laptop \(text)")
    try Relay.settle([phone, laptop], relay)
    guard case .texts(_, let copy)? = try laptop.store.conflicts().first else { throw NoConflict() }
    return (phone, laptop, relay, id, copy)
  }

  private struct NoConflict: Error {}

  private func attach(_ names: [String], to id: EntryID, shown: Bool, on device: Device) throws {
    let base = try #require(try device.store.stored(id)).entry
    var entry = base
    if shown { entry.text += names.map { " ![](attachment:\($0))" }.joined() }
    let attachments = try names.map { try device.attachment($0, of: id) }
    try device.store.save(id, base: base, edited: entry, adding: attachments, at: device.now)
  }

  private func detach(_ name: String, from id: EntryID, text: String, on device: Device) throws {
    device.clock += 1
    let base = try #require(try device.store.stored(id)).entry
    var entry = base
    (entry.text, entry.edited.text) = (text, device.now)
    try device.store.save(id, base: base, edited: entry, removing: [AttachmentID(name)], at: device.now)
  }

  private func isWhole(_ devices: [Device], _ relay: Relay) throws {
    for device in devices {
      #expect(try device.store.outbox().isEmpty)
      for stored in try device.store.allAttachments() {
        #expect(device.store.home.files.contains(sha256: stored.attachment.sha256))
      }
      for (id, entry) in try device.shown {
        let here = Set(try device.store.attachments(of: id).map(\.attachment.id.name))
        let linked = Set(entry.text.matches(of: /attachment:(\w+)/).map { String($0.1) })
        #expect(linked.isSubset(of: here), "\(entry.text)")
      }
    }
    #expect(try devices[0].shown == devices[1].shown)
    let names = try devices.map { Set(try $0.store.allAttachments().map(\.attachment.id)) }
    #expect(names[0] == names[1])
    #expect(names[0] == Set(relay.attachments.keys))
  }

  /// C44: the copy's text is chosen, with all that was attached to it.
  @Test(arguments: [true, false]) func aChosenCopyBringsItsAttachments(isShown: Bool) throws {
    let (phone, laptop, relay, id, copy) = try Self.fork("")
    try attach(["p1", "p2"], to: copy, shown: isShown, on: laptop)
    for name in ["p1", "p2"] { _ = try phone.attachment(name, of: copy) }
    try Relay.settle([phone, laptop], relay)
    #expect(try laptop.store.settleTexts(copy, keep: .copy, device: "laptop", at: Moment(seconds: 9000)))
    try Relay.settle([phone, laptop], relay)
    try isWhole([phone, laptop], relay)
    #expect(try phone.shown.count == 1)
    #expect(try phone.store.attachments(of: id).count == 3)
    #expect(try phone.shown[id]?.text.hasPrefix("phone") == true)
    #expect(try phone.store.conflictCount() == 0)
  }

  @Test func aKeptTextKeepsAPictureThatItsOriginalLost() throws {
    let (phone, laptop, relay, id, copy) = try Self.fork("![](attachment:a1)")
    try detach("a1", from: id, text: "no picture", on: phone)
    try Relay.settle([phone, laptop], relay)
    try isWhole([phone, laptop], relay)
    #expect(try laptop.store.allAttachments().map(\.attachment.entry) == [copy])
  }

  /// C18: pictures of imported entries are often not in the text.
  @Test func anEditThatWinsOverADeletionKeepsWhatTheTextDoesNotShow() throws {
    let (phone, laptop, relay, id) = try Self.pair(text: "base")
    #expect(try phone.store.delete(id, device: "phone", at: Moment(seconds: 4000)))
    for _ in 0..<3 { try phone.send(to: relay) }
    #expect(relay.attachments.isEmpty)
    try laptop.setText(id, "base, and more")
    try Relay.settle([phone, laptop], relay)
    #expect(try phone.shown[id]?.text == "base, and more")
    #expect(try laptop.store.attachments(of: id).map(\.attachment.id.name) == ["a1"])
    #expect(relay.attachments.count == 1)
    #expect(try laptop.store.conflictCount() == 1)
  }

  /// A deletion arrives while the entry is open in an editor here.
  @Test(arguments: [true, false]) func anOpenEditorKeepsThePicturesOfItsEntry(isEdited: Bool) throws {
    let (phone, laptop, relay, id) = try Self.pair(text: "base")
    let base = try #require(try laptop.store.stored(id)).entry
    let draft = laptop.store.home.scratch(DiaryHome.draftPrefix(of: id)) + ".md"
    #expect(FileManager.default.createFile(atPath: draft, contents: Data("base".utf8)))
    #expect(try phone.store.delete(id, device: "phone", at: Moment(seconds: 4000)))
    for _ in 0..<3 { try phone.send(to: relay) }
    try laptop.fetch(from: relay)
    #expect(try laptop.shown.isEmpty)
    if isEdited {
      var entry = base
      (entry.text, entry.edited.text) = ("base, and more", laptop.now)
      try laptop.store.save(id, base: base, edited: entry, at: laptop.now)
    }
    unlink(draft)
    _ = try phone.write("another", id: "e2")
    try Relay.settle([phone, laptop], relay)
    #expect(try laptop.store.allAttachments().count == (isEdited ? 1 : 0))
    #expect(relay.attachments.count == (isEdited ? 1 : 0))
    #expect(try laptop.store.conflictCount() == (isEdited ? 1 : 0))
    #expect(try phone.shown[id]?.text == (isEdited ? "base, and more" : nil))
    #expect(try laptop.store.outbox().isEmpty)
  }

  /// An entry comes back before this device has sent the deletion of what it never had the file of.
  @Test func aFileThatIsNotHereIsNotDeletedWithAnEntryThatCameBack() throws {
    let (phone, laptop, relay, id) = try Self.pair(text: "base")
    try phone.store.write { _ = try $0.connection.run("UPDATE attachment SET has_file = 0") }
    #expect(try phone.store.delete(id, device: "phone", at: Moment(seconds: 4000)))
    let row = try #require(try phone.store.outbox().first)
    let deleted = try #require(try phone.store.stored(id))
    let saved = try #require(relay.save(id, deleted.entry, tag: Relay.tag(deleted.systemFields)))
    try phone.store.acknowledge(saved, generation: row.generation, at: phone.now)
    #expect(try phone.store.outbox().map(\.change) == [.delete])
    try laptop.setText(id, "base, and more")
    try Relay.settle([laptop, phone], relay)
    #expect(try phone.shown[id]?.text == "base, and more")
    #expect(relay.attachments.count == 1)
    #expect(try phone.store.attachments(of: id).count == 1)
  }

  /// Another account, or a zone that was removed: the picture of a deleted entry has no entry to go with.
  @Test func aDeletedEntrysPictureIsNotSentAnew() throws {
    let (phone, _, _, id) = try Self.pair(text: "base")
    let sha256 = try #require(try phone.store.allAttachments().first).attachment.sha256
    #expect(try phone.store.delete(id, device: "phone", at: phone.now))
    try phone.store.forgetEverything(at: phone.now)
    #expect(try phone.store.outbox().map(\.record) == [id.name])
    let relay = Relay()
    try Relay.settle([phone], relay)
    #expect(relay.uploads == 0 && relay.entries[id]?.entry.isDeleted == true)
    #expect(try phone.store.outbox().isEmpty)
    #expect(try phone.store.allAttachments().isEmpty)
    #expect(!phone.store.home.files.contains(sha256: sha256))
  }

  /// The server was copied while an import was on its way there: it has the entry, and not what its text does not show.
  @Test(arguments: ["base", "base ![](attachment:a1)"])
  func aPictureThatTheServerLostIsSentAgain(text: String) throws {
    let (phone, laptop, relay) = (try Device("phone"), try Device("laptop"), Relay())
    let id = try phone.write(text, id: "e1")
    try Relay.settle([phone, laptop], relay)
    relay.backUp()
    let entry = try #require(try phone.store.stored(id)).entry
    try phone.store.save(id, base: entry, edited: entry, adding: [try phone.attachment("a1", of: id)], at: phone.now)
    try Relay.settle([phone, laptop], relay)
    _ = try laptop.attachment("a1", of: id)
    relay.restore()
    try Relay.settle([laptop, phone], relay)
    try isWhole([phone, laptop], relay)
    #expect(try laptop.store.allAttachments().map(\.attachment.id.name) == ["a1"])
  }

  /// A device that was away for too long reads the whole zone, which names no attachment that was taken out.
  @Test func aPictureThatWasTakenOutMeanwhileGoes() throws {
    let (phone, laptop, relay, id) = try Self.pair(text: "base ![](attachment:a1)")
    try detach("a1", from: id, text: "base", on: phone)
    try Relay.settle([phone], relay)
    try laptop.readAgain(relay)
    try Relay.settle([phone, laptop], relay)
    try isWhole([phone, laptop], relay)
    #expect(try laptop.store.allAttachments().isEmpty && relay.attachments.isEmpty)
  }

  /// An attachment may come before its entry, which may be one that cannot be read yet.
  @Test func aPictureWhoseEntryIsNotHereIsNotSentAnew() throws {
    let (phone, _, relay, _) = try Self.pair(text: "base")
    var changes = RemoteChanges()
    changes.attachments = [try #require(relay.remote(AttachmentID("a1")))]
    changes.attachments[0].attachment.entry = EntryID("elsewhere")
    _ = try phone.store.apply(changes, device: "phone", at: phone.now)
    try phone.store.forgetEverything(at: phone.now)
    #expect(try phone.store.outbox().map(\.record) == ["e1"])
    #expect(try phone.store.allAttachments().count == 1)
  }

  @Test func aCopiedPictureGetsItsFileWithItsOriginal() throws {
    let (phone, _, relay, id, copy) = try Self.fork("![](attachment:a1)")
    let tablet = try Device("tablet")
    var changes = relay.changes(after: 0)
    changes.attachments[0].hasFile = false
    _ = try tablet.store.apply(changes, device: "tablet", at: tablet.now)
    #expect(try tablet.store.settleTexts(copy, keep: .both, device: "tablet", at: Moment(seconds: 9000)))
    #expect(try tablet.store.attachmentsWithoutFile().count == 2)
    _ = try tablet.attachment("a1", of: id)
    changes = RemoteChanges()
    changes.attachments = [try #require(relay.remote(AttachmentID("a1")))]
    _ = try tablet.store.apply(changes, device: "tablet", at: tablet.now)
    #expect(try tablet.store.attachmentsWithoutFile().isEmpty)
    try Relay.settle([phone, tablet], relay)
    #expect(try tablet.store.outbox().isEmpty)
    #expect(relay.attachments.count == 2)
  }

  /// Whatever three devices do: in the end they agree on the attachments, each that a text shows is there, and each that
  /// nobody took out is there if its entry is.
  @Test(arguments: 0..<40) func fleetsAgreeOnAttachments(seed: Int) throws {
    var random = Seeded(UInt64(seed) + 1000)
    let relay = Relay()
    let devices = try ["phone", "laptop", "tablet"].map(Device.init)
    var ids: [EntryID] = []
    var attached: [AttachmentID: EntryID] = [:]
    for step in 0..<60 {
      let device = devices[Int.random(in: 0..<3, using: &random)]
      device.clock += Int64.random(in: 0...2, using: &random)
      let id = ids.randomElement(using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0: ids.append(try device.write("entry \(step)", id: "e\(step)"))
      case 1, 2:
        guard let id, let entry = try device.store.stored(id)?.entry, !entry.isDeleted else { continue }
        let isShown = Bool.random(using: &random)
        let attachment = try device.attachment("a\(step)", of: id)
        for other in devices { _ = try other.attachment("a\(step)", of: id) }
        var edited = entry
        if isShown { edited.text += " ![](attachment:a\(step))" }
        edited.edited.text = device.now
        try device.store.save(id, base: entry, edited: edited, adding: [attachment], at: device.now)
        attached[attachment.id] = id
      case 3:
        guard let id, let entry = try device.store.stored(id)?.entry, !entry.isDeleted,
          let removed = try device.store.attachments(of: id).randomElement(using: &random)?.attachment
        else { continue }
        var edited = entry
        edited.text = entry.text.replacingOccurrences(of: " ![](attachment:\(removed.id.name))", with: "")
        edited.edited.text = device.now
        try device.store.save(id, base: entry, edited: edited, removing: [removed.id], at: device.now)
        attached[removed.id] = nil
      case 4:
        guard let id else { continue }
        try device.edit(id) { ($0.mood, $0.edited.mood) = (step % 5 + 1, device.now) }
      case 5:
        guard let id, try device.store.delete(id, device: device.name, at: device.now) else { continue }
        // An edit elsewhere brings back what is known there.
        attached = try attached.filter { attachment, owner in
          try owner != id || devices.allSatisfy { try $0 === device || $0.store.attachment(attachment) != nil }
        }
      // As a sync does, which fetches first.
      case 6, 7:
        try device.fetch(from: relay)
        try device.send(to: relay, losesAnswers: Int.random(in: 0..<4, using: &random) == 0)
      default: try device.fetch(from: relay)
      }
      if seed % 2 == 1 && step == 20 { relay.backUp() }
      if seed % 2 == 1 && step == 40 { relay.restore() }
    }
    try Relay.settle(devices, relay)
    let shown = try devices.map { try $0.shown }
    #expect(shown[0] == shown[1] && shown[1] == shown[2], "seed \(seed)")
    let here = try devices.map { Set(try $0.store.allAttachments().map(\.attachment.id)) }
    #expect(here[0] == here[1] && here[1] == here[2] && here[0] == Set(relay.attachments.keys), "seed \(seed)")
    for device in devices { #expect(try device.store.outbox().isEmpty, "seed \(seed)") }
    for (id, entry) in shown[0] {
      let whose = Set(try devices[0].store.attachments(of: id).map(\.attachment.id.name))
      let linked = Set(entry.text.matches(of: /attachment:(\w+)/).map { String($0.1) })
      #expect(linked.isSubset(of: whose), "seed \(seed): \(entry.text)")
    }
    for (attachment, id) in attached where shown[0][id] != nil {
      #expect(here[0].contains(attachment), "seed \(seed): lost \(attachment.name) of \(id.name)")
    }
  }
}

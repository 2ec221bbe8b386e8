@testable import LanternlyCore

/// Hands records from device to device by the server's rules that matter to a merge: a save with an old tag is refused
/// with the present record, a deletion asks for no tag, and a reader gets the latest state of what changed.
final class Relay {
  private(set) var entries: [EntryID: (entry: Entry, tag: Int)] = [:]
  private(set) var attachments: [AttachmentID: (attachment: Attachment, tag: Int)] = [:]
  private var gone: [AttachmentID: Int] = [:]
  private(set) var clock = 0
  /// Saves of attachments with their content.
  private(set) var uploads = 0
  /// Readers of another one begin anew.
  private(set) var incarnation = 0
  private var backup:
    (entries: [EntryID: (entry: Entry, tag: Int)], attachments: [AttachmentID: (attachment: Attachment, tag: Int)]) =
      ([:], [:])

  func save(_ id: EntryID, _ entry: Entry, tag: Int?) -> RemoteEntry? {
    guard entries[id]?.tag == tag else { return nil }
    clock += 1
    entries[id] = (entry, clock)
    return remote(id)
  }

  func save(_ attachment: Attachment, tag: Int?) -> Bool {
    guard attachments[attachment.id]?.tag == tag else { return false }
    clock += 1
    if tag == nil { uploads += 1 }
    attachments[attachment.id] = (attachment, clock)
    gone[attachment.id] = nil
    return true
  }

  func backUp() { backup = (entries, attachments) }

  /// Loses what came after the backup. No tag is given again.
  func restore() {
    (entries, attachments) = backup
    gone = [:]
    clock += 1
    incarnation += 1
  }

  func delete(_ id: AttachmentID) {
    clock += 1
    if attachments.removeValue(forKey: id) != nil { gone[id] = clock }
  }

  func remote(_ id: EntryID) -> RemoteEntry? {
    entries[id].map {
      RemoteEntry(
        id: id, entry: $0.entry, systemFields: Self.fields($0.tag), changedAt: Moment(milliseconds: Int64($0.tag)))
    }
  }

  func remote(_ id: AttachmentID) -> RemoteAttachment? {
    attachments[id].map {
      RemoteAttachment(attachment: $0.attachment, systemFields: Self.fields($0.tag), hasFile: true)
    }
  }

  func changes(after position: Int) -> RemoteChanges {
    var changes = RemoteChanges()
    changes.entries = entries.filter { $0.value.tag > position }.sorted { $0.value.tag < $1.value.tag }
      .compactMap { remote($0.key) }
    changes.attachments = attachments.filter { $0.value.tag > position }.sorted { $0.value.tag < $1.value.tag }
      .compactMap { remote($0.key) }
    changes.deletedAttachments = gone.filter { $0.value > position }.sorted { $0.value < $1.value }.map(\.key)
    return changes
  }

  static func fields(_ tag: Int) -> [UInt8] { Array(String(tag).utf8) }
  static func tag(_ fields: [UInt8]?) -> Int? { fields.flatMap { Int(String(decoding: $0, as: UTF8.self)) } }
}

/// A device with a real diary.
final class Device {
  let store: DiaryStore
  let name: String
  private var position = 0
  private var incarnation = 0
  var clock: Int64 = 1000
  private let folder = TemporaryFolder()

  init(_ name: String) throws {
    self.name = name
    store = try DiaryStore(home: DiaryHome(path: folder.path + "/" + name))
  }

  var now: Moment { Moment(seconds: clock) }

  func fetch(from relay: Relay) throws {
    if relay.incarnation != incarnation {
      try readAgain(relay)
      incarnation = relay.incarnation
    }
    let changes = relay.changes(after: position)
    let reached = relay.clock
    _ = try store.apply(changes, device: name, at: now)
    try store.deleteAttachmentsOfDeletedEntries(at: now)
    position = reached
  }

  /// As after the error that the place in the feed is unknown.
  func readAgain(_ relay: Relay) throws {
    var reading = ZoneReading()
    var changes = relay.changes(after: 0)
    (changes.deletedAttachments, changes.mayBeOlder) = ([], true)
    reading.note(changes, try store.apply(changes, device: name, at: now))
    _ = try store.apply(try store.changes(after: reading), device: name, at: now)
    position = relay.clock
  }

  /// - Parameter losesAnswers: The relay takes the saves, and this device never learns of it.
  func send(to relay: Relay, losesAnswers: Bool = false) throws {
    for row in try store.outbox() {
      if row.kind == .entry {
        guard let stored = try store.stored(EntryID(row.record)) else { continue }
        try store.willSend([(stored.id, stored.entry)])
        let saved = relay.save(stored.id, stored.entry, tag: Relay.tag(stored.systemFields))
        if losesAnswers { continue }
        if let saved {
          try store.acknowledge(saved, generation: row.generation, at: now)
        } else if let server = relay.remote(stored.id) {
          var changes = RemoteChanges()
          (changes.entries, changes.mayBeOlder) = ([server], true)
          _ = try store.apply(changes, device: name, at: now)
        } else {
          try store.forget(stored.id, at: now)
        }
      } else if row.change == .delete {
        relay.delete(AttachmentID(row.record))
        if !losesAnswers { try store.acknowledgeDeletion(of: row.record, generation: row.generation, at: now) }
      } else if let stored = try store.attachment(AttachmentID(row.record)) {
        let isSaved = relay.save(stored.attachment, tag: Relay.tag(stored.systemFields))
        if losesAnswers { continue }
        if isSaved, let server = relay.remote(stored.attachment.id) {
          try store.acknowledge(
            stored.attachment.id, systemFields: server.systemFields, generation: row.generation)
        } else if let server = relay.remote(stored.attachment.id) {
          var changes = RemoteChanges()
          changes.attachments = [server]
          _ = try store.apply(changes, device: name, at: now)
        } else {
          try store.forget(stored.attachment.id, at: now)
        }
      }
    }
  }

  func edit(_ id: EntryID, _ change: (inout Entry) -> Void) throws {
    clock += 1
    guard let stored = try store.stored(id), !stored.entry.isDeleted else { return }
    var edited = stored.entry
    change(&edited)
    try store.save(id, base: stored.entry, edited: edited, at: now)
  }

  /// With its file in the diary.
  func attachment(_ name: String, of entry: EntryID) throws -> Attachment {
    let stored = try store.home.files.adopt(try folder.write("bytes of \(name)", to: name))
    return Attachment(
      id: AttachmentID(name), entry: entry, kind: .photo, fileName: "a.png", order: 0, byteCount: stored.byteCount,
      sha256: stored.sha256)
  }

  func write(_ text: String, id: String) throws -> EntryID {
    let id = EntryID(id)
    clock += 1
    var entry = Entry(text: text, written: Written(moment: now, zone: "GMT"), edited: EditTimes(all: now))
    entry.device = name
    try store.save(id, base: nil, edited: entry, at: now)
    return id
  }

  func setText(_ id: EntryID, _ text: String) throws {
    try edit(id) {
      $0.text = text
      $0.edited.text = self.now
      $0.device = self.name
    }
  }

  var shown: [EntryID: Entry] {
    get throws { Dictionary(uniqueKeysWithValues: try store.entries().map { ($0.id, $0.entry) }) }
  }
}

extension Relay {
  static func settle(_ devices: [Device], _ relay: Relay) throws {
    for _ in 0..<6 {
      for device in devices {
        try device.fetch(from: relay)
        try device.send(to: relay)
      }
    }
    for device in devices { try device.fetch(from: relay) }
  }

  static func pair() throws -> (Device, Device, Relay, EntryID) {
    let (phone, laptop, relay) = (try Device("phone"), try Device("laptop"), Relay())
    let id = try phone.write("base", id: "e1")
    try settle([phone, laptop], relay)
    return (phone, laptop, relay, id)
  }
}

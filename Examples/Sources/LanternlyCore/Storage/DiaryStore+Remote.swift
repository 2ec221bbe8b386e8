/// An entry as the server holds it.
package struct RemoteEntry: Hashable, Sendable {
  package var id: EntryID
  package var entry: Entry
  package var systemFields: [UInt8]
  package var changedAt: Moment

  package init(id: EntryID, entry: Entry, systemFields: [UInt8], changedAt: Moment) {
    self.id = id
    self.entry = entry
    self.systemFields = systemFields
    self.changedAt = changedAt
  }
}

/// An attachment as the server holds it. `hasFile` says that its file was put into the diary.
package struct RemoteAttachment: Hashable, Sendable {
  package var attachment: Attachment
  package var systemFields: [UInt8]
  package var hasFile: Bool

  package init(attachment: Attachment, systemFields: [UInt8], hasFile: Bool) {
    self.attachment = attachment
    self.systemFields = systemFields
    self.hasFile = hasFile
  }
}

/// What the server told of the diary's zone.
package struct RemoteChanges: Sendable {
  package var entries: [RemoteEntry] = []
  package var attachments: [RemoteAttachment] = []
  package var deletedEntries: [EntryID] = []
  package var deletedAttachments: [AttachmentID] = []
  /// Records that cannot be read here, for want of a key or because they were damaged.
  package var locked: [String] = []
  /// Those among them that were not encrypted by a device.
  package var notEncrypted: Set<String> = []
  /// What the server once had and does not name any more.
  package var lostEntries: [EntryID] = []
  package var lostAttachments: [AttachmentID] = []
  /// Whether records may be older than what the server acknowledged: it may have lost data before a reading from the
  /// beginning, or before it refused a save. The feed itself goes on from what was acknowledged.
  package var mayBeOlder = false

  package init() {}
}

/// What a reading of the whole zone has brought so far.
package struct ZoneReading: Hashable, Sendable {
  package private(set) var names: Set<String> = []
  /// Entries that it brought an edit of.
  package private(set) var edited: Set<EntryID> = []

  package init() {}

  /// - Parameter done: What the changes did to the diary.
  package mutating func note(_ changes: RemoteChanges, _ done: [DiaryChange]) {
    names.formUnion(changes.entries.map(\.id.name))
    names.formUnion(changes.attachments.map(\.attachment.id.name))
    names.formUnion(changes.locked)
    edited.formUnion(done.compactMap(\.entry))
  }
}

/// What a page of changes did to this device's diary.
package enum DiaryChange: Hashable, Sendable {
  case added(EntryID)
  case updated(EntryID)
  case deleted(EntryID)
  /// Two edits were joined.
  case merged(EntryID)
  /// Two texts could not be joined; the second name is that of the copy.
  case forked(EntryID, copy: EntryID)
  /// An edit won over a deletion.
  case deletionUndone(EntryID)
  case attachmentArrived(AttachmentID, entry: EntryID)
  case attachmentRemoved(AttachmentID, entry: EntryID)

  /// The entry that says something else now.
  var entry: EntryID? {
    switch self {
    case .added(let id), .updated(let id), .deleted(let id), .merged(let id), .forked(let id, _),
      .deletionUndone(let id):
      id
    case .attachmentArrived, .attachmentRemoved: nil
    }
  }
}

extension DiaryStore {
  /// Takes in a page of changes. Doing so twice changes nothing more, so the position after the page may be stored later.
  package func apply(_ changes: RemoteChanges, device: String, at now: Moment) throws -> [DiaryChange] {
    try write { rows in
      var done: [DiaryChange] = []
      for name in changes.locked { try rows.note(locked: name) }
      for entry in changes.entries {
        try rows.forget(locked: entry.id.name)
        done += try rows.apply(entry, mayBeOlder: changes.mayBeOlder, device: device, at: now)
      }
      for attachment in changes.attachments { done += try rows.apply(attachment, at: now) }
      for id in changes.deletedEntries {
        try rows.forget(locked: id.name)
        done += try rows.applyDeletion(of: id, device: device, at: now)
      }
      for id in changes.deletedAttachments { done += try rows.applyDeletion(of: id, at: now) }
      for id in changes.lostEntries {
        try rows.forget(locked: id.name)
        try rows.forget(id, at: now)
      }
      for id in changes.lostAttachments { done += try rows.applyLoss(of: id, at: now) }
      return done
    }
  }

  /// After a reading to the end: what is attached to entries that are deleted by now, and stayed so, goes from the server
  /// too. Their deletion is no reason before that, as a later page may bring an entry back.
  package func deleteAttachmentsOfDeletedEntries(at now: Moment) throws {
    try write { rows in
      for stored in try rows.attachmentsOfDeletedEntries() {
        let entry = stored.attachment.entry
        guard try rows.pending(entry.name) == nil, !rows.isBeingEdited(entry) else { continue }
        try rows.deleteOnServer(stored, at: now)
      }
    }
  }

  /// The server took an entry.
  /// - Parameter generation: The number of the outbox row that was sent; a later edit keeps its row.
  package func acknowledge(_ saved: RemoteEntry, generation: Int64, at now: Moment) throws {
    try write { rows in
      try rows.acknowledge(
        saved.id, ancestor: saved.entry, systemFields: saved.systemFields, changedAt: saved.changedAt)
      try rows.dequeue(saved.id.name, generation: generation)
      guard saved.entry.isDeleted, try rows.pending(saved.id.name) == nil else { return }
      // Other devices know of the deletion now; an edit of theirs will bring the attachments back with it.
      for stored in try rows.attachments(of: saved.id) { try rows.deleteOnServer(stored, at: now) }
    }
  }

  package func acknowledge(_ id: AttachmentID, systemFields: [UInt8], generation: Int64) throws {
    try write { rows in
      if var stored = try rows.attachment(id) {
        stored.systemFields = systemFields
        try rows.put(stored)
      }
      try rows.dequeue(id.name, generation: generation)
    }
  }

  package func acknowledgeDeletion(of record: String, generation: Int64, at now: Moment) throws {
    try write { rows in
      try rows.dequeue(record, generation: generation)
      // If its entry came back meanwhile, it is sent again.
      guard try rows.pending(record) == nil, let stored = try rows.attachment(AttachmentID(record)) else { return }
      try rows.removeKeepingCopies(stored, at: now)
    }
  }

  /// Notes what is about to be sent: if its answer is lost, the server's record is known as our own.
  package func willSend(_ entries: [(id: EntryID, entry: Entry)]) throws {
    try write { rows in
      for (id, entry) in entries {
        try rows.connection.run("UPDATE entry SET sent = ? WHERE name = ?", try StoredJSON.text(entry), id.name)
      }
    }
  }

  /// The server has no such record any more: it is saved as a new one.
  package func forget(_ id: EntryID, at now: Moment) throws { try write { try $0.forget(id, at: now) } }

  /// The server has no such record any more.
  package func forget(_ id: AttachmentID, at now: Moment) throws { try write { try $0.forget(id, at: now) } }

  /// The server lost all of this diary: it is sent.
  package func forgetEverything(at now: Moment) throws {
    try write { rows in
      try rows.forgetServer()
      try rows.sendEverything(at: now)
    }
  }

  /// The user had the diary taken off the server: it stays here, and nothing of it is sent.
  package func stopAfterPurge(at now: Moment) throws {
    try write { rows in
      try rows.forgetServer()
      try rows.updateNotes { $0.purged = $0.purged ?? now }
    }
  }

  /// After a purge the user wants the diary on the server all the same.
  package func beginAgain(at now: Moment) throws { try write { try $0.beginAgain(at: now) } }

  /// Another account, or another environment of its server: the diary comes along.
  package func beginElsewhere(at now: Moment) throws {
    try write { rows in
      try rows.beginAgain(at: now)
      for name in try rows.entryNames() {
        guard let entry = try rows.entry(EntryID(name)), entry.origin != nil || entry.copyOf != nil else { continue }
        // One of the same name may have begun there on its own, so what was acknowledged here says nothing of it.
        try rows.connection.run("UPDATE entry SET ancestor = NULL WHERE name = ?", name)
      }
    }
  }
}

extension DiaryRows {
  fileprivate func note(locked record: String) throws {
    try connection.run("INSERT OR IGNORE INTO locked (record) VALUES (?)", record)
  }

  fileprivate func forget(locked record: String) throws {
    try connection.run("DELETE FROM locked WHERE record = ?", record)
  }

  /// What was acknowledged stays known: another device may send an older version before this one does.
  fileprivate func forgetServer() throws {
    try connection.run("UPDATE entry SET system_fields = NULL, changed_at = NULL, sent = NULL")
    try connection.run("UPDATE attachment SET system_fields = NULL")
    try connection.run("DELETE FROM outbox")
    try connection.run("DELETE FROM locked")
    try set("zone-made", nil)
  }

  fileprivate func beginAgain(at now: Moment) throws {
    try forgetServer()
    try updateNotes { $0.purged = nil }
    try sendEverything(at: now)
  }

  /// Deleted entries as well: another device that has not heard of the deletion sends what it has.
  fileprivate func sendEverything(at now: Moment) throws {
    for name in try entryNames() { try enqueue(name, .entry, .save, at: now) }
    // One whose entry never came here goes with it, from a device that has it.
    for stored in try allAttachments() where try stored.hasFile && isShown(stored.attachment.entry) {
      try enqueue(stored.attachment.id.name, .attachment, .save, at: now)
    }
  }

  fileprivate func entryNames() throws -> [String] {
    try connection.query("SELECT name FROM entry ORDER BY name") { $0.text(0) }
  }

  private func isShown(_ id: EntryID) throws -> Bool { try entry(id)?.isDeleted == false }

  fileprivate func forget(_ id: EntryID, at now: Moment) throws {
    guard let stored = try stored(id) else { return }
    try connection.run(
      "UPDATE entry SET system_fields = NULL, changed_at = NULL, sent = NULL WHERE name = ?", id.name)
    if !stored.entry.isDeleted { try sendAttachmentsAgain(of: id, at: now) }
    try enqueue(id, at: now)
  }

  fileprivate func forget(_ id: AttachmentID, at now: Moment) throws {
    guard var stored = try attachment(id) else { return try dequeue(id.name) }
    stored.systemFields = nil
    try put(stored)
    try enqueue(id.name, .attachment, .save, at: now)
  }

  /// The server does not name it any more, and nobody took it out.
  fileprivate func applyLoss(of id: AttachmentID, at now: Moment) throws -> [DiaryChange] {
    guard let stored = try attachment(id), try stored.hasFile && isShown(stored.attachment.entry) else {
      return try applyDeletion(of: id, at: now)
    }
    try forget(id, at: now)
    return []
  }
}

extension DiaryStore {
  package func attachment(_ id: AttachmentID) throws -> StoredAttachment? { try read { try $0.attachment(id) } }

  /// After the whole zone was read: what the server once had and did not name is gone there.
  ///
  /// No device removes the record of an entry, so the server has lost it. An attachment is removed with an edit of its
  /// entry: where there was none, the server has lost that too.
  package func changes(after reading: ZoneReading) throws -> RemoteChanges {
    try read { rows in
      var changes = RemoteChanges()
      changes.lostEntries = try rows.connection.query(
        """
        SELECT name FROM entry WHERE system_fields IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM outbox WHERE record = name)
        UNION SELECT record FROM locked ORDER BY 1
        """
      ) { EntryID($0.text(0)) }.filter { !reading.names.contains($0.name) }
      let attachments = try rows.connection.query(
        """
        SELECT name, entry FROM attachment WHERE system_fields IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM outbox WHERE record = name) ORDER BY name
        """
      ) { (id: AttachmentID($0.text(0)), entry: EntryID($0.text(1))) }.filter { !reading.names.contains($0.id.name) }
      changes.deletedAttachments = attachments.filter { reading.edited.contains($0.entry) }.map(\.id)
      changes.lostAttachments = attachments.filter { !reading.edited.contains($0.entry) }.map(\.id)
      return changes
    }
  }

  /// The file of an attachment came by itself, if that is still what the diary waits for.
  package func take(fileOf attachment: Attachment) throws -> [DiaryChange] {
    try write { rows in
      guard var stored = try rows.attachment(attachment.id), !stored.hasFile,
        stored.attachment.sha256 == attachment.sha256
      else {
        rows.touchedFiles.insert(attachment.sha256)
        return []
      }
      try rows.require(attachment)
      stored.hasFile = true
      try rows.put(stored)
      return [.attachmentArrived(attachment.id, entry: attachment.entry)]
    }
  }

  /// Gives what the server refused another chance.
  package func retryRefused() throws {
    try write { rows in _ = try rows.connection.run("UPDATE outbox SET error = NULL WHERE error IS NOT NULL") }
  }
}

extension DiaryRows {
  func apply(_ remote: RemoteEntry, mayBeOlder: Bool, device: String, at now: Moment) throws -> [DiaryChange] {
    guard let local = try stored(remote.id) else {
      try put(remote.id, remote.entry, reason: .received, at: now)
      try acknowledge(remote)
      if remote.entry.isDeleted { return [] }
      return [remote.entry.copyOf.map { .forked($0, copy: remote.id) } ?? .added(remote.id)]
    }
    // A page that was under way while a later save was answered.
    if !mayBeOlder, let known = local.changedAt, remote.changedAt < known { return [] }
    let order = try order(of: remote, to: local, mayBeOlder: mayBeOlder)
    if try (order == .later || local.ancestor == nil) && pending(remote.id.name) == nil {
      return try replace(local, by: remote, device: device, at: now)
    }
    if local.ancestor == remote.entry {
      // Our own last save comes back with the feed, or from another device after the server had lost it.
      try connection.run(
        "UPDATE entry SET system_fields = ?, changed_at = ? WHERE name = ?", remote.systemFields,
        remote.changedAt.milliseconds, remote.id.name)
      if local.entry == remote.entry && local.sent == nil { try dequeue(remote.id.name) }
      return []
    }
    if local.sent == remote.entry {
      // Our own save, whose answer was lost.
      try acknowledge(remote)
      if local.entry == remote.entry { try dequeue(remote.id.name) }
      return []
    }
    let base: Entry? =
      switch order {
      case .later: local.ancestor ?? Self.commonBeginning(local, remote)
      case .earlier: remote.entry
      case .apart: Self.commonBeginning(local, remote)
      }
    return try merge(local, with: remote, base: base, at: now)
  }

  /// How the server's version stands to the one that it acknowledged, or to this device's where it did not.
  private enum Order {
    /// Made from it.
    case later
    /// The other way round: the server has lost what came after.
    case earlier
    /// Neither is known to have been made from the other.
    case apart
  }

  private func order(of remote: RemoteEntry, to local: StoredEntry, mayBeOlder: Bool) throws -> Order {
    guard mayBeOlder || local.systemFields == nil else { return .later }
    let (mine, theirs) = ((local.ancestor ?? local.entry).edited, remote.entry.edited)
    let isOlder = local.changedAt.map { remote.changedAt < $0 } ?? false
    switch (mine.isNowhereLater(than: theirs), theirs.isNowhereLater(than: mine)) {
    case (true, false): return .later
    case (false, false): return .apart
    // Its edits may be others than those that came before the later ones here.
    case (false, true): return try isOlder || wasReplaced(remote.entry, of: remote.id) ? .earlier : .apart
    // Tags that are taken away have no time.
    case (true, true): return isOlder ? .earlier : .later
    }
  }

  private func acknowledge(_ remote: RemoteEntry) throws {
    try acknowledge(
      remote.id, ancestor: remote.entry, systemFields: remote.systemFields, changedAt: remote.changedAt)
  }

  /// Nothing of this device waits: the server's version is taken.
  private func replace(
    _ local: StoredEntry, by remote: RemoteEntry, device: String, at now: Moment
  ) throws -> [DiaryChange] {
    try put(remote.id, remote.entry, reason: .received, at: now)
    try acknowledge(remote)
    if local.entry == remote.entry { return [] }
    if remote.entry.isDeleted { return [.deleted(remote.id)] }
    if local.entry.isDeleted {
      // What was to go with it stays.
      let leaving = try attachments(of: remote.id).filter { try pending($0.attachment.id.name)?.change == .delete }
      try sendAgain(leaving, at: now)
      if local.entry.device == device {
        try noteConflict("deletion", entry: remote.id, version: nil, at: now)
        return [.deletionUndone(remote.id)]
      }
      return [.added(remote.id)]
    }
    return [.updated(remote.id)]
  }

  private func merge(
    _ local: StoredEntry, with remote: RemoteEntry, base: Entry?, at now: Moment
  ) throws -> [DiaryChange] {
    let id = remote.id
    let merge = EntryMerge.merge(id: id, base: base, mine: local.entry, theirs: remote.entry)
    // What the server holds is taken byte for byte where it is the same.
    let isServers = merge.entry == remote.entry
    try put(id, isServers ? remote.entry : merge.entry, reason: .merged, at: now)
    try acknowledge(remote)
    if isServers { try dequeue(id.name) } else { try enqueue(id, at: now) }
    for loss in merge.losses where loss.field != .text && !merge.entry.isDeleted {
      let version = try keep(loss.version, of: id, reason: .merged, at: now)
      try noteConflict("value", entry: id, field: loss.field.rawValue, version: version, at: now)
    }
    if remote.entry.isDeleted && !merge.entry.isDeleted { try sendAttachmentsAgain(of: id, at: now) }
    if merge.isDeletionUndone {
      try noteConflict("deletion", entry: id, version: nil, at: now)
      return [.deletionUndone(id)]
    }
    try keepFork(merge, at: now)
    if let fork = merge.fork { return [.forked(id, copy: fork.id)] }
    if merge.entry == local.entry { return [] }
    return [merge.entry.isDeleted ? .deleted(id) : .merged(id)]
  }

  /// What two devices began from that had not heard of each other's version: the text that both kept, or the entry that both
  /// imported. An export that is older than this device's never knew what that says.
  private static func commonBeginning(_ local: StoredEntry, _ remote: RemoteEntry) -> Entry? {
    guard let beginning = local.beginning else { return nil }
    switch (beginning.origin, remote.entry.origin) {
    case (nil, nil): return beginning
    case (let mine?, let theirs?) where mine.source == theirs.source && mine.modified <= theirs.modified:
      return beginning
    default: return nil
    }
  }

  func sendAttachmentsAgain(of id: EntryID, at now: Moment) throws { try sendAgain(attachments(of: id), at: now) }

  private func sendAgain(_ attachments: [StoredAttachment], at now: Moment) throws {
    for var stored in attachments {
      guard stored.hasFile else {
        // Who has the file sends it; here it is no longer to be deleted.
        if try pending(stored.attachment.id.name)?.change == .delete { try dequeue(stored.attachment.id.name) }
        continue
      }
      stored.systemFields = nil
      try put(stored)
      try enqueue(stored.attachment.id.name, .attachment, .save, at: now)
    }
  }

  func apply(_ remote: RemoteAttachment, at now: Moment) throws -> [DiaryChange] {
    let id = remote.attachment.id
    if try pending(id.name)?.change == .delete { return [] }
    let local = try attachment(id)
    // Files are found by their content, so one that is here under another name counts.
    let hasFile = remote.hasFile || files.contains(sha256: remote.attachment.sha256)
    try put(StoredAttachment(attachment: remote.attachment, hasFile: hasFile, systemFields: remote.systemFields))
    try dequeue(id.name)
    let isNews = local == nil || (hasFile && local?.hasFile == false)
    return isNews ? [.attachmentArrived(id, entry: remote.attachment.entry)] : []
  }

  /// A record that somebody removed altogether, which this program does not do to entries.
  func applyDeletion(of id: EntryID, device: String, at now: Moment) throws -> [DiaryChange] {
    guard let local = try stored(id), !local.entry.isDeleted else { return [] }
    try acknowledge(id, ancestor: nil, systemFields: nil, changedAt: nil)
    if try pending(id.name) != nil {
      try noteConflict("deletion", entry: id, version: nil, at: now)
      try sendAttachmentsAgain(of: id, at: now)
      try enqueue(id, at: now)
      return [.deletionUndone(id)]
    }
    try put(id, local.entry.deleted(at: now, device: ""), reason: .deleted, at: now)
    return [.deleted(id)]
  }

  func applyDeletion(of id: AttachmentID, at now: Moment) throws -> [DiaryChange] {
    guard var stored = try attachment(id) else {
      try dequeue(id.name)
      return []
    }
    if try stored.hasFile && isNeeded(stored.attachment) {
      stored.systemFields = nil
      try put(stored)
      if try entry(stored.attachment.entry)?.isDeleted == false {
        try enqueue(id.name, .attachment, .save, at: now)
      }
      return []
    }
    try removeKeepingCopies(stored, at: now)
    try dequeue(id.name)
    return [.attachmentRemoved(id, entry: stored.attachment.entry)]
  }

  /// Whether an attachment that another device deleted stays: a text that was kept still shows it, an edit that won over a
  /// deletion sends it again, or its entry is open in an editor and may come back.
  private func isNeeded(_ attachment: Attachment) throws -> Bool {
    guard let owner = try entry(attachment.entry) else { return false }
    if owner.isDeleted { return isBeingEdited(attachment.entry) }
    return try owner.text.contains("attachment:\(attachment.id.name)")
      || pending(attachment.id.name)?.change == .save
  }

  /// Whether the entry is open in an editor, or one left words of it behind.
  fileprivate func isBeingEdited(_ id: EntryID) -> Bool {
    let names = (try? Folder.names(in: files.temporary)) ?? []
    return names.contains { $0.hasPrefix(DiaryHome.draftPrefix(of: id)) }
  }

  /// The row stays until the server has acknowledged it, so that the entry can still come back whole.
  fileprivate func deleteOnServer(_ stored: StoredAttachment, at now: Moment) throws {
    let name = stored.attachment.id.name
    if try pending(name)?.change != .delete { try enqueue(name, .attachment, .delete, at: now) }
  }

  func removeKeepingCopies(_ stored: StoredAttachment, at now: Moment) throws {
    for copy in try copies(of: stored.attachment.entry) where stored.hasFile {
      try keepAttachments([stored], shownBy: copy, at: now)
    }
    try remove(stored.attachment)
  }
}

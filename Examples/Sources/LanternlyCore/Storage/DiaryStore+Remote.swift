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

  package init() {}
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
}

extension DiaryStore {
  /// Takes in a page of changes. Doing so twice changes nothing more, so the position after the page may be stored later.
  package func apply(_ changes: RemoteChanges, device: String, at now: Moment) throws -> [DiaryChange] {
    try write { rows in
      var done: [DiaryChange] = []
      for name in changes.locked { try rows.note(locked: name) }
      for entry in changes.entries {
        try rows.forget(locked: entry.id.name)
        done += try rows.apply(entry, device: device, at: now)
      }
      for attachment in changes.attachments { done += try rows.apply(attachment, at: now) }
      for id in changes.deletedEntries {
        try rows.forget(locked: id.name)
        done += try rows.applyDeletion(of: id, device: device, at: now)
      }
      for id in changes.deletedAttachments { done += try rows.applyDeletion(of: id, at: now) }
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
  package func forget(_ id: EntryID, at now: Moment) throws {
    try write { rows in
      guard let stored = try rows.stored(id) else { return }
      try rows.acknowledge(id, ancestor: nil, systemFields: nil, changedAt: nil)
      if !stored.entry.isDeleted {
        try rows.sendAttachmentsAgain(of: id, at: now)
        try rows.enqueue(id, at: now)
      } else {
        try rows.dequeue(id.name)
      }
    }
  }

  /// The server has no such record any more.
  package func forget(_ id: AttachmentID, at now: Moment) throws {
    try write { rows in
      guard var stored = try rows.attachment(id) else { return try rows.dequeue(id.name) }
      stored.systemFields = nil
      try rows.put(stored)
      try rows.enqueue(id.name, .attachment, .save, at: now)
    }
  }

  /// The server holds nothing of this diary (another account, a zone that was removed): all of it is sent.
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
  package func beginAgain(at now: Moment) throws {
    try write { rows in
      try rows.forgetServer()
      try rows.updateNotes { $0.purged = nil }
      try rows.sendEverything(at: now)
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

  fileprivate func forgetServer() throws {
    try connection.run("UPDATE entry SET ancestor = NULL, system_fields = NULL, changed_at = NULL, sent = NULL")
    try connection.run("UPDATE attachment SET system_fields = NULL")
    try connection.run("DELETE FROM outbox")
    try connection.run("DELETE FROM locked")
    for stored in try attachmentsOfDeletedEntries() { try remove(stored.attachment) }
    try connection.run("DELETE FROM entry WHERE deleted = 1")
    try set("zone-made", nil)
  }

  fileprivate func sendEverything(at now: Moment) throws {
    let entries = try connection.query("SELECT name FROM entry ORDER BY name") { $0.text(0) }
    for name in entries { try enqueue(name, .entry, .save, at: now) }
    // One whose entry never came here goes with it, from a device that has it.
    for stored in try allAttachments() where try stored.hasFile && entry(stored.attachment.entry) != nil {
      try enqueue(stored.attachment.id.name, .attachment, .save, at: now)
    }
  }
}

extension DiaryStore {
  package func attachment(_ id: AttachmentID) throws -> StoredAttachment? { try read { try $0.attachment(id) } }

  /// After the whole zone was read: what the server once had and did not name is gone there.
  package func changesAfterFullReading(seen: Set<String>) throws -> RemoteChanges {
    try read { rows in
      var changes = RemoteChanges()
      changes.deletedEntries = try rows.connection.query(
        """
        SELECT name FROM entry WHERE system_fields IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM outbox WHERE record = name)
        UNION SELECT record FROM locked ORDER BY 1
        """
      ) { EntryID($0.text(0)) }.filter { !seen.contains($0.name) }
      changes.deletedAttachments = try rows.connection.query(
        """
        SELECT name FROM attachment WHERE system_fields IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM outbox WHERE record = name) ORDER BY name
        """
      ) { AttachmentID($0.text(0)) }.filter { !seen.contains($0.name) }
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
  func apply(_ remote: RemoteEntry, device: String, at now: Moment) throws -> [DiaryChange] {
    guard let local = try stored(remote.id) else {
      try put(remote.id, remote.entry, reason: .received, at: now)
      try acknowledge(remote)
      if remote.entry.isDeleted { return [] }
      return [remote.entry.copyOf.map { .forked($0, copy: remote.id) } ?? .added(remote.id)]
    }
    // A page that was under way while a later save was answered.
    if let known = local.changedAt, remote.changedAt < known { return [] }
    if try pending(remote.id.name) == nil {
      return try replace(local, by: remote, device: device, at: now)
    }
    if local.ancestor == remote.entry {
      // Our own last save comes back with the feed.
      try connection.run(
        "UPDATE entry SET system_fields = ?, changed_at = ? WHERE name = ?", remote.systemFields,
        remote.changedAt.milliseconds, remote.id.name)
      return []
    }
    if local.sent == remote.entry {
      // Our own save, whose answer was lost.
      try acknowledge(remote)
      if local.entry == remote.entry { try dequeue(remote.id.name) }
      return []
    }
    return try merge(local, with: remote, at: now)
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

  private func merge(_ local: StoredEntry, with remote: RemoteEntry, at now: Moment) throws -> [DiaryChange] {
    let id = remote.id
    let base = local.ancestor ?? Self.commonBeginning(local, remote)
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
    if merge.isDeletionUndone {
      try noteConflict("deletion", entry: id, version: nil, at: now)
      if remote.entry.isDeleted { try sendAttachmentsAgain(of: id, at: now) }
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

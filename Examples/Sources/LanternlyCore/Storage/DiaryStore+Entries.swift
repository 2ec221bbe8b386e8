import Foundation
import VirgaSQLite

/// Which entries to list.
package struct EntryFilter: Sendable {
  package var tag: String?
  package var isStarred = false
  /// From this time on, and before that one, on the clock of each entry's own zone.
  package var since: LocalTime?
  package var until: LocalTime?
  /// Words that must all appear in text, tags or place, whatever their case and accents.
  package var words: [String] = []
  package var limit: Int?

  package init() {}

  func admits(_ entry: Entry) -> Bool {
    if isStarred && !entry.isStarred { return false }
    if let tag, !entry.tags.keys.contains(where: { $0.lowercased() == tag.lowercased() }) { return false }
    if since != nil || until != nil {
      let time = entry.written.local.secondsSince1970
      if let since, time < since.secondsSince1970 { return false }
      if let until, time >= until.secondsSince1970 { return false }
    }
    if words.isEmpty { return true }
    var text = Folding()
    text.add(entry.text)
    if let place = entry.place { text.add(place.line) }
    for tag in entry.tagNames { text.add(tag) }
    return words.allSatisfy { text.contains(Folding($0)) }
  }
}

/// Names of entries that begin alike.
package enum EntryLookup: Hashable, Sendable {
  case none
  case one(EntryID)
  case several([EntryID])
}

extension DiaryStore {
  /// Entries that are not deleted, the latest first.
  package func entries(_ filter: EntryFilter = EntryFilter()) throws -> [StoredEntry] {
    var found: [StoredEntry] = []
    try forEachEntry(filter) { stored, _ in found.append(stored) }
    return found
  }

  /// The same one by one, in the memory of one. `body` may use the rows, and not the store.
  func forEachEntry(
    _ filter: EntryFilter = EntryFilter(), _ detail: Entry.Detail = .whole,
    _ body: (StoredEntry, DiaryRows) throws -> Void
  ) throws {
    try read { rows in
      var count = 0
      // No clock is a day ahead of GMT or behind it.
      let since = filter.since.map { Moment(seconds: $0.secondsSince1970 - 86400).milliseconds } ?? .min
      let until = filter.until.map { Moment(seconds: $0.secondsSince1970 + 86400).milliseconds } ?? .max
      let statement = try rows.connection.statement(
        """
        SELECT name, fields, (SELECT count(*) FROM attachment a WHERE a.entry = e.name) FROM entry e
        WHERE deleted = 0 AND written >= ? AND written < ? ORDER BY written DESC, name
        """)
      try statement.bind([since, until])
      try statement.forEach { row in
        let entry = try Entry(stored: row.blob(1), detail)
        if filter.admits(entry) {
          count += 1
          var stored = StoredEntry(id: EntryID(row.text(0)), entry: entry)
          stored.attachmentCount = row.int(2)
          try body(stored, rows)
        }
        return filter.limit.map { count < $0 } ?? true
      }
    }
  }

  package func isEmpty() throws -> Bool {
    try read { try $0.connection.first("SELECT 1 FROM entry WHERE deleted = 0 LIMIT 1") { $0.int(0) } == nil }
  }

  package func stored(_ id: EntryID) throws -> StoredEntry? { try read { try $0.stored(id) } }

  /// Finds an entry by the beginning of its name.
  package func find(_ prefix: String, includingDeleted: Bool = false) throws -> EntryLookup {
    let prefix = prefix.lowercased()
    guard !prefix.isEmpty, prefix.utf8.allSatisfy({ 48...57 ~= $0 || 97...102 ~= $0 }) else { return .none }
    let names = try read { rows in
      try rows.connection.query(
        "SELECT name FROM entry WHERE name >= ? AND name < ? AND deleted <= ? ORDER BY name LIMIT 20", prefix,
        prefix + "g", includingDeleted
      ) { EntryID($0.text(0)) }
    }
    return names.isEmpty ? .none : names.count == 1 ? .one(names[0]) : .several(names)
  }

  package func attachments(of id: EntryID) throws -> [StoredAttachment] {
    try read { rows in try rows.attachments(shownBy: id, copyOf: rows.entry(id)?.copyOf) }
  }

  package func allAttachments() throws -> [StoredAttachment] { try read { try $0.allAttachments() } }

  package func attachmentsWithoutFile() throws -> [StoredAttachment] { try read { try $0.attachmentsWithoutFile() } }

  package func versions(of id: EntryID) throws -> [StoredVersion] { try read { try $0.versions(of: id) } }

  /// Saves an edit, with attachments whose files are in the diary already.
  ///
  /// If the entry changed since it was read (a sync ran meanwhile), the edit is merged as one of another device would be.
  /// - Parameter base: The entry as it was read; `nil` for a new one.
  package func save(
    _ id: EntryID, base: Entry?, edited: Entry, adding attachments: [Attachment] = [],
    removing removed: [AttachmentID] = [], at now: Moment
  ) throws {
    var edited = edited
    if let base { edited.edited = edited.edited.following(base.edited) }
    try write { [edited] rows in
      let current = try rows.entry(id)
      if let current, let base, current != base {
        let merge = EntryMerge.merge(id: id, base: base, mine: edited, theirs: current)
        try rows.put(id, merge.entry, reason: .edited, at: now)
        try rows.keepFork(merge, at: now)
        if merge.isDeletionUndone { try rows.noteConflict("deletion", entry: id, version: nil, at: now) }
      } else {
        try rows.put(id, edited, reason: .edited, at: now)
      }
      // Back from a deletion, of which its attachments may not have heard.
      if current?.isDeleted == true { try rows.sendAttachmentsAgain(of: id, at: now) }
      try rows.enqueue(id, at: now)
      for attachment in attachments {
        try rows.require(attachment)
        try rows.put(StoredAttachment(attachment: attachment, hasFile: true))
        try rows.enqueue(attachment.id.name, .attachment, .save, at: now)
      }
      for id in removed {
        guard let stored = try rows.attachment(id) else { continue }
        try rows.removeKeepingCopies(stored, at: now)
        try rows.enqueue(id.name, .attachment, .delete, at: now)
      }
    }
  }

  /// Deletes an entry. Its record stays without content, and its attachments go when the server has acknowledged that:
  /// until then an edit made elsewhere can still bring it back whole.
  /// - Returns: Whether there was such an entry.
  package func delete(_ id: EntryID, device: String, at now: Moment) throws -> Bool {
    try write { rows in
      guard let entry = try rows.entry(id), !entry.isDeleted else { return false }
      let attachments = try rows.attachments(of: id)
      for copy in try rows.copies(of: id) { try rows.keepAttachments(attachments, shownBy: copy, at: now) }
      try rows.delete(id, entry, device: device, at: now)
      return true
    }
  }
}

extension DiaryRows {
  func delete(_ id: EntryID, _ entry: Entry, device: String, at now: Moment) throws {
    try put(id, entry.deleted(at: now, device: device), reason: .deleted, at: now)
    try enqueue(id, at: now)
  }

  /// Stores the other text of a merge, unless it is known already.
  func keepFork(_ merge: EntryMerge, at now: Moment) throws {
    guard let fork = merge.fork else { return }
    if let known = try entry(fork.id) {
      // These two texts met before, and the copy was settled away.
      if known.isDeleted, let original = fork.entry.copyOf {
        try keep(fork.entry, of: original, reason: .merged, at: now)
      }
      return
    }
    try put(fork.id, fork.entry, reason: .merged, at: now)
    try begin(fork.id, from: fork.entry)
    try enqueue(fork.id, at: now)
  }
}

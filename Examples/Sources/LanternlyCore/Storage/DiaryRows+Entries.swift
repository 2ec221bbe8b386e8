import VirgaSQLite

/// An entry with all that this device knows of it.
package struct StoredEntry: Hashable, Sendable {
  package var id: EntryID
  package var entry: Entry
  /// What the server last acknowledged, never what was only sent.
  package var ancestor: Entry?
  package var systemFields: [UInt8]?
  /// When the server changed the acknowledged version.
  package var changedAt: Moment?
  package var sent: Entry?
  /// What other devices may have begun from too: what an import gave, or a merge that kept two texts.
  package var beginning: Entry?
  /// How many attachments are its own, where that was asked for.
  package var attachmentCount = 0
}

/// A version of an entry that another one replaced here.
package struct StoredVersion: Hashable, Sendable {
  package enum Reason: String, Sendable {
    case edited, received, merged, deleted, imported, resolved
  }

  package var number: Int64
  package var entry: Entry
  package var reason: Reason
  package var replacedAt: Moment
}

extension DiaryRows {
  /// Replaced versions kept of one entry.
  static let versionsMax = 50

  func stored(_ id: EntryID) throws -> StoredEntry? {
    try connection.first(
      "SELECT fields, ancestor, system_fields, changed_at, sent, imported FROM entry WHERE name = ?", id.name
    ) { row in
      StoredEntry(
        id: id, entry: try Entry(stored: row.blob(0)),
        ancestor: try row.optionalBlob(1).map { try Entry(stored: $0) },
        systemFields: row.optionalBlob(2), changedAt: row.optionalInt64(3).map { Moment(milliseconds: $0) },
        sent: try row.optionalBlob(4).map { try Entry(stored: $0) },
        beginning: try row.optionalBlob(5).map { try Entry(stored: $0) })
    }
  }

  func entry(_ id: EntryID) throws -> Entry? {
    try connection.first("SELECT fields FROM entry WHERE name = ?", id.name) { try Entry(stored: $0.blob(0)) }
  }

  /// Writes what the device shows; what the server acknowledged stays. The version before is kept.
  func put(_ id: EntryID, _ entry: Entry, reason: StoredVersion.Reason, at now: Moment) throws {
    if let before = try self.entry(id), before != entry, !before.isDeleted {
      try keep(before, of: id, reason: reason, at: now)
    }
    try connection.run(
      """
      INSERT INTO entry (name, written, deleted, copy_of, fields) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET written = excluded.written, deleted = excluded.deleted,
        copy_of = excluded.copy_of, fields = excluded.fields
      """, id.name, entry.written.moment.milliseconds, entry.isDeleted, entry.copyOf?.name,
      try StoredJSON.text(entry))
    // Of an entry that is not shown there is nothing to settle.
    if entry.isDeleted { try connection.run("DELETE FROM conflict WHERE entry = ?", id.name) }
  }

  func begin(_ id: EntryID, from beginning: Entry) throws {
    try connection.run("UPDATE entry SET imported = ? WHERE name = ?", try StoredJSON.text(beginning), id.name)
  }

  /// Notes what the server holds.
  func acknowledge(_ id: EntryID, ancestor: Entry?, systemFields: [UInt8]?, changedAt: Moment?) throws {
    try connection.run(
      "UPDATE entry SET ancestor = ?, system_fields = ?, changed_at = ?, sent = NULL WHERE name = ?",
      try ancestor.map { try StoredJSON.text($0) }, systemFields, changedAt?.milliseconds, id.name)
  }

  @discardableResult
  func keep(_ version: Entry, of id: EntryID, reason: StoredVersion.Reason, at now: Moment) throws -> Int64 {
    try connection.run(
      "INSERT INTO version (entry, fields, reason, replaced_at) VALUES (?, ?, ?, ?)", id.name,
      try StoredJSON.text(version), reason.rawValue, now.milliseconds)
    let number = connection.lastInsertedID
    // Versions that an open conflict shows stay.
    try connection.run(
      """
      DELETE FROM version WHERE entry = ?1 AND number NOT IN (SELECT version FROM conflict WHERE version IS NOT NULL)
        AND number <= (SELECT number FROM version WHERE entry = ?1 ORDER BY number DESC LIMIT 1 OFFSET \(Self.versionsMax))
      """, id.name)
    return number
  }

  /// Whether this device once had a version and replaced it: what it has now was made knowing that one.
  func wasReplaced(_ version: Entry, of id: EntryID) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM version WHERE entry = ? AND fields = ? LIMIT 1", id.name, try StoredJSON.text(version)
    ) { $0.int(0) } != nil
  }

  func versions(of id: EntryID) throws -> [StoredVersion] {
    try connection.query(
      "SELECT number, fields, reason, replaced_at FROM version WHERE entry = ? ORDER BY number", id.name
    ) { row in
      StoredVersion(
        number: row.int64(0), entry: try Entry(stored: row.blob(1)),
        reason: StoredVersion.Reason(rawValue: row.text(2)) ?? .edited,
        replacedAt: Moment(milliseconds: row.int64(3)))
    }
  }

  func noteConflict(_ kind: String, entry: EntryID, field: String? = nil, version: Int64?, at now: Moment) throws {
    try connection.run(
      "INSERT INTO conflict (entry, kind, field, version, noticed_at) VALUES (?, ?, ?, ?, ?)", entry.name, kind, field,
      version, now.milliseconds)
  }

  /// Copies of an entry whose conflict nobody has settled.
  func copies(of id: EntryID) throws -> [EntryID] {
    try connection.query("SELECT name FROM entry WHERE copy_of = ? AND deleted = 0 ORDER BY name", id.name) {
      EntryID($0.text(0))
    }
  }
}

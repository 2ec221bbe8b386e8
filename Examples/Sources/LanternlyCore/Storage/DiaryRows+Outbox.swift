import VirgaSQLite

/// A record that the server must still learn of.
package struct OutboxRow: Hashable, Sendable {
  package enum Kind: String, Sendable { case entry, attachment }
  package enum Change: String, Sendable { case save, delete }

  /// Higher for every later change of any record.
  package var generation: Int64
  package var record: String
  package var kind: Kind
  package var change: Change
  package var since: Moment
  /// Why the server refused it last.
  package var error: String?

  /// Whether it is an entry whose text no record holds: it will never go as it is.
  package var isTooLong: Bool { kind == .entry && error?.hasPrefix("limitExceeded:") == true }
}

/// A part of the outbox, as SQL has it.
package enum OutboxCondition: String, Sendable {
  case all = "1"
  /// Not refused by the server.
  case waiting = "error IS NULL"
}

extension DiaryRows {
  func enqueue(_ record: String, _ kind: OutboxRow.Kind, _ change: OutboxRow.Change, at now: Moment) throws {
    try connection.run(
      """
      INSERT OR REPLACE INTO outbox (record, kind, change, since)
      VALUES (?1, ?2, ?3, coalesce((SELECT since FROM outbox WHERE record = ?1), ?4))
      """, record, kind.rawValue, change.rawValue, now.milliseconds)
  }

  func enqueue(_ id: EntryID, at now: Moment) throws { try enqueue(id.name, .entry, .save, at: now) }

  func dequeue(_ record: String) throws { try connection.run("DELETE FROM outbox WHERE record = ?", record) }

  func dequeue(_ record: String, generation: Int64) throws {
    try connection.run("DELETE FROM outbox WHERE record = ? AND generation = ?", record, generation)
  }

  func pending(_ record: String) throws -> OutboxRow? {
    try connection.first(
      "SELECT generation, record, kind, change, since, error FROM outbox WHERE record = ?", record, as: Self.row)
  }

  static let nextToSend = """
    SELECT generation, record, kind, change, since, error FROM outbox o
    WHERE error IS NULL AND (
      change = 'delete'
      OR kind = 'entry' AND EXISTS (SELECT 1 FROM entry e WHERE e.name = o.record)
      OR kind = 'attachment' AND EXISTS (
        SELECT 1 FROM attachment a JOIN entry e ON e.name = a.entry
        WHERE a.name = o.record AND a.has_file = 1 AND (
          e.system_fields IS NOT NULL
          OR EXISTS (SELECT 1 FROM outbox b WHERE b.record = e.name AND b.error IS NULL))))
    ORDER BY change = 'delete', kind = 'attachment', generation LIMIT ?
    """

  /// The first changes that can be sent now: nothing that was refused, and an attachment once its file is here and its
  /// entry is on the server or waits too.
  func nextToSend(limit: Int) throws -> [OutboxRow] {
    try connection.query(Self.nextToSend, limit, as: Self.row)
  }

  func count(ofOutbox condition: OutboxCondition) throws -> Int {
    try connection.first("SELECT count(*) FROM outbox WHERE \(condition.rawValue)") { $0.int(0) } ?? 0
  }

  // Entries go before their attachments, which refer to them; deletions go last.
  func outbox() throws -> [OutboxRow] {
    try connection.query(
      """
      SELECT generation, record, kind, change, since, error FROM outbox
      ORDER BY change = 'delete', kind = 'attachment', generation
      """, as: Self.row)
  }

  private static func row(_ row: borrowing Row) throws -> OutboxRow {
    guard let kind = OutboxRow.Kind(rawValue: row.text(2)), let change = OutboxRow.Change(rawValue: row.text(3)) else {
      throw SQLiteError(condition: .corrupt, code: 11, message: "an outbox row of an unknown kind")
    }
    return OutboxRow(
      generation: row.int64(0), record: row.text(1), kind: kind, change: change,
      since: Moment(milliseconds: row.int64(4)), error: row.optionalText(5))
  }
}

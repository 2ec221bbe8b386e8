import Foundation
import VirgaSQLite

/// How the last syncs went, as they noted it themselves.
package struct SyncNotes: Hashable, Sendable, Codable {
  package struct Failure: Hashable, Sendable, Codable {
    /// The code's name, as `networkUnavailable`.
    package var code: String
    package var message: String
    /// The record that was refused, if it was one.
    package var record: String?
    package var at: Moment
    /// When the server may be asked again, if it said so.
    package var retryAt: Moment?
  }

  package var lastSuccess: Moment?
  /// Cleared by a success.
  package var lastError: Failure?
  package var nextTry: Moment?
  package var hasNoAccount = false
  /// When this device heard that the user had the diary taken off the server. Nothing is synced until the user says so.
  package var purged: Moment?
  /// The account's user, to notice another one.
  package var user: String?
  /// The environment of the server that was used last: another one holds nothing of what this one acknowledged.
  package var environment: String?
  /// Seconds by which this device's clock is ahead of the server's, negative if it is behind, as the engine's status has it.
  package var clockSkewSeconds: Double?
  /// Records that could not be read because no device of the user's had encrypted them.
  package var notEncrypted: [String]?
  /// The account and how many devices it has, as heard last.
  package var account: String?
  package var deviceCount: Int?

  /// Seconds by which clocks may differ.
  static let clockSkewMin: Double = 5

  package init() {}

  /// Until when the server asks to send nothing; `nil` if that time is over. One that a clock noted which has been set
  /// back since says nothing.
  package func heldUntil(_ now: Moment) -> Moment? {
    guard let lastError, let until = lastError.retryAt, lastError.at <= now, now < until else { return nil }
    return until
  }
}

/// How a diary stands with the server.
package struct DiaryStatus: Hashable, Sendable {
  package enum State: String, Sendable {
    /// Nothing was ever sent or received, as far as this device knows.
    case neverSynced
    /// Nothing waits and the last sync succeeded.
    case synced
    /// Something waits: changes to send, files or keys to come, or the rest of a first sync that was cut off.
    case pending
    /// The last sync failed, or the server refused a record.
    case attention
    case noAccount
    /// The user had the diary taken off the server; what is here stays here.
    case purged
  }

  package var entries = 0
  package var attachments = 0
  package var pendingSaves = 0
  package var pendingDeletions = 0
  /// Of files that were never sent.
  package var pendingBytes: Int64 = 0
  package var missingFiles = 0
  /// Records that cannot be read here, for want of a key or because they were damaged or not encrypted.
  package var locked = 0
  /// Those among them that no device of the user's has encrypted.
  package var notEncrypted: [String] = []
  package var conflicts = 0
  /// Whether something here was sent, or came from the server.
  package var isBegun = false
  package var refused: [OutboxRow] = []
  package var notes = SyncNotes()

  package var state: State {
    if notes.hasNoAccount { return .noAccount }
    if notes.purged != nil { return .purged }
    if notes.lastError != nil || !refused.isEmpty { return .attention }
    if notes.lastSuccess == nil { return isBegun ? .pending : .neverSynced }
    return pendingSaves + pendingDeletions + missingFiles + locked > 0 ? .pending : .synced
  }
}

extension DiaryStore {
  package func status() throws -> DiaryStatus {
    let conflicts = try conflictCount()
    return try read { rows in
      func count(_ sql: String) throws -> Int64 { try rows.connection.first(sql) { $0.int64(0) } ?? 0 }
      var status = DiaryStatus()
      status.entries = Int(try count("SELECT count(*) FROM entry WHERE deleted = 0"))
      status.attachments = Int(
        try count("SELECT count(*) FROM attachment a JOIN entry e ON e.name = a.entry WHERE e.deleted = 0"))
      // An entry's deletion travels as a save of its empty record.
      status.pendingDeletions = Int(
        try count(
          """
          SELECT count(*) FROM outbox o WHERE o.change = 'delete'
            OR EXISTS (SELECT 1 FROM entry e WHERE e.name = o.record AND e.deleted = 1)
          """))
      status.pendingSaves = Int(try count("SELECT count(*) FROM outbox")) - status.pendingDeletions
      status.pendingBytes = try count(
        """
        SELECT coalesce(sum(a.byte_count), 0) FROM attachment a JOIN outbox o ON o.record = a.name
        WHERE o.change = 'save' AND a.system_fields IS NULL
        """)
      status.missingFiles = try rows.attachmentsWithoutFile().count
      status.locked = Int(try count("SELECT count(*) FROM locked"))
      let notEncrypted = Set(try rows.notes().notEncrypted ?? [])
      status.notEncrypted = try rows.connection.query("SELECT record FROM locked ORDER BY 1") { $0.text(0) }
        .filter(notEncrypted.contains)
      status.isBegun =
        try count(
          """
          SELECT EXISTS (SELECT 1 FROM entry WHERE system_fields IS NOT NULL OR sent IS NOT NULL)
            OR EXISTS (SELECT 1 FROM attachment WHERE system_fields IS NOT NULL)
          """) > 0
      status.conflicts = conflicts
      status.refused = try rows.outbox().filter { $0.error != nil }
      status.notes = try rows.notes()
      return status
    }
  }

  package func notes() throws -> SyncNotes { try read { try $0.notes() } }

  package func updateNotes(_ change: (inout SyncNotes) -> Void) throws { try write { try $0.updateNotes(change) } }

  package func outbox() throws -> [OutboxRow] { try read { try $0.outbox() } }

  package func nextToSend(limit: Int) throws -> [OutboxRow] { try read { try $0.nextToSend(limit: limit) } }

  package func count(ofOutbox condition: OutboxCondition) throws -> Int {
    try read { try $0.count(ofOutbox: condition) }
  }

  /// Notes why the server refused a record; it stays pending.
  package func noteRefusal(of record: String, _ reason: String?) throws {
    try write { rows in
      _ = try rows.connection.run("UPDATE outbox SET error = ? WHERE record = ?", reason, record)
    }
  }
}

extension DiaryRows {
  func notes() throws -> SyncNotes {
    guard let bytes = try setting("sync-notes") else { return SyncNotes() }
    return try StoredJSON.value(String(decoding: bytes, as: UTF8.self))
  }

  func updateNotes(_ change: (inout SyncNotes) -> Void) throws {
    var notes = try notes()
    change(&notes)
    try set("sync-notes", Array(try StoredJSON.text(notes).utf8))
  }
}

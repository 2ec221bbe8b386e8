import CloudKit
import Foundation
import Synchronization
import VirgaSQLite

/// A device of someone who tracks their health: metrics in SQLite, and an engine that keeps them in step.
///
/// Values and notes are encrypted. What waits to be sent is marked in the rows themselves, in the transaction that changes
/// them. Of two edits of one metric the later one counts, by the time of the edit.
final class HealthDevice: CKSyncEngineDelegate, Sendable {
  struct Metric: Hashable {
    var name: String
    var kind: String
    var start: Int
    var value: Double
    var note: String
    var edited: Int
  }

  private struct Store: @unchecked Sendable {
    // Unchecked because a connection is no value; it never leaves the mutex.
    let connection: Connection
    var faults: [String] = []
    var saves = 0
  }

  private static let zone = CKRecordZone(zoneName: "Health")
  private let store: Mutex<Store>
  private let holder = Mutex<CKSyncEngine?>(nil)
  private let alarm = Mutex<(saves: Int, body: @Sendable () -> Void)?>(nil)

  /// - Parameter path: Of the database; one that is there goes on with its metrics and its engine's state.
  init(_ database: CKDatabase, path: String) throws {
    let connection = try Connection(path: path)
    try connection.execute(
      """
      PRAGMA journal_mode=WAL;
      CREATE TABLE IF NOT EXISTS metric(name TEXT PRIMARY KEY, kind TEXT, start INTEGER, value REAL, note TEXT,
        edited INTEGER, isDirty INTEGER, system BLOB) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS deletion(name TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS state(id INTEGER PRIMARY KEY, data BLOB);
      """)
    store = Mutex(Store(connection: connection))
    let state = try connection.first("SELECT data FROM state WHERE id = 1") { row in
      try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data(row.blob(0)))
    }
    var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: self)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    holder.withLock { $0 = engine }
    engine.state.add(pendingDatabaseChanges: state == nil ? [.saveZone(Self.zone)] : [])
    engine.state.add(pendingRecordZoneChanges: try marked())
  }

  private var engine: CKSyncEngine {
    guard let engine = holder.withLock({ $0 }) else { preconditionFailure("the engine is made with the device") }
    return engine
  }

  // MARK: What its user does

  func measure(_ metrics: [Metric]) throws {
    try change { connection in
      for metric in metrics { try Self.put(metric, isDirty: true, system: nil, connection) }
      return metrics.map(\.name)
    }
  }

  func write(_ note: String, to names: [String], at time: Int) throws {
    try change { connection in
      for name in names {
        try connection.run(
          "UPDATE metric SET note = ?2, edited = ?3, isDirty = 1 WHERE name = ?1", name, note, time)
      }
      return names
    }
  }

  func delete(_ names: [String]) throws {
    try onStore { connection in
      try connection.transaction {
        for name in names {
          try connection.run("DELETE FROM metric WHERE name = ?1", name)
          try connection.run("INSERT OR IGNORE INTO deletion(name) VALUES(?1)", name)
        }
      }
    }
    engine.state.add(pendingRecordZoneChanges: names.map { .deleteRecord(Self.id($0)) })
  }

  private func change(_ body: (Connection) throws -> [String]) throws {
    let names = try onStore { connection in try connection.transaction { try body(connection) } }
    engine.state.add(pendingRecordZoneChanges: names.map { .saveRecord(Self.id($0)) })
  }

  func send() async throws { try await engine.sendChanges() }

  /// Sends and fetches; what others did meanwhile may leave something for the next time.
  func sync() async throws {
    do { try await engine.sendChanges() } catch let error as CKError where error.code == .partialFailure {
      // Resolved by the delegate, and sent the next time.
    }
    try await engine.fetchChanges()
  }

  /// Calls `body` when that many records were saved since the device was started; the engine waits for it.
  func atSaves(_ count: Int, _ body: @escaping @Sendable () -> Void) { alarm.withLock { $0 = (count, body) } }

  // MARK: What it holds

  func metrics() throws -> Set<Metric> {
    try onStore { connection in
      Set(
        try connection.query("SELECT name, kind, start, value, note, edited FROM metric") { row in
          Metric(
            name: row.text(0), kind: row.text(1), start: row.int(2), value: row.double(3), note: row.text(4),
            edited: row.int(5))
        })
    }
  }

  var isIdle: Bool { engine.state.pendingRecordZoneChanges.isEmpty && engine.state.pendingDatabaseChanges.isEmpty }
  /// What the app could not make sense of.
  var faults: [String] { store.withLock { $0.faults } }

  // MARK: The engine's side

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    do {
      switch event {
      case .stateUpdate(let update):
        let data = try JSONEncoder().encode(update.stateSerialization)
        _ = try onStore { try $0.run("INSERT OR REPLACE INTO state(id, data) VALUES(1, ?1)", [UInt8](data)) }
      case .fetchedRecordZoneChanges(let changes):
        try onStore { connection in
          try connection.transaction {
            for change in changes.modifications { try Self.merge(change.record, connection) }
            for deletion in changes.deletions { try Self.forget(deletion.recordID, connection) }
          }
        }
      case .sentRecordZoneChanges(let changes): try settle(changes)
      case .sentDatabaseChanges(let changes):
        for failure in changes.failedZoneSaves { throw failure.error }
      default: break
      }
    } catch {
      store.withLock { $0.faults.append("\(error)") }
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
      self.record(id, syncEngine)
    }
  }

  private func record(_ id: CKRecord.ID, _ engine: CKSyncEngine) -> CKRecord? {
    let record = onStore { connection in
      try? connection.first(
        "SELECT kind, start, value, note, edited, system FROM metric WHERE name = ?1", id.recordName
      ) { row in
        let record = Self.record(id, system: row.optionalBlob(5))
        record["kind"] = row.text(0)
        record["start"] = Date(timeIntervalSince1970: Double(row.int(1)))
        record["edited"] = row.int(4)
        record.encryptedValues["value"] = row.double(2)
        record.encryptedValues["note"] = row.text(3)
        return record
      }
    }
    if record == nil { engine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)]) }
    return record ?? nil
  }

  private func settle(_ changes: CKSyncEngine.Event.SentRecordZoneChanges) throws {
    var again: [CKSyncEngine.PendingRecordZoneChange] = []
    try onStore { connection in
      try connection.transaction {
        for record in changes.savedRecords { try Self.acknowledge(record, connection) }
        for id in changes.deletedRecordIDs { try connection.run("DELETE FROM deletion WHERE name = ?1", id.recordName) }
        for failure in changes.failedRecordSaves {
          switch failure.error.code {
          case .serverRecordChanged:
            guard let server = failure.error.serverRecord else { throw failure.error }
            if try Self.merge(server, connection) { again.append(.saveRecord(server.recordID)) }
          // Deleted on another device meanwhile.
          case .unknownItem: try Self.forget(failure.record.recordID, connection)
          // The engine tries again.
          case .networkFailure, .networkUnavailable, .serverResponseLost, .serviceUnavailable: break
          default: throw failure.error
          }
        }
      }
    }
    engine.state.add(pendingRecordZoneChanges: again)
    let saves = store.withLock { store in
      store.saves += changes.savedRecords.count
      return store.saves
    }
    let body = alarm.withLock { alarm -> (@Sendable () -> Void)? in
      guard let due = alarm, due.saves <= saves else { return nil }
      alarm = nil
      return due.body
    }
    body?()
  }

  // MARK: Rows

  private func onStore<Value>(_ body: (Connection) throws -> sending Value) rethrows -> sending Value {
    try store.withLock { try body($0.connection) }
  }

  private func marked() throws -> [CKSyncEngine.PendingRecordZoneChange] {
    let (saves, deletions) = try onStore { connection in
      (
        try connection.query("SELECT name FROM metric WHERE isDirty ORDER BY name") { $0.text(0) },
        try connection.query("SELECT name FROM deletion ORDER BY name") { $0.text(0) }
      )
    }
    return saves.map { .saveRecord(Self.id($0)) } + deletions.map { .deleteRecord(Self.id($0)) }
  }

  private static func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone.zoneID) }

  private static func put(
    _ metric: Metric, isDirty: Bool, system: [UInt8]?, _ connection: Connection
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO metric(name, kind, start, value, note, edited, isDirty, system) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      metric.name, metric.kind, metric.start, metric.value, metric.note, metric.edited, isDirty ? 1 : 0, system)
  }

  /// Takes over what the service has, unless the device's own edit is later.
  /// - Returns: Whether the own edit has to be sent again.
  @discardableResult
  private static func merge(_ record: CKRecord, _ connection: Connection) throws -> Bool {
    let name = record.recordID.recordName
    let isDeleted = try connection.first("SELECT 1 FROM deletion WHERE name = ?1", name) { _ in true } ?? false
    if isDeleted { return false }
    guard let kind = record["kind"] as? String, let start = record["start"] as? Date,
      let edited = record["edited"] as? Int, let value = record.encryptedValues["value"] as? Double,
      let note = record.encryptedValues["note"] as? String
    else { throw CKError(.internalError) }
    let own = try connection.first("SELECT edited FROM metric WHERE name = ?1 AND isDirty", name) { $0.int(0) }
    if let own, own > edited {
      try connection.run("UPDATE metric SET system = ?2 WHERE name = ?1", name, system(of: record))
      return true
    }
    let metric = Metric(
      name: name, kind: kind, start: Int(start.timeIntervalSince1970), value: value, note: note, edited: edited)
    try put(metric, isDirty: false, system: system(of: record), connection)
    return false
  }

  private static func acknowledge(_ record: CKRecord, _ connection: Connection) throws {
    let edited = record["edited"] as? Int ?? 0
    try connection.run(
      "UPDATE metric SET system = ?2, isDirty = edited > ?3 WHERE name = ?1", record.recordID.recordName,
      system(of: record), edited)
  }

  private static func forget(_ id: CKRecord.ID, _ connection: Connection) throws {
    try connection.run("DELETE FROM metric WHERE name = ?1", id.recordName)
    try connection.run("DELETE FROM deletion WHERE name = ?1", id.recordName)
  }

  private static func system(of record: CKRecord) -> [UInt8] {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    return [UInt8](archiver.encodedData)
  }

  private static func record(_ id: CKRecord.ID, system: [UInt8]?) -> CKRecord {
    guard let system, let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: Data(system)) else {
      return CKRecord(recordType: "Metric", recordID: id)
    }
    unarchiver.requiresSecureCoding = true
    return CKRecord(coder: unarchiver) ?? CKRecord(recordType: "Metric", recordID: id)
  }
}

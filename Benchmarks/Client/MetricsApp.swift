import Allocations
import Foundation
import Synchronization
import VirgaCloudKit
import VirgaSQLite

/// An app as Apple's sample is built: rows in SQLite with the system fields of their records, and the engine's state.
final class MetricsApp: CKSyncEngineDelegate {
  private struct Store: @unchecked Sendable {
    // Unchecked because a connection is no value; it never leaves the mutex.
    let connection: Connection
    var stateBytesMax = 0
    var stateBytesWritten = 0
    var processorSeconds = 0.0
    var allocations = 0
  }

  private let store: Mutex<Store>
  private let zone: CKRecordZone.ID

  init(path: String, zone: CKRecordZone.ID) throws {
    let connection = try Connection(path: path)
    try connection.execute(
      """
      PRAGMA journal_mode=WAL;
      CREATE TABLE IF NOT EXISTS metric(name TEXT PRIMARY KEY, kind TEXT, start INTEGER, value REAL, unit TEXT, note TEXT,
        system BLOB) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS state(id INTEGER PRIMARY KEY, data BLOB);
      """)
    store = Mutex(Store(connection: connection))
    self.zone = zone
  }

  /// The most bytes that a stored state had.
  var stateBytesMax: Int { store.withLock { $0.stateBytesMax } }

  /// The bytes of all states that were stored.
  var stateBytesWritten: Int { store.withLock { $0.stateBytesWritten } }

  private func onStore<Value>(_ body: (Connection) throws -> sending Value) rethrows -> sending Value {
    try store.withLock { try body($0.connection) }
  }

  func fill(_ count: Int) throws {
    try onStore { connection in
      try connection.transaction {
        for number in 0..<count {
          try connection.run(
            "INSERT INTO metric(name, kind, start, value, unit, note) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            "metric-\(number)", ["heartRate", "stepCount", "bodyMass"][number % 3], 1_700_000_000 + number * 60,
            Double(number % 977) / 7, "count/min", "measured by the watch in the course of day \(number / 1_440)")
        }
      }
    }
  }

  /// Hands over the records that wait, a portion at a time: the measurement is of the engine's list, not of one here.
  func forEachUnsent(_ portion: Int, _ body: ([CKRecord.ID]) -> Void) throws {
    var last = ""
    while true {
      let names = try onStore { [last] connection in
        try connection.query(
          "SELECT name FROM metric WHERE system IS NULL AND name > ?1 ORDER BY name LIMIT ?2", last, portion
        ) { $0.text(0) }
      }
      guard let end = names.last else { return }
      body(names.map { CKRecord.ID(recordName: $0, zoneID: zone) })
      last = end
    }
  }

  func unsentCount() throws -> Int {
    try onStore { try $0.first("SELECT count(*) FROM metric WHERE system IS NULL") { $0.int(0) } ?? 0 }
  }

  func count() throws -> Int {
    try onStore { try $0.first("SELECT count(*) FROM metric") { $0.int(0) } ?? 0 }
  }

  func storedState() throws -> CKSyncEngine.State.Serialization? {
    let bytes = try onStore { try $0.first("SELECT data FROM state WHERE id = 1") { $0.blob(0) } }
    return try bytes.map { try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data($0)) }
  }

  // MARK: The engine's side

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    let (seconds, allocations) = (Meter.threadSeconds, allocations_of_thread())
    handle(event)
    store.withLock { store in
      store.processorSeconds += Meter.threadSeconds - seconds
      store.allocations += allocations_of_thread() - allocations
    }
  }

  func readCosts(into result: inout StepResult) {
    store.withLock { store in
      result.appProcessorSeconds = store.processorSeconds
      result.appAllocations = Double(store.allocations)
    }
  }

  private func handle(_ event: CKSyncEngine.Event) {
    do {
      switch event {
      case .stateUpdate(let update): try keep(update.stateSerialization)
      case .fetchedRecordZoneChanges(let changes): try keep(changes.modifications.map(\.record))
      case .sentRecordZoneChanges(let changes):
        if let failure = changes.failedRecordSaves.first { throw failure.error }
        try keepSystemFields(of: changes.savedRecords)
      case .didFetchRecordZoneChanges(let end): if let error = end.error { throw error }
      default: break
      }
    } catch {
      fatalError("the app cannot store: \(error)")
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let pending = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { self.record($0) }
  }

  private func record(_ id: CKRecord.ID) -> CKRecord? {
    let record = CKRecord(recordType: "Metric", recordID: id)
    let isThere = onStore { connection in
      // A row that cannot be read is not sent, and is missed at the end.
      try? connection.first("SELECT kind, start, value, unit, note FROM metric WHERE name = ?1", id.recordName) { row in
        record["kind"] = row.text(0)
        record["start"] = Date(timeIntervalSince1970: Double(row.int64(1)))
        record["value"] = row.double(2)
        record["unit"] = row.text(3)
        record["note"] = row.text(4)
        return true
      }
    }
    return isThere == true ? record : nil
  }

  private func keep(_ state: CKSyncEngine.State.Serialization) throws {
    let data = try JSONEncoder().encode(state)
    try store.withLock { store in
      store.stateBytesMax = max(store.stateBytesMax, data.count)
      store.stateBytesWritten += data.count
      try store.connection.run("INSERT OR REPLACE INTO state(id, data) VALUES(1, ?1)", [UInt8](data))
    }
  }

  private func keep(_ records: [CKRecord]) throws {
    try onStore { connection in
      try connection.transaction {
        for record in records {
          try connection.run(
            "INSERT OR REPLACE INTO metric(name, kind, start, value, unit, note, system) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            record.recordID.recordName, record["kind"] as? String,
            (record["start"] as? Date).map { Int64($0.timeIntervalSince1970) }, record["value"] as? Double,
            record["unit"] as? String, record["note"] as? String, systemFields(of: record))
        }
      }
    }
  }

  private func keepSystemFields(of records: [CKRecord]) throws {
    try onStore { connection in
      try connection.transaction {
        for record in records {
          try connection.run(
            "UPDATE metric SET system = ?2 WHERE name = ?1", record.recordID.recordName, systemFields(of: record))
        }
      }
    }
  }

  private func systemFields(of record: CKRecord) -> [UInt8] {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    return [UInt8](archiver.encodedData)
  }
}

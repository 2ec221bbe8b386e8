import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// The stores that the contract is checked on.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
  case memory, sqlite

  var testDescription: String { self == .memory ? "memory" : "SQLite" }

  func open() throws -> StoreUnderTest {
    switch self {
    case .memory: return StoreUnderTest(store: MemoryStore(), folder: nil)
    case .sqlite:
      let folder = TemporaryFolder()
      return StoreUnderTest(store: try SQLiteStore(folder: folder.path), folder: folder)
    }
  }
}

/// A store, and the folder that goes when the test ends.
struct StoreUnderTest: Sendable {
  var store: any Store
  var folder: TemporaryFolder?

  func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
    try await store.reading(body)
  }

  @discardableResult
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await store.writing(body)
  }
}

extension Store {
  func reading<Value: Sendable>(
    size: BodySize = .any, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      read(size: size, body) { continuation.resume(with: $0) }
    }
  }

  @discardableResult
  func writing<Value: Sendable>(
    size: BodySize = .any, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      write(size: size, body) { continuation.resume(with: $0) }
    }
  }
}

// MARK: - Rows

let diary = DatabaseKey(container: "iCloud.org.example.Diary", environment: .development, owner: "_ann")
let publicDiary = DatabaseKey(container: "iCloud.org.example.Diary", environment: .development, owner: nil)

func stamp(_ milliseconds: Int64, user: UserName = "_ann", device: String = "phone") -> RecordStamp {
  RecordStamp(time: Timestamp(milliseconds: milliseconds), user: user, device: device)
}

/// A record that was created and modified at the moment of its sequence.
func stored(_ name: RecordName, _ sequence: Int64, fields: String = "{}") -> StoredRecord {
  StoredRecord(
    name: name, type: "Entry", sequence: sequence, created: stamp(sequence), modified: stamp(sequence),
    fieldsJSON: Array(fields.utf8))
}

func tombstone(_ name: RecordName, _ sequence: Int64) -> StoredRecord {
  var record = stored(name, sequence)
  record.isDeleted = true
  return record
}

extension WriteTransaction {
  /// A zone in a database that is made too if it is missing.
  func makeZone(_ name: ZoneName = "Notes", in key: DatabaseKey = diary) throws -> ZoneRow {
    if try database(key) == nil { try put(DatabaseRow(key: key, incarnation: 7)) }
    var zone = ZoneRow(database: key, name: name, incarnation: 11)
    try put(&zone)
    return zone
  }

  /// Puts a version in place of whatever stands.
  func save(_ record: StoredRecord, in zone: ZoneRow, keepsVersion: Bool = true) throws {
    try put(record, in: zone, replacing: try self.record(record.name, in: zone), keepsVersion: keepsVersion)
  }
}

extension ReadTransaction {
  func changes(in zone: ZoneRow, after position: Int64 = 0, limit: Int = .max) throws -> [StoredRecord] {
    var records: [StoredRecord] = []
    try changes(in: zone, after: position, limit: limit) {
      records.append($0)
      return true
    }
    return records
  }

  /// The entries of an index in a range, each checked against its record.
  func entries(
    of index: RecordIndex, in zone: ZoneRow, from lower: [UInt8] = [], to upper: [UInt8] = [0xff],
    after position: IndexEntry? = nil, limit: Int = .max
  ) throws -> [IndexEntry] {
    var entries: [IndexEntry] = []
    let range = IndexRange(lower: lower, upper: upper)
    try self.entries(of: index, of: zone, in: range, after: position) { entry, record in
      guard entries.count < limit else { return false }
      if record.name != entry.name || record.isDeleted { throw StoreError.damaged("an entry of another record") }
      entries.append(entry)
      return true
    }
    return entries
  }

  func changes(in zone: ZoneRow, before position: Int64, limit: Int = .max) throws -> [StoredRecord] {
    var records: [StoredRecord] = []
    try changes(in: zone, before: position, limit: limit) {
      records.append($0)
      return true
    }
    return records
  }
}

/// All that can be seen of a store, for comparing.
struct StoreContents: Hashable, Sendable {
  struct Zone: Hashable, Sendable {
    var row: ZoneRow
    var records: [StoredRecord]
    var reversed: [RecordName]
    var versions: [RecordName: [StoredRecord]]
    var references: [StoredReference: [RecordName]]
    var indexes: [[IndexEntry]] = []
  }

  var databases: [DatabaseRow] = []
  var zones: [Zone] = []
  var entities: [Entity] = []
  var assets: [AssetRow] = []
  var unclaimed: [AssetRow] = []
  var notifications: [NotificationRow] = []

  /// - Parameters: the names to look under, where a store has no list of all.
  init(
    _ transaction: any ReadTransaction, names: [RecordName] = [], owners: [String] = [], assets: [String] = [],
    tokens: [String] = []
  ) throws {
    databases = try transaction.databases()
    for database in databases {
      for row in try transaction.zones(in: database.key, after: .min, limit: .max) {
        var zone = Zone(
          row: row, records: try transaction.changes(in: row),
          reversed: try transaction.changes(in: row, before: .max).map(\.name), versions: [:], references: [:])
        for index in try transaction.indexes(of: row) {
          zone.indexes.append(try transaction.entries(of: index, in: row))
        }
        for name in names {
          zone.versions[name] = try transaction.versions(of: name, in: row)
          for kind in [StoredReference.Kind.deleteSelf, .validate, .parent] {
            zone.references[StoredReference(target: name, kind: kind)] = try transaction.references(
              to: name, kind: kind, in: row, limit: .max)
          }
        }
        zones.append(zone)
      }
    }
    for kind in Entity.Kind.allCases {
      for owner in owners { entities += try transaction.entities(kind, owner: owner) }
    }
    self.assets = try assets.compactMap { try transaction.asset($0) }
    unclaimed = try transaction.unreferencedAssets(before: Timestamp(milliseconds: .max), limit: .max)
    for token in tokens {
      // Stores give other numbers after a stop; the order is the same.
      notifications += try transaction.notifications(for: token, limit: .max).map { row in
        NotificationRow(pushToken: row.pushToken, coalescingKey: row.coalescingKey, payload: row.payload)
      }
    }
  }
}

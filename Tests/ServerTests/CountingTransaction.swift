import TestSupport
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// How often a store was asked for something.
struct StoreReads: Sendable {
  var records = 0
  var versions = 0
  var references = 0
  var assets = 0
}

/// A store's transaction that counts what is read in it.
final class CountingTransaction: WriteTransaction {
  private let base: any WriteTransaction
  private(set) var reads = StoreReads()

  init(_ base: any WriteTransaction) { self.base = base }

  func record(_ name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    reads.records += 1
    return try base.record(name, in: zone)
  }

  func versions(of name: RecordName, in zone: ZoneRow) throws -> [StoredRecord] {
    reads.versions += 1
    return try base.versions(of: name, in: zone)
  }

  func references(to target: RecordName, kind: StoredReference.Kind, in zone: ZoneRow, limit: Int) throws
    -> [RecordName]
  {
    reads.references += 1
    return try base.references(to: target, kind: kind, in: zone, limit: limit)
  }

  func asset(_ checksum: String) throws -> AssetRow? {
    reads.assets += 1
    return try base.asset(checksum)
  }

  // MARK: Handed on

  func replacedVersions(
    in zone: ZoneRow, after position: Int64, _ body: (StoredRecord, Int64) throws -> Bool
  ) throws {
    try base.replacedVersions(in: zone, after: position, body)
  }
  func allEntities(_ kind: Entity.Kind, after key: String, limit: Int) throws -> [Entity] {
    try base.allEntities(kind, after: key, limit: limit)
  }
  func assets(after checksum: String, limit: Int) throws -> [AssetRow] {
    try base.assets(after: checksum, limit: limit)
  }
  func space() throws -> StoreSpace { try base.space() }
  func removeDatabase(_ key: DatabaseKey) throws { try base.removeDatabase(key) }
  func forget(_ name: RecordName, in zone: ZoneRow) throws { try base.forget(name, in: zone) }
  func forgetVersion(replacedBy: Int64, in zone: ZoneRow) throws {
    try base.forgetVersion(replacedBy: replacedBy, in: zone)
  }
  func rewrite(_ record: StoredRecord, in zone: ZoneRow) throws { try base.rewrite(record, in: zone) }
  func rewriteVersion(_ record: StoredRecord, replacedBy: Int64, in zone: ZoneRow) throws {
    try base.rewriteVersion(record, replacedBy: replacedBy, in: zone)
  }

  func database(_ key: DatabaseKey) throws -> DatabaseRow? { try base.database(key) }
  func databases() throws -> [DatabaseRow] { try base.databases() }
  func zone(_ name: ZoneName, in database: DatabaseKey) throws -> ZoneRow? { try base.zone(name, in: database) }
  func zones(in database: DatabaseKey, after position: Int64, limit: Int) throws -> [ZoneRow] {
    try base.zones(in: database, after: position, limit: limit)
  }
  func zonesToCompact(tombstonesBefore: Timestamp, versionsBefore: Timestamp) throws -> [ZoneAddress] {
    try base.zonesToCompact(tombstonesBefore: tombstonesBefore, versionsBefore: versionsBefore)
  }
  func changes(in zone: ZoneRow, after position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws {
    try base.changes(in: zone, after: position, limit: limit, body)
  }
  func changes(in zone: ZoneRow, before position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws {
    try base.changes(in: zone, before: position, limit: limit, body)
  }
  func version(_ sequence: Int64, of name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    try base.version(sequence, of: name, in: zone)
  }
  func indexes(of zone: ZoneRow) throws -> [RecordIndex] { try base.indexes(of: zone) }
  func countEntries(of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, limit: Int) throws -> Int {
    try base.countEntries(of: index, of: zone, in: range, limit: limit)
  }
  func entries(
    of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, after position: IndexEntry?,
    _ body: (IndexEntry, StoredRecord) throws -> Bool
  ) throws {
    try base.entries(of: index, of: zone, in: range, after: position, body)
  }
  func tally(of database: DatabaseKey) throws -> DatabaseTally { try base.tally(of: database) }
  func entity(_ kind: Entity.Kind, key: String) throws -> Entity? { try base.entity(kind, key: key) }
  func entities(_ kind: Entity.Kind, owner: String, from key: String) throws -> [Entity] {
    try base.entities(kind, owner: owner, from: key)
  }
  func unreferencedAssets(before moment: Timestamp, limit: Int) throws -> [AssetRow] {
    try base.unreferencedAssets(before: moment, limit: limit)
  }
  func notifications(for pushToken: String, limit: Int) throws -> [NotificationRow] {
    try base.notifications(for: pushToken, limit: limit)
  }

  func attempt<Value>(_ part: () throws -> Value) throws -> Value { try base.attempt(part) }
  func put(_ database: DatabaseRow) throws { try base.put(database) }
  func put(_ zone: inout ZoneRow) throws { try base.put(&zone) }
  func removeRecords(of zone: inout ZoneRow) throws { try base.removeRecords(of: &zone) }
  func clearRemovedRecords(limit: Int, bytes: Int) throws -> Bool {
    try base.clearRemovedRecords(limit: limit, bytes: bytes)
  }
  func put(_ record: StoredRecord, in zone: ZoneRow, replacing previous: StoredRecord?, keepsVersion: Bool) throws {
    try base.put(record, in: zone, replacing: previous, keepsVersion: keepsVersion)
  }
  func beginIndex(_ definition: IndexDefinition, of zone: ZoneRow, for maker: String) throws -> RecordIndex {
    try base.beginIndex(definition, of: zone, for: maker)
  }
  func fillIndex(
    _ index: RecordIndex, of zone: ZoneRow, portion: IndexPortion
  ) throws -> (index: RecordIndex, records: Int) {
    try base.fillIndex(index, of: zone, portion: portion)
  }
  func clearRemovedIndexes(limit: Int) throws -> Bool { try base.clearRemovedIndexes(limit: limit) }
  func removeIndex(_ index: RecordIndex, of zone: ZoneRow) throws { try base.removeIndex(index, of: zone) }
  func dropTombstones(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> [Int64] {
    try base.dropTombstones(in: zone, before: moment, limit: limit)
  }
  func dropVersions(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> Int {
    try base.dropVersions(in: zone, before: moment, limit: limit)
  }
  func releaseSpace(bytes: Int) throws -> Bool { try base.releaseSpace(bytes: bytes) }
  func put(_ entity: Entity) throws { try base.put(entity) }
  func removeEntity(_ kind: Entity.Kind, key: String) throws { try base.removeEntity(kind, key: key) }
  func put(_ asset: AssetRow) throws { try base.put(asset) }
  func removeAsset(_ checksum: String) throws { try base.removeAsset(checksum) }
  func append(_ notification: NotificationRow) throws -> Int64 { try base.append(notification) }
  func removeNotifications(_ ids: [Int64], of pushToken: String) throws {
    try base.removeNotifications(ids, of: pushToken)
  }
}

extension QueryWorld {
  /// Saves to Alice's zone, and counts what that reads of the store.
  func counting(_ operations: [RecordOperation]) async throws -> (results: [RecordResult], reads: StoreReads) {
    let call = Call.recordsModify(RecordsModifyRequest(operations: operations, zone: Self.zone))
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .private, operation: call.operation)
    let start = CallContext(
      endpoint: endpoint, principal: Principal(user: "_alice", account: nil, device: nil),
      now: Timestamp(milliseconds: 1_700_000_000_000), random: SplitMix64(seed: 7), urls: TestURLs())
    return try await under.write { [service] transaction in
      var context = start
      let counting = CountingTransaction(transaction)
      guard case .records(let reply) = try service.write(call, in: counting, context: &context) else {
        throw StoreError.other("no records")
      }
      return (reply.records, counting.reads)
    }
  }
}

extension ReadTransaction {
  /// What a zone and its database say that they hold, and what the zone's live records do.
  func usage(of name: ZoneName, in key: DatabaseKey) throws -> (zone: Int64?, database: Int64?, records: Int64) {
    guard let zone = try zone(name, in: key) else { return (nil, nil, 0) }
    var bytes: Int64 = 0
    try changes(in: zone, after: 0, limit: .max) { record in
      guard !record.isDeleted else { return true }
      bytes += record.jsonBytes
      bytes += try Fields(json: record.fieldsJSON).assetBytes
      return true
    }
    return (zone.usedBytes, try database(key)?.usedBytes, bytes)
  }
}

import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// The memory store is small enough to be believed; SQLite must look the same after any sequence of verbs.
struct StorePropertyTests {
  static let names = (0..<12).map { RecordName("r\($0)") }
  static let zones: [ZoneName] = ["a", "b", "c"]
  static let checksums = ["x", "y", "z", "w"]
  static let owners = ["ann", "bob"]
  static let tokens = ["t", "u"]

  struct GivenUp: Error {}

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func anySequenceOfVerbsLooksTheSameOnBothStores(seed: UInt64) async throws {
    let folder = TemporaryFolder()
    let memory = MemoryStore()
    var sqlite = try SQLiteStore(folder: folder.path)
    var random = SplitMix64(seed: seed)
    for round in 0..<60 {
      let transactionSeed = random.next()
      let expected = try await Self.outcome(on: memory, seed: transactionSeed)
      let size = Bool.random(using: &random) ? BodySize.small : .any
      let observed = try await Self.outcome(on: sqlite, seed: transactionSeed, size: size)
      try #require(observed == expected, "seed \(seed), round \(round)")
      if round % 20 == 19 {
        sqlite.close()
        sqlite = try SQLiteStore(folder: folder.path)
      }
      let read = try await sqlite.reading(size: size, Self.contents)
      try #require(try await memory.reading(Self.contents) == read, "seed \(seed), after round \(round)")
    }
    sqlite.close()
  }

  static func contents(_ transaction: any ReadTransaction) throws -> StoreContents {
    try StoreContents(transaction, names: names, owners: owners, assets: checksums, tokens: tokens)
  }

  /// Runs one transaction of random verbs; answers what its reads saw, and whether it was kept.
  static func outcome(on store: any Store, seed: UInt64, size: BodySize = .any) async throws -> [String] {
    do {
      return try await store.writing(size: size) { transaction in
        var random = SplitMix64(seed: seed)
        var seen: [String] = []
        for _ in 0..<Int.random(in: 1...15, using: &random) { try step(transaction, &random, &seen) }
        if Int.random(in: 0..<4, using: &random) == 0 { throw GivenUp() }
        return seen
      }
    } catch is GivenUp {
      return ["given up"]
    }
  }

  private static func pick<Element>(_ elements: [Element], _ random: inout SplitMix64) throws -> Element {
    try #require(elements.randomElement(using: &random))
  }

  private static func zone(
    _ transaction: any WriteTransaction, _ random: inout SplitMix64
  ) throws -> ZoneRow {
    let name = try pick(zones, &random)
    if let zone = try transaction.zone(name, in: diary) { return zone }
    if try transaction.database(diary) == nil { try transaction.put(DatabaseRow(key: diary, incarnation: 1)) }
    var zone = ZoneRow(database: diary, name: name, incarnation: random.next())
    try transaction.put(&zone)
    return zone
  }

  private static func step(
    _ transaction: any WriteTransaction, _ random: inout SplitMix64, _ seen: inout [String]
  ) throws {
    var zone = try zone(transaction, &random)
    let moment = Timestamp(milliseconds: Int64.random(in: 0...max(1, zone.sequence), using: &random))
    switch Int.random(in: 0..<22, using: &random) {
    case 0..<9: try save(transaction, &zone, &random)
    case 9:
      var database = try #require(try transaction.database(diary))
      database.sequence += 1
      try transaction.put(database)
      zone.databaseSequence = database.sequence
      if zone.isDeleted { zone.isDeleted = false } else { zone.noteDeletion(.purged, at: database.sequence) }
      if zone.isDeleted { try transaction.removeRecords(of: &zone) }
      try transaction.put(&zone)
    case 10: seen.append("dropped \(try transaction.dropTombstones(in: zone, before: moment, limit: .max))")
    case 11:
      seen.append("dropped \(try transaction.dropVersions(in: zone, before: moment, limit: 7)) versions")
      seen.append("past \(try transaction.zonesToCompact(tombstonesBefore: moment, versionsBefore: moment))")
    case 12, 13:
      let kind = try pick(Entity.Kind.allCases, &random)
      let key = "k\(Int.random(in: 0..<4, using: &random))"
      if Bool.random(using: &random) {
        try transaction.put(
          Entity(
            kind, key: key, owner: try pick(owners + [""], &random), value: [UInt8.random(in: 0...9, using: &random)]))
      } else {
        try transaction.removeEntity(kind, key: key)
      }
      seen.append("entity \(String(describing: try transaction.entity(kind, key: key)))")
    case 14:
      let checksum = try pick(checksums, &random)
      if Bool.random(using: &random) {
        try transaction.put(AssetRow(checksum: checksum, size: 3, uploaded: moment))
      } else {
        try transaction.removeAsset(checksum)
      }
    case 15, 16:
      let key = "n\(Int.random(in: 0..<130, using: &random))"
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        try transaction.append(
          NotificationRow(
            pushToken: try pick(tokens, &random), coalescingKey: key + "\(Int.random(in: 0..<9, using: &random))",
            payload: [UInt8.random(in: 0...255, using: &random)]))
      }
    case 21: seen.append("cleared \(try transaction.clearRemovedRecords(limit: .max, bytes: .max))")
    case 20: try changeIndexes(of: zone, transaction, &random)
    case 17:
      let token = try pick(tokens, &random)
      let waiting = try transaction.notifications(for: token, limit: 5)
      try transaction.removeNotifications(waiting.map(\.id), of: token)
    default:
      let position = Int64.random(in: -1...zone.sequence + 1, using: &random)
      let limit = Int.random(in: 0...6, using: &random)
      seen.append("\(try transaction.changes(in: zone, after: position, limit: limit))")
      seen.append("\(try transaction.changes(in: zone, before: position, limit: limit))")
      let name = try pick(names, &random)
      seen.append("\(String(describing: try transaction.version(position, of: name, in: zone)))")
      seen.append("\(try transaction.versions(of: name, in: zone))")
    }
  }

  /// Indexes of what records have besides their fields, which are no JSON here.
  private static let indexes = [
    IndexDefinition("Entry", .values, []), IndexDefinition("Entry", .values, [.init("___modTime", descending: true)]),
    IndexDefinition("Photo", .values, [.init("___createdBy"), .init("___recordID", descending: true)]),
    IndexDefinition("Photo", .values, [.init("___parent")]), IndexDefinition("Entry", .words, [.init("___modTime")]),
  ]

  private static func changeIndexes(
    of zone: ZoneRow, _ transaction: any WriteTransaction, _ random: inout SplitMix64
  ) throws {
    let definition = try pick(indexes, &random)
    if let index = try transaction.indexes(of: zone).first(where: { $0.definition == definition }) {
      if Bool.random(using: &random) { try transaction.removeIndex(index, of: zone) }
    } else {
      _ = try transaction.makeIndex(definition, of: zone)
    }
  }

  private static func save(
    _ transaction: any WriteTransaction, _ zone: inout ZoneRow, _ random: inout SplitMix64
  ) throws {
    zone.sequence += Int64.random(in: 1...3, using: &random)
    try transaction.put(&zone)
    let name = try pick(names, &random)
    var record = StoredRecord(
      name: name, type: try pick(["Entry", "Photo"], &random), sequence: zone.sequence,
      created: stamp(1, user: try pick(["_ann", "_bob"], &random)), modified: stamp(zone.sequence),
      fieldsJSON: [UInt8](repeating: 65, count: Int.random(in: 0...6_000, using: &random)))
    if Int.random(in: 0..<4, using: &random) == 0 { record.isDeleted = true }
    if Bool.random(using: &random) {
      record.parent = Reference(recordName: try pick(names, &random))
      record.references = [
        StoredReference(target: try pick(names, &random), kind: try pick([.parent, .validate, .deleteSelf], &random))
      ]
    }
    if !record.isDeleted && Bool.random(using: &random) { record.assetChecksums = [try pick(checksums, &random)] }
    try transaction.save(record, in: zone, keepsVersion: Bool.random(using: &random))
  }
}

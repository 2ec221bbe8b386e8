import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// What every store counts of a database.
struct StoreTallyTests {
  private struct Stop: Error {}

  private static func tally(_ store: StoreUnderTest) async throws -> DatabaseTally {
    let written = try await store.write { try $0.tally(of: diary) }
    #expect(try await store.read { try $0.tally(of: diary) } == written, "the file says the same")
    return written
  }

  @Test(arguments: StoreKind.allCases)
  func zonesAreCountedAsTheyComeAndGo(kind: StoreKind) async throws {
    let store = try kind.open()
    #expect(try await Self.tally(store) == DatabaseTally())
    try await store.write { transaction in
      _ = try transaction.makeZone("A")
      _ = try transaction.makeZone("B")
      _ = try transaction.makeZone(.default)
    }
    var expected = DatabaseTally()
    expected.zones = 2
    #expect(try await Self.tally(store) == expected)
    try await store.write { transaction in
      var zone = try #require(try transaction.zone("A", in: diary))
      zone.noteDeletion(.deleted, at: 9)
      try transaction.put(&zone)
      try transaction.put(&zone)
    }
    (expected.zones, expected.pastZones) = (1, 1)
    #expect(try await Self.tally(store) == expected)
    await #expect(throws: Stop.self) {
      try await store.write { transaction in
        _ = try transaction.makeZone("C")
        throw Stop()
      }
    }
    try await store.write { transaction in
      var zone = try #require(try transaction.zone("A", in: diary))
      zone.isDeleted = false
      try transaction.put(&zone)
    }
    (expected.zones, expected.pastZones) = (2, 0)
    #expect(try await Self.tally(store) == expected)
  }

  /// Whatever happens, the count is what counting all of it gives.
  @Test(arguments: StoreKind.allCases, [1, 2, 3] as [UInt64])
  func versionsAndTombstonesAreCounted(kind: StoreKind, seed: UInt64) async throws {
    let store = try kind.open()
    let zone = try await store.write { try $0.makeZone() }
    var random = SplitMix64(seed: seed)
    for sequence in 1...150 as ClosedRange<Int64> {
      let name = RecordName("r\(Int.random(in: 0..<6, using: &random))")
      var record = stored(
        name, sequence, fields: "{\(String(repeating: " ", count: Int.random(in: 0..<90, using: &random)))}")
      if Int.random(in: 0..<5, using: &random) == 0 { record = tombstone(name, sequence) }
      let (saved, keeps, fails) = (
        record, Int.random(in: 0..<4, using: &random) > 0, Int.random(in: 0..<6, using: &random) == 0
      )
      do {
        try await store.write { transaction in
          try transaction.save(saved, in: zone, keepsVersion: keeps)
          if fails { throw Stop() }
        }
      } catch is Stop {
        continue
      }
      if sequence % 40 == 0 {
        try await store.write { transaction in
          _ = try transaction.dropTombstones(in: zone, before: Timestamp(milliseconds: sequence - 9), limit: 3)
          _ = try transaction.dropVersions(
            in: zone, before: Timestamp(milliseconds: sequence - 30), limit: 5)
        }
      }
      let tally = try await Self.tally(store)
      let counted = try await store.read { try Self.count(in: zone, $0) }
      #expect(
        tally.tombstones == counted.tombstones && tally.historyBytes >= counted.historyBytes, "\(seed) \(sequence)")
    }
    try await store.write { transaction in
      var zone = zone
      try transaction.removeRecords(of: &zone)
      // One at a time, and the last step finds nothing more.
      while try transaction.clearRemovedRecords(limit: 1, bytes: .max) {}
    }
    var empty = DatabaseTally()
    empty.zones = 1
    #expect(try await Self.tally(store) == empty)
  }

  /// An asset that the next version has too is not counted twice.
  @Test(arguments: StoreKind.allCases)
  func assetsCountOnceTheyAreReplaced(kind: StoreKind) async throws {
    let store = try kind.open()
    let zone = try await store.write { transaction in
      for name in ["p", "q"] {
        try transaction.put(AssetRow(checksum: name, size: 1_000, uploaded: Timestamp(milliseconds: 1)))
      }
      return try transaction.makeZone()
    }
    for (sequence, (asset, expected)) in [("p", 0), ("p", 2), ("q", 1_004), ("", 2_006)].enumerated() {
      var record = stored("r", Int64(sequence + 1))
      record.assetChecksums = asset.isEmpty ? [] : [asset]
      let saved = record
      try await store.write { try $0.save(saved, in: zone) }
      #expect(try await Self.tally(store).historyBytes == Int64(expected))
    }
    try await store.write { _ = try $0.dropVersions(in: zone, before: Timestamp(milliseconds: 1_000), limit: 9) }
    #expect(try await Self.tally(store).historyBytes == 0)
  }

  /// The fields of versions.
  private static func count(in zone: ZoneRow, _ transaction: any ReadTransaction) throws -> DatabaseTally {
    var tally = DatabaseTally()
    for record in try transaction.changes(in: zone) where record.isDeleted { tally.tombstones += 1 }
    for number in 0..<6 {
      // Also of a record whose tombstone was dropped.
      for version in try transaction.versions(of: RecordName("r\(number)"), in: zone) {
        tally.historyBytes += Int64(version.fieldsJSON.count)
      }
    }
    return tally
  }
}

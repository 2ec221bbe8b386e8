import TestSupport
import Testing
import VirgaModel
import VirgaSQLite
import VirgaServer
import VirgaServerSQLite

/// What a zone held goes at once for everybody, and out of the store a little at a time.
struct StoreRemovalTests {
  private struct Stop: Error {}

  /// A zone with records, tombstones, replaced versions, references, and an asset for each record.
  private static func fill(_ transaction: any WriteTransaction, _ name: ZoneName = "Notes", count: Int) throws {
    var zone = try transaction.zone(name, in: diary) ?? transaction.makeZone(name)
    for number in 0..<count {
      let record = RecordName("r\(number)")
      for deletes in [false, number % 3 == 0] {
        zone.sequence += 1
        var version = deletes ? tombstone(record, zone.sequence) : stored(record, zone.sequence, fields: "{1234}")
        if !deletes {
          let checksum = "\(name.rawValue)\(number)"
          try transaction.put(AssetRow(checksum: checksum, size: 10, uploaded: Timestamp(milliseconds: 1)))
          version.assetChecksums = [checksum]
          version.parent = Reference(recordName: "p")
          version.references = [StoredReference(target: "p", kind: .parent)]
        }
        try transaction.save(version, in: zone)
      }
    }
    zone.usedBytes = 1_000
    try transaction.put(&zone)
  }

  private static func unclaimed(_ transaction: any ReadTransaction) throws -> Int {
    try transaction.unreferencedAssets(before: Timestamp(milliseconds: .max), limit: .max).count
  }

  @Test(arguments: StoreKind.allCases)
  func whatAZoneHeldIsGoneAtOnceAndClearedInPortions(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { try Self.fill($0, count: 30) }
    let full = try await store.read { try $0.tally(of: diary) }
    #expect(full.tombstones == 10 && full.historyBytes > 0 && full.removedBytes == 0)
    let (before, zone) = try await store.write { transaction in
      let before = try #require(try transaction.zone("Notes", in: diary))
      var zone = before
      try transaction.removeRecords(of: &zone)
      return (before, zone)
    }
    #expect(zone.id != before.id && zone.usedBytes == 0 && zone.sequence == before.sequence)
    // The next life of the zone, and a zone that is made meanwhile, have nothing to do with what was.
    try await store.write { transaction in
      #expect(try transaction.zone("Notes", in: diary) == zone)
      #expect(try transaction.changes(in: zone) == [] && transaction.versions(of: "r0", in: zone) == [])
      #expect(try transaction.references(to: "p", kind: .parent, in: zone, limit: 9) == [])
      var expected = full
      expected.removedBytes = 1_000
      #expect(try transaction.tally(of: diary) == expected && Self.unclaimed(transaction) == 0)
      try transaction.save(stored("r1", zone.sequence + 1), in: zone)
      #expect(try transaction.makeZone("Other").id > zone.id)
      #expect(try transaction.dropVersions(in: zone, before: Timestamp(milliseconds: .max), limit: .max) == 0)
    }
    try await store.write { try Self.fill($0, "Other", count: 3) }
    var steps = 0
    while try await store.write({ try $0.clearRemovedRecords(limit: 4, bytes: .max) }) { steps += 1 }
    #expect(steps >= 8, "no step does more than it is asked to")
    try await store.read { transaction in
      var expected = DatabaseTally()
      (expected.zones, expected.tombstones) = (2, 1)
      let tally = try transaction.tally(of: diary)
      #expect(tally.removedBytes == 0 && tally.zones == 2 && tally.tombstones == 1)
      #expect(tally.historyBytes * 30 == full.historyBytes * 3)
      #expect(try Self.unclaimed(transaction) == 30)
      #expect(try transaction.changes(in: zone).map(\.name) == ["r1"])
      let other = try #require(try transaction.zone("Other", in: diary))
      #expect(try transaction.changes(in: other).count == 3)
      #expect(try transaction.references(to: "p", kind: .parent, in: other, limit: 9) == ["r1", "r2"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func largeRecordsGoFewAtATime(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { transaction in
      var zone = try transaction.makeZone()
      let text = String(repeating: "x", count: 10_000)
      for number in 1...6 as ClosedRange<Int64> {
        try transaction.save(stored(RecordName("r\(number)"), number, fields: text), in: zone)
      }
      try transaction.removeRecords(of: &zone)
    }
    var steps = 0
    while try await store.write({ try $0.clearRemovedRecords(limit: 100, bytes: 15_000) }) { steps += 1 }
    #expect((3...4).contains(steps))
  }

  @Test(arguments: StoreKind.allCases)
  func aRemovalThatIsUndoneWasNever(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { try Self.fill($0, count: 5) }
    @Sendable func contents(_ transaction: any ReadTransaction) throws -> (StoreContents, DatabaseTally) {
      let names = (0..<5).map { RecordName("r\($0)") }
      return (try StoreContents(transaction, names: names, owners: []), try transaction.tally(of: diary))
    }
    @Sendable func remove(_ transaction: any WriteTransaction) throws {
      var zone = try #require(try transaction.zone("Notes", in: diary))
      try transaction.removeRecords(of: &zone)
      zone.noteDeletion(.deleted, at: 9)
      try transaction.put(&zone)
      _ = try transaction.clearRemovedRecords(limit: 3, bytes: .max)
      _ = try transaction.makeZone("Other")
    }
    let before = try await store.read { try contents($0) }
    await #expect(throws: Stop.self) {
      try await store.write { transaction in
        try remove(transaction)
        throw Stop()
      }
    }
    #expect(try await store.read { try contents($0) } == before)
    try await store.write { transaction in
      do {
        try transaction.attempt {
          try remove(transaction)
          throw Stop()
        }
      } catch is Stop {}
      #expect(try contents(transaction) == before)
    }
    // A clearing that is undone begins again where it was.
    try await store.write { transaction in
      var zone = try #require(try transaction.zone("Notes", in: diary))
      try transaction.removeRecords(of: &zone)
    }
    for limit in [1, 2, .max] {
      await #expect(throws: Stop.self) {
        try await store.write { transaction in
          _ = try transaction.clearRemovedRecords(limit: limit, bytes: .max)
          throw Stop()
        }
      }
    }
    while try await store.write({ try $0.clearRemovedRecords(limit: 2, bytes: .max) }) {}
    let tally = try await store.read { try $0.tally(of: diary) }
    #expect(tally.tombstones == 0 && tally.historyBytes == 0 && tally.removedBytes == 0)
    #expect(try await store.read { try Self.unclaimed($0) } == 5)
  }

  /// The call that deletes a zone writes no row of a record, and what is left to do outlives the process.
  @Test func whatIsLeftIsClearedAfterARestart() async throws {
    let folder = TemporaryFolder()
    var store = try SQLiteStore(folder: folder.path)
    try await store.writing { try Self.fill($0, count: 40) }
    try await store.writing { transaction in
      var zone = try #require(try transaction.zone("Notes", in: diary))
      try transaction.removeRecords(of: &zone)
    }
    func rows() throws -> [Int] {
      let connection = try Connection(path: folder.path + "/virga.sqlite", access: .readOnly)
      return try ["record", "version", "reference", "claim", "removed_zone"].map {
        try connection.first("SELECT count(*) FROM \($0)") { $0.int(0) } ?? -1
      }
    }
    #expect(try rows() == [40, 40, 26, 66, 1])
    try await store.writing { _ = try $0.clearRemovedRecords(limit: 7, bytes: .max) }
    #expect(try rows()[0] == 33)
    store.close()
    store = try SQLiteStore(folder: folder.path)
    #expect(try await store.reading { try $0.tally(of: diary).removedBytes } == 1_000)
    let service = Service()
    let steps = try await store.reading { try service.compactionSteps(in: $0, now: Timestamp(milliseconds: 100)) }
    for step in steps {
      while try await store.writing({ try service.perform(step, in: $0, now: Timestamp(milliseconds: 100)) }) {}
    }
    #expect(try rows() == [0, 0, 0, 0, 0])
    #expect(try await store.reading { try $0.tally(of: diary) }.removedBytes == 0)
    store.close()
  }
}

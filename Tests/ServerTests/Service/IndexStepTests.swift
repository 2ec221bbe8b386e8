import TestSupport
import Testing
import VirgaModel
import VirgaServerSQLite
import VirgaWire

@testable import VirgaServer

/// Indexes are made in steps, so that nobody waits long for the writer, and their number is bounded.
@Suite struct IndexStepTests {
  private static let byTitle = IndexDefinition("Entry", .values, [.init("title")])
  private static let byWord = IndexDefinition("Entry", .words, [.init("title")])

  private static func note(_ name: RecordName, _ sequence: Int64, _ title: String) -> StoredRecord {
    stored(name, sequence, fields: #"{"title":{"value":"\#(title)","type":"STRING"}}"#)
  }

  @Test(arguments: StoreKind.allCases)
  func aStepLooksAtNoMoreThanItsPortion(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { transaction in
      let zone = try transaction.makeZone()
      for number in 1...10 as ClosedRange<Int64> {
        try transaction.save(Self.note(RecordName("r\(100 + number)"), number, "a b c \(number)"), in: zone)
      }
      func steps(_ definition: IndexDefinition, _ portion: IndexPortion) throws -> [Int] {
        var index = try transaction.beginIndex(definition, of: zone, for: "ann")
        var counts: [Int] = []
        while !index.isReady, counts.count < 20 {
          let step = try transaction.fillIndex(index, of: zone, portion: portion)
          #expect(try transaction.indexes(of: zone).last == step.index)
          index = step.index
          counts.append(step.records)
        }
        #expect(index.maker == "ann")
        try transaction.removeIndex(index, of: zone)
        return counts
      }
      for count in [9, 10, 11] {
        let found = try steps(Self.byTitle, IndexPortion(records: count, entries: .max, bytes: .max))
        #expect(found.reduce(0, +) == 10 && found.max() == min(count, 10), "\(count): \(found)")
      }
      #expect(try steps(Self.byWord, IndexPortion(records: .max, entries: 8, bytes: .max)).max() == 2)
      #expect(try steps(Self.byWord, IndexPortion(records: .max, entries: 1, bytes: .max)).max() == 1)
      #expect(try steps(Self.byTitle, IndexPortion(records: .max, entries: .max, bytes: 1)).max() == 1)
    }
  }

  /// Whatever is saved and deleted between the steps, the index is as if it had been made at once.
  @Test(arguments: StoreKind.allCases, [1, 2, 3, 4] as [UInt64])
  func savesBetweenTheStepsLoseNothing(kind: StoreKind, seed: UInt64) async throws {
    let store = try kind.open()
    let zone = try await store.write { try $0.makeZone() }
    var random = SplitMix64(seed: seed)
    var sequence: Int64 = 0
    func change(_ count: Int) async throws {
      for _ in 0..<count {
        sequence += 1
        let name = RecordName("r\(Int.random(in: 0..<60, using: &random))")
        let title = (0..<3).map { _ in "w\(Int.random(in: 0..<9, using: &random))" }.joined(separator: " ")
        let isDeleted = Int.random(in: 0..<4, using: &random) == 0
        let record = isDeleted ? tombstone(name, sequence) : Self.note(name, sequence, title)
        try await store.write { try $0.save(record, in: zone) }
      }
    }
    try await change(80)
    var indexes = try await store.write { transaction in
      try [Self.byTitle, Self.byWord].map { try transaction.beginIndex($0, of: zone, for: "") }
    }
    while !indexes.allSatisfy(\.isReady) {
      let now = indexes
      indexes = try await store.write { transaction in
        try now.map {
          $0.isReady
            ? $0
            : try transaction.fillIndex($0, of: zone, portion: IndexPortion(records: 3, entries: 99, bytes: 9_999))
              .index
        }
      }
      try await change(7)
    }
    let made = indexes
    try await store.write { transaction in
      for index in made {
        let entries = try transaction.entries(of: index, in: zone)
        try transaction.removeIndex(index, of: zone)
        let fresh = try transaction.makeIndex(index.definition, of: zone)
        #expect(try transaction.entries(of: fresh, in: zone) == entries, "seed \(seed)")
        #expect(!entries.isEmpty)
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func anUndoneStepIsDoneAgain(kind: StoreKind) async throws {
    struct Stop: Error {}
    let store = try kind.open()
    let (zone, index) = try await store.write { transaction in
      let zone = try transaction.makeZone()
      for number in 1...6 as ClosedRange<Int64> {
        try transaction.save(Self.note(RecordName("r\(number)"), number, "x"), in: zone)
      }
      return (zone, try transaction.beginIndex(Self.byTitle, of: zone, for: ""))
    }
    let portion = IndexPortion(records: 4, entries: 9, bytes: 9_999)
    await #expect(throws: Stop.self) {
      try await store.write { transaction in
        _ = try transaction.fillIndex(index, of: zone, portion: portion)
        try transaction.save(Self.note("r2", 7, "y"), in: zone)
        throw Stop()
      }
    }
    try await store.write { transaction in
      #expect(try transaction.indexes(of: zone) == [index])
      #expect(try transaction.fillIndex(index, of: zone, portion: portion).records == 4)
      let filled = try transaction.fillIndex(index, of: zone, portion: portion)
      #expect(filled.records == 2 && filled.index.isReady)
      #expect(try transaction.entries(of: filled.index, in: zone).count == 6)
    }
  }

  /// What was taken away goes in pieces, and never with an index that is there.
  @Test func entriesOfRemovedIndexesGoInPieces() async throws {
    let store = try StoreKind.sqlite.open()
    try await store.write { transaction in
      let zone = try transaction.makeZone()
      for number in 1...10 as ClosedRange<Int64> {
        try transaction.save(Self.note(RecordName("r\(number)"), number, "x"), in: zone)
      }
      let kept = try transaction.makeIndex(Self.byTitle, of: zone)
      let removed = try transaction.makeIndex(Self.byWord, of: zone)
      #expect(try !transaction.clearRemovedIndexes(limit: 4))
      try transaction.removeIndex(removed, of: zone)
      #expect(try transaction.indexes(of: zone) == [kept])
      for left in [6, 2, 0] {
        #expect(try transaction.clearRemovedIndexes(limit: 4))
        #expect(try transaction.entries(of: removed, in: zone).count == left)
      }
      #expect(try !transaction.clearRemovedIndexes(limit: 4))
      #expect(try transaction.entries(of: kept, in: zone).count == 10)
      let again = try transaction.makeIndex(Self.byWord, of: zone)
      #expect(try transaction.entries(of: again, in: zone).count == 10)
    }
  }

  /// Indexes that were never filled go many at a time.
  @Test func removedIndexesWithoutEntriesGoTogether() async throws {
    let store = try StoreKind.sqlite.open()
    try await store.write { transaction in
      let zone = try transaction.makeZone()
      try transaction.save(Self.note("r", 1, "x"), in: zone)
      for _ in 0..<50 {
        try transaction.removeIndex(try transaction.beginIndex(Self.byTitle, of: zone, for: ""), of: zone)
      }
      #expect(try transaction.clearRemovedIndexes(limit: 49))
      #expect(try transaction.clearRemovedIndexes(limit: 49), "one was left")
      #expect(try !transaction.clearRemovedIndexes(limit: 49))
    }
  }

  // MARK: How many there may be

  private static let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")

  private static func definition(_ number: Int) -> IndexDefinition {
    IndexDefinition("Entry", .values, [.init(.field(FieldName("f\(number)")))])
  }

  /// Makes indexes one after another as queries of these users ask for them; whose are there at the end, by maker.
  private func makers(of users: [UserName], in owner: UserName?) async throws -> [String: Int] {
    let store = try StoreKind.memory.open()
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: owner)
    return try await store.write { transaction in
      let zone = try transaction.makeZone("Notes", in: key)
      for (number, user) in users.enumerated() {
        let need = WriteNeeded(
          zone: ZoneAddress("Notes", in: key), definition: Self.definition(number), besides: nil)
        while try !Service().advance(need, for: user, in: transaction).isReady {}
        #expect(try transaction.indexes(of: zone).last?.definition == need.definition)
      }
      return try transaction.indexes(of: zone).reduce(into: [:]) { $0[$1.maker, default: 0] += 1 }
    }
  }

  @Test(arguments: [15, 16, 17, 40])
  func aVisitorHasSoManyIndexesOfAZone(count: Int) async throws {
    let users = Array(repeating: "_mallory" as UserName, count: count)
    let found = try await makers(of: ["_bob"] + users, in: nil)
    #expect(found == ["_bob": 1, "_mallory": min(count, Limits.indexesPerVisitorMax)])
  }

  @Test(arguments: [63, 64, 65])
  func anOwnerHasAsManyAsTheZone(count: Int) async throws {
    let found = try await makers(of: Array(repeating: "_alice", count: count), in: "_alice")
    #expect(found == ["_alice": min(count, Limits.indexesPerZoneMax)])
  }

  /// Many visitors together take nothing from one who has few.
  @Test func aFullZoneLosesAnIndexOfWhoeverHasTheMost() async throws {
    let crowd = (0..<5).flatMap { Array(repeating: UserName("_m\($0)"), count: Limits.indexesPerVisitorMax) }
    let found = try await makers(of: ["_bob", "_bob"] + crowd, in: nil)
    #expect(found["_bob"] == 2 && found.values.reduce(0, +) == Limits.indexesPerZoneMax)
  }

  /// What other queries wait for does not go, so they never take turns in taking each other's index away.
  @Test(
    arguments: [("_mallory", Limits.indexesPerVisitorMax), ("_alice", Limits.indexesPerZoneMax)] as [(UserName, Int)])
  func anIndexThatAQueryWaitsForStays(user: UserName, most: Int) async throws {
    let store = try StoreKind.memory.open()
    try await store.write { transaction in
      let zone = try transaction.makeZone("Notes", in: Self.key)
      func advance(_ number: Int, sparing spared: Range<Int>) throws -> IndexStep {
        let need = WriteNeeded(
          zone: ZoneAddress("Notes", in: Self.key), definition: Self.definition(number), besides: nil)
        return try Service().advance(need, for: user, sparing: Set(spared.map(Self.definition)), in: transaction)
      }
      for number in 0..<most { #expect(try advance(number, sparing: 0..<0).hasBegun) }
      #expect { try advance(most, sparing: 0..<most) } throws: { ($0 as? ServiceError)?.code == .tryAgainLater }
      let step = try advance(most, sparing: 1..<most)
      #expect(step.hasBegun && step.records == Limits.recordsPerIndexStepMax)
      #expect(try transaction.indexes(of: zone).map(\.definition) == (1...most).map(Self.definition))
    }
  }

  @Test func aQueryOfAZoneThatIsGoneNeedsNoIndex() async throws {
    let store = try StoreKind.memory.open()
    let need = WriteNeeded(zone: ZoneAddress("None", in: Self.key), definition: Self.definition(1), besides: nil)
    #expect(try await store.write { try Service().advance(need, for: "_alice", in: $0).isReady })
  }

  // MARK: How much is done

  @Test func workIsBoundedByWhatIsOwed() {
    var budget = WorkBudget(perSecond: 10, atOnce: 100)
    let start = Timestamp(milliseconds: 1_700_000_000_000)
    budget.charge(99, to: "ann", now: start)
    #expect(budget.wait(for: "ann", now: start) == nil)
    budget.charge(1, to: "ann", now: start)
    #expect(budget.wait(for: "ann", now: start) != nil && budget.wait(for: "bob", now: start) == nil)
    #expect(budget.wait(for: "ann", now: start + .milliseconds(100)) == nil)
    budget.charge(51, to: "ann", now: start + .milliseconds(100))
    #expect(budget.wait(for: "ann", now: start + .milliseconds(5_000)) != nil)
    #expect(budget.wait(for: "ann", now: start + .milliseconds(5_200)) == nil)
    budget.charge(.max / 10_000_000, to: "ann", now: start)
    #expect(budget.wait(for: "ann", now: start + .seconds(11)) == nil, "nobody owes for ever")
  }
}

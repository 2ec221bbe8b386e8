import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// What every store promises of indexes.
struct StoreIndexContractTests {
  private static func note(_ name: RecordName, _ sequence: Int64, _ title: String) -> StoredRecord {
    stored(name, sequence, fields: #"{"title":{"value":"\#(title)","type":"STRING"}}"#)
  }

  private static let byTitle = IndexDefinition("Entry", .values, [.init("title")])

  @Test(arguments: StoreKind.allCases)
  func anIndexHasWhatWasThereAndWhatComes(kind: StoreKind) async throws {
    let store = try kind.open()
    let (zone, index) = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      try transaction.save(Self.note("b", 1, "Wind"), in: zone)
      try transaction.save(Self.note("a", 2, "Rain"), in: zone)
      try transaction.save(tombstone("c", 3), in: zone)
      #expect(try transaction.indexes(of: zone) == [])
      let index = try transaction.makeIndex(Self.byTitle, of: zone)
      #expect(try transaction.entries(of: index, in: zone).map(\.name) == ["a", "b"])
      return (zone, index)
    }
    try await store.write { (transaction) throws in
      try transaction.save(Self.note("d", 4, "Snow"), in: zone)
      try transaction.save(Self.note("a", 5, "Zephyr"), in: zone)
      try transaction.save(stored("e", 6), in: zone)
      #expect(try transaction.entries(of: index, in: zone).map(\.name) == ["e", "d", "b", "a"])
      try transaction.save(tombstone("b", 7), in: zone)
    }
    try await store.read { (transaction) throws in
      #expect(try transaction.indexes(of: zone) == [index])
      #expect(try transaction.entries(of: index, in: zone).map(\.name) == ["e", "d", "a"])
      #expect(try transaction.entries(of: index, in: zone, limit: 2).map(\.name) == ["e", "d"])
    }
  }

  /// A list has an entry for each member. If each of the old were looked for among the new, this took minutes.
  @Test(arguments: StoreKind.allCases)
  func aListOfManyMembersIsReplacedAtOnce(kind: StoreKind) async throws {
    func list(_ sequence: Int64, _ members: Range<Int>) -> StoredRecord {
      let text = members.map(String.init).joined(separator: ",")
      return stored("a", sequence, fields: #"{"n":{"value":[\#(text)],"type":"INT64_LIST"}}"#)
    }
    let store = try kind.open()
    let (first, second) = (list(1, 0..<20_000), list(2, 19_990..<40_000))
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      let index = try transaction.makeIndex(IndexDefinition("Entry", .values, [.init("n")]), of: zone)
      try transaction.save(stored("b", 3, fields: #"{"n":{"value":[7],"type":"INT64_LIST"}}"#), in: zone)
      try transaction.save(first, in: zone)
      #expect(try transaction.entries(of: index, in: zone).count == 20_001)
      try transaction.save(second, in: zone)
      let entries = try transaction.entries(of: index, in: zone)
      #expect(entries.count == 20_011 && entries.first?.name == "b" && entries == entries.sorted())
    }
  }

  @Test(arguments: StoreKind.allCases)
  func rangesAreReadFromAnyPlace(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      for (offset, name) in ["a", "b", "c", "d"].enumerated() {
        try transaction.save(Self.note(RecordName(name), Int64(offset + 1), name < "c" ? "x" : "y"), in: zone)
      }
      let index = try transaction.makeIndex(Self.byTitle, of: zone)
      let all = try transaction.entries(of: index, in: zone)
      #expect(all.map(\.name) == ["a", "b", "c", "d"])
      let (x, y) = (all[0].key, all[2].key)
      #expect(try transaction.entries(of: index, in: zone, from: y).map(\.name) == ["c", "d"])
      #expect(try transaction.entries(of: index, in: zone, to: y).map(\.name) == ["a", "b"])
      #expect(try transaction.entries(of: index, in: zone, after: all[0]).map(\.name) == ["b", "c", "d"])
      #expect(try transaction.entries(of: index, in: zone, from: y, after: all[2]).map(\.name) == ["d"])
      let between = IndexEntry(key: x, name: "bb")
      #expect(try transaction.entries(of: index, in: zone, after: between).map(\.name) == ["c", "d"])
      #expect(try transaction.countEntries(of: index, of: zone, in: .init(lower: x, upper: y), limit: 9) == 2)
      #expect(try transaction.countEntries(of: index, of: zone, in: .init(lower: [], upper: [0xff]), limit: 3) == 3)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func anUndoneWriteLeavesIndexesAsTheyWere(kind: StoreKind) async throws {
    let store = try kind.open()
    let (zone, index) = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      try transaction.save(Self.note("a", 1, "Rain"), in: zone)
      return (zone, try transaction.makeIndex(Self.byTitle, of: zone))
    }
    let before = try await store.read { try $0.entries(of: index, in: zone) }
    await #expect(throws: StoreContractTests.Stop.self) {
      try await store.write { (transaction) throws in
        try transaction.save(Self.note("a", 2, "Wind"), in: zone)
        try transaction.save(Self.note("b", 3, "Snow"), in: zone)
        _ = try transaction.makeIndex(IndexDefinition("Entry", .words, [.init("title")]), of: zone)
        try transaction.removeIndex(index, of: zone)
        throw StoreContractTests.Stop()
      }
    }
    try await store.write { (transaction) throws in
      #expect(try transaction.indexes(of: zone) == [index])
      #expect(try transaction.entries(of: index, in: zone) == before)
      try transaction.removeIndex(index, of: zone)
      #expect(try transaction.indexes(of: zone) == [])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func indexesGoWithTheRecordsOfTheirZone(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      var zone = try transaction.makeZone("Notes")
      let other = try transaction.makeZone("Photos")
      try transaction.save(Self.note("a", 1, "Rain"), in: zone)
      try transaction.save(Self.note("a", 1, "Rain"), in: other)
      _ = try transaction.makeIndex(Self.byTitle, of: zone)
      let kept = try transaction.makeIndex(Self.byTitle, of: other)
      try transaction.removeRecords(of: &zone)
      #expect(try transaction.indexes(of: zone) == [])
      #expect(try transaction.entries(of: kept, in: other).map(\.name) == ["a"])
      let again = try transaction.makeIndex(Self.byTitle, of: zone)
      #expect(try transaction.entries(of: again, in: zone) == [])
    }
  }

  @Test func indexesStayWhenTheStoreIsOpenedAgain() async throws {
    let folder = TemporaryFolder()
    let store = try SQLiteStore(folder: folder.path)
    let (zone, index) = try await store.writing { (transaction) throws in
      let zone = try transaction.makeZone()
      return (zone, try transaction.makeIndex(Self.byTitle, of: zone))
    }
    store.close()
    let again = try SQLiteStore(folder: folder.path)
    try await again.writing { try $0.save(Self.note("a", 1, "Rain"), in: zone) }
    #expect(try await again.reading { try $0.entries(of: index, in: zone).map(\.name) } == ["a"])
    again.close()
  }

  @Test func definitionsAreReadAsTheyWereWritten() {
    for definition in [
      IndexDefinition("Entry", .values, []),
      IndexDefinition("Entry", .values, [.init("title"), .init("___modTime", descending: true)]),
      IndexDefinition("Entry", .words, [.init("body")]), IndexDefinition("Entry", .places, [.init("where")]),
    ] {
      #expect(IndexDefinition("Entry", text: definition.text) == definition)
    }
    #expect(IndexDefinition("Entry", text: "0 values +title") == nil)
  }
}

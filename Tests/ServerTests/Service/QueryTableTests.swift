import Testing
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// Every comparator with every type that it takes, by the evaluator, by a scan and by indexes on both stores.
struct QueryTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var filter: QueryFilter
    var names: String
    init(
      _ field: QueryField, _ comparator: QueryComparator, _ value: FieldValue, _ names: String, distance: Double? = nil
    ) {
      filter = QueryFilter(field, comparator, value, distance: distance)
      self.names = names
    }
    var testDescription: String { "\(filter.field.storedName) \(filter.comparator.rawValue) \(filter.value)" }
  }

  private static func place(_ latitude: Double, _ longitude: Double) -> FieldValue {
    .location(Location(latitude: latitude, longitude: longitude))
  }

  private static func target(_ name: RecordName, zone: ZoneID? = nil) -> FieldValue {
    .reference(Reference(recordName: name, zone: zone))
  }

  private static func time(_ milliseconds: Int64) -> FieldValue { .timestamp(Timestamp(milliseconds: milliseconds)) }

  private static let home = ZoneID("Diary", owner: "_alice")

  /// Record `n` has none of the fields.
  static let records: [(RecordName, Fields)] = [
    (
      "a",
      [
        "text": .string("Café Ünal"), "count": .int64(.min), "score": .double(-1.5), "when": time(-5),
        "data": .bytes([0, 1]), "link": target("x"), "spot": place(40.7128, -74.0060),
        "words": .stringList(["rain", "Café au lait"]), "counts": .int64List([1, 2]), "scores": .doubleList([0.5]),
        "whens": .timestampList([Timestamp(milliseconds: 7)]), "links": .referenceList([Reference(recordName: "x")]),
        "datas": .bytesList([[1], [2]]),
      ]
    ),
    (
      "b",
      [
        "text": .string("Cafe\u{301} du Nord"), "count": .int64(9_007_199_254_740_993), "score": .double(0),
        "when": time(1_700_000_000_123), "data": .bytes([0]), "link": target("x", zone: home),
        "spot": place(40.7138, -74.0070), "words": .stringList([]), "counts": .int64List([]),
        "scores": .doubleList([0.5, 2]), "whens": .timestampList([]), "links": .referenceList([]),
        "datas": .bytesList([]),
      ]
    ),
    (
      "c",
      [
        "text": .string("ΟΔΟΣ"), "count": .int64(9_007_199_254_740_992), "score": .double(1e300), "when": time(0),
        "data": .bytes([1]), "link": target("y"), "spot": place(-17.5, 179.9999),
        "words": .stringList(["rainbow", "snow"]), "counts": .int64List([2, 3]), "scores": .doubleList([-0.0]),
        "whens": .timestampList([Timestamp(milliseconds: 7), Timestamp(milliseconds: 8)]),
        "links": .referenceList([Reference(recordName: "y"), Reference(recordName: "x", zone: home)]),
        "datas": .bytesList([[2]]),
      ]
    ),
    (
      "d",
      [
        "text": .string(""), "count": .int64(.max), "score": .double(-0.0), "when": time(1), "data": .bytes([]),
        "link": target("z"), "spot": place(-17.5, -179.9999),
        "words": .stringList(["Rain"]), "counts": .int64List([4]), "scores": .doubleList([]),
        "whens": .timestampList([Timestamp(milliseconds: -7)]), "links": .referenceList([]), "datas": .bytesList([[]]),
      ]
    ),
    ("n", ["other": .int64(1)]),
  ]

  static let rows: [Row] = [
    // Equality is exact: case, accents and Unicode form count.
    Row("text", .equals, .string("Café Ünal"), "a"), Row("text", .equals, .string("Cafe\u{301} Ünal"), ""),
    Row("text", .equals, .string("café ünal"), ""), Row("text", .equals, .string(""), "d"),
    Row("text", .notEquals, .string("ΟΔΟΣ"), "abd"), Row("count", .equals, .int64(9_007_199_254_740_993), "b"),
    Row("count", .equals, .int64(.max), "d"), Row("count", .equals, .int64(.min), "a"),
    Row("count", .notEquals, .int64(.max), "abc"), Row("score", .equals, .double(0), "bd"),
    Row("score", .notEquals, .double(0), "ac"), Row("when", .equals, time(1_700_000_000_123), "b"),
    Row("when", .notEquals, time(0), "abd"), Row("link", .equals, target("x"), "ab"),
    Row("link", .equals, target("x", zone: home), "ab"), Row("link", .notEquals, target("x"), "cd"),
    Row("spot", .equals, place(-17.5, 179.9999), "c"), Row("spot", .notEquals, place(-17.5, 179.9999), "abd"),
    Row("data", .equals, .bytes([0]), "b"), Row("data", .notEquals, .bytes([0]), "acd"),
    // Order is that of the values, for text that of the bytes.
    Row("text", .lessThan, .string("Café"), "bd"), Row("text", .lessThanOrEquals, .string("Café Ünal"), "abd"),
    Row("text", .greaterThan, .string("Café Ünal"), "c"), Row("text", .greaterThanOrEquals, .string("Café"), "ac"),
    Row("count", .lessThan, .int64(9_007_199_254_740_993), "ac"), Row("count", .lessThanOrEquals, .int64(.max), "abcd"),
    Row("count", .greaterThan, .int64(9_007_199_254_740_992), "bd"),
    Row("count", .greaterThanOrEquals, .int64(.min), "abcd"), Row("count", .lessThan, .int64(.min), ""),
    Row("score", .lessThan, .double(0), "a"), Row("score", .lessThanOrEquals, .double(-0.0), "abd"),
    Row("score", .greaterThan, .double(-0.0), "c"), Row("score", .greaterThanOrEquals, .double(0), "bcd"),
    Row("when", .lessThan, time(0), "a"), Row("when", .lessThanOrEquals, time(0), "ac"),
    Row("when", .greaterThan, time(0), "bd"), Row("when", .greaterThanOrEquals, time(1), "bd"),
    // Membership.
    Row("text", .isIn, .stringList(["", "ΟΔΟΣ", "x"]), "cd"), Row("text", .notIn, .stringList(["", "ΟΔΟΣ"]), "ab"),
    Row("text", .isIn, .emptyList, ""), Row("text", .notIn, .emptyList, "abcd"),
    Row("count", .isIn, .int64List([.max, .min]), "ad"), Row("count", .notIn, .int64List([.max]), "abc"),
    Row("score", .isIn, .doubleList([0, 1e300]), "bcd"),
    Row("when", .isIn, .timestampList([Timestamp(milliseconds: 1)]), "d"),
    Row("link", .isIn, .referenceList([Reference(recordName: "x"), Reference(recordName: "y")]), "abc"),
    Row("link", .notIn, .referenceList([Reference(recordName: "x")]), "cd"),
    Row("data", .isIn, .bytesList([[], [0]]), "bd"),
    Row("spot", .isIn, .locationList([Location(latitude: -17.5, longitude: 179.9999)]), "c"),
    // Beginnings.
    Row("text", .beginsWith, .string("Caf"), "ab"), Row("text", .beginsWith, .string("Café"), "a"),
    Row("text", .beginsWith, .string(""), "abcd"), Row("text", .notBeginsWith, .string("Caf"), "cd"),
    // Distance, over the antimeridian too.
    Row("spot", .near, place(40.7128, -74.0060), "a", distance: 100),
    Row("spot", .near, place(40.7128, -74.0060), "ab", distance: 200),
    Row("spot", .near, place(-17.5, 180), "cd", distance: 50), Row("spot", .near, place(90, 0), "abcd", distance: 2e7),
    Row("spot", .near, place(-17.5, 179.9999), "c", distance: 0),
    // C82: words without case and accents.
    Row("text", .containsAllTokens, .string("cafe"), "ab"), Row("text", .containsAllTokens, .string("UNAL CAFE"), "a"),
    Row("text", .containsAllTokens, .string("οδος"), "c"), Row("text", .containsAllTokens, .string("Οδός"), "c"),
    Row("text", .containsAllTokens, .string("caf"), ""), Row("text", .containsAllTokens, .string("…"), ""),
    Row("text", .containsAnyTokens, .string("nord ünal"), "ab"),
    Row("text", .containsAnyTokens, .stringList(["οδοσ", "nord"]), "bc"),
    Row("words", .containsAllTokens, .string("LAIT rain"), "a"),
    Row("words", .containsAnyTokens, .string("rain"), "ad"),
    Row(.anySearchable, .containsAllTokens, .string("rain unal"), "a"),
    Row(.anySearchable, .containsAnyTokens, .string("rain nord"), "abd"),
    // Lists.
    Row("words", .listContains, .string("rain"), "a"), Row("words", .notListContains, .string("rain"), "bcd"),
    Row("counts", .listContains, .int64(2), "ac"), Row("counts", .notListContains, .int64(2), "bd"),
    Row("scores", .listContains, .double(0), "c"), Row("whens", .listContains, time(7), "ac"),
    Row("links", .listContains, target("x"), "ac"), Row("datas", .listContains, .bytes([2]), "ac"),
    Row("words", .listContainsAny, .stringList(["snow", "Rain"]), "cd"),
    Row("words", .notListContainsAny, .stringList(["snow", "Rain"]), "ab"),
    Row("counts", .listContainsAny, .int64List([2, 4]), "acd"), Row("counts", .listContainsAny, .emptyList, ""),
    Row("counts", .listContainsAll, .int64List([2, 3]), "c"), Row("counts", .listContainsAll, .emptyList, "abcd"),
    Row("counts", .notListContainsAll, .int64List([2, 3]), "abd"),
    Row("words", .listMemberBeginsWith, .string("rain"), "ac"),
    Row("words", .notListMemberBeginsWith, .string("rain"), "bd"),
    // System fields.
    Row("___recordID", .equals, target("b"), "b"), Row("___recordID", .notEquals, target("b"), "acdn"),
    Row("___recordID", .isIn, .referenceList([Reference(recordName: "n"), Reference(recordName: "a")]), "an"),
    Row("___createdBy", .equals, target("_alice"), "abcdn"), Row("___modifiedBy", .notEquals, target("_alice"), ""),
    Row("___createTime", .lessThanOrEquals, time(1_700_000_000_000), "abcdn"),
    Row("___modTime", .greaterThan, time(1_700_000_000_000), ""),
  ]

  private static func world(_ kind: StoreKind, scans: Bool) async throws -> QueryWorld {
    let world = try await QueryWorld(kind, scans: scans)
    let results = try await world.save(records.map { .create($0.0, $0.1) })
    for result in results { #expect(result.failure == nil) }
    try await world.markSystemFields(of: "Entry")
    try await world.mark(
      "Entry",
      [
        .init("data", .value(.bytes), [.queryable, .sortable]),
        .init("datas", .value(.bytes, isList: true), .queryable),
      ])
    return world
  }

  @Test func theEvaluatorFindsWhatTheTableSays() {
    for row in Self.rows {
      let found = Self.records.filter { name, fields in
        let stamp = RecordStamp(time: Timestamp(milliseconds: 1_700_000_000_000), user: "_alice", device: "iCloud")
        let subject = QuerySubject(
          id: RecordID(name, in: Self.home), fields: fields, created: stamp, modified: stamp)
        return row.filter.matches(subject)
      }
      #expect(found.map(\.0.rawValue).joined() == row.names, "\(row.testDescription)")
    }
  }

  /// C75, C82, C89: the service finds the same, by scan and by index.
  @Test(arguments: StoreKind.allCases, [true, false])
  func theServiceFindsWhatTheTableSays(kind: StoreKind, scans: Bool) async throws {
    let world = try await Self.world(kind, scans: scans)
    for row in Self.rows {
      let found = try await world.names(Query("Entry", filters: [row.filter]))
      #expect(found.joined() == row.names, "\(row.testDescription)")
    }
  }

  @Test func everyComparatorIsInTheTable() {
    #expect(Set(Self.rows.map(\.filter.comparator)) == Set(QueryComparator.allCases))
  }

  @Test(arguments: StoreKind.allCases, [true, false])
  func sortsOrderByValueThenNameWithMissingValuesFirst(kind: StoreKind, scans: Bool) async throws {
    let world = try await Self.world(kind, scans: scans)
    let table: [([QuerySort], String)] = [
      ([QuerySort("text")], "ndbac"), ([QuerySort("text", ascending: false)], "cabdn"),
      ([QuerySort("count")], "nacbd"), ([QuerySort("score")], "nabdc"),
      ([QuerySort("score", ascending: false)], "cbdan"),
      ([QuerySort("score"), QuerySort("when", ascending: false)], "nabdc"),
      ([QuerySort("score"), QuerySort("count", ascending: false)], "nadbc"), ([QuerySort("when")], "nacdb"),
      ([QuerySort("data")], "ndbac"), ([QuerySort("___createTime", ascending: false)], "abcdn"), ([], "abcdn"),
      ([QuerySort("spot", origin: Location(latitude: 40.7138, longitude: -74.007))], "nbadc"),
      ([QuerySort("spot", ascending: false, origin: Location(latitude: 40.7138, longitude: -74.007))], "cdabn"),
    ]
    for (sorts, names) in table {
      let query = Query("Entry", sorts: sorts)
      #expect(try await world.names(query).joined() == names, "\(sorts)")
      let pages = try await world.all(query, limit: 1)
      #expect(pages.map(\.id.name.rawValue).joined() == names, "one by one: \(sorts)")
    }
  }
}

import Testing
import VirgaModel
import VirgaSchema
import VirgaWire

@testable import VirgaServer

/// What a query may ask, and what it is told otherwise.
struct QueryRuleTests {
  private static func world(_ fields: Fields = ["title": .string("Rain")]) async throws -> QueryWorld {
    let world = try await QueryWorld(.memory)
    try await world.save([.create("r", fields)])
    return world
  }

  private static func one(_ field: QueryField, _ comparator: QueryComparator, _ value: FieldValue) -> Query {
    Query("Entry", filters: [QueryFilter(field, comparator, value)])
  }

  private static let title = QueryFilter("title", .equals, .string("Rain"))

  @Test func aTypeThatNobodySavedIsNotFound() async throws {
    let failure = try await Self.world().failure(Query("Nothing", filters: [Self.title]))
    #expect(failure == ServiceError(.notFound, "Did not find record type: Nothing"))
  }

  /// C125: a query finds the one spelling that it names, by comparison and in the order of the bytes.
  @Test func namesAreFoundByTheirBytes() async throws {
    let world = try await QueryWorld(.memory)
    let names = ["K", "cafe\u{301}", "caf\u{e9}", "\u{212A}"]
    try await world.save(names.map { .create(RecordName($0), ["title": .string("x")]) })
    try await world.markSystemFields(of: "Entry")
    func found(_ query: Query) async throws -> [[UInt8]] { try await world.names(query).map { Array($0.utf8) } }
    for name in names {
      let one = Self.one("___recordID", .equals, .reference(Reference(recordName: RecordName(name))))
      #expect(try await found(one) == [Array(name.utf8)])
      let others = Self.one("___recordID", .notEquals, .reference(Reference(recordName: RecordName(name))))
      #expect(try await found(others).count == 3)
    }
    let all = Query("Entry", filters: [QueryFilter("title", .equals, .string("x"))])
    #expect(try await found(all) == names.map { Array($0.utf8) })
  }

  @Test func usersAreNotQueried() async throws {
    let failure = try await Self.world().failure(Query(.users), zone: nil, scope: .public)
    #expect(failure?.code == .badRequest)
    #expect(failure?.reason.hasPrefix("Can't query system types") == true)
  }

  /// C78: the error names type, field, index and the line that cures it; the line then does.
  @Test func aMissingIndexIsNamedWithItsCure() async throws {
    let world = try await Self.world()
    let all = Query("Entry")
    #expect(
      try await world.failure(all)
        == .badRequest(
          "Field 'recordName' is not marked queryable: record type 'Entry' needs the index QUERYABLE there, "
            + #"by the schema line: "___recordID" REFERENCE QUERYABLE"#))
    let byTime = Query("Entry", filters: [Self.title], sorts: [QuerySort("___createTime")])
    #expect(
      try await world.failure(byTime)
        == .badRequest(
          "Field '_createdTime' is not marked sortable: record type 'Entry' needs the index SORTABLE there, "
            + #"by the schema line: "___createTime" TIMESTAMP SORTABLE"#))
    let cure = try Schema(
      #"DEFINE SCHEMA RECORD TYPE Entry ("___recordID" REFERENCE QUERYABLE, "___createTime" TIMESTAMP SORTABLE);"#)
    try await world.mark("Entry", cure.recordTypes[0].fields)
    #expect(try await world.names(all) == ["r"])
    #expect(try await world.names(byTime) == ["r"])
  }

  /// C78: what a schema does not mark is refused in production as in development.
  @Test(arguments: Environment.allCases)
  func eachIndexServesItsComparators(environment: Environment) async throws {
    let world = try await Self.world()
    let columns: [(FieldName, SchemaIndexes)] = [
      ("none", []), ("equal", .queryable), ("order", .sortable), ("words", .searchable),
    ]
    try await world.mark("Page", columns.map { SchemaField($0.0, .value(.string), $0.1) })
    if environment == .production {
      try await world.under.write { _ = try world.service.deploySchema(of: "iCloud.test", in: $0) }
      _ = try await world.call(
        .zonesModify(ZonesModifyRequest(operations: [.init(.create, QueryWorld.zone)])), environment: .production)
    }
    func reason(_ field: FieldName, _ comparator: QueryComparator) async throws -> String? {
      let query = Query("Page", filters: [QueryFilter(.field(field), comparator, .string("x"))])
      return try await world.failure(query, environment: environment)?.reason
    }
    for (field, indexes) in columns {
      let queryable = "Field '\(field)' is not marked queryable"
      let equality = try await reason(field, .equals)
      #expect((equality == nil) == indexes.contains(.queryable))
      #expect(equality?.hasPrefix(queryable) ?? true)
      #expect((try await reason(field, .beginsWith) == nil) == indexes.contains(.queryable))
      #expect((try await reason(field, .lessThan) == nil) == !indexes.isDisjoint(with: [.queryable, .sortable]))
      let words = try await reason(field, .containsAllTokens)
      #expect((words == nil) == indexes.contains(.searchable))
      #expect(words?.hasPrefix("Field '\(field)' is not marked searchable") ?? true)
    }
    let sorted = Query(
      "Page", filters: [QueryFilter("equal", .equals, .string("x"))], sorts: [QuerySort("equal")])
    #expect(
      try await world.failure(sorted, environment: environment)?.reason
        == "Field 'equal' is not marked sortable: record type 'Page' needs the index SORTABLE there, "
        + "by the schema line: equal STRING QUERYABLE SORTABLE")
  }

  @Test func unknownFieldsAndKeyPathsAreNamed() async throws {
    let world = try await Self.world()
    #expect(
      try await world.failure(Self.one("nothing", .equals, .int64(1)))
        == .badRequest("Unknown field 'nothing' of record type 'Entry'"))
    // C86
    let path = try await world.failure(Self.one("author.name", .equals, .string("x")))
    #expect(path?.reason.hasPrefix("Unknown field 'author.name': a key path") == true)
  }

  /// C86: a parent is not queried; a reference field of one's own is.
  @Test func parentsAreNotQueriedButReferencesAre() async throws {
    let target = Reference(recordName: "c")
    let world = try await Self.world(["chat": .reference(target)])
    for field in [QueryField.system(.parent), .system(.share), "parent"] {
      let failure = try await world.failure(Self.one(field, .equals, .reference(target)))
      #expect(failure?.code == .badRequest)
      #expect(failure?.reason.contains("add a REFERENCE field") == true)
    }
    #expect(try await world.names(Self.one("chat", .equals, .reference(target))) == ["r"])
  }

  /// C86: bounds that cross find nothing, and both ends belong to the range.
  @Test func boundsBelongToTheRange() async throws {
    let world = try await Self.world(["day": .int64(3)])
    func between(_ low: Int64, _ high: Int64) -> Query {
      Query(
        "Entry",
        filters: [
          QueryFilter("day", .greaterThanOrEquals, .int64(low)), QueryFilter("day", .lessThanOrEquals, .int64(high)),
        ], sorts: [QuerySort("day")])
    }
    #expect(try await world.names(between(3, 9)) == ["r"])
    #expect(try await world.names(between(1, 3)) == ["r"])
    #expect(try await world.names(between(9, 1)) == [])
  }

  /// C92: an encrypted field is not compared; sorting by it is accepted and means nothing.
  @Test func encryptedFieldsAreNotCompared() async throws {
    let world = try await QueryWorld(.memory)
    var fields: Fields = ["title": .string("Rain")]
    fields["secret"] = Field(.string("s"), isEncrypted: true)
    try await world.save([.create("r", fields), .create("q", fields)])
    #expect(
      try await world.failure(Self.one("secret", .equals, .string("s")))
        == .badRequest(
          "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS"))
    let found = try await world.all(Query("Entry", filters: [Self.title], sorts: [QuerySort("secret")]))
    #expect(found.map(\.id.name) == ["q", "r"])
    #expect(found[0].json.contains(#""secret":{"value":"s","type":"STRING","isEncrypted":true}"#))
  }

  /// C75: what looks for members of lists does not look into text, and the error says what does.
  @Test func comparatorsAreHeldToTheirTypes() async throws {
    let world = try await Self.world([
      "title": .string("Rain"), "tags": .stringList(["x"]), "where": .location(Location(latitude: 1, longitude: 2)),
      "n": .int64(1),
    ])
    let failure = try await world.failure(Self.one("title", .listContains, .string("ai")))
    #expect(
      failure?.reason
        == "Field 'title' has a value type of STRING and cannot be queried using filter type LIST_CONTAINS; a list is "
        + "looked into for a member, and text for whole words with CONTAINS_ALL_TOKENS or for its beginning with "
        + "BEGINS_WITH")
    let refused: [(QueryField, QueryComparator, FieldValue)] = [
      ("tags", .equals, .stringList(["x"])), ("tags", .lessThan, .string("x")), ("tags", .isIn, .stringList(["x"])),
      ("where", .lessThan, .location(Location(latitude: 1, longitude: 2))), ("n", .beginsWith, .string("1")),
      ("n", .containsAllTokens, .string("1")), ("n", .near, .int64(1)), ("tags", .beginsWith, .string("x")),
    ]
    for (field, comparator, value) in refused {
      let failure = try await world.failure(Self.one(field, comparator, value))
      #expect(failure?.reason.contains("cannot be queried using filter type \(comparator.rawValue)") == true)
    }
  }

  @Test func valuesAreOfTheirFieldsType() async throws {
    let world = try await Self.world([
      "n": .int64(3), "x": .double(3), "when": .timestamp(Timestamp(milliseconds: 3)), "s": .string("3"),
    ])
    let failure = try await world.failure(Self.one("when", .equals, .int64(3)))
    #expect(failure?.reason.hasPrefix("Invalid value, expected type TIMESTAMP.") == true)
    #expect(try await world.failure(Self.one("s", .equals, .int64(3)))?.code == .badRequest)
    #expect(try await world.failure(Self.one("n", .equals, .double(3.5)))?.code == .badRequest)
    #expect(try await world.failure(Self.one("n", .isIn, .int64(3)))?.code == .badRequest)
    #expect(try await world.names(Self.one("n", .equals, .double(3))) == ["r"])
    #expect(try await world.names(Self.one("x", .equals, .int64(3))) == ["r"])
    var untagged = QueryFilter("n", .isIn, .int64List([3]))
    untagged.isTagged = false
    let refusal = try await world.failure(Query("Entry", filters: [untagged]))
    #expect(refusal?.reason.hasPrefix("BadRequestException: Unexpected input") == true)
  }

  @Test func distancesAreNeededWhereTheyCount() async throws {
    let place = Location(latitude: 1, longitude: 2)
    let world = try await Self.world(["where": .location(place), "n": .int64(1)])
    #expect(try await world.failure(Self.one("where", .near, .location(place)))?.reason.contains("distance") == true)
    let filter = QueryFilter("where", .near, .location(place), distance: 10)
    for sort in [QuerySort("where"), QuerySort("n", origin: place)] {
      let failure = try await world.failure(Query("Entry", filters: [filter], sorts: [sort]))
      #expect(failure?.reason.contains("relativeLocation") == true)
    }
  }

  /// Degrees that no place has are refused wherever they are written, and stop nobody.
  @Test(arguments: [(91, 0), (-91, 0), (200, 0), (-200, 0), (1e300, 0), (0, 181), (0, -1e300)] as [(Double, Double)])
  func placesLieOnEarth(latitude: Double, longitude: Double) async throws {
    let (place, nowhere) = (Location(latitude: 1, longitude: 2), Location(latitude: latitude, longitude: longitude))
    let world = try await Self.world(["where": .location(place), "places": .locationList([place])])
    let near = QueryFilter("where", .near, .location(nowhere), distance: 10)
    let here = QueryFilter("where", .near, .location(place), distance: 10)
    let queries = [
      Query("Entry", filters: [near]), Self.one("where", .equals, .location(nowhere)),
      Self.one("where", .isIn, .locationList([place, nowhere])), Self.one("places", .listContains, .location(nowhere)),
      Query("Entry", filters: [here], sorts: [QuerySort("where", origin: nowhere)]),
    ]
    for query in queries {
      #expect(try await world.failure(query)?.reason.contains("from -90 to 90") == true)
    }
    for value in [FieldValue.location(nowhere), .locationList([place, nowhere])] {
      let refused = try await world.save([.create("x", [value.listMembers == nil ? "where" : "places": value])])
      #expect(refused[0].failure?.error.reason.contains("from -90 to 90") == true)
    }
    // Of what is stored already a box can still be told.
    let box = nowhere.box(around: 10)
    #expect(box.latitudes.lowerBound >= -90 && box.latitudes.upperBound <= 90)
    #expect(!PlaceKey.ranges(around: nowhere, distance: .infinity).isEmpty)
  }

  /// C83: a long list of values is one query, up to a limit that says so.
  @Test(arguments: StoreKind.allCases)
  func fiveThousandValuesAreOneQuery(kind: StoreKind) async throws {
    let world = try await QueryWorld(kind)
    try await world.save((0..<20).map { .create(RecordName("r\($0)"), ["n": .int64(Int64($0 * 300))]) })
    func query(_ count: Int64) -> Query { Self.one("n", .isIn, .int64List(Array(0..<count))) }
    #expect(try await world.all(query(5_000)).count == 17)
    #expect(try await world.failure(query(5_001))?.reason.hasPrefix(Reason.limitExceeded) == true)
  }

  /// Many values are looked for in many long lists, without comparing each with each.
  @Test func manyValuesAreLookedForInLongLists() async throws {
    let world = try await QueryWorld(.memory, scans: true)
    let list = FieldValue.int64List(Array(0..<20_000))
    try await world.save((0..<15).map { .create(RecordName("r\($0)"), ["n": list]) })
    let wanted = FieldValue.int64List(Array(20_000..<25_000))
    #expect(try await world.names(Self.one("n", .listContainsAny, wanted)) == [])
    #expect(try await world.names(Self.one("n", .listContainsAll, .int64List(Array(0..<5_000)))).count == 15)
  }

  @Test func wordsAreValuesToo() async throws {
    let world = try await Self.world()
    try await world.mark("Entry", [SchemaField("title", .value(.string), [.queryable, .searchable])])
    func text(_ count: Int) -> FieldValue { .string((0..<count).map { "w\($0)" }.joined(separator: " ")) }
    #expect(try await world.failure(Self.one("title", .containsAnyTokens, text(5_000))) == nil)
    let refused = try await world.failure(Self.one("title", .containsAnyTokens, text(5_001)))
    #expect(refused?.reason.hasPrefix(Reason.limitExceeded) == true)
  }

  @Test func anUnknownZoneIsNotFoundAndTheSharedDatabaseHasNoQueryOverItsZones() async throws {
    let world = try await Self.world()
    let query = Query("Entry", filters: [Self.title])
    #expect(try await world.failure(query, zone: ZoneSelector("Nowhere"))?.code == .zoneNotFound)
    let refused = await #expect(throws: ServiceError.self) {
      try await world.page(query, zone: nil, wide: true, scope: .shared)
    }
    #expect(refused?.code == .badRequest && refused?.reason.hasPrefix(Reason.noZoneWideInShared) == true)
    // A zone that is stated counts more.
    let elsewhere = try await world.failure(query, zone: ZoneSelector("Trips", owner: "_bob"), scope: .shared)
    #expect(elsewhere?.code == .zoneNotFound)
  }

  @Test func friendlyNamesOfSystemFieldsCountInFieldNameToo() async throws {
    let world = try await Self.world()
    try await world.markSystemFields(of: "Entry")
    #expect(try await world.names(Self.one("recordName", .equals, .string("r"))) == ["r"])
    #expect(
      try await world.names(Self.one("createdTimestamp", .greaterThan, .timestamp(Timestamp(milliseconds: 1)))) == ["r"]
    )
  }

  /// The public database shows its records to the world.
  @Test func theWorldQueriesThePublicDatabase() async throws {
    let world = try await QueryWorld(.sqlite)
    try await world.save([.create("p", ["title": .string("Rain")])], in: ZoneSelector(), scope: .public)
    let query = Query("Entry", filters: [Self.title])
    for wide in [true, false] {
      let reply = try await world.page(query, zone: nil, wide: wide, scope: .public, user: nil)
      #expect(reply.records.map(\.name) == ["p"])
    }
  }
}

import TestSupport
import Testing
import VirgaModel
import VirgaServerSQLite
import VirgaWire

@testable import VirgaServer

/// Pages, what they cost, and that random queries find what evaluating all records finds.
struct QueryPagingTests {
  private static let all = QueryFilter("kind", .equals, .string("k"))

  /// C80
  @Test(arguments: StoreKind.allCases, [true, false])
  func pagesEndWithAMarkerUntilTheLast(kind: StoreKind, sorted: Bool) async throws {
    let world = try await QueryWorld(kind, scans: true)
    try await world.save(
      (0..<450).map { .create(RecordName("r\($0)"), ["kind": .string("k"), "n": .int64(Int64($0 % 7))]) })
    let query = Query("Entry", filters: [Self.all], sorts: sorted ? [QuerySort("n", ascending: false)] : [])
    var marker: String?
    var counts: [Int] = []
    var names: Set<RecordName> = []
    repeat {
      let page = try await world.page(query, limit: 1_000, after: marker)
      counts.append(page.records.count)
      names.formUnion(page.records.map(\.name))
      marker = page.continuationMarker
    } while marker != nil
    #expect(counts == [200, 200, 50])
    #expect(names.count == 450)
  }

  @Test func aPageThatEndsExactlyHasNoMarker() async throws {
    let world = try await QueryWorld(.sqlite)
    try await world.save((0..<4).map { .create(RecordName("r\($0)"), ["kind": .string("k")]) })
    let first = try await world.page(Query("Entry", filters: [Self.all]), limit: 2)
    #expect(first.continuationMarker != nil)
    let second = try await world.page(
      Query("Entry", filters: [Self.all]), limit: 2, after: first.continuationMarker)
    #expect(second.records.map(\.name) == ["r2", "r3"])
    #expect(second.continuationMarker == nil)
  }

  @Test func aMarkerHoldsForItsQueryAlone() async throws {
    let world = try await QueryWorld(.memory)
    try await world.makeZone("Other")
    try await world.save((0..<4).map { .create(RecordName("r\($0)"), ["kind": .string("k")]) })
    let query = Query("Entry", filters: [Self.all])
    let marker = try await world.page(query, limit: 2).continuationMarker
    let other = Query("Entry", filters: [Self.all, Self.all])
    #expect(try await world.failure(other, after: marker)?.code == .badRequest)
    #expect(try await world.failure(query, zone: ZoneSelector("Other"), after: marker)?.code == .badRequest)
    for text in ["", "x", "AQ==", String((marker ?? "").dropLast(30))] {
      #expect(try await world.failure(query, after: text)?.reason.hasPrefix("continuationMarker") == true)
    }
  }

  /// A record that stays as it is comes exactly once, whatever changes between the pages.
  @Test(arguments: StoreKind.allCases, 1...4 as ClosedRange<UInt64>)
  func recordsThatStayComeOnceWhileOthersChange(kind: StoreKind, seed: UInt64) async throws {
    let world = try await QueryWorld(kind)
    var random = SplitMix64(seed: seed)
    func fields() -> Fields { ["kind": .string("k"), "n": .int64(Int64.random(in: 0..<20, using: &random))] }
    try await world.save((0..<120).map { .create(RecordName("r\($0)"), fields()) })
    let query = Query("Entry", filters: [Self.all], sorts: [QuerySort("n", ascending: seed % 2 == 0)])
    var found: [RecordName] = []
    var changed: Set<RecordName> = []
    var marker: String?
    repeat {
      let page = try await world.page(query, limit: 9, after: marker)
      found += page.records.map(\.name)
      marker = page.continuationMarker
      for number in 0..<3 {
        let name = RecordName("r\(Int.random(in: 0..<60, using: &random))")
        changed.insert(name)
        let isDeletion = Bool.random(using: &random)
        try await world.save([isDeletion ? .forceDelete(name) : .force(name, fields())])
        try await world.save([.create(RecordName("new\(found.count)-\(number)"), fields())])
      }
    } while marker != nil && found.count < 1_000
    let staying = (0..<120).map { RecordName("r\($0)") }.filter { !changed.contains($0) }
    for name in staying { #expect(found.count { $0 == name } == 1, "\(name), seed \(seed)") }
  }

  @Test(arguments: StoreKind.allCases, [[], [QuerySort("n")], [QuerySort("n", ascending: false)]])
  func aZoneWideQueryFindsTheRecordsOfAllZonesInOrder(kind: StoreKind, sorts: [QuerySort]) async throws {
    let world = try await QueryWorld(kind)
    var subjects: [QuerySubject] = []
    for zone in ["Apples", "Diary", "Zebras"] {
      if zone != "Diary" { try await world.makeZone(ZoneName(zone)) }
      var operations: [RecordOperation] = []
      for number in 0..<30 {
        let fields: Fields = ["kind": .string("k"), "n": .int64(Int64(number % 4))]
        let name = RecordName("r\(number)")
        operations.append(.create(name, fields))
        subjects.append(
          QuerySubject(id: RecordID(name, in: ZoneID(ZoneName(zone), owner: "_alice")), fields: fields))
      }
      try await world.save(operations, in: ZoneSelector(ZoneName(zone)))
    }
    let query = Query("Entry", filters: [Self.all], sorts: sorts)
    let expected = subjects.sorted(by: query.areInOrder).map(\.id)
    for limit in [7, 31, 200] {
      #expect(try await world.all(query, zone: nil, wide: true, limit: limit).map(\.id) == expected)
    }
    #expect(try await world.all(query, zone: QueryWorld.zone, wide: true).count == 30)
    #expect(try await world.page(query, zone: nil).records.isEmpty)
  }

  @Test func aQueryAnswersTheZonesTokenWhenAsked() async throws {
    let world = try await QueryWorld(.memory)
    try await world.save([.create("r", ["kind": .string("k")])])
    let request = RecordsQueryRequest(Query("Entry", filters: [Self.all]), zone: QueryWorld.zone)
    for wants in [true, false] {
      guard case .records(let reply) = try await world.call(.recordsQuery(request), syncToken: wants) else { return }
      #expect((reply.syncToken != nil) == wants)
    }
  }

  // MARK: Cost

  /// Rows that a query reads from the durable store, its indexes being there.
  private static func rowsRead(_ query: Query, _ world: QueryWorld) async throws -> (found: Int, rows: Int) {
    _ = try await world.page(query)
    guard let store = world.under.store as? SQLiteStore else { return (0, 0) }
    let before = store.counts.rows
    let found = try await world.page(query).records.count
    return (found, store.counts.rows - before)
  }

  @Test func twentyOfManyRecordsCostTensOfRows() async throws {
    let world = try await QueryWorld(.sqlite, scans: true)
    let count = 6_000
    try await world.save(
      (0..<count).map { number in
        .create(
          RecordName("r\(number)"),
          [
            "group": .int64(Int64(number % (count / 20))), "day": .int64(Int64(number)),
            "text": .string("word\(number % 300) common"), "half": .int64(Int64(number % 2)),
            "place": .location(Location(latitude: Double(number % 100 - 10), longitude: Double(number / 100))),
          ])
      })
    let group = QueryFilter("group", .equals, .int64(7))
    let near = QueryFilter("place", .near, .location(Location(latitude: 7, longitude: 7)), distance: 200_000)
    let table: [(Query, Int)] = [
      (Query("Entry", filters: [group]), 20), (Query("Entry", filters: [group], sorts: [QuerySort("day")]), 20),
      (Query("Entry", filters: [group, QueryFilter("half", .equals, .int64(1))]), 20),
      (Query("Entry", filters: [QueryFilter("day", .greaterThan, .int64(5_979))], sorts: [QuerySort("day")]), 20),
      (Query("Entry", filters: [QueryFilter("text", .containsAllTokens, .string("COMMON word7"))]), 20),
      (Query("Entry", filters: [near], sorts: [QuerySort("place", origin: Location(latitude: 7, longitude: 7))]), 9),
    ]
    for (query, expected) in table {
      let (found, rows) = try await Self.rowsRead(query, world)
      #expect(found == expected, "\(query)")
      #expect(rows <= 80, "\(rows) rows for \(query)")
    }
    // Many match: a page reads about as many as it gives.
    let half = Query(
      "Entry", filters: [QueryFilter("half", .equals, .int64(1))], sorts: [QuerySort("day", ascending: false)])
    let (found, rows) = try await Self.rowsRead(half, world)
    #expect(found == 200)
    #expect(rows <= 450, "\(rows) rows")
  }

  /// Nothing but reading on finds the few that match, so pages end early and still get on.
  @Test func aWalkThatFindsLittleEndsItsPagesEarly() async throws {
    let world = try await QueryWorld(.memory)
    let count = 10_300
    try await world.save(
      (0..<count).map { number in
        let hit = number % 5_000 == 4_999
        return .create(RecordName("r\(100_000 + number)"), ["n": .int64(1), "hit": .int64(hit ? 1 : 0)])
      })
    let query = Query(
      "Entry", filters: [QueryFilter("n", .equals, .int64(1)), QueryFilter("hit", .notEquals, .int64(0))])
    let first = try await world.page(query)
    #expect(first.records.count == 2)
    #expect(first.continuationMarker != nil)
    let second = try await world.page(query, after: first.continuationMarker)
    #expect(second.records.isEmpty)
    #expect(second.continuationMarker == nil)
  }

  // MARK: Properties

  @Test(arguments: StoreKind.allCases, 1...6 as ClosedRange<UInt64>)
  func randomQueriesFindWhatEvaluatingAllRecordsFinds(kind: StoreKind, seed: UInt64) async throws {
    let world = try await QueryWorld(kind)
    var random = SplitMix64(seed: seed)
    var subjects: [RecordName: QuerySubject] = [:]
    for round in 0..<25 {
      var operations: [RecordOperation] = []
      for name in Set((0..<12).map { _ in RecordName("r\(Int.random(in: 0..<60, using: &random))") }).sorted() {
        if subjects[name] != nil && Int.random(in: 0..<3, using: &random) == 0 {
          operations.append(.forceDelete(name))
          subjects[name] = nil
        } else {
          let fields = Self.fields(&random)
          operations.append(.force(name, fields).with { $0.kind = .forceReplace })
          subjects[name] = QuerySubject(id: RecordID(name, in: ZoneID("Diary", owner: "_alice")), fields: fields)
        }
      }
      for result in try await world.save(operations) { #expect(result.failure == nil) }
      for _ in 0..<4 {
        let query = Self.query(&random)
        let matches = subjects.values.filter { QueryMatcher(query).matches($0) }
        let expected = matches.sorted(by: query.areInOrder).map(\.id.name)
        let limit = Int.random(in: 1...40, using: &random)
        let found = try await world.all(query, limit: limit).map(\.id.name)
        try #require(found == expected, "seed \(seed), round \(round), limit \(limit): \(query)")
      }
    }
  }

  private static let words = ["rain", "Rain", "ráin", "snow", "", "rain snow", "Ünal"]

  private static func fields(_ random: inout SplitMix64) -> Fields {
    var fields: Fields = ["always": .int64(1)]
    func maybe(_ name: FieldName, _ value: FieldValue) {
      if Int.random(in: 0..<5, using: &random) > 0 { fields[name] = Field(value) }
    }
    maybe("text", .string(word(&random)))
    maybe("n", .int64(Int64.random(in: -2...3, using: &random)))
    maybe("x", .double([-0.0, 0, 0.5, -1e9, 3][Int.random(in: 0..<5, using: &random)]))
    maybe("tags", .stringList((0..<Int.random(in: 0...3, using: &random)).map { _ in word(&random) }))
    maybe("place", .location(place(&random)))
    return fields
  }

  private static func word(_ random: inout SplitMix64) -> String { words[Int.random(in: 0..<7, using: &random)] }

  private static func place(_ random: inout SplitMix64) -> Location {
    Location(
      latitude: Double(Int.random(in: -3...3, using: &random)) * 30,
      longitude: Double(Int.random(in: -4...4, using: &random)) * 45)
  }

  private static func query(_ random: inout SplitMix64) -> Query {
    var query = Query("Entry")
    for _ in 0..<Int.random(in: 1...3, using: &random) { query.filters.append(filter(&random)) }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let field: QueryField = ["text", "n", "x", "place"][Int.random(in: 0..<4, using: &random)]
      if query.sorts.contains(where: { $0.field == field }) { continue }
      let ascending = Bool.random(using: &random)
      query.sorts.append(QuerySort(field, ascending: ascending, origin: field == "place" ? place(&random) : nil))
    }
    return query
  }

  private static func filter(_ random: inout SplitMix64) -> QueryFilter {
    let comparators = QueryComparator.allCases
    while true {
      let comparator = comparators[Int.random(in: 0..<comparators.count, using: &random)]
      switch (Int.random(in: 0..<6, using: &random), comparator.operand) {
      case (0, .same) where comparator.applies(to: FieldType(.string)):
        return QueryFilter("text", comparator, .string(word(&random)))
      case (0, .list): return QueryFilter("text", comparator, .stringList([word(&random), word(&random)]))
      case (1, .same) where comparator.applies(to: FieldType(.int64)):
        return QueryFilter("n", comparator, .int64(Int64.random(in: -2...3, using: &random)))
      case (2, .same) where comparator.applies(to: FieldType(.double)):
        return QueryFilter("x", comparator, .double(Double(Int.random(in: -1...1, using: &random)) / 2))
      case (3, .member): return QueryFilter("tags", comparator, .string(word(&random)))
      case (3, .members): return QueryFilter("tags", comparator, .stringList([word(&random), word(&random)]))
      case (4, .words):
        return QueryFilter(
          [QueryField.anySearchable, "text", "tags"][Int.random(in: 0..<3, using: &random)], comparator,
          .string(word(&random)))
      case (5, .same) where comparator == .near:
        let distance = Double.random(in: 0...2.1e7, using: &random)
        return QueryFilter("place", .near, .location(place(&random)), distance: distance)
      default: continue
      }
    }
  }

  /// Small zones that are read without an index are work too: a page ends after so many records, wherever they lie.
  @Test func aPageOverManySmallZonesEndsEarly() async throws {
    let world = try await QueryWorld(.memory, scans: true)
    let zones = (0..<60).map { ZoneName("Z\($0 + 100)") }
    for zone in zones { try await world.makeZone(zone) }
    try await world.save([.create("last", ["title": .string("Sun")])], in: ZoneSelector("Z159"))
    try await world.under.write { transaction in
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
      for name in zones {
        var zone = try transaction.zone(name, in: key)!
        while zone.sequence < 199 {
          zone.sequence += 1
          try transaction.put(
            StoredRecord(
              name: RecordName("r\(zone.sequence)"), type: "Entry", sequence: zone.sequence, created: stamp(0),
              modified: stamp(0), fieldsJSON: Array(#"{"title":{"value":"Rain","type":"STRING"}}"#.utf8)),
            in: zone, replacing: nil, keepsVersion: true)
        }
        try transaction.put(&zone)
      }
    }
    let query = Query("Entry", filters: [QueryFilter("title", .equals, .string("Sun"))])
    let first = try await world.page(query, zone: nil, wide: true)
    #expect(first.records.isEmpty && first.continuationMarker != nil)
    #expect(try await world.all(query, zone: nil, wide: true).map(\.id.name) == ["last"])
    let rain = Query("Entry", filters: [QueryFilter("title", .equals, .string("Rain"))])
    let found = try await world.all(rain, zone: nil, wide: true)
    #expect(found.count == 60 * 199 - 1 && Set(found.map(\.id)).count == found.count)
  }
}

import TestSupport
import Testing
import VirgaModel
import VirgaSchema
import VirgaServerSQLite
import VirgaWire

@testable import VirgaServer

/// Queries over what others own: shared zones, and public records that grants hide. And what a query costs among very
/// many records.
struct QueryPlaceTests {
  private static let written = QueryFilter("text", .beginsWith, .string(""))

  private func page(
    _ query: Query, zone: ZoneSelector?, wide: Bool = false, limit: Int? = nil, after marker: String? = nil,
    as caller: Harness.Caller, in place: Harness.Where, _ harness: Harness
  ) throws -> RecordsReply {
    var request = RecordsQueryRequest(query, zone: zone, zoneWide: wide)
    request.resultsLimit = limit
    request.continuationMarker = marker
    guard case .records(let reply) = try harness.call(.recordsQuery(request), as: caller, in: place) else {
      throw StoreError.other("no records")
    }
    return reply
  }

  /// All pages of so many records each.
  private func names(
    _ query: Query, zone: ZoneSelector?, wide: Bool = false, limit: Int? = nil, as caller: Harness.Caller,
    in place: Harness.Where, _ harness: Harness
  ) throws -> [String] {
    var found: [String] = []
    var marker: String?
    repeat {
      let page = try page(query, zone: zone, wide: wide, limit: limit, after: marker, as: caller, in: place, harness)
      found += page.records.map { "\($0.record?.id.zone.owner.rawValue ?? "")/\($0.name)" }
      marker = page.continuationMarker
    } while marker != nil
    return found
  }

  // MARK: The shared database

  /// Scanning or by an index, in pages of any size: a participant finds what they may see and nothing else.
  @Test(arguments: [0, 1_000] as [Int64], [1, 2, 200])
  func aParticipantFindsWhatIsSharedWithThem(scanned: Int64, limit: Int) throws {
    let world = try ShareWorld(["a", "b", "c"])
    let harness = world.harness
    harness.service.recordsScannedPerZoneMax = scanned
    _ = try harness.modify((0..<10).map { .create(RecordName("hidden\($0)"), .text("own")) })
    try world.shareWithBob(.readOnly)
    let query = Query("Entry", filters: [Self.written], sorts: [QuerySort("text", ascending: false)])
    func found(_ query: Query) throws -> [String] {
      try names(query, zone: ShareWorld.zone, limit: limit, as: .bob, in: .shared, harness)
    }
    #expect(try found(query) == ["root", "c", "b", "a"].map { "_alice/\($0)" })
    let some = Query("Entry", filters: [QueryFilter("text", .equals, .string("of b"))])
    #expect(try found(some) == ["_alice/b"])
    let none = Query("Entry", filters: [QueryFilter("text", .equals, .string("own"))])
    #expect(try found(none) == [])
    let words = Query("Entry", filters: [QueryFilter(.anySearchable, .containsAnyTokens, .string("A own"))])
    #expect(try found(words) == ["_alice/a"])
    let shares = Query(.share, filters: [])
    #expect(try found(shares) == ["_alice/Share-1"])
  }

  @Test(arguments: [0, 1_000] as [Int64], [1, 3, 200])
  func aQueryOfEachZoneFindsWhatItsOwnerShares(scanned: Int64, limit: Int) throws {
    let world = try ShareWorld()
    let harness = world.harness
    harness.service.recordsScannedPerZoneMax = scanned
    try world.shareWithBob()
    try harness.makeZone("Diary", as: ShareWorld.carol)
    _ = try harness.modify([.create("root", .text("carol's")), .create("x", .text("own"))], as: ShareWorld.carol)
    let operation = ShareWorld.shareOperation(invited: [ShareWorld.invitation("_bob")])
    let share = try #require(try harness.modify(operation, as: ShareWorld.carol).record)
    #expect(try world.accept(share) == nil)
    // What is Bob's own lies in his private database.
    try harness.makeZone("Diary", as: .bob)
    _ = try harness.modify(.create("mine", .text("bob's")), as: .bob)
    let query = Query("Entry", filters: [Self.written])
    func found(_ owner: UserName) throws -> [String] {
      let zone = ZoneSelector("Diary", owner: owner)
      return try names(query, zone: zone, limit: limit, as: .bob, in: .shared, harness)
    }
    #expect(try found("_alice") == ["_alice/a", "_alice/b", "_alice/root"])
    #expect(try found("_carol") == ["_carol/root"])
    _ = try harness.modify(.forceDelete("Share-1"), as: ShareWorld.carol)
    #expect(try found("_alice") == ["_alice/a", "_alice/b", "_alice/root"])
    let zone = ZoneSelector("Diary", owner: "_carol")
    let call = Call.recordsQuery(RecordsQueryRequest(query, zone: zone))
    #expect(try harness.failure(call, as: .bob, in: .shared)?.code == .zoneNotFound)
  }

  @Test func whoHasLeftOrNeverCameFindsNothing() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let query = Query("Entry", filters: [Self.written])
    let call = Call.recordsQuery(RecordsQueryRequest(query, zone: ShareWorld.zone))
    #expect(try world.harness.failure(call, as: ShareWorld.carol, in: .shared)?.code == .zoneNotFound)
    #expect(try world.harness.failure(call, as: .bob, in: .own)?.code == .accessDenied)
    #expect(try world.modify(.forceDelete("Share-1")).isDeleted)
    #expect(try world.harness.failure(call, as: .bob, in: .shared)?.code == .zoneNotFound)
    let wide = Call.recordsQuery(RecordsQueryRequest(query, zone: nil, zoneWide: true))
    #expect(try world.harness.failure(wide, as: .bob, in: .shared)?.code == .badRequest)
  }

  // MARK: The public database

  @Test(arguments: [0, 1_000] as [Int64], [1, 2, 200])
  func recordsThatGrantsHideAreNotFound(scanned: Int64, limit: Int) throws {
    let harness = Harness()
    harness.service.recordsScannedPerZoneMax = scanned
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .public, operation: .recordsModify)
    let start = CallContext(
      endpoint: endpoint, principal: .world, now: harness.now, random: SplitMix64(seed: 5), urls: TestURLs())
    let schema = try Schema(
      """
      DEFINE SCHEMA
        CREATE ROLE Editor;
        RECORD TYPE Draft (
          text STRING QUERYABLE SORTABLE,
          GRANT READ, WRITE TO "_creator", GRANT READ TO Editor, GRANT CREATE TO "_icloud");
      """)
    _ = try harness.write { transaction in
      var context = start
      return try Service().importSchema(schema, into: "iCloud.test", in: transaction, context: &context)
    }
    let open = ZoneSelector()
    for number in 0..<8 {
      let caller = number % 3 == 0 ? Harness.Caller.bob : .alice
      let operation = RecordOperation.create(RecordName("d\(number)"), .text("\(9 - number)"), type: "Draft")
      #expect(try harness.modify(operation, zone: open, as: caller, in: .open).code == nil)
    }
    func found(_ sorts: [QuerySort], as caller: Harness.Caller) throws -> [String] {
      let query = Query("Draft", filters: [Self.written], sorts: sorts)
      return try names(query, zone: open, limit: limit, as: caller, in: .open, harness).map { String($0.suffix(2)) }
    }
    #expect(try Set(found([], as: .bob)) == ["d0", "d3", "d6"])
    #expect(try found([QuerySort("text")], as: .bob) == ["d6", "d3", "d0"])
    #expect(try found([QuerySort("text")], as: .alice) == ["d7", "d5", "d4", "d2", "d1"])
    #expect(try found([], as: .world) == [])
    #expect(try found([], as: ShareWorld.carol) == [])
    try harness.write { transaction in
      var context = start
      try Service().setRoles(["Editor"], of: "_carol", in: transaction, context: &context)
    }
    #expect(try found([QuerySort("text", ascending: false)], as: ShareWorld.carol).count == 8)
  }

  // MARK: Cost

  /// Twenty of a hundred thousand records: by a filter, with a sort, by a range, and by words.
  @Test func twentyOfAHundredThousandRecordsCostTensOfRows() async throws {
    let world = try await QueryWorld(.sqlite, scans: true)
    let count = 100_000
    @Sendable func fields(_ number: Int) -> Fields {
      [
        "day": .int64(Int64(number)), "group": .int64(Int64(number % (count / 20))),
        "text": .string("word\(number % (count / 20))"),
      ]
    }
    // One is saved by the rules, which fixes the fields; the others are put beside it as they would be.
    try await world.save([.create("r0", fields(0))])
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
    try await world.under.write { transaction in
      guard var row = try transaction.zone("Diary", in: key), let first = try transaction.record("r0", in: row) else {
        throw StoreError.other("no record")
      }
      for number in 1..<count {
        row.sequence += 1
        let record = StoredRecord(
          name: RecordName("r\(number)"), type: first.type, sequence: row.sequence, created: first.created,
          modified: first.modified, fieldsJSON: fields(number).storedJSON)
        try transaction.put(record, in: row, replacing: nil, keepsVersion: false)
      }
      try transaction.put(&row)
    }
    let group = QueryFilter("group", .equals, .int64(7))
    let late = QueryFilter("day", .greaterThanOrEquals, .int64(Int64(count - 20)))
    let queries = [
      Query("Entry", filters: [group]), Query("Entry", filters: [group], sorts: [QuerySort("day", ascending: false)]),
      Query("Entry", filters: [group, QueryFilter("day", .greaterThan, .int64(-1))]),
      Query("Entry", filters: [late], sorts: [QuerySort("day")]),
      Query("Entry", filters: [QueryFilter("text", .containsAllTokens, .string("WORD7"))]),
    ]
    let store = try #require(world.under.store as? SQLiteStore)
    for query in queries {
      _ = try await world.page(query)
      let before = store.counts.rows
      #expect(try await world.page(query).records.count == 20)
      let rows = store.counts.rows - before
      #expect(rows <= 60, "\(rows) rows for \(query)")
    }
  }
}

import TestSupport
import Testing
import VirgaModel
import VirgaSchema
import VirgaWire

@testable import VirgaServer

/// What a caller may not see leaves no trace in what they get: not in markers and tokens, nor in where a page ends.
struct HiddenRecordTests {
  /// More than one page of a query, or of a feed, looks at.
  private static let hiddenCount = Limits.recordsReadPerQueryPageMax + 50
  private static let shared = ZoneSelector("Diary", owner: "_alice")
  private static let schema = """
    DEFINE SCHEMA RECORD TYPE Entry (title STRING QUERYABLE SORTABLE, place LOCATION QUERYABLE SORTABLE,
     "___recordID" REFERENCE QUERYABLE, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
    """

  private static func prepare(_ kind: StoreKind) async throws -> QueryWorld {
    let world = try await QueryWorld(kind)
    let text = try Schema(schema)
    try await world.under.write { [service = world.service] transaction in
      let endpoint = Endpoint(
        container: "iCloud.test", environment: .development, scope: .private, operation: .zonesModify)
      var context = CallContext(
        endpoint: endpoint, principal: .world, now: Timestamp(milliseconds: 1), random: SplitMix64(seed: 1),
        urls: TestURLs())
      _ = try service.importSchema(text, into: "iCloud.test", in: transaction, context: &context)
    }
    return world
  }

  /// Puts many records that only their owner sees, before all others in the order of titles.
  private static func hide(
    _ count: Int, in database: DatabaseKey, _ zoneName: ZoneName, _ world: QueryWorld, prefix: String = "hidden"
  ) async throws {
    try await world.under.write { transaction in
      var zone = try transaction.zone(zoneName, in: database)!
      let stamp = RecordStamp(time: Timestamp(milliseconds: 0), user: "_alice", device: "phone")
      for number in 0..<count {
        zone.sequence += 1
        let record = StoredRecord(
          name: RecordName("\(prefix)-\(number)"), type: "Entry", sequence: zone.sequence, created: stamp,
          modified: stamp, fieldsJSON: Array(#"{"title":{"value":"SECRET \#(number)","type":"STRING"}}"#.utf8))
        try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
      }
      try transaction.put(&zone)
    }
  }

  private static func entry(_ number: Int, parent: RecordName? = nil) -> RecordOperation {
    RecordOperation.create(RecordName("own-\(number)"), ["title": .string("zz\(number)")]).with {
      if let parent { $0.record.parent = .set(parent) }
    }
  }

  /// Alice's zone, of which Bob sees what lies below `root`.
  private static func sharedWorld(_ kind: StoreKind, hidden: Int, visible: Int) async throws -> QueryWorld {
    let world = try await prepare(kind)
    try await world.save(
      [.create("root", ["title": .string("zz root")])] + (0..<visible).map { entry($0, parent: "root") })
    let share = ShareWorld.shareOperation(of: "root", name: "Share-1", invited: [ShareWorld.invitation("_bob")])
    let guid = try #require(try await world.save([share])[0].record?.shortGUID)
    let accepted = try await world.call(
      .recordsAccept(.init(shortGUIDs: [.init(guid)])), user: "_bob", scope: .public)
    guard case .shares(let shares) = accepted, case .metadata = shares[0] else {
      throw ServiceError(.internalError, "no share")
    }
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
    try await hide(hidden, in: key, "Diary", world)
    return world
  }

  private static func query(
    _ world: QueryWorld, _ query: Query, zone: ZoneSelector?, user: UserName?, scope: DatabaseScope, limit: Int? = nil,
    after marker: String? = nil
  ) async throws -> RecordsReply {
    var request = RecordsQueryRequest(query, zone: zone)
    request.resultsLimit = limit
    request.continuationMarker = marker
    guard case .records(let reply) = try await world.call(.recordsQuery(request), user: user, scope: scope) else {
      throw ServiceError(.internalError, "no records")
    }
    return reply
  }

  private static var byTitle: Query {
    var query = Query("Entry")
    query.sorts = [QuerySort(.field("title"))]
    return query
  }

  private static func names(_ reply: RecordsReply) -> [String] {
    reply.records.compactMap { $0.record?.id.name.rawValue }
  }

  // MARK: Queries

  @Test(arguments: StoreKind.allCases) func aParticipantsPagesEndAtWhatTheySee(kind: StoreKind) async throws {
    let world = try await Self.sharedWorld(kind, hidden: Self.hiddenCount, visible: 5)
    let all = try await Self.query(world, Self.byTitle, zone: Self.shared, user: "_bob", scope: .shared)
    #expect(Self.names(all) == ["root"] + (0..<5).map { "own-\($0)" })
    #expect(all.continuationMarker == nil)
    let first = try await Self.query(world, Self.byTitle, zone: Self.shared, user: "_bob", scope: .shared, limit: 2)
    let rest = try await Self.query(
      world, Self.byTitle, zone: Self.shared, user: "_bob", scope: .shared, after: first.continuationMarker)
    #expect(Self.names(first) + Self.names(rest) == Self.names(all))
    #expect(rest.continuationMarker == nil)
    var far = Query("Entry")
    far.sorts = [QuerySort(.field("place"), origin: Location(latitude: 1, longitude: 2))]
    let byPlace = try await Self.query(world, far, zone: Self.shared, user: "_bob", scope: .shared)
    #expect(Self.names(byPlace).count == 6)
  }

  /// Where one sees more than is gathered at once, a page counts what one sees, and nothing else.
  @Test func aLargeHierarchyIsWalkedPastWhatIsHidden() async throws {
    let visible = Limits.recordsReadPerQueryPageMax + 10
    let world = try await Self.sharedWorld(.memory, hidden: Self.hiddenCount, visible: 1)
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
    try await world.under.write { transaction in
      var zone = try transaction.zone("Diary", in: key)!
      let stamp = RecordStamp(time: Timestamp(milliseconds: 0), user: "_alice", device: "phone")
      for number in 0..<visible {
        zone.sequence += 1
        var record = StoredRecord(
          name: RecordName("more-\(number)"), type: "Entry", sequence: zone.sequence, created: stamp, modified: stamp,
          fieldsJSON: Array(#"{"title":{"value":"zzz","type":"STRING"}}"#.utf8))
        record.parent = Reference(recordName: "root")
        record.references = [.init(target: "root", kind: .parent)]
        try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
      }
      try transaction.put(&zone)
    }
    let page = try await Self.query(world, Self.byTitle, zone: Self.shared, user: "_bob", scope: .shared)
    #expect(page.records.count == Limits.recordsPerPageMax)
    #expect(Self.names(page).prefix(2) == ["root", "own-0"])
  }

  @Test(arguments: StoreKind.allCases) func strangersGetNothingOfPublicRecordsOfOthers(kind: StoreKind) async throws {
    let world = try await Self.prepare(kind)
    for number in 0..<3 {
      let request = RecordsModifyRequest(operations: [Self.entry(number)], zone: ZoneSelector())
      _ = try await world.call(.recordsModify(request), user: "_bob", scope: .public)
    }
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: nil)
    try await Self.hide(Self.hiddenCount, in: key, .default, world)
    let own = try await Self.query(world, Self.byTitle, zone: nil, user: "_bob", scope: .public)
    #expect(Self.names(own) == ["own-0", "own-1", "own-2"] && own.continuationMarker == nil)
    for user in ["_carol", nil] as [UserName?] {
      let none = try await Self.query(world, Self.byTitle, zone: nil, user: user, scope: .public)
      #expect(none.records.isEmpty && none.continuationMarker == nil)
    }
  }

  // MARK: Feeds

  @Test(arguments: StoreKind.allCases, [false, true])
  func aParticipantsFeedEndsAtWhatTheySee(kind: StoreKind, isReversed: Bool) async throws {
    let world = try await Self.sharedWorld(kind, hidden: Self.hiddenCount, visible: 3)
    try await world.save([Self.entry(9, parent: "root")])
    var request = ZoneChangesRequest(zone: Self.shared)
    request.isReversed = isReversed
    guard case .recordChanges(let page) = try await world.call(.recordsChanges(request), user: "_bob", scope: .shared)
    else { throw ServiceError(.internalError, "no page") }
    let names = Set(page.records.map(\.name.rawValue))
    #expect(names == ["root", "Share-1", "own-0", "own-1", "own-2", "own-9"])
    #expect(page.records.count == 6 && !page.moreComing)
    guard !isReversed else { return }
    // What comes later is told once.
    request.syncToken = page.syncToken
    try await Self.hide(
      5, in: .init(container: "iCloud.test", environment: .development, owner: "_alice"), "Diary", world, prefix: "late"
    )
    try await world.save([Self.entry(10, parent: "root")])
    guard case .recordChanges(let next) = try await world.call(.recordsChanges(request), user: "_bob", scope: .shared)
    else { throw ServiceError(.internalError, "no page") }
    #expect(next.records.map(\.name) == ["own-10"] && !next.moreComing)
  }

  // MARK: How much is read

  private static func context(_ call: Call, user: UserName, _ scope: DatabaseScope) -> CallContext {
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: scope, operation: call.operation)
    return CallContext(
      endpoint: endpoint, principal: Principal(user: user, account: nil, device: nil),
      now: Timestamp(milliseconds: 1_700_000_000_000), random: SplitMix64(seed: 7), urls: TestURLs())
  }

  /// However often one request names a zone of which little is shared, it reads what is hidden a few times at most.
  @Test(arguments: [false, true]) func aRequestThatReadMuchGivesNoFurtherZone(isReversed: Bool) async throws {
    let world = try await Self.sharedWorld(.memory, hidden: Self.hiddenCount, visible: isReversed ? 2_000 : 3)
    var request = ZoneChangesRequest(zone: Self.shared)
    request.isReversed = isReversed
    // A walk from the newest looks for what is shared each time, so a page of one record takes as long.
    if isReversed { request.resultsLimit = 1 }
    let call = Call.changesZone(Array(repeating: request, count: 40))
    let start = Self.context(call, user: "_bob", .shared)
    let (reply, hidden) = try await world.under.read { [service = world.service] transaction in
      var context = start
      return (try service.read(call, in: transaction, context: &context), context.hiddenReads)
    }
    guard case .zoneChanges(let results) = reply else { throw ServiceError(.internalError, "no changes") }
    let codes = results.map { if case .failure(_, let error) = $0 { error.code } else { nil } as ServerErrorCode? }
    let given = codes.prefix { $0 == nil }.count
    #expect((1...10).contains(given), "\(given)")
    #expect(codes.dropFirst(given).allSatisfy { $0 == .tryAgainLater })
    #expect(hidden > Limits.hiddenReadsPerRequestMax && hidden < 2 * Limits.hiddenReadsPerRequestMax, "\(hidden)")
    // The next request gives it, and one who is up to date reads nothing that is hidden.
    guard !isReversed else { return }
    guard case .recordChanges(let page) = try await world.call(.recordsChanges(request), user: "_bob", scope: .shared)
    else { throw ServiceError(.internalError, "no page") }
    request.syncToken = page.syncToken
    let again = Array(repeating: request, count: 40)
    guard case .zoneChanges(let later) = try await world.call(.changesZone(again), user: "_bob", scope: .shared)
    else { throw ServiceError(.internalError, "no changes") }
    #expect(later.allSatisfy { if case .page = $0 { true } else { false } })
  }

  /// A walk past what is hidden is counted, so that whoever performs calls bounds it.
  @Test func aWalkPastWhatIsHiddenIsCounted() async throws {
    let world = try await Self.sharedWorld(.memory, hidden: 300, visible: 1)
    var query = Query("Entry")
    query.sorts = [QuerySort(.field("title"))]
    let call = Call.recordsQuery(RecordsQueryRequest(query, zone: Self.shared))
    let start = Self.context(call, user: "_bob", .shared)
    var service = world.service
    service.recordsScannedPerZoneMax = .max
    let hidden = try await world.under.read { [service] transaction in
      var context = start
      _ = try service.read(call, in: transaction, context: &context)
      return context.hiddenReads
    }
    #expect(hidden >= 300)
  }

  // MARK: Tokens and tags

  @Test func aParticipantsTagsDoNotCount() async throws {
    let world = try await Self.sharedWorld(.memory, hidden: 0, visible: 1)
    func lookUp(as user: UserName, _ scope: DatabaseScope) async throws -> RecordEnvelope {
      let request = RecordsLookupRequest(
        records: [.init("own-0")], zone: scope == .shared ? Self.shared : QueryWorld.zone)
      guard case .records(let reply) = try await world.call(.recordsLookup(request), user: user, scope: scope),
        let record = reply.records[0].record
      else { throw ServiceError(.internalError, "no record") }
      return record
    }
    func save(_ tag: ChangeTag) async throws -> RecordResult {
      let change = RecordOperation.update("own-0", tag: tag, ["title": .string("zz by Bob")])
      let request = RecordsModifyRequest(operations: [change], zone: Self.shared)
      guard case .records(let reply) = try await world.call(.recordsModify(request), user: "_bob", scope: .shared)
      else {
        throw ServiceError(.internalError, "no answer")
      }
      return reply.records[0]
    }
    let plain = try await lookUp(as: "_alice", .private).tag
    let seen = try await lookUp(as: "_bob", .shared).tag
    #expect(plain.sequence != nil && seen.sequence == nil)
    #expect(try await lookUp(as: "_bob", .shared).tag == seen)
    // The plain one would let them count, by trying.
    let conflict = try await save(plain)
    #expect(conflict.failure?.error.code == .conflict)
    #expect(conflict.failure?.serverRecord?.tag == seen)
    let saved = try await save(seen)
    let next = try #require(saved.record?.tag)
    #expect(next != seen && next.sequence == nil)
    #expect(try await lookUp(as: "_bob", .shared).tag == next)
    // The one before is known as an ancestor.
    let stale = try await save(seen)
    #expect(stale.failure?.error.code == .conflict && stale.failure?.ancestorRecord?.tag == seen)
  }

  @Test func tokensOfOthersZonesAreNotMadeByClients() async throws {
    let world = try await Self.sharedWorld(.memory, hidden: 3, visible: 1)
    func page(_ token: String?, as user: UserName = "_bob") async throws -> ZoneChangesPage {
      let call = Call.recordsChanges(ZoneChangesRequest(zone: Self.shared, syncToken: token))
      guard case .recordChanges(let page) = try await world.call(call, user: user, scope: .shared) else {
        throw ServiceError(.internalError, "no page")
      }
      return page
    }
    let token = try await page(nil).syncToken
    #expect(ChangeToken(text: token) == nil)
    #expect(try await page(token).records.isEmpty)
    for made in [ChangeToken(feed: .zone, incarnation: 0, position: 0).text, String(token.dropLast(4)) + "AAA="] {
      await #expect(throws: ServiceError.changeTokenExpired) { try await page(made) }
    }
  }

  // MARK: Error texts

  @Test func aParticipantIsNotToldHowMuchTheOwnerHas() async throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let used = try world.harness.write { transaction in
      try transaction.database(
        DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice"))?.usedBytes ?? 0
    }
    world.harness.service = Service(quotas: Quotas(userBytes: used + 10))
    let large = RecordOperation.create("c", .text(String(repeating: "x", count: 100))).with {
      $0.record.parent = .set("root")
    }
    let refused = try world.modify(large).failure?.error
    #expect(refused?.code == .quotaExceeded && refused?.reason == Reason.quotaExceeded)
    let own = try world.harness.modify(large).failure?.error
    #expect(own?.reason.contains("\(used + 10) allowed") == true)
  }
}

import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// The next page of a feed is made while a client reads the one before. Nobody may notice but by the clock.
@Suite struct PagesAheadTests {
  private struct World {
    let front: GatewayWorld

    init(records: Int = 10) async throws {
      front = try await GatewayWorld()
      try await front.makeZone()
      for number in 0..<records { try await save("r\(number)", number) }
    }

    func save(_ name: String, _ number: Int) async throws {
      var record = RecordChange(name: RecordName(name))
      record.type = "Trip"
      record.fields = [FieldChange("number", Field(.int64(Int64(number))))]
      _ = try await front.save([record])
    }

    func answer(
      after token: String?, limit: Int = 3, headers: [(String, String)] = [], session: String? = nil
    ) async throws -> GatewayWorld.Answer {
      let token = token.map { #","syncToken":"\#($0)""# } ?? ""
      let zone = #"{"zoneID":{"zoneName":"Trips"},"resultsLimit":\#(limit)\#(token)}"#
      return try await front.call(.changesZone, #"{"zones":[\#(zone)]}"#, headers: headers, session: session)
    }

    func page(after token: String?, limit: Int = 3) async throws -> ZoneChangesPage {
      let answer = try await answer(after: token, limit: limit)
      guard case .zoneChanges(let results) = try Reply(decoding: answer.body, for: .changesZone),
        case .page(let page)? = results.first
      else { throw answer.error }
      return page
    }

    func names(_ page: ZoneChangesPage) -> [String] {
      page.records.map { result in
        switch result {
        case .record(let record): record.id.name.rawValue
        case .deleted(let name, _, _): "-\(name)"
        case .failure(let failure): "?\(failure.name)"
        }
      }
    }

    var pages: PagesAhead { front.front.pages }
  }

  @Test func pagesThatWerePreparedAreThoseThatWouldBeRead() async throws {
    let world = try await World()
    var token: String?
    var names: [String] = []
    var sizes: [Int] = []
    repeat {
      let page = try await world.page(after: token)
      names += world.names(page)
      sizes.append(page.records.count)
      token = page.moreComing ? page.syncToken : nil
    } while token != nil
    #expect(names == (0..<10).map { "r\($0)" } && sizes == [3, 3, 3, 1])
    // Behind the third page are so few changes that they are read at once.
    #expect(world.pages.taken > 0 && world.pages.count == 0 && world.pages.bytes == 0)
  }

  @Test func aPageIsNotGivenOutOnceItsZoneHasChanged() async throws {
    let world = try await World(records: 60)
    let first = try await world.page(after: nil)
    #expect(world.pages.count == 1)
    try await world.save("r4", 100)
    let second = try await world.page(after: first.syncToken)
    #expect(world.names(second) == ["r3", "r5", "r6"], "r4 has moved to the end")
    #expect(world.pages.count == 0, "a zone that changes while it is read is not read ahead")
    _ = try await world.page(after: second.syncToken)
    #expect(world.pages.count == 1)
  }

  @Test func aPageOfAZoneThatIsGoneIsNotGivenOut() async throws {
    let world = try await World(records: 60)
    let first = try await world.page(after: nil)
    _ = try await world.front.call(
      .zonesModify(ZonesModifyRequest(operations: [.init(.delete, ZoneSelector("Trips"))])))
    let answer = try await world.answer(after: first.syncToken)
    #expect(answer.text.contains("ZONE_NOT_FOUND"), "\(answer.text)")
  }

  /// Each of these asks for something else than what was prepared.
  @Test func aPageIsForTheRequestThatItWasMadeFor() async throws {
    let world = try await World(records: 60)
    let first = try await world.page(after: nil)
    let others = [
      try await world.answer(after: first.syncToken, limit: 4),
      try await world.answer(after: first.syncToken, headers: [("X-Virga-Page", "2")]),
      try await world.answer(after: first.syncToken, headers: [("X-Virga-Extensions", "1")]),
    ]
    #expect(world.pages.taken == 0 && others.allSatisfy { $0.status == 200 })
    let laptop = try await world.front.secondDevice()
    _ = try await world.answer(after: first.syncToken, session: laptop.session)
    #expect(world.pages.taken == 0, "another device's answer names that device")
    let stranger = try await world.answer(after: first.syncToken, session: try await world.front.stranger())
    #expect(stranger.text.contains("ZONE_NOT_FOUND"), "\(stranger.text)")
    _ = try await world.answer(after: first.syncToken)
    #expect(world.pages.taken == 1)
  }

  @Test func aPageThatNobodyAsksForIsDropped() async throws {
    let world = try await World(records: 60)
    _ = try await world.page(after: nil)
    world.pages.tick()
    #expect(world.pages.count == 1 && world.pages.bytes > 0)
    world.pages.tick()
    #expect(world.pages.count == 0 && world.pages.bytes == 0)
  }

  @Test func changesThatAreFewAreReadAtOnce() async throws {
    let world = try await World(records: 40)
    var page = try await world.page(after: nil, limit: 200)
    #expect(!page.moreComing && world.pages.count == 0)
    page = try await world.page(after: page.syncToken, limit: 200)
    #expect(page.records.isEmpty && !page.moreComing)
    try await world.save("r7", 700)
    page = try await world.page(after: page.syncToken, limit: 200)
    #expect(world.names(page) == ["r7"] && !page.moreComing)
    let expired = try await world.answer(after: "AAAA")
    #expect(expired.text.contains("CHANGE_TOKEN_EXPIRED") || expired.text.contains("BAD_REQUEST"), "\(expired.text)")
  }

  // MARK: The table

  private func key(_ number: Int, _ world: World) throws -> PagesAhead.Key {
    let context = CallContext(
      endpoint: Endpoint(container: "c", environment: .development, scope: .private, operation: .changesZone),
      principal: .world, now: Timestamp(milliseconds: 0), random: SystemRandomNumberGenerator(),
      urls: SignedURLs(place: .base(""), secrets: world.front.front.secrets))
    return try #require(
      PagesAhead.Key([ZoneChangesRequest(zone: ZoneSelector("Trips"), resultsLimit: number)], context))
  }

  private func page(_ count: Int) -> PagesAhead.Page {
    let database = DatabaseKey(container: "c", environment: .development, owner: "u")
    let zone = ZoneRow(database: database, name: "Trips", incarnation: 1)
    return PagesAhead.Page(bytes: [UInt8](repeating: 0, count: count), zone: zone, next: nil)
  }

  @Test func pagesAndTheirBytesAreBounded() async throws {
    let world = try await World(records: 0)
    let pages = PagesAhead()
    for number in 0..<PagesAhead.pagesMax { #expect(pages.begin(try key(number, world)) != nil) }
    #expect(pages.begin(try key(PagesAhead.pagesMax, world)) == nil)
    for number in 0..<PagesAhead.pagesMax { pages.finish(try key(number, world), number + 1, nil) }
    #expect(pages.count == 0)
    for (number, bytes) in [PagesAhead.bytesMax - 1, 2, 1].enumerated() {
      let place = try #require(pages.begin(try key(number, world)))
      pages.finish(try key(number, world), place, page(bytes))
    }
    #expect(pages.count == 2 && pages.bytes == PagesAhead.bytesMax)
    #expect(pages.begin(try key(9, world)) == nil)
  }

  @Test func aPageUnderWayIsWaitedFor() async throws {
    let world = try await World(records: 0)
    let pages = PagesAhead()
    let asked = try key(1, world)
    let place = try #require(pages.begin(asked))
    #expect(pages.begin(asked) == nil)
    async let taken = pages.take(asked)
    try await world.front.until { pages.taken == 1 }
    pages.tick()
    pages.tick()
    #expect(await pages.take(asked)?.bytes == nil, "a second one reads for itself")
    pages.finish(asked, place, page(5))
    #expect(await taken?.bytes.count == 5)
    #expect(pages.count == 0 && pages.bytes == 0)
    pages.finish(asked, place, page(5))
    #expect(pages.count == 0, "what comes after it was taken is dropped")
  }
}

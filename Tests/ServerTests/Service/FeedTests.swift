import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceFeedTests {
  @Test func aFeedGivesEachRecordOnceInItsNewestStateOldestChangeFirst() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("a"), .create("b"), .create("c")])
    _ = try harness.modify(.force("a", ["t": .int64(1)]))
    let page = try harness.page()
    #expect(page.records.map(\.name) == ["b", "c", "a"])
    #expect(!page.moreComing)
    #expect(page.records.last?.record == (try harness.record("a")))
    #expect(try harness.page(page.syncToken).records.isEmpty)
  }

  @Test func deletionsAreToldOnlyToReadersWhoSawTheRecord() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("a"), .create("b"), .create("c"), .create("d")])
    let start = try harness.page(limit: 1)
    _ = try harness.modify([.forceDelete("a"), .forceDelete("b")])
    let zone = ZoneID("Diary", owner: "_alice")
    let news = try harness.page(start.syncToken).records
    #expect(news.map(\.name) == ["c", "d", "a", "b"])
    #expect(news.last == .deleted("b", zone: zone, type: "Entry"))
    // A reader without a token gets no tombstones, on no page of its first walk.
    var token: String?
    var names: [RecordName] = []
    repeat {
      let page = try harness.page(token, limit: 1)
      names += page.records.map(\.name)
      token = page.moreComing ? page.syncToken : nil
    } while token != nil
    #expect(names == ["c", "d"])
  }

  @Test func aDeletionDuringAFirstWalkIsTold() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("a"), .create("b")])
    let first = try harness.page(limit: 1)
    #expect(first.records.map(\.name) == ["a"])
    _ = try harness.modify(.forceDelete("a"))
    #expect(try harness.page(first.syncToken).records.map(\.name) == ["b", "a"])
  }

  @Test(arguments: [1, 2, 3, 4, 5])
  func pagesEndWhenThereIsNoMoreAndTheirTokensAdvance(limit: Int) throws {
    let harness = try Harness.withZone()
    let names = (0..<4).map { RecordName("r\($0)") }
    _ = try harness.modify(names.map { .create($0) })
    var token: String?
    var read: [RecordName] = []
    var pages = 0
    while true {
      let page = try harness.page(token, limit: limit)
      #expect(page.syncToken != token)
      read += page.records.map(\.name)
      pages += 1
      token = page.syncToken
      if !page.moreComing { break }
      #expect(page.records.count == limit)
    }
    #expect(read == names)
    #expect(pages == (4 + limit - 1) / limit)
  }

  @Test(arguments: [199, 200, 201])
  func aPageHoldsNoMoreThanTheClientMayHave(count: Int) throws {
    let harness = try Harness.withZone()
    _ = try harness.modify((0..<count).map { .create(RecordName("r\($0)")) })
    let page = try harness.page(limit: 1_000)
    #expect(page.records.count == min(count, 200))
    #expect(page.moreComing == (count > 200))
  }

  @Test func aPageEndsEarlyWhenItGrowsTooBig() throws {
    let harness = try Harness.withZone()
    let text = FieldValue.string(String(repeating: "x", count: 900_000))
    for index in 0..<6 { _ = try harness.modify(.create(RecordName("r\(index)"), ["t": text])) }
    let page = try harness.page()
    #expect(page.records.count == 4)
    #expect(page.moreComing)
    let rest = try harness.page(page.syncToken)
    #expect(rest.records.map(\.name) == ["r4", "r5"])
    #expect(!rest.moreComing)
  }

  @Test func typesThatWereNotAskedForAreLeftOutAndTheTokenAdvances() throws {
    let harness = try Harness.withZone()
    for index in 0..<6 { _ = try harness.modify(.create(RecordName("r\(index)"), type: index == 5 ? "Note" : "Entry")) }
    let start = try harness.page(limit: 2, types: ["Note"])
    #expect(start.records.map(\.name) == ["r5"])
    #expect(!start.moreComing)
    _ = try harness.modify([.forceDelete("r0"), .create("r6")])
    #expect(try harness.page(start.syncToken, types: ["Note"]).records.map(\.name) == ["r0"])
  }

  @Test func aReversedWalkGoesFromTheNewestToTheOldest() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("a"), .create("b"), .create("c")])
    _ = try harness.modify(.forceDelete("b"))
    let first = try harness.page(limit: 1, reversed: true)
    #expect(first.records.map(\.name) == ["c"])
    #expect(first.moreComing)
    let second = try harness.page(first.syncToken, limit: 1, reversed: true)
    #expect(second.records.map(\.name) == ["a"])
    #expect(!second.moreComing)
    #expect(try harness.page(second.syncToken, reversed: true).records.isEmpty)
    let forward = ZoneChangesRequest(zone: Harness.diary, syncToken: first.syncToken)
    #expect(try harness.failure(.recordsChanges(forward)) == .changeTokenExpired)
  }

  @Test func aForeignTokenHasExpired() throws {
    let harness = try Harness.withZone()
    try harness.makeZone("Other")
    let other = try harness.page(zone: ZoneSelector("Other")).syncToken
    let database = try harness.databaseChanges().syncToken
    for token in [other, database, "", "garbage!", "AQAAAAAAAAA="] {
      var request = ZoneChangesRequest(zone: Harness.diary)
      request.syncToken = token
      #expect(try harness.failure(.recordsChanges(request)) == .changeTokenExpired, "\(token)")
      guard case .zoneChanges(let results) = try harness.call(.changesZone([request, .init(zone: Harness.diary)]))
      else {
        return #expect(Bool(false))
      }
      #expect(results[0] == .failure(Harness.diary, .changeTokenExpired))
      guard case .page = results[1] else { return #expect(Bool(false)) }
    }
    #expect(
      try harness.failure(.changesDatabase(DatabaseChangesRequest(syncToken: other))) == .changeTokenExpired)
  }

  @Test func aZoneThatWasCreatedAgainExpiresOldTokensAndGoesOnWithItsNumbers() throws {
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r")).record!
    let token = try harness.page().syncToken
    try harness.deleteZone("Diary")
    #expect(
      try harness.failure(.recordsChanges(.init(zone: Harness.diary, syncToken: token)))?.code == .zoneNotFound)
    try harness.makeZone("Diary")
    #expect(
      try harness.failure(.recordsChanges(.init(zone: Harness.diary, syncToken: token))) == .changeTokenExpired)
    #expect(try harness.page().records.isEmpty)
    let second = try harness.modify(.create("r")).record!
    #expect(second.tag.sequence! > first.tag.sequence!)
    #expect(try harness.modify(.update("r", tag: first.tag)).code == .conflict)
  }

  @Test func theDefaultZoneAndThePublicDatabaseHaveNoFeed() throws {
    let harness = Harness()
    let request = ZoneChangesRequest(zone: ZoneSelector())
    #expect(try harness.failure(.recordsChanges(request)) == .badRequest(Reason.noChangesInDefaultZone))
    guard case .zoneChanges(let results) = try harness.call(.changesZone([request])) else {
      return #expect(Bool(false))
    }
    #expect(results == [.failure(ZoneSelector(), .badRequest(Reason.noChangesInDefaultZone))])
    #expect(try harness.failure(.recordsChanges(request), in: .open)?.code == .badRequest)
    #expect(try harness.failure(.changesDatabase(.init()), in: .open)?.code == .badRequest)
    #expect(try harness.failure(.zonesChanges(.init()), in: .open)?.code == .badRequest)
  }

  @Test func aDatabaseNobodyWroteToCanBeReadAndItsTokenGoesOn() throws {
    let harness = Harness()
    let empty = try harness.databaseChanges()
    #expect(empty.zones.isEmpty && !empty.moreComing)
    #expect(try harness.databaseChanges(empty.syncToken).zones.isEmpty)
    #expect(try harness.lookUp(["a"], zone: ZoneSelector())[0].code == .notFound)
    #expect(try harness.zones(.zonesList).count == 1)
    try harness.makeZone("Diary")
    #expect(try harness.databaseChanges(empty.syncToken).zones.compactMap(\.zone).map(\.id.name) == ["Diary"])
    // Its reader may be the one who made the zone, so it is told of the end too.
    try harness.deleteZone("Diary")
    #expect(try harness.databaseChanges(empty.syncToken).zones.compactMap(\.zone).map(\.isDeleted) == [true])
  }

  @Test func theDatabaseFeedListsEachChangedZoneOnceInOrderOfChange() throws {
    let harness = Harness()
    for name in ["A", "B", "C"] { try harness.makeZone(ZoneName(name)) }
    let start = try harness.databaseChanges()
    #expect(start.zones.compactMap(\.zone).map(\.id.name) == ["A", "B", "C"])
    _ = try harness.modify(.create("r"), zone: ZoneSelector("B"))
    _ = try harness.modify(.create("r"), zone: ZoneSelector("A"))
    _ = try harness.modify(.create("s"), zone: ZoneSelector("B"))
    try harness.deleteZone("C")
    let news = try harness.databaseChanges(start.syncToken).zones.compactMap(\.zone)
    #expect(news.map(\.id.name) == ["A", "B", "C"])
    #expect(news.map(\.isDeleted) == [false, false, true])
    #expect(news[2].deletionReason == .deleted && news[2].syncToken == nil)
    // Who begins without a token is told of no zone that is gone, on no page.
    let first = try harness.databaseChanges(limit: 1)
    #expect(first.moreComing && first.zones.count == 1)
    let second = try harness.databaseChanges(first.syncToken, limit: 5)
    #expect(second.zones.compactMap(\.zone).map(\.id.name) == ["B"])
    #expect(!second.moreComing)
    #expect(try harness.databaseChanges(second.syncToken).zones.isEmpty)
  }

  @Test func tokensOfAnotherUserAreForeign() throws {
    let harness = try Harness.withZone()
    try harness.makeZone("Diary", as: .bob)
    let token = try harness.page().syncToken
    let request = ZoneChangesRequest(zone: Harness.diary, syncToken: token)
    #expect(try harness.failure(.recordsChanges(request), as: .bob) == .changeTokenExpired)
  }

  // MARK: Zones that live again

  private func remove(_ zone: ZoneName, _ reason: ZoneDeletionReason, _ harness: Harness) throws {
    let context = CallContext(
      endpoint: Endpoint(
        container: "iCloud.test", environment: .development, scope: .private, operation: .zonesModify),
      principal: Harness.Caller.alice.principal, now: harness.now, random: SplitMix64(seed: harness.random.next()),
      urls: TestURLs())
    let isGone = try harness.write { transaction in
      var context = context
      return try Service().remove(zone, reason: reason, in: transaction, context: &context)
    }
    #expect(isGone)
  }

  /// What a feed told: a zone's name, for a deletion with a minus and its reason.
  private func told(_ reply: DatabaseChangesReply) -> [String] {
    reply.zones.compactMap(\.zone).map { zone in
      zone.isDeleted ? "-\(zone.id.name) \(zone.deletionReason?.rawValue ?? "")" : zone.id.name.rawValue
    }
  }

  @Test(arguments: [ZoneDeletionReason.deleted, .purged, .encryptedDataReset])
  func aZoneThatIsCreatedAgainIsToldAsDeletedFirst(reason: ZoneDeletionReason) throws {
    let harness = try Harness.withZone()
    let before = try harness.databaseChanges().syncToken
    try remove("Diary", reason, harness)
    let between = try harness.databaseChanges(before)
    #expect(told(between) == ["-Diary \(reason.rawValue)"])
    let again = try harness.makeZone("Diary")
    #expect(!again.isDeleted && again.deletionReason == nil)
    let news = try harness.databaseChanges(before)
    #expect(told(news) == ["-Diary \(reason.rawValue)", "Diary"])
    #expect(news.zones.compactMap(\.zone)[0].syncToken == nil && news.zones.compactMap(\.zone)[1] == again)
    #expect(told(try harness.databaseChanges(between.syncToken)) == ["Diary"])
    #expect(told(try harness.databaseChanges()) == ["Diary"])
    // Once told it is past.
    _ = try harness.modify(.create("r"))
    #expect(told(try harness.databaseChanges(news.syncToken)) == ["Diary"])
    // The last deletion is the one that counts.
    try remove("Diary", .deleted, harness)
    try harness.makeZone("Diary")
    #expect(told(try harness.databaseChanges(before)) == ["-Diary \(ZoneDeletionReason.deleted.rawValue)", "Diary"])
  }

  @Test func whoDoesNotAskForTheReasonIsGivenNoUnknownKey() throws {
    let harness = try Harness.withZone()
    let before = try harness.databaseChanges().syncToken
    try remove("Diary", .purged, harness)
    try harness.makeZone("Diary")
    let reply = try harness.call(.changesDatabase(.init(syncToken: before)))
    let text = String(decoding: reply.encoded(extensions: false, uuid: "u"), as: UTF8.self)
    #expect(text.contains(#""deleted":true"#) && text.contains(#""deleted":false"#))
    #expect(!text.contains("deletionReason") && !text.contains("atomic"))
  }

  /// A reader whose pages end between the deletion of a zone and its return.
  @Test(arguments: 1...5)
  func pagesTellOfDeletionsWhereTheyHappened(limit: Int) throws {
    let harness = Harness()
    for name in ["A", "B", "C"] as [ZoneName] { try harness.makeZone(name) }
    var token = try harness.databaseChanges().syncToken
    try remove("A", .encryptedDataReset, harness)
    try remove("B", .purged, harness)
    try harness.makeZone("B")
    _ = try harness.modify(.create("r"), zone: ZoneSelector("C"))
    try harness.makeZone("A")
    var all: [String] = []
    var moreComing = true
    while moreComing {
      let page = try harness.databaseChanges(token, limit: limit)
      #expect(page.zones.count <= limit)
      all += told(page)
      (token, moreComing) = (page.syncToken, page.moreComing)
    }
    #expect(
      all == [
        "-A \(ZoneDeletionReason.encryptedDataReset.rawValue)", "-B \(ZoneDeletionReason.purged.rawValue)", "B", "C",
        "A",
      ])
  }

  /// Whatever happens between two pages: a reader who knows a zone is told of its end before it is told of its next life.
  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func noLifeOfAZoneIsToldBeforeTheEndOfTheOneBefore(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let harness = Harness()
    var known: [ZoneName: UInt64] = [:]
    var token: String?
    for _ in 0..<300 {
      let name = ZoneName(["A", "B", "C", "D"][Int.random(in: 0..<4, using: &random)])
      switch Int.random(in: 0..<5, using: &random) {
      case 0: _ = try? harness.deleteZone(name)
      case 1, 2: try harness.makeZone(name)
      case 3: _ = try? harness.modify(.create(nil), zone: ZoneSelector(name))
      default:
        let page = try harness.databaseChanges(token, limit: Int.random(in: 1...3, using: &random))
        for zone in page.zones.compactMap(\.zone) {
          guard !zone.isDeleted else {
            known[zone.id.name] = nil
            continue
          }
          let life = try #require(zone.syncToken.flatMap { ChangeToken(text: $0) }).incarnation
          #expect(known[zone.id.name] ?? life == life, "zone \(zone.id.name)")
          known[zone.id.name] = life
        }
        token = page.syncToken
      }
    }
  }
}

import TestSupport
import Testing
import VirgaModel
import VirgaServerSQLite
import VirgaWire

@testable import VirgaServer

/// Creating and deleting fills no disk beyond what a database may hold.
@Suite struct ChurnTests {
  private static let zone = ZoneSelector()

  private func world(userBytes: Int64) -> Harness {
    let harness = Harness()
    harness.service.quotas = Quotas(userBytes: userBytes)
    return harness
  }

  private func tally(_ harness: Harness) throws -> DatabaseTally {
    try harness.write {
      try $0.tally(of: DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice"))
    }
  }

  @Test func replacedVersionsHaveTheRoomOfTheQuotaAgain() throws {
    let harness = world(userBytes: 100_000)
    let text = String(repeating: "x", count: 20_000)
    for number in 0..<40 {
      let name = RecordName("r\(number)")
      #expect(try harness.modify(.create(name, ["t": .string(text)]), zone: Self.zone).code == nil)
      #expect(try harness.modify(.forceDelete(name), zone: Self.zone).code == nil)
    }
    let tally = try tally(harness)
    #expect((100_000...125_000).contains(tally.historyBytes), "\(tally)")
    #expect(tally.tombstones == 40)
  }

  @Test(arguments: [-1, 0, 1])
  func newRecordsWaitWhereTooManyWereDeleted(extra: Int) throws {
    let most = 20
    let harness = world(userBytes: Int64(most) * Limits.tombstoneBytes)
    for number in 0..<(most + extra) {
      let name = RecordName("r\(number)")
      #expect(try harness.modify(.create(name), zone: Self.zone).code == nil)
      #expect(try harness.modify(.forceDelete(name), zone: Self.zone).code == nil)
    }
    let result = try harness.modify(.create("new"), zone: Self.zone)
    #expect(result.code == (extra > 0 ? .quotaExceeded : nil), "\(result)")
    // One that was there comes back, and with it there is one tombstone less.
    #expect(try harness.modify(.create("r0"), zone: Self.zone).code == nil)
    #expect(try harness.modify(.create("new2"), zone: Self.zone).code == nil)
  }

  /// Zones that come and go take no more than the quota twice: until what they held is cleared away, new records wait.
  @Test func newRecordsWaitForZonesThatAreClearedAway() throws {
    let harness = world(userBytes: 100_000)
    let trips = ZoneSelector("Trips")
    let text = String(repeating: "x", count: 90_000)
    func round(_ name: RecordName) throws -> ServerErrorCode? {
      _ = try modify(harness, .create, ["Trips"])
      let code = try harness.modify(.create(name, ["t": .string(text)]), zone: trips).code
      _ = try modify(harness, .delete, ["Trips"])
      return code
    }
    #expect(try round("a") == nil)
    #expect(try round("b") == nil, "who deletes a zone has its room again at once")
    #expect(try tally(harness).removedBytes > 180_000)
    #expect(try round("c") == .tryAgainLater)
    #expect(try harness.modify(.create("new"), zone: Self.zone).code == .tryAgainLater)
    let (service, now) = (harness.service, harness.now)
    try harness.write { while try service.perform(.removedRecords, in: $0, now: now) {} }
    #expect(try tally(harness).removedBytes == 0)
    #expect(try round("d") == nil)
  }

  // MARK: Zones

  private func modify(
    _ harness: Harness, _ kind: ZonesModifyRequest.Operation.Kind, _ names: [String]
  ) throws -> [ServiceError?] {
    let request = ZonesModifyRequest(operations: names.map { .init(kind, ZoneSelector(ZoneName($0))) })
    return try harness.zones(.zonesModify(request)).map { if case .failure(_, let error) = $0 { error } else { nil } }
  }

  @Test func zonesOfADatabaseAreCounted() throws {
    let harness = Harness()
    harness.service.zonesPerDatabaseMax = 3
    #expect(try modify(harness, .create, ["a", "b", "c", "d"]).map { $0 == nil } == [true, true, true, false])
    #expect(try modify(harness, .create, ["a"]) == [nil], "one that is there")
    #expect(try modify(harness, .delete, ["a"]) == [nil])
    #expect(try modify(harness, .create, ["d", "e"]).map { $0 == nil } == [true, false])
  }

  @Test func namesOfZonesAreCountedWhenTheZonesAreGone() throws {
    let harness = Harness()
    harness.service.zoneNamesPerDatabaseMax = 3
    for name in ["a", "b", "c"] {
      #expect(try modify(harness, .create, [name]) == [nil])
      #expect(try modify(harness, .delete, [name]) == [nil])
    }
    #expect(try modify(harness, .create, ["d"])[0]?.reason.hasPrefix(Reason.limitExceeded) == true)
    #expect(try modify(harness, .create, ["a"]) == [nil], "a name that it had")
  }

  /// However many zones there are, another one takes as many reads of the store, and so does one that is refused.
  @Test func aZoneCostsTheSameHoweverManyThereAre() async throws {
    let store = try StoreKind.sqlite.open()
    guard let sqlite = store.store as? SQLiteStore else { return }
    func create(_ names: [String], max: Int = .max) async throws -> Int {
      let before = sqlite.counts
      let endpoint = Endpoint(
        container: "iCloud.test", environment: .development, scope: .private, operation: .zonesModify)
      let start = CallContext(
        endpoint: endpoint, principal: Principal(user: "_alice", account: nil, device: nil),
        now: Timestamp(milliseconds: 1), random: SplitMix64(seed: UInt64(before.writes)), urls: TestURLs())
      var service = Service()
      service.zonesPerDatabaseMax = max
      let call = Call.zonesModify(
        ZonesModifyRequest(operations: names.map { .init(.create, ZoneSelector(ZoneName($0))) }))
      let performing = service
      try await store.write { transaction in
        var context = start
        _ = try performing.write(call, in: transaction, context: &context)
      }
      return sqlite.counts.statements + sqlite.counts.rows - before.statements - before.rows
    }
    _ = try await create(["first"])
    let early = try await create(["second"])
    for batch in 0..<5 { _ = try await create((0..<400).map { "z\(batch)-\($0)" }) }
    #expect(try await create(["late"]) == early)
    #expect(try await create(["refused"], max: 100) <= early)
  }
}

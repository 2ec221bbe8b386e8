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

  /// Whoever deletes much keeps nobody from saving: the zone's oldest deletions are forgotten, and a reader who was away
  /// for so long begins anew.
  @Test func theOldestDeletionsAreForgottenWhereThereAreTooMany() throws {
    let most = 20
    let harness = try Harness.withZone()
    harness.service.quotas = Quotas(userBytes: Int64(most) * Limits.tombstoneBytes)
    func churn(_ name: String) throws {
      #expect(try harness.modify(.create(RecordName(name))).code == nil)
      #expect(try harness.modify(.forceDelete(RecordName(name))).code == nil)
    }
    let early = try harness.page().syncToken
    for number in 0..<most { try churn("r\(number)") }
    #expect(try harness.page(early).records.count == most, "as many as there is room for")
    for number in most..<3 * most { try churn("r\(number)") }
    let late = try harness.page().syncToken
    try churn("last")
    #expect(try tally(harness).tombstones <= most + 2)
    #expect { try harness.page(early) } throws: { ($0 as? ServiceError) == .changeTokenExpired }
    #expect(try harness.page(late).records.map(\.name) == ["last"])
    #expect(try harness.modify(.create("r0")).code == nil, "a name that is free again")
  }

  /// Who deletes in one zone makes no reader of another one begin anew.
  @Test func deletionsOfOtherZonesStay() throws {
    let most = 20
    let harness = try Harness.withZone()
    try harness.makeZone("Quiet")
    harness.service.quotas = Quotas(userBytes: Int64(most) * Limits.tombstoneBytes)
    let quiet = ZoneSelector("Quiet")
    let token = try harness.page(zone: quiet).syncToken
    _ = try harness.modify(.create("q"), zone: quiet)
    _ = try harness.modify(.forceDelete("q"), zone: quiet)
    for number in 0..<3 * most {
      _ = try harness.modify(.create(RecordName("r\(number)")))
      _ = try harness.modify(.forceDelete(RecordName("r\(number)")))
    }
    #expect(try harness.page(token, zone: quiet).records.map(\.name) == ["q"])
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

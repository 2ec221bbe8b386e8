import Testing
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// Shares with more records than a participant's view can note one by one.
struct LargeShareTests {
  private static let below = Limits.shareNotesMax + 1
  private static let shared = ZoneSelector("Diary", owner: "_alice")
  private static let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")

  /// Alice's zone with `root`, below which too many lie, and `small`; both are shared with Bob.
  private static func world(_ kind: StoreKind) async throws -> (QueryWorld, large: String, small: String) {
    let world = try await QueryWorld(kind)
    try await world.save([.create("root", .text("top")), .create("small", .text("little"))])
    try await world.under.write { transaction in
      var zone = try transaction.zone("Diary", in: key)!
      let stamp = RecordStamp(time: Timestamp(milliseconds: 0), user: "_alice", device: "phone")
      for number in 0..<below {
        zone.sequence += 1
        var record = StoredRecord(
          name: RecordName("r\(number)"), type: "Entry", sequence: zone.sequence, created: stamp, modified: stamp,
          fieldsJSON: Array("{}".utf8))
        record.parent = Reference(recordName: "root")
        record.references = [.init(target: "root", kind: .parent)]
        try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
      }
      try transaction.put(&zone)
    }
    let invited = [ShareWorld.invitation("_bob")]
    let results = try await world.save([
      ShareWorld.shareOperation(of: "root", name: "Share-1", invited: invited),
      ShareWorld.shareOperation(of: "small", name: "Share-2", invited: invited),
    ])
    let guids = results.compactMap { $0.record?.shortGUID }
    return (world, try #require(guids.first), try #require(guids.last))
  }

  private static func accept(_ guid: String, _ world: QueryWorld) async throws -> ServiceError? {
    let call = Call.recordsAccept(.init(shortGUIDs: [.init(guid)]))
    guard case .shares(let results) = try await world.call(call, user: "_bob", scope: .public) else { return nil }
    if case .failure(_, let error) = results.first { return error }
    return nil
  }

  private static func page(after token: String?, _ world: QueryWorld) async throws -> ZoneChangesPage? {
    let call = Call.recordsChanges(ZoneChangesRequest(zone: shared, syncToken: token))
    guard case .recordChanges(let page) = try await world.call(call, user: "_bob", scope: .shared) else { return nil }
    return page
  }

  private static func delete(_ zone: ZoneSelector, by user: UserName, _ scope: DatabaseScope, _ world: QueryWorld)
    async throws -> ZoneResult?
  {
    let call = Call.zonesModify(ZonesModifyRequest(operations: [.init(.delete, zone)]))
    guard case .zones(let zones) = try await world.call(call, user: user, scope: scope) else { return nil }
    return zones.first
  }

  @Test(arguments: StoreKind.allCases)
  func theyAreAcceptedAndLeftAndTheOwnerCanStillSave(kind: StoreKind) async throws {
    let (world, large, small) = try await Self.world(kind)
    #expect(try await Self.accept(small, world) == nil)
    let token = try await Self.page(after: nil, world)?.syncToken
    #expect(try await Self.accept(large, world) == nil)
    // What came in is too much to be told one by one: the reader begins anew.
    await #expect(throws: ServiceError.changeTokenExpired) { try await Self.page(after: token, world) }
    #expect(try await Self.page(after: nil, world)?.moreComing == true)

    // Out of the large one alone, and back.
    let leaving = RecordsModifyRequest(operations: [.forceDelete("Share-1")], zone: Self.shared)
    _ = try await world.call(.recordsModify(leaving), user: "_bob", scope: .shared)
    var told: [String] = []
    var page: ZoneChangesPage?
    repeat {
      page = try await Self.page(after: page?.syncToken, world)
      told += page.map(ShareWorld.told) ?? []
    } while page?.moreComing == true
    #expect(told.sorted() == ["Share-2", "small"])
    #expect(try await world.save([.force("root", .text("x"))])[0].code == nil)
    let invited = try await world.lookUp("Share-1", user: "_alice")
    let update = RecordOperation.update("Share-1", tag: invited?.tag).with {
      $0.record.shareChange.participants = [ShareWorld.invitation("_bob")]
    }
    #expect(try await world.save([update])[0].code == nil)
    #expect(try await Self.accept(large, world) == nil)

    #expect(try await Self.delete(Self.shared, by: "_bob", .shared, world)?.zone?.isDeleted == true)
    #expect(try await world.save([.force("root", .text("y"))])[0].code == nil)
    #expect(try await world.save([.force("r0", .text("y"))])[0].code == nil)
  }

  @Test(arguments: StoreKind.allCases)
  func theirZoneIsDeletedByItsOwner(kind: StoreKind) async throws {
    let (world, large, small) = try await Self.world(kind)
    for guid in [small, large] { #expect(try await Self.accept(guid, world) == nil) }
    #expect(try await Self.delete(QueryWorld.zone, by: "_alice", .private, world)?.zone?.isDeleted == true)
    #expect(try await world.under.read { try $0.database(Self.key)?.usedBytes } == 0)
    await #expect(throws: ServiceError(.zoneNotFound, Reason.zoneNotFound)) {
      try await Self.page(after: nil, world)
    }
  }
}

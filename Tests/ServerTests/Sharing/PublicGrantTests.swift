import TestSupport
import Testing
import VirgaModel
import VirgaSchema
import VirgaWire

@testable import VirgaServer

/// Roles, grants, users' records and quotas.
struct PublicGrantTests {
  static let open = ZoneSelector()

  private func modify(
    _ harness: Harness, _ operation: RecordOperation, as caller: Harness.Caller = .alice
  ) throws -> RecordResult {
    try harness.modify(operation, zone: Self.open, as: caller, in: .open)
  }

  /// Why a request of this one write fails as a whole.
  private func refusal(
    _ harness: Harness, _ operation: RecordOperation, as caller: Harness.Caller
  ) throws -> ServiceError? {
    let request = RecordsModifyRequest(operations: [operation], zone: Self.open)
    return try harness.failure(.recordsModify(request), as: caller, in: .open)
  }

  private func lookUp(
    _ harness: Harness, _ name: RecordName, as caller: Harness.Caller
  ) throws -> RecordResult {
    try harness.lookUp([name], zone: Self.open, as: caller, in: .open)[0]
  }

  private func importSchema(_ text: String, _ harness: Harness) throws {
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .public, operation: .recordsModify)
    let start = CallContext(
      endpoint: endpoint, principal: .world, now: harness.now, random: SplitMix64(seed: 5), urls: TestURLs())
    let schema = try Schema(text)
    _ = try harness.write { transaction in
      var context = start
      return try Service().importSchema(schema, into: "iCloud.test", in: transaction, context: &context)
    }
  }

  private func setRoles(_ names: [RoleName], of user: UserName, _ harness: Harness) throws {
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .public, operation: .recordsModify)
    let start = CallContext(
      endpoint: endpoint, principal: .world, now: harness.now, random: SplitMix64(seed: 5), urls: TestURLs())
    try harness.write { transaction in
      var context = start
      try Service().setRoles(names, of: user, in: transaction, context: &context)
    }
  }

  @Test func grantsOfATypeDecideInThePublicDatabase() throws {
    let harness = Harness()
    try importSchema(
      """
      DEFINE SCHEMA
        CREATE ROLE Editor;
        RECORD TYPE News (text STRING, GRANT READ TO "_icloud", GRANT CREATE, WRITE TO Editor);
        RECORD TYPE Diary (text STRING, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
        RECORD TYPE Board (text STRING, GRANT READ, CREATE, WRITE TO "_world");
      """, harness)
    let news = RecordOperation.create("n", .text("x"), type: "News")
    #expect(try modify(harness, news).failure?.error == ServiceError(.accessDenied, Reason.createNotPermitted))
    try setRoles(["Editor"], of: "_alice", harness)
    #expect(try modify(harness, news).code == nil)
    #expect(try lookUp(harness, "n", as: .bob).code == nil)
    #expect(
      try lookUp(harness, "n", as: .world).failure?.error == ServiceError(.accessDenied, Reason.readNotPermitted))
    let change = RecordOperation(.forceUpdate, RecordChange(name: "n", type: "News"))
    #expect(try modify(harness, change, as: .bob).code == .accessDenied)
    try setRoles(["Editor"], of: "_bob", harness)
    #expect(try modify(harness, change, as: .bob).code == nil)
    try setRoles([], of: "_bob", harness)
    #expect(try modify(harness, .forceDelete("n"), as: .bob).code == .accessDenied)
    #expect(try modify(harness, .forceDelete("n")).isDeleted)

    #expect(try modify(harness, .create("d", .text("x"), type: "Diary")).code == nil)
    #expect(try lookUp(harness, "d", as: .alice).code == nil)
    #expect(try lookUp(harness, "d", as: .bob).code == .accessDenied)
    #expect(try modify(harness, .create("b", .text("x"), type: "Board"), as: .world).code == nil)
    #expect(try modify(harness, .forceDelete("b"), as: .world).isDeleted)
  }

  @Test func typesThatNobodyDeclaredHaveTheUsualGrants() throws {
    let harness = Harness()
    #expect(try refusal(harness, .create("r", .text("x")), as: .world)?.code == .authenticationRequired)
    #expect(try modify(harness, .create("r", .text("x"))).code == nil)
    #expect(try lookUp(harness, "r", as: .world).code == nil)
    #expect(try modify(harness, .force("r", .text("y")), as: .bob).code == .accessDenied)
    #expect(try modify(harness, .create("r", .text("y")), as: .bob).code == .conflict)
    #expect(try modify(harness, .force("r", .text("y"))).code == nil)
  }

  /// One write that `_world` may not make fails the request: nothing of it is written, and the page signs its user in.
  @Test func aWriteThatNobodySignedInForFailsTheWholeRequest() throws {
    let harness = Harness()
    try importSchema(
      """
      DEFINE SCHEMA
        RECORD TYPE Board (text STRING, GRANT READ, CREATE, WRITE TO "_world");
      """, harness)
    #expect(try modify(harness, .create("mine", .text("x"))).code == nil)
    for refused: RecordOperation in [
      .create("new"), .force("mine", .text("y")), .forceDelete("mine"), .delete("mine", tag: nil),
      RecordOperation(.replace, RecordChange(name: "nobody", type: "Entry")),
    ] {
      let request = RecordsModifyRequest(
        operations: [.create("board", .text("x"), type: "Board"), refused], zone: Self.open)
      #expect(try harness.failure(.recordsModify(request), as: .world, in: .open)?.code == .authenticationRequired)
      #expect(try lookUp(harness, "board", as: .world).code == .notFound)
    }
    #expect(try modify(harness, .create("board", .text("x"), type: "Board"), as: .world).code == nil)
    #expect(try modify(harness, .force("mine", .text("y")), as: .bob).code == .accessDenied)
  }

  @Test func aUsersRecordIsMadeByTheServiceAndChangedByThem() throws {
    let harness = Harness()
    #expect(try lookUp(harness, "_alice", as: .alice).code == .notFound)
    #expect(try modify(harness, .create("_alice", type: "Users")).code == .badRequest)
    #expect(try harness.call(.usersCaller, in: .open) == .user("_alice"))
    #expect(try harness.call(.usersCurrent, in: .own) == .user("_alice"))
    let record = try #require(try lookUp(harness, "_alice", as: .bob).record)
    #expect(record.type == .users && record.created.user == "_alice")
    let change = RecordOperation(.update, RecordChange(name: "_alice", tag: record.tag)).with {
      $0.record.fields = [FieldChange("nick", Field(.string("Al")))]
    }
    #expect(try modify(harness, change, as: .bob).code == .badRequest)
    #expect(try modify(harness, change).code == nil)
    #expect(try modify(harness, .forceDelete("_alice")).code == .accessDenied)
    let roles = RecordOperation(.forceUpdate, RecordChange(name: "_alice")).with {
      $0.record.fields = [FieldChange("roles", Field(.int64List([1])))]
    }
    #expect(try modify(harness, roles).code == .accessDenied)
  }

  @Test func nobodyElseMakesUsersRecordsNotEvenBesideTheirOwn() throws {
    let harness = Harness()
    _ = try harness.call(.usersCaller, in: .open)
    let own = RecordOperation(.forceUpdate, RecordChange(name: "_alice")).with {
      $0.record.fields = [FieldChange("nick", Field(.string("Al")))]
    }
    #expect(try modify(harness, own).code == nil)
    // The type, which is stored with the new field, does not grant it.
    let schema = try harness.write { try Service().schema(of: "iCloud.test", in: .development, transaction: $0) }
    #expect(schema[.users]?["nick"] != nil)
    #expect(schema[.users]?.grants == Schema.usersType.grants)
    // Nor do grants help.
    try importSchema(
      """
      DEFINE SCHEMA RECORD TYPE Users (
        nick STRING, GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator", GRANT READ TO "_world");
      """, harness)
    let other = RecordOperation.create("mine", .text("x"), type: "Users")
    let results = try harness.modify([own, other], zone: Self.open, atomic: false, in: .open)
    #expect(results.map(\.code) == [nil, .badRequest])
  }

  /// A user's record may refer to what somebody deletes.
  @Test(arguments: [true, false])
  func aUserSignsInWhateverTheirRecordRefersTo(removed: Bool) throws {
    let harness = Harness()
    _ = try harness.call(.usersCaller, in: .open)
    #expect(try modify(harness, .create("t", .text("x"))).code == nil)
    let own = RecordOperation(.forceUpdate, RecordChange(name: "_alice")).with {
      $0.record.fields = [
        FieldChange("to", Field(.reference(Reference(recordName: "t", action: .deleteSelf))))
      ]
    }
    #expect(try modify(harness, own).code == nil)
    #expect(try modify(harness, .forceDelete("t")).isDeleted)
    #expect(try lookUp(harness, "_alice", as: .bob).record?.type == .users)
    if removed {
      // A store may hold a user's record that went.
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: nil)
      try harness.write { transaction in
        var zone = try #require(try transaction.zone(.default, in: key))
        let live = try #require(try transaction.record("_alice", in: zone))
        zone.sequence += 1
        var tombstone = live
        (tombstone.isDeleted, tombstone.sequence, tombstone.fieldsJSON) = (true, zone.sequence, Array("{}".utf8))
        try transaction.put(tombstone, in: zone, replacing: live, keepsVersion: true)
        try transaction.put(&zone)
      }
    }
    #expect(try harness.call(.usersCaller, in: .open) == .user("_alice"))
    #expect(try lookUp(harness, "_alice", as: .bob).record?.type == .users)
  }

  @Test func usersRecordsCountAsWhatTheyTake() throws {
    let harness = Harness()
    try importSchema("DEFINE SCHEMA CREATE ROLE Editor; RECORD TYPE News (text STRING);", harness)
    _ = try harness.call(.usersCaller, in: .open)
    try setRoles(["Editor"], of: "_bob", harness)
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: nil)
    let usage = try harness.write { try $0.usage(of: .default, in: key) }
    #expect(usage.records > 4 && usage.zone == usage.records && usage.database == usage.records)
  }

  @Test func onlyNamesFindUsers() throws {
    let harness = Harness()
    _ = try harness.call(.usersCaller, as: .alice, in: .open)
    let infos: [UserLookupInfo] = [
      .emailAddress("alice@example.com"), .userRecordName("_nobody"), .userRecordName("_alice"), .phoneNumber("1"),
    ]
    let call = Call.usersLookup(UsersLookupRequest(lookupInfos: infos))
    guard case .users(let users) = try harness.call(call, as: .bob, in: .open) else { return #expect(Bool(false)) }
    #expect(users.map(\.userRecordName) == ["_alice"])
    #expect(try harness.failure(call, as: .world, in: .open)?.code == .authenticationRequired)
  }

  @Test func aQuotaIsKeptAndFreedAgain() throws {
    let harness = try Harness.withZone()
    harness.service = Service(quotas: Quotas(userBytes: 2_000))
    let text = String(repeating: "x", count: 900)
    func save(_ name: RecordName, _ text: String) throws -> ServerErrorCode? {
      try harness.modify(.force(name, .text(text))).code
    }
    #expect(try save("a", text) == nil)
    #expect(try save("b", text) == nil)
    let refusal = try #require(try harness.modify(.force("c", .text(text))).failure?.error)
    #expect(refusal.code == .quotaExceeded && refusal.reason.hasPrefix(Reason.quotaExceeded))
    #expect(try harness.record("c") == nil)
    // What is there may be changed to as much or less, and what goes makes room.
    #expect(try save("a", text) == nil)
    #expect(try save("a", text + text) == .quotaExceeded)
    #expect(try harness.modify(.forceDelete("b")).isDeleted)
    #expect(try save("c", text) == nil)
    try harness.deleteZone("Diary")
    try harness.makeZone("Diary")
    #expect(try save("a", text + text) == nil)
    // Others have their own, and the public database has another.
    #expect(try harness.modify(.create("r", .text(text + text)), zone: ZoneSelector(), in: .open).code == nil)
  }

  @Test func whatOthersWriteCountsForTheOwner() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    world.harness.service = Service(quotas: Quotas(userBytes: 1_000))
    let large = String(repeating: "x", count: 1_000)
    #expect(try world.modify(.force("a", .text(large))).code == .quotaExceeded)
    world.harness.service = Service(quotas: Quotas(publicBytes: 500))
    #expect(try world.modify(.force("a", .text(large))).code == nil)
    let open = RecordOperation.create("r", .text(large))
    #expect(try world.harness.modify(open, zone: ZoneSelector(), in: .open).code == .quotaExceeded)
  }
}

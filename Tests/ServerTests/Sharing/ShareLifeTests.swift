import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// From the invitation to the end.
struct ShareLifeTests {
  @Test func aShareAndItsRootNameEachOther() throws {
    let world = try ShareWorld()
    let before = try #require(try world.harness.record("root"))
    let share = try world.share()
    #expect(share.share?.recordName == "root")
    #expect(share.type == .share)
    #expect(share.shareDetails?.publicPermission == SharePermission.none)
    #expect(share.shareDetails?.owner?.identity.userRecordName == "_alice")
    #expect(share.shareDetails?.currentUserParticipant == share.shareDetails?.owner)
    #expect(try share.value("cloudkit.title") == .string("My diary"))
    let root = try #require(try world.harness.record("root"))
    #expect(root.share?.recordName == "Share-1")
    #expect(root.shortGUID == share.shortGUID && root.shortGUID?.utf8.count == 32)
    #expect(root.tag != before.tag)
    // Nothing but the share changed, so whoever saw the earlier version has seen all there is.
    #expect(try world.harness.modify(.update("root", tag: before.tag, .text("new"))).code == nil)
    #expect(try world.harness.modify(.update("root", tag: before.tag, .text("newer"))).code == .conflict)
  }

  /// Whoever saw an earlier version did not see what was made and undone since.
  @Test func aTagOfBeforeAnUndoneEditIsStale() throws {
    let world = try ShareWorld()
    let harness = world.harness
    let before = try #require(try harness.record("root")).tag
    let share = try world.share()
    let shared = try #require(try harness.record("root")).tag
    #expect(try harness.modify(.delete("Share-1", tag: share.tag)).isDeleted)
    for text in ["", "top"] { #expect(try harness.modify(.force("root", .text(text))).code == nil) }
    let restored = try #require(try harness.record("root")).tag
    for tag in [before, shared] { #expect(try harness.modify(.update("root", tag: tag, .text("x"))).code == .conflict) }
    // Shared once more, the version of after the edits is the same as the live one.
    try world.share(name: "Share-2")
    #expect(try harness.modify(.update("root", tag: shared, .text("x"))).code == .conflict)
    #expect(try harness.modify(.update("root", tag: restored, .text("x"))).code == nil)
  }

  @Test func aTagOfAnEarlierLifeIsStale() throws {
    let world = try ShareWorld()
    let harness = world.harness
    let before = try #require(try harness.record("diary")).tag
    #expect(try harness.modify(.forceDelete("diary")).isDeleted)
    harness.now = harness.now + .seconds(1)
    #expect(try harness.modify(.create("diary", .text("own"))).code == nil)
    try world.share(of: "diary")
    #expect(try harness.modify(.update("diary", tag: before, .text("x"))).code == .conflict)
  }

  @Test func timesOfASharesVersionsNeverGoBackThoughTheServersClockDoes() throws {
    let world = try ShareWorld()
    let harness = world.harness
    let start = harness.now
    harness.now = start + .seconds(-10)
    let share = try world.share(invited: [ShareWorld.invitation("_bob")])
    #expect(try #require(try harness.record("root")).modified.time == start)
    harness.now = start + .seconds(-20)
    #expect(try world.accept(share) == nil)
    let joined = try #require(try harness.record("Share-1"))
    #expect(joined.tag != share.tag && joined.modified.time == share.modified.time)
    let change = ShareWorld.shareOperation(of: nil, open: .readOnly)
      .with { ($0.kind, $0.record.tag) = (.update, joined.tag) }
    #expect(try #require(try harness.modify(change).record).modified.time == share.modified.time)
  }

  @Test func rootAndShareMayBeMadeTogether() throws {
    let harness = try Harness.withZone()
    let results = try harness.modify([
      ShareWorld.shareOperation(name: nil),
      .create("root").with { $0.record.createShortGUID = true },
    ])
    let share = try #require(results[0].record)
    #expect(share.id.name.rawValue.hasPrefix("Share-"))
    #expect(results[1].record?.share?.recordName == share.id.name)
    #expect(results[1].record?.shortGUID == share.shortGUID)
    #expect(share.tag == (try harness.record(share.id.name))?.tag)
    #expect(results[1].record?.tag == (try harness.record("root"))?.tag)

    // A native client names the share in the root.
    let named = try harness.modify([
      .create("Share-2", type: .share),
      .create("other").with { $0.record.share = Reference(recordName: "Share-2") },
    ])
    #expect(named.map(\.code) == [nil, nil])
    #expect(named[0].record?.share?.recordName == "other")
  }

  @Test func whatCannotBeSharedIsRefused() throws {
    let world = try ShareWorld()
    let harness = world.harness
    _ = try harness.modify(.create("below").with { $0.record.parent = .set("a") })
    func refusal(_ operation: RecordOperation, zone: ZoneSelector = Harness.diary, in place: Harness.Where = .own)
      throws -> String?
    {
      try harness.modify(operation, zone: zone, in: place).failure?.error.reason
    }
    #expect(try refusal(ShareWorld.shareOperation(of: "none"))?.hasPrefix(Reason.noRecordToShare) == true)
    #expect(try refusal(ShareWorld.shareOperation(of: nil))?.hasPrefix(Reason.noRecordToShare) == true)
    #expect(try refusal(ShareWorld.shareOperation(), zone: ZoneSelector())?.contains("default zones") == true)
    #expect(
      try refusal(ShareWorld.shareOperation(), zone: ZoneSelector(), in: .open)?.contains("public database") == true)
    #expect(try refusal(ShareWorld.shareOperation(of: "root", name: .zoneShare))?.contains("no root") == true)
    #expect(
      try refusal(ShareWorld.shareOperation().with { $0.record.type = "cloudKit.share" }) == Reason.noRecordToShare
        + ": type 'cloudKit.share' is reserved")
    let stale = try #require(try harness.record("root")).tag
    _ = try harness.modify(.force("root", .text("x")))
    #expect(try harness.modify(ShareWorld.shareOperation(tag: stale)).code == .conflict)

    // A record is in one share only.
    try world.share(of: "a")
    for root in ["a", "below", "root"] as [RecordName] {
      let reason = try refusal(ShareWorld.shareOperation(of: root, name: "Share-2"))
      #expect(reason?.hasPrefix(Reason.alreadyShared) == true, "\(root): \(reason ?? "shared")")
    }
    #expect(try refusal(ShareWorld.shareOperation(of: nil, name: nil))?.hasPrefix(Reason.alreadyShared) == true)
    #expect(try refusal(ShareWorld.shareOperation(of: "b", name: "Share-2")) == nil)
  }

  @Test func aWholeZoneIsSharedByARecordWithAFixedName() throws {
    let world = try ShareWorld()
    let share = try world.share(of: nil, name: nil, invited: [ShareWorld.invitation("_bob")])
    #expect(share.id.name == .zoneShare)
    #expect(share.share == nil)
    let metadata = try #require(try world.resolve(share))
    #expect(metadata.rootRecordName == nil && metadata.rootRecord == nil)
    #expect(try world.accept(share) == nil)
    #expect(ShareWorld.told(try world.page()) == ["root", "diary", "a", "b", "cloudkit.zoneshare"])
    #expect(try world.modify(.create("c", .text("by Bob"))).record?.created.user == "_bob")
    let reason = try world.harness.modify(ShareWorld.shareOperation()).failure?.error.reason
    #expect(reason?.hasPrefix(Reason.alreadyShared) == true)
    // Its deletions are told as they are.
    let token = try world.page().syncToken
    _ = try world.harness.modify(.forceDelete("diary"))
    #expect(ShareWorld.told(try world.page(token)) == ["-diary"])
  }

  @Test func anInvitationIsAcceptedOnceAndForAll() throws {
    let world = try ShareWorld()
    let share = try world.share(invited: [ShareWorld.invitation("_bob", .readOnly)])
    let before = try #require(try world.resolve(share))
    #expect(before.participantStatus == .invited && before.participantPermission == .readOnly)
    #expect(before.participantRole == .privateUser)
    #expect(before.scope == .shared && before.zone == ZoneID("Diary", owner: "_alice"))
    #expect(before.rootRecordName == "root" && before.rootRecord?.id.name == "root")
    #expect(before.ownerIdentity.userRecordName == "_alice")
    #expect(try world.zones() == [])
    #expect(try world.accept(share) == nil)
    let tag = try world.harness.record("Share-1")?.tag
    #expect(tag != share.tag)
    #expect(try world.accept(share) == nil)
    #expect(try world.harness.record("Share-1")?.tag == tag)
    #expect(try world.resolve(share)?.participantStatus == .accepted)
    #expect(try world.zones() == [ZoneID("Diary", owner: "_alice")])
    let owner = try #require(try world.resolve(share, as: .alice))
    #expect(owner.scope == .private && owner.participantRole == .owner)
    #expect(try world.accept(share, as: .alice) == nil)
  }

  @Test func strangersAreRefusedAndLearnNothing() throws {
    let world = try ShareWorld()
    let share = try world.share(invited: [
      ShareParticipant(identity: UserIdentity(lookupInfo: .emailAddress("bob@example.com")), permission: .readOnly)
    ])
    #expect(share.shareDetails?.participants.map(\.acceptanceStatus) == [.accepted, .invited])
    // An address says whom somebody meant; nobody can prove it here.
    #expect(try world.accept(share)?.code == .accessDenied)
    #expect(try world.resolve(share) == nil)
    let results = try world.shares(.recordsAccept(.init(shortGUIDs: [.init("none")])))
    guard case .failure(_, let error) = results[0] else { return #expect(Bool(false)) }
    #expect(error.code == .notFound)
    let call = Call.recordsAccept(.init(shortGUIDs: [.init(try #require(share.shortGUID))]))
    #expect(try world.harness.failure(call, as: .world, in: .open)?.code == .authenticationRequired)
  }

  @Test func whoeverKnowsTheAddressOfAnOpenShareMayJoin() throws {
    let world = try ShareWorld()
    let share = try world.share(open: .readOnly)
    #expect(try world.resolve(share)?.participantRole == .publicUser)
    #expect(try world.accept(share) == nil)
    #expect(try world.accept(share, as: ShareWorld.carol) == nil)
    #expect(try world.modify(.force("a", .text("x"))).code == .accessDenied)
    // Joined participants see the owner and themselves.
    let seen = try #require(try world.lookUp("Share-1").record?.shareDetails)
    #expect(seen.participants.map(\.identity.userRecordName) == ["_alice", "_bob"])
    #expect(seen.currentUserParticipant?.role == .publicUser)

    // Their permission is the share's.
    var current = try #require(try world.harness.record("Share-1"))
    #expect(current.shareDetails?.participants.count == 3)
    let open = RecordOperation.update("Share-1", tag: current.tag)
      .with { $0.record.shareChange.publicPermission = .readWrite }
    #expect(try world.harness.modify(open).code == nil)
    #expect(try world.modify(.force("a", .text("x"))).code == nil)

    // Closing it takes it from all.
    let token = try world.databaseChanges().syncToken
    current = try #require(try world.harness.record("Share-1"))
    let close = RecordOperation.update("Share-1", tag: current.tag)
      .with { $0.record.shareChange.publicPermission = SharePermission.none }
    #expect(try world.harness.modify(close).record?.shareDetails?.participants.count == 1)
    #expect(try world.zones() == [])
    #expect(try world.databaseChanges(token).zones.map { $0.zone?.isDeleted } == [true])
    #expect(try world.accept(share)?.code == .accessDenied)
  }

  @Test func participantsAreChangedByTheOwnerAlone() throws {
    let world = try ShareWorld()
    var share = try world.shareWithBob(.readOnly)
    share = try #require(try world.harness.record("Share-1"))
    let bob = try #require(share.shareDetails?.participants.last)
    let theirs = RecordOperation.update("Share-1", tag: share.tag).with {
      $0.record.shareChange.participants = [ShareWorld.invitation("_bob", .readWrite)]
    }
    #expect(try world.modify(theirs).code == .accessDenied)
    var raised = bob
    raised.permission = .readWrite
    let update = RecordOperation.update("Share-1", tag: share.tag).with {
      $0.record.shareChange.participants = [raised, ShareWorld.invitation("_carol", .readOnly)]
    }
    let after = try #require(try world.harness.modify(update).record?.shareDetails)
    #expect(after.participants.map(\.acceptanceStatus) == [.accepted, .accepted, .invited])
    #expect(after.participants[1].id == bob.id)
    #expect(try world.modify(.force("a", .text("x"))).code == nil)

    // A share is never saved over a version that its writer has not seen, whatever the policy.
    let blind = RecordOperation(.forceReplace, RecordChange(name: "Share-1", type: .share, tag: share.tag))
    #expect(try world.harness.modify(blind).code == .conflict)

    // Whoever is left out is out.
    let tag = try #require(try world.harness.record("Share-1")).tag
    let remove = RecordOperation.update("Share-1", tag: tag).with { $0.record.shareChange.participants = [] }
    #expect(try world.harness.modify(remove).code == nil)
    #expect(try world.zones() == [])
    #expect(try world.accept(share)?.code == .accessDenied)
  }

  @Test(arguments: [98, 99, 100])
  func aShareHasAtMostAHundredParticipants(others: Int) throws {
    let world = try ShareWorld()
    let invited = (0..<others).map { ShareWorld.invitation(UserName("_user\($0)")) }
    let result = try world.harness.modify(ShareWorld.shareOperation(invited: invited))
    #expect(result.failure?.error.reason.hasPrefix(Reason.tooManyParticipants) == (others > 99 ? true : nil))
    if others > 99 { #expect(try world.harness.record("root")?.share == nil) }
  }

  /// What the service does not know of a share takes room like what it knows.
  @Test func aShareHoldsNoMoreThanOneMegabyte() throws {
    let world = try ShareWorld()
    func share(_ key: String, _ count: Int) -> RecordOperation {
      ShareWorld.shareOperation().with {
        $0.record.unknownMembers = Array("\"\(key)\":\"\(String(repeating: "x", count: count))\"".utf8)
      }
    }
    func isTooLarge(_ operation: RecordOperation) throws -> Bool {
      let reason = try world.harness.modify(operation).failure?.error.reason
      return reason?.hasPrefix("\(Reason.limitExceeded): bytes in share 'Share-1'") == true
    }
    #expect(try isTooLarge(share("a", 2_000_000)))
    #expect(try world.harness.modify(share("a", 600_000)).code == nil)
    // Nor by and by.
    let tag = try world.harness.record("Share-1")?.tag
    var more = share("b", 600_000)
    more.kind = .update
    more.record.tag = tag
    #expect(try isTooLarge(more))
    let crowd = (0..<90).map { number in
      var participant = ShareWorld.invitation(UserName("_user\(number)"))
      participant.identity.nameComponents = Array(
        "{\"givenName\":\"\(String(repeating: "x", count: 20_000))\"}".utf8)
      return participant
    }
    #expect(
      try isTooLarge(
        RecordOperation.update("Share-1", tag: tag).with { $0.record.shareChange.participants = crowd }))
  }

  /// Whatever comes and goes with a share, the count of bytes comes back to where it was.
  @Test func sharesCountForTheQuota() throws {
    let world = try ShareWorld()
    @Sendable func usedBytes(_ transaction: any WriteTransaction) throws -> [Int64?] {
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
      return [try transaction.database(key)?.usedBytes, try transaction.zone("Diary", in: key)?.usedBytes]
    }
    let before = try world.harness.write(usedBytes)
    let share = try world.share(open: .readOnly)
    let begun = try world.harness.write(usedBytes)
    #expect(begun[0] == begun[1] && begun[0] ?? 0 > (before[0] ?? 0) + 200)
    #expect(try world.accept(share) == nil && world.accept(share, as: ShareWorld.carol) == nil)
    let joined = try world.harness.write(usedBytes)
    #expect(joined[0] == joined[1] && joined[0] ?? 0 > begun[0] ?? 0)
    #expect(try world.modify(.forceDelete("Share-1")).isDeleted)
    let deletion = Call.zonesModify(ZonesModifyRequest(operations: [.init(.delete, ShareWorld.zone)]))
    _ = try world.harness.zones(deletion, as: ShareWorld.carol, in: .shared)
    #expect(try world.harness.write(usedBytes) == begun)
    #expect(try world.harness.modify(.forceDelete("Share-1")).isDeleted)
    #expect(try world.harness.write(usedBytes) == before)
  }

  /// A request may hold very many, which are not first compared with each other.
  @Test func tooManyParticipantsAreRefusedAtOnce() throws {
    let world = try ShareWorld()
    var invited = (0..<40_000).map { ShareWorld.invitation(UserName("_user\($0)")) }
    let many = try world.harness.modify(ShareWorld.shareOperation(invited: invited)).failure?.error.reason
    #expect(many == "\(Reason.tooManyParticipants): 40000, at most 100 allowed")
    // Those that the request takes out are not counted.
    for index in invited.indices.dropFirst(50) { invited[index].acceptanceStatus = .removed }
    let share = try world.harness.modify(ShareWorld.shareOperation(invited: invited)).record
    #expect(share?.shareDetails?.participants.count == 51)
  }

  @Test func leavingIsDeletingTheShareOrTheZone() throws {
    let world = try ShareWorld()
    let share = try world.shareWithBob()
    let token = try world.databaseChanges().syncToken
    #expect(try world.modify(.forceDelete("Share-1")).isDeleted)
    #expect(try world.zones() == [])
    #expect(try world.databaseChanges(token).zones.map { $0.zone?.isDeleted } == [true])
    #expect(try world.harness.record("Share-1")?.shareDetails?.participants.count == 1)
    #expect(try world.harness.record("root")?.share != nil)
    #expect(try world.accept(share)?.code == .accessDenied)

    let other = try ShareWorld()
    try other.shareWithBob()
    let zone = ZoneSelector("Diary", owner: "_alice")
    let deletion = Call.zonesModify(ZonesModifyRequest(operations: [.init(.delete, zone)]))
    #expect(try other.harness.zones(deletion, as: .bob, in: .shared)[0].zone?.isDeleted == true)
    #expect(try other.zones() == [])
    #expect(try other.harness.zones(deletion, as: .bob, in: .shared)[0].zone?.isDeleted == true)
    #expect(try other.harness.record("a") != nil)
  }

  /// C70
  @Test func sharingAndStoppingThreeTimesSucceeds() throws {
    let world = try ShareWorld()
    var token: String?
    var addresses: Set<String?> = []
    let rootTag = try world.harness.record("root")?.tag
    for round in 1...3 {
      let made = try world.harness.modify(
        ShareWorld.shareOperation(
          name: RecordName("Share-\(round)"), tag: rootTag,
          invited: [
            ShareWorld.invitation("_bob")
          ]))
      let share = try #require(made.record, "\(String(describing: made.failure))")
      addresses.insert(share.shortGUID)
      #expect(try world.accept(share) == nil)
      var changes = try world.databaseChanges(token)
      #expect(changes.zones.map { $0.zone?.isDeleted } == [false])
      #expect(ShareWorld.told(try world.page()).sorted() == ["Share-\(round)", "a", "b", "root"])
      let tag = try #require(try world.harness.record(share.id.name)).tag
      #expect(try world.harness.modify(.delete(share.id.name, tag: tag)).isDeleted)
      #expect(try world.harness.record("root")?.share == nil)
      changes = try world.databaseChanges(changes.syncToken)
      #expect(changes.zones.map { $0.zone?.isDeleted } == [true])
      #expect(
        try world.harness.failure(
          .recordsChanges(.init(zone: ShareWorld.zone)), as: .bob, in: .shared)?.code == .zoneNotFound)
      token = changes.syncToken
    }
    // Who has an address of before is not let in by it again.
    #expect(addresses.count == 3 && !addresses.contains(nil))
  }

  /// The address of a share that ended is none of another record's, even if that has the same name.
  @Test func anAddressLeadsToTheShareThatItWasMadeForAlone() throws {
    let world = try ShareWorld()
    let first = try world.share(of: "root", open: .readOnly)
    #expect(try world.harness.modify(.forceDelete("Share-1")).isDeleted)
    let second = try world.share(of: "diary", open: .readOnly)
    #expect(second.shortGUID != first.shortGUID)
    #expect(try world.resolve(first) == nil)
    #expect(try world.accept(first)?.code == .notFound)
    #expect(try world.accept(second) == nil)
  }

  /// C74
  @Test func theParticipantLosesTheZoneWithTheLastRoot() throws {
    let world = try ShareWorld([])
    try world.shareWithBob()
    let token = try world.databaseChanges().syncToken
    #expect(try world.modify(.forceDelete("root")).failure?.error.reason.contains("only its owner") == true)
    #expect(try world.harness.modify(.forceDelete("root")).isDeleted)
    #expect(try world.databaseChanges(token).zones.map { $0.zone?.isDeleted } == [true])
    #expect(try world.zones() == [])
    #expect(try world.harness.record("Share-1") == nil)
    #expect(try world.harness.record("diary") != nil)
  }

  @Test func theZoneOfTheOwnerTakesItsSharesAlong() throws {
    let world = try ShareWorld()
    let share = try world.shareWithBob()
    let token = try world.databaseChanges().syncToken
    try world.harness.deleteZone("Diary")
    #expect(try world.databaseChanges(token).zones.map { $0.zone?.isDeleted } == [true])
    #expect(try world.zones() == [])
    #expect(try world.accept(share)?.code == .notFound)
  }

  @Test func aFailedBatchSharesNothing() throws {
    let world = try ShareWorld()
    let results = try world.harness.modify([
      ShareWorld.shareOperation(), .update("a", tag: "zz", .text("x")),
    ])
    #expect(results.map(\.code) == [.atomicError, .conflict])
    #expect(try world.harness.record("root")?.share == nil)

    let parts = try world.harness.modify(
      [ShareWorld.shareOperation(), .update("root", tag: "zz", .text("x"))], atomic: false)
    #expect(parts[1].code == .conflict)
    #expect(parts[0].code == nil || parts[0].code == .badRequest)
    #expect((try world.harness.record("root")?.share == nil) == (parts[0].code != nil))
  }

  /// In a batch that is not atomic, others may succeed.
  @Test func aShareFailsWithItsRootAndLeavesNothingBehind() throws {
    let world = try ShareWorld()
    let harness = world.harness
    let results = try harness.modify(
      [ShareWorld.shareOperation(), .update("root", tag: "zz", .text("x")), .create("other")], atomic: false)
    #expect(results.map(\.code) == [.badRequest, .conflict, nil])
    #expect(try harness.record("root")?.share == nil)
    #expect(try harness.record("Share-1") == nil)

    // The name is free for any record, also while another record of the zone is shared.
    try world.share(of: "diary", name: "Share-2")
    #expect(try harness.modify(.create("Share-1")).code == nil)
    #expect(try harness.modify(.force("root", .text("y"))).code == nil)
    #expect(try world.share(of: "root", name: "Share-3").share?.recordName == "root")
  }

  /// Of an atomic batch all fail with the one that is to blame.
  @Test func aShareIsNotToBlameForItsRootInAnAtomicBatch() throws {
    let world = try ShareWorld()
    let results = try world.harness.modify([ShareWorld.shareOperation(), .update("root", tag: "zz", .text("x"))])
    #expect(results.map(\.code) == [.atomicError, .conflict])
    let unmade = try world.harness.modify([
      ShareWorld.shareOperation(of: "new"), .create("new", ["bad name!": .int64(1)]),
    ])
    #expect(unmade.map(\.code) == [.atomicError, .badRequest])
    #expect(try world.harness.record("root")?.share == nil)
  }

  @Test func aShareThatTheQuotaRefusesLeavesItsRootAlone() throws {
    let world = try ShareWorld()
    world.harness.service.quotas = Quotas(userBytes: 1_000)
    let picture = FieldValue.string(String(repeating: "x", count: 2_000))
    let share = ShareWorld.shareOperation().with {
      $0.record.fields.append(FieldChange("picture", Field(picture)))
    }
    let results = try world.harness.modify([share, .create("other")], atomic: false)
    #expect(results.map(\.code) == [.quotaExceeded, nil])
    #expect(try world.harness.record("root")?.share == nil)
    #expect(try world.harness.modify(.force("root", .text("y"))).code == nil)
  }

  /// A link that leads to no share, from whatever older version wrote it, costs nobody the record.
  @Test func aRecordInAShareThatIsNoneCanBeSaved() throws {
    let world = try ShareWorld()
    try world.share(of: "diary", name: "Share-2")
    _ = try world.harness.modify(.create("Share-1"))
    try world.harness.write { transaction in
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
      var row = try transaction.zone("Diary", in: key)!
      let live = try transaction.record("root", in: row)!
      row.sequence += 1
      var next = live
      next.sequence = row.sequence
      next.share = Reference(recordName: "Share-1")
      try transaction.put(next, in: row, replacing: live, keepsVersion: true)
      try transaction.put(&row)
    }
    #expect(try world.harness.modify(.force("root", .text("y"))).code == nil)
    #expect(try world.harness.modify(.force("a", .text("y"))).code == nil)
  }
}

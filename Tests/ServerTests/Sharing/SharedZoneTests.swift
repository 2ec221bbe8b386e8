import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// What participants see of a zone, and what they may do there.
struct SharedZoneTests {
  /// C67
  @Test func theZoneOfAnotherIsReachedThroughTheSharedDatabase() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    #expect(try world.lookUp("Share-1").record?.shareDetails?.currentUserParticipant?.role == .privateUser)
    let lookup = Call.recordsLookup(.init(records: [.init("Share-1")], zone: ShareWorld.zone))
    let refusal = try #require(try world.harness.failure(lookup, as: .bob, in: .own))
    #expect(refusal.code == .accessDenied)
    #expect(refusal.reason.contains("'_alice'"))
    let own = Call.recordsLookup(.init(records: [.init("Share-1")], zone: Harness.diary))
    #expect(try world.harness.failure(own, as: .alice, in: .shared)?.code == .zoneNotFound)
    #expect(try world.harness.failure(lookup, as: ShareWorld.carol, in: .shared)?.code == .zoneNotFound)
  }

  @Test func onlyTheHierarchyIsVisible() throws {
    let world = try ShareWorld()
    _ = try world.harness.modify([
      .create("below").with { $0.record.parent = .set("a") }, .create("other"),
      .create("beside").with { $0.record.parent = .set("other") },
    ])
    try world.shareWithBob()
    let visible = ["Share-1", "a", "b", "below", "root"]
    #expect(ShareWorld.told(try world.page()).sorted() == visible)
    #expect(ShareWorld.told(try world.page(reversed: true)).sorted() == visible)
    #expect(try world.lookUp("below").record != nil)
    for name in ["diary", "other", "beside", "none"] as [RecordName] {
      #expect(try world.lookUp(name).code == .notFound)
      #expect(try world.modify(.update(name, tag: "1", .text("x"))).code == .notFound)
      #expect(try world.modify(.delete(name, tag: "1")).code == .notFound)
      #expect(try world.modify(.forceDelete(name)).isDeleted)
      #expect(try world.modify(.force(name, .text("x"))).code == .accessDenied)
      #expect(try world.modify(.create(name)).code == .accessDenied)
    }
    #expect(try world.harness.record("diary")?.value("text") == .string("own"))
    // Changes that concern the participant's part alone reach them, in pages too.
    var token = try world.page().syncToken
    _ = try world.harness.modify([.force("diary", .text("x")), .force("a", .text("x")), .force("below", [:])])
    let first = try world.page(token, limit: 1)
    #expect(ShareWorld.told(first) == ["a"] && first.moreComing)
    token = first.syncToken
    #expect(ShareWorld.told(try world.page(token)) == ["below"])
  }

  @Test func whatEntersAndLeavesTheHierarchyIsTold() throws {
    let world = try ShareWorld()
    _ = try world.harness.modify([
      .create("far"), .create("near").with { $0.record.parent = .set("far") },
      .create("nearest").with { $0.record.parent = .set("near") },
    ])
    try world.shareWithBob()
    var token = try world.page().syncToken
    let tag = try #require(try world.harness.record("nearest")).tag
    func move(_ name: RecordName, _ parent: ParentChange) throws {
      #expect(try world.harness.modify(.force(name).with { $0.record.parent = parent }).code == nil)
    }
    try move("near", .set("a"))
    #expect(try world.lookUp("nearest").record != nil)
    var page = try world.page(token)
    #expect(ShareWorld.told(page) == ["near", "nearest"])
    // What only came along is as it was.
    #expect(page.records.last?.record?.tag == tag)
    token = page.syncToken
    try move("near", .cleared)
    page = try world.page(token)
    #expect(ShareWorld.told(page) == ["-near", "-nearest"])
    #expect(try world.lookUp("nearest").code == .notFound)
    #expect(ShareWorld.told(try world.page(page.syncToken)) == [])
    // In pages of one, and for a reader who begins now.
    let one = try world.page(token, limit: 1)
    #expect(ShareWorld.told(one) == ["-near"] && one.moreComing)
    #expect(ShareWorld.told(try world.page(one.syncToken)) == ["-nearest"])
    #expect(ShareWorld.told(try world.page()).sorted() == ["Share-1", "a", "b", "root"])

    token = page.syncToken
    _ = try world.harness.modify([.forceDelete("b"), .forceDelete("diary")])
    #expect(ShareWorld.told(try world.page(token)) == ["-b"])
  }

  @Test func aZoneIsOneViewOfAllItsShares() throws {
    let world = try ShareWorld()
    _ = try world.harness.modify([.create("top2"), .create("leaf").with { $0.record.parent = .set("top2") }])
    try world.shareWithBob()
    var token = try world.page().syncToken
    let databaseToken = try world.databaseChanges().syncToken
    let second = try world.share(of: "top2", name: "Share-2", invited: [ShareWorld.invitation("_bob", .readOnly)])
    #expect(ShareWorld.told(try world.page(token)) == [])
    #expect(try world.accept(second) == nil)
    #expect(try world.databaseChanges(databaseToken).zones.count == 1)
    #expect(try world.zones().count == 1)
    var page = try world.page(token)
    #expect(Set(ShareWorld.told(page)) == ["Share-2", "leaf", "top2"])
    token = page.syncToken
    // Each has its own permission.
    #expect(try world.modify(.force("leaf", .text("x"))).code == .accessDenied)
    #expect(try world.modify(.force("a", .text("x"))).code == nil)
    token = try world.page(token).syncToken
    #expect(try world.harness.modify(.forceDelete("Share-2")).isDeleted)
    page = try world.page(token)
    #expect(Set(ShareWorld.told(page)) == ["-Share-2", "-leaf", "-top2"])
    #expect(try world.zones().count == 1)
  }

  /// C68
  @Test func aRefusedWriteChangesNothing() throws {
    let world = try ShareWorld()
    try world.shareWithBob(.readOnly)
    let token = try world.page().syncToken
    let ownerToken = try world.harness.page().syncToken
    let child = RecordOperation.create("c", .text("x")).with { $0.record.parent = .set("root") }
    for operation in [.force("a", .text("x")), .forceDelete("b"), child] as [RecordOperation] {
      #expect(try world.modify(operation).code == .accessDenied)
    }
    #expect(try world.harness.record("a")?.value("text") == .string("of a"))
    #expect(try world.harness.record("b") != nil)
    #expect(try world.harness.record("c") == nil)
    #expect(try world.page(token).records.isEmpty)
    #expect(try world.harness.page(ownerToken).records.isEmpty)
    // What the owner does still arrives.
    _ = try world.harness.modify(.force("a", .text("later")))
    #expect(try world.page(token).records.map { try $0.record?.value("text") } == [.string("later")])
  }

  @Test func whatAParticipantWritesIsTheirs() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let made = try #require(
      try world.modify(.create("c", .text("x")).with { $0.record.parent = .set("a") }).record)
    #expect(made.created.user == "_bob" && made.modified.user == "_bob" && made.created.device == "tablet")
    #expect(made.id.zone == ZoneID("Diary", owner: "_alice"))
    let seen = try #require(try world.harness.record("c"))
    #expect(seen.created.user == "_bob" && seen.id.zone.owner == "_alice")
    _ = try world.harness.modify(.force("c", .text("y")))
    let changed = try #require(try world.lookUp("c").record)
    #expect(changed.created.user == "_bob" && changed.modified.user == "_alice")
    // Nothing is written outside of the shared part, and nothing taken out of it.
    #expect(try world.modify(.create("d")).code == .accessDenied)
    #expect(try world.modify(.create("d").with { $0.record.parent = .set("diary") }).code != nil)
    #expect(try world.modify(.force("c").with { $0.record.parent = .cleared }).code == .accessDenied)
    #expect(try world.modify(ShareWorld.shareOperation(of: "c", name: "Share-9")).code == .accessDenied)
    #expect(try world.harness.record("c")?.parent?.recordName == "a")
    #expect(try world.modify(.forceDelete("c")).isDeleted)
    #expect(try world.harness.record("c") == nil)
    // A batch may make a parent and its child.
    let both = try world.harness.modify(
      [
        .create("e").with { $0.record.parent = .set("f") }, .create("f").with { $0.record.parent = .set("root") },
      ], zone: ShareWorld.zone, as: .bob, in: .shared)
    #expect(both.map(\.code) == [nil, nil])
  }

  /// C72
  @Test func nothingIsToldTwice() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    var token = try world.page().syncToken
    _ = try world.harness.modify(.force("a", .text("1")))
    var page = try world.page(token)
    #expect(ShareWorld.told(page) == ["a"])
    token = page.syncToken
    let create = RecordOperation.create("c", .text("x")).with { $0.record.parent = .set("root") }
    let made = try #require(try world.modify(create).record)
    let renamed = try #require(try world.modify(.update("c", tag: made.tag, .text("y"))).record)
    page = try world.page(token)
    #expect(page.records.map { $0.record?.tag } == [renamed.tag])
    #expect(try world.harness.record("c")?.value("text") == .string("y"))
    var wishes = Harness.Wishes()
    wishes.syncToken = true
    let request = RecordsModifyRequest(
      operations: [.update("c", tag: renamed.tag, .text("z"))], zone: ShareWorld.zone)
    guard
      case .records(let reply) = try world.harness.call(
        .recordsModify(request), as: .bob, in: .shared, wishes: wishes)
    else { return #expect(Bool(false)) }
    let after = try #require(reply.syncToken)
    #expect(try world.page(after).records.isEmpty)
  }

  /// C125: what a share keeps of names is read back byte for byte.
  @Test func zonesAndRecordsOfAnyNameAreShared() throws {
    let harness = Harness()
    let zone = ZoneSelector("\u{301}/caf\u{e9}", owner: "_alice")
    for name in ["\u{301}/caf\u{e9}", "\u{301}/cafe\u{301}"] { try harness.makeZone(ZoneName(name)) }
    let twins: [RecordName] = ["\u{301}caf\u{e9}", "\u{301}cafe\u{301}"]
    let children = twins.map { RecordOperation.create($0, .text("x")).with { $0.record.parent = .set("r\u{e9}") } }
    _ = try harness.modify([.create("r\u{e9}"), .create("re\u{301}")] + children, zone: zone)
    let operation = ShareWorld.shareOperation(
      of: "r\u{e9}", name: "S\u{e9}", invited: [ShareWorld.invitation("_bob")])
    let share = try #require(try harness.modify(operation, zone: zone).record)
    let accept = Call.recordsAccept(.init(shortGUIDs: [.init(try #require(share.shortGUID))]))
    guard case .shares(let accepted) = try harness.call(accept, as: .bob, in: .open), case .metadata = accepted[0]
    else { return #expect(Bool(false)) }
    let zones = try harness.zones(.zonesList, as: .bob, in: .shared).compactMap { $0.zone?.id }
    #expect(zones == [zone.id])
    let looked = try harness.lookUp(twins + ["r\u{e9}", "re\u{301}"], zone: zone, as: .bob, in: .shared)
    #expect(looked.map(\.code) == [nil, nil, nil, .notFound])
    // What leaves the share is told by its own name.
    let feed = Call.recordsChanges(ZoneChangesRequest(zone: zone))
    guard case .recordChanges(let first) = try harness.call(feed, as: .bob, in: .shared) else { return }
    let tag = looked[0].record?.tag
    let out = RecordOperation.update(twins[0], tag: tag).with { $0.record.parent = .cleared }
    #expect(try harness.modify(out, zone: zone).code == nil)
    let next = Call.recordsChanges(ZoneChangesRequest(zone: zone, syncToken: first.syncToken))
    guard case .recordChanges(let page) = try harness.call(next, as: .bob, in: .shared) else { return }
    #expect(page.records.filter(\.isDeleted).map(\.name) == [twins[0]])
  }

  @Test func participantsAreToldOfWhatConcernsThem() throws {
    let world = try ShareWorld()
    let share = try world.share(invited: [ShareWorld.invitation("_bob"), ShareWorld.invitation("_carol")])
    for caller in [Harness.Caller.bob, ShareWorld.carol] {
      #expect(try world.accept(share, as: caller) == nil)
      let subscription = Subscription(id: "all", kind: .database)
      _ = try world.harness.call(
        .subscriptionsModify(.init(operations: [.init(.create, subscription)])), as: caller, in: .shared)
      _ = try world.harness.call(.tokensCreate(.init(apnsEnvironment: "development")), as: caller)
    }
    let token = try world.databaseChanges().syncToken
    _ = try world.harness.modify(.force("diary", .text("x")))
    #expect(world.harness.wakes.isEmpty)
    #expect(try world.databaseChanges(token).zones.isEmpty)
    _ = try world.harness.modify(.force("a", .text("x")))
    #expect(world.harness.wakes.count == 2)
    #expect(try world.databaseChanges(token).zones.count == 1)
    // Not the device that made the change.
    _ = try world.modify(.force("a", .text("y")))
    #expect(world.harness.wakes.count == 1)
  }

  @Test func aRestoredStoreMakesTokensOfSharedZonesExpire() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let (zone, database) = (try world.page().syncToken, try world.databaseChanges().syncToken)
    let now = world.harness.now
    try world.harness.write { transaction in
      var dice = SplitMix64(seed: 99)
      try Service().renewIncarnations(in: transaction, now: now, random: &dice)
    }
    let changes = Call.recordsChanges(.init(zone: ShareWorld.zone, syncToken: zone))
    #expect(try world.harness.failure(changes, as: .bob, in: .shared) == .changeTokenExpired)
    let databaseChanges = Call.changesDatabase(.init(syncToken: database))
    #expect(try world.harness.failure(databaseChanges, as: .bob, in: .shared) == .changeTokenExpired)
    #expect(try world.page().records.count == 4)
  }

  /// Random moves of records in and out of shares: a reader who only follows the feed knows what one who reads it from
  /// the beginning does.
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func followingTheFeedIsAsGoodAsReadingItAnew(seed: UInt64) throws {
    var dice = SplitMix64(seed: seed)
    let world = try ShareWorld(["a", "b", "c", "d"])
    _ = try world.harness.modify(.create("top2"))
    let names: [RecordName] = ["a", "b", "c", "d", "e", "f"]
    var token: String?
    var known: [RecordName: ChangeTag] = [:]
    func ofBob(_ operation: RecordOperation) throws {
      if try !world.zones().isEmpty { _ = try world.modify(operation) }
    }
    for step in 0..<60 {
      let name = names[Int.random(in: 0..<names.count, using: &dice)]
      let parents: [ParentChange] = [.cleared] + (["root", "top2", "diary"] + names).map { .set($0) }
      switch Int.random(in: 0..<12, using: &dice) {
      case 0: _ = try world.harness.modify(.forceDelete(name))
      case 1: _ = try world.harness.modify(.forceDelete(Bool.random(using: &dice) ? "Share-1" : "Share-2"))
      case 2, 3:
        let isFirst = Bool.random(using: &dice)
        let made = try world.harness.modify(
          ShareWorld.shareOperation(
            of: isFirst ? "root" : "top2", name: isFirst ? "Share-1" : "Share-2",
            invited: [ShareWorld.invitation("_bob")]))
        if let share = made.record { #expect(try world.accept(share) == nil) }
      case 4: try ofBob(.forceDelete(Bool.random(using: &dice) ? "Share-1" : "Share-2"))
      case 5: try ofBob(.force(name, .text("of Bob \(step)")))
      default:
        let parent = parents[Int.random(in: 0..<parents.count, using: &dice)]
        _ = try world.harness.modify(.force(name, .text("\(step)")).with { $0.record.parent = parent })
      }
      guard try !world.zones().isEmpty else {
        (token, known) = (nil, [:])
        continue
      }
      if Bool.random(using: &dice) { continue }
      do {
        var page: ZoneChangesPage
        repeat {
          page = try world.page(token, limit: 2)
          for result in page.records { known[result.name] = result.record?.tag }
          token = page.syncToken
        } while page.moreComing
      } catch let error as ServiceError where error == .changeTokenExpired {
        (token, known) = (nil, [:])
        continue
      }
      let fresh = try world.page().records
      #expect(
        known == Dictionary(uniqueKeysWithValues: fresh.map { ($0.name, $0.record!.tag) }), "seed \(seed), \(step)")
    }
  }

  /// Many shares below one long chain of parents: the way up is not gone once for each of them.
  @Test func manySharesBeginTogether() throws {
    let harness = try Harness.withZone()
    let depth = 1_000
    let chain = (0..<depth).map { number in
      RecordOperation.create(RecordName("c\(number)")).with {
        if number > 0 { $0.record.parent = .set(RecordName("c\(number - 1)")) }
      }
    }
    for start in stride(from: 0, to: depth, by: 250) {
      #expect(try harness.modify(Array(chain[start..<start + 250])).allSatisfy { $0.code == nil })
    }
    let bottom = ParentChange.set(RecordName("c\(depth - 1)"))
    func leaves(_ range: Range<Int>) -> [RecordOperation] {
      range.flatMap { number in
        [
          RecordOperation.create(RecordName("leaf\(number)")).with { $0.record.parent = bottom },
          ShareWorld.shareOperation(of: RecordName("leaf\(number)"), name: RecordName("s\(number)")),
        ]
      }
    }
    for start in stride(from: 0, to: 400, by: 200) {
      #expect(try harness.modify(leaves(start..<start + 200)).allSatisfy { $0.code == nil })
    }
    // What is above them cannot be shared any more; what is below one of them cannot either.
    for root in ["c0", "c999"] as [RecordName] {
      let refused = try harness.modify(ShareWorld.shareOperation(of: root, name: "late")).failure?.error.reason
      #expect(refused?.hasPrefix(Reason.alreadyShared) == true)
    }
    let below = [
      RecordOperation.create("below").with { $0.record.parent = .set("leaf7") },
      ShareWorld.shareOperation(of: "below", name: "late"),
    ]
    #expect(try harness.modify(below, atomic: false).map(\.code) == [nil, .badRequest])
    // Nor both ends of a new chain in one request, in either order.
    for (first, second) in [("x", "y"), ("y", "x")] as [(RecordName, RecordName)] {
      let both = [
        RecordOperation.create("x"), RecordOperation.create("y").with { $0.record.parent = .set("x") },
        ShareWorld.shareOperation(of: first, name: "s-first"), ShareWorld.shareOperation(of: second, name: "s-second"),
      ]
      let results = try harness.modify(both, atomic: false)
      #expect(results.map(\.code) == [nil, nil, nil, .badRequest])
      _ = try harness.modify([.forceDelete("s-first"), .forceDelete("y"), .forceDelete("x")])
    }
  }
}

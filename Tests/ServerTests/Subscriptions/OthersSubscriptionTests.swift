import TestSupport
import Testing
import VirgaModel
import VirgaSchema
import VirgaServer
import VirgaWire

/// Subscriptions to what belongs to others or to everybody.
struct OthersSubscriptionTests {
  static let open = ZoneSelector()
  private static let text: Fields = ["text": .string("x")]

  private func save(_ harness: Harness, _ operation: RecordOperation, as caller: Harness.Caller = .alice) throws {
    let result = try harness.modify(operation, zone: Self.open, as: caller, in: .open)
    #expect(result.code == nil, "\(result)")
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

  // MARK: The public database

  @Test func everybodyWhoSubscribedIsToldOfAPublicRecord() throws {
    let harness = Harness()
    try save(harness, .create("first", Self.text))
    let queues = try [Harness.laptop, .bob, .alice].map { try harness.queue(as: $0) }
    let filter = QueryFilter("text", .equals, .string("x"))
    for caller in [Harness.Caller.alice, .bob] {
      #expect(try harness.subscribe(.query("q", [filter]), as: caller, in: .open).error == nil)
    }
    _ = try harness.subscribe(.query("q", type: "Entry", on: ["update"]), as: .alice)
    try save(harness, .create("r", Self.text))
    try save(harness, .create("other", ["text": .string("y")]))
    #expect(try queues.map { try harness.told($0) } == [["created r"], ["created r"], []])
    try save(harness, .forceDelete("r"))
    let pushes = try harness.take(queues[1])
    #expect(pushes.map(\.event) == ["deleted r"])
    #expect(pushes.first?.query["dbs"] as? Int == 2)
    #expect(pushes.first?.query["zoid"] as? String == "_defaultOwner")
    #expect(pushes.first?.ck["ckuserid"] as? String == "_bob")
    // What is private to one is nobody else's.
    _ = try harness.modify(.create("mine", Self.text), zone: Self.open)
    #expect(try harness.told(queues[1]) == [])
  }

  @Test func recordsThatTheSubscriberMayNotReadAreNotTold() throws {
    let harness = Harness()
    try importSchema(
      """
      DEFINE SCHEMA
        CREATE ROLE Editor;
        RECORD TYPE Diary (text STRING QUERYABLE, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
        RECORD TYPE Draft (text STRING QUERYABLE, GRANT READ, WRITE, CREATE TO Editor, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
      """, harness)
    let (alice, bob) = (try harness.queue(), try harness.queue(as: Harness.Caller("_bob", device: "other")))
    for type in ["Diary", "Draft"] as [RecordType] {
      for caller in [Harness.Caller.alice, .bob] {
        _ = try harness.subscribe(.query(SubscriptionID(type.rawValue), type: type), as: caller, in: .open)
      }
    }
    for type in ["Diary", "Draft"] as [RecordType] {
      try save(harness, .create(RecordName("alices \(type)"), Self.text, type: type))
      try save(harness, .create(RecordName("bobs \(type)"), Self.text, type: type), as: .bob)
    }
    #expect(try harness.told(alice) == ["created alices Diary", "created alices Draft"])
    #expect(try harness.told(bob) == ["created bobs Diary", "created bobs Draft"])
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .public, operation: .recordsModify)
    let start = CallContext(
      endpoint: endpoint, principal: .world, now: harness.now, random: SplitMix64(seed: 5), urls: TestURLs())
    try harness.write { transaction in
      var context = start
      try Service().setRoles(["Editor"], of: "_bob", in: transaction, context: &context)
    }
    try save(harness, .forceDelete("alices Draft"))
    try save(harness, .forceDelete("alices Diary"))
    #expect(try harness.told(bob) == ["deleted alices Draft"])
  }

  @Test func aPublicSubscriptionIsWatchedNoLongerOnceItIsGoneOrAnother() throws {
    let harness = Harness()
    try save(harness, .create("first", Self.text))
    try save(harness, .create("note", Self.text).with { $0.record.type = "Note" })
    let queue = try harness.queue(as: .bob)
    _ = try harness.subscribe(.query("q"), as: .bob, in: .open)
    _ = try harness.subscribe(.query("q", type: "Note"), .update, as: .bob, in: .open)
    try save(harness, .create("a", Self.text))
    #expect(try harness.told(queue) == [])
    try save(harness, .create("b", Self.text).with { $0.record.type = "Note" })
    #expect(try harness.told(queue) == ["created b"])
    _ = try harness.subscribe(.query("q"), .delete, as: .bob, in: .open)
    try save(harness, .create("c", Self.text).with { $0.record.type = "Note" })
    #expect(try harness.told(queue) == [])
    var once = Subscription.query("once", on: ["create"])
    once.firesOnce = true
    _ = try harness.subscribe(once, as: .bob, in: .open)
    try save(harness, .create("d", Self.text))
    try save(harness, .create("e", Self.text))
    #expect(try harness.told(queue) == ["created d"])
    #expect(try harness.call(.subscriptionsList, as: .bob, in: .open) == .subscriptions([]))
  }

  /// Two people may well have called their clients the same.
  @Test func clientsOfTwoPeopleAreTwoWhateverTheyCallThemselves() throws {
    let harness = Harness()
    let (alice, bob) = (Harness.Caller("_alice", clientID: "web"), Harness.Caller("_bob", clientID: "web"))
    try save(harness, .create("first", Self.text))
    let queues = try [alice, bob].map { try harness.queue(as: $0) }
    for caller in [alice, bob] { _ = try harness.subscribe(.query("q"), as: caller, in: .open) }
    try save(harness, .create("r", Self.text), as: alice)
    #expect(try queues.map { try harness.told($0) } == [[], ["created r"]])
  }

  @Test func nobodySubscribesWithoutSigningIn() throws {
    let harness = Harness()
    let call = Call.subscriptionsModify(.init(operations: [.init(.create, .query())]))
    #expect(try harness.failure(call, as: .world, in: .open)?.code == .authenticationRequired)
  }

  // MARK: The shared database

  @Test func aParticipantIsToldOfTheZoneThatTheySubscribedTo() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let harness = world.harness
    let zone = Subscription(id: "zone", kind: .zone(ShareWorld.zone))
    #expect(try harness.subscribe(zone, as: .bob, in: .shared) == .subscription(zone))
    #expect(try harness.call(.subscriptionsList, as: .bob, in: .shared) == .subscriptions([.subscription(zone)]))
    let queue = try harness.queue(as: .bob)
    _ = try harness.modify(.force("a", .text("x")))
    let pushes = try harness.take(queue)
    #expect(pushes.count == 1)
    let body = pushes.first?.ck["fet"] as? [String: Any]
    #expect(body?["zid"] as? String == "Diary" && body?["zoid"] as? String == "_alice" && body?["dbs"] as? Int == 3)
    _ = try harness.modify(.force("diary", .text("not shared")))
    #expect(try harness.take(queue).isEmpty)
  }

  @Test func aParticipantIsToldOfTheTypeThatTheyAskedFor() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    var subscription = Subscription(id: "all", kind: .database)
    subscription.recordType = "Note"
    #expect(try world.harness.subscribe(subscription, as: .bob, in: .shared) == .subscription(subscription))
    let queue = try world.harness.queue(as: .bob)
    _ = try world.harness.modify(.force("a", .text("x")))
    #expect(try world.harness.take(queue).isEmpty)
    _ = try world.harness.modify(.create("n", .text("x"), type: "Note").with { $0.record.parent = .set("root") })
    #expect(try world.harness.take(queue).count == 1)
  }

  @Test func zonesOfOneNameAreToldApartByTheirOwners() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let harness = world.harness
    try harness.makeZone("Diary", as: ShareWorld.carol)
    _ = try harness.modify(.create("root", .text("carol's")), as: ShareWorld.carol)
    let operation = ShareWorld.shareOperation(invited: [ShareWorld.invitation("_bob")])
    let share = try #require(try harness.modify(operation, as: ShareWorld.carol).record)
    #expect(try world.accept(share) == nil)
    let theirs = Subscription(id: "zone", kind: .zone(ZoneSelector("Diary", owner: "_carol")))
    #expect(try harness.subscribe(theirs, as: .bob, in: .shared) == .subscription(theirs))
    _ = try harness.subscribe(Subscription(id: "all", kind: .database), as: .bob, in: .shared)
    let queue = try harness.queue(as: .bob)
    _ = try harness.modify(.force("a", .text("x")))
    #expect(try harness.take(queue).map { $0.ck["met"] != nil } == [true])
    // What waits of one zone does not stand for the other.
    _ = try harness.modify(.force("a", .text("y")))
    _ = try harness.modify(.force("root", .text("z")), as: ShareWorld.carol)
    let owners = try harness.take(queue).map { push in
      let body = push.ck["met"] as? [String: Any] ?? push.ck["fet"] as? [String: Any]
      return body?["zoid"] as? String
    }
    #expect(owners == ["_alice", "_carol", "_carol"])
  }

  @Test func theOwnersQueriesTellOfWhatParticipantsWrite() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    _ = try world.harness.subscribe(.query("q", [QueryFilter("text", .equals, .string("bob was here"))]))
    let queue = try world.harness.queue(as: .alice)
    _ = try world.modify(.force("a", .text("bob was here")))
    #expect(try world.harness.told(queue) == ["updated a"])
  }
}

import Synchronization
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceSubscriptionTests {
  private func modify(
    _ harness: Harness, _ kind: SubscriptionsModifyRequest.Operation.Kind, _ subscription: Subscription,
    in place: Harness.Where = .own
  ) throws -> SubscriptionResult {
    let request = SubscriptionsModifyRequest(operations: [.init(kind, subscription)])
    guard case .subscriptions(let results) = try harness.call(.subscriptionsModify(request), in: place) else {
      fatalError("no subscriptions")
    }
    return results[0]
  }

  private func code(_ result: SubscriptionResult) -> ServerErrorCode? {
    if case .failure(_, let error) = result { error.code } else { nil }
  }

  private func token(_ harness: Harness, as caller: Harness.Caller) throws -> String {
    guard
      case .pushToken(let reply) = try harness.call(.tokensCreate(.init(apnsEnvironment: "development")), as: caller)
    else { fatalError("no token") }
    #expect(reply.webcourierURL == "push:\(reply.apnsToken)")
    return reply.apnsToken
  }

  private func take(_ harness: Harness, _ token: String) throws -> [String] {
    let rows = try harness.write { transaction in
      let rows = try transaction.notifications(for: token, limit: .max)
      try transaction.removeNotifications(rows.map(\.id), of: token)
      return rows
    }
    return rows.map { String(decoding: $0.payload, as: UTF8.self) }
  }

  /// C125: a name may begin with an accent, which must not combine with what is stored before it.
  @Test(arguments: ["\u{301} a  b", "e\u{301}", "/\u{308}/"])
  func zonesOfAnyNameAreWatched(name: String) throws {
    let harness = Harness()
    let zone = ZoneSelector(ZoneName(name), owner: "_alice")
    try harness.makeZone(ZoneName(name))
    _ = try harness.modify(.create("first", ["n": .int64(1)]), zone: zone)
    let whole = Subscription(id: "whole", kind: .zone(zone))
    let filter = #"{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":1,"type":"INT64"}}"#
    var query = Subscription(
      id: "query", kind: .query(json: Array(#"{"recordType":"Entry","filterBy":[\#(filter)]}"#.utf8), zone: zone))
    query.firesOn = ["create"]
    for subscription in [whole, query] {
      #expect(code(try modify(harness, .create, subscription)) == nil)
    }
    guard case .subscriptions(let listed) = try harness.call(.subscriptionsList) else { return #expect(Bool(false)) }
    for case .subscription(let subscription) in listed {
      switch subscription.kind {
      case .zone(let found), .query(_, let found?): #expect(found == zone)
      default: Issue.record("\(subscription)")
      }
    }
    let queue = try token(harness, as: .bob)
    #expect(!queue.isEmpty)
    let own = try token(harness, as: .init("_alice", device: "tablet"))
    _ = try harness.modify(.create("r", ["n": .int64(1)]), zone: zone)
    let pushes = try take(harness, own)
    #expect(pushes.count == 2 && pushes.allSatisfy { $0.contains("\"zid\":\"\(name)\"") }, "\(pushes)")
  }

  @Test func aSubscriptionIsKeptAsItWasGiven() throws {
    let harness = try Harness.withZone()
    var info = NotificationInfo()
    info.alertBody = "New \"entry\"\nhere"
    info.title = "Diary"
    info.alertLocalizationArgs = ["a"]
    info.shouldSendContentAvailable = true
    var zone = Subscription(id: "zone/1", kind: .zone(ZoneSelector("Diary", owner: "_alice")))
    zone.notificationInfo = info
    zone.firesOn = ["update", "create"]
    let database = Subscription(id: "all", kind: .database)
    for subscription in [zone, database] {
      #expect(try modify(harness, .create, subscription) == .subscription(subscription))
      #expect(try modify(harness, .create, subscription) == .subscription(subscription))
    }
    #expect(try harness.call(.subscriptionsList) == .subscriptions([.subscription(database), .subscription(zone)]))
    let lookup = SubscriptionsLookupRequest(ids: ["zone/1", "none"])
    guard case .subscriptions(let found) = try harness.call(.subscriptionsLookup(lookup)) else {
      return #expect(Bool(false))
    }
    #expect(found[0] == .subscription(zone))
    #expect(code(found[1]) == .notFound)
    #expect(try harness.call(.subscriptionsList, as: .bob) == .subscriptions([]))
    #expect(try harness.call(.subscriptionsList, in: .shared) == .subscriptions([]))
  }

  @Test(arguments: [" lead", "a b ", "a/b", "zone", "database"]) func oddNamesAreKept(name: String) throws {
    let harness = Harness()
    try harness.makeZone(ZoneName(name))
    let subscription = Subscription(
      id: SubscriptionID(name), kind: .zone(ZoneSelector(ZoneName(name), owner: "_alice")))
    _ = try modify(harness, .create, subscription)
    #expect(try harness.call(.subscriptionsList) == .subscriptions([.subscription(subscription)]))
  }

  @Test func creatingOverOtherContentFailsAndUpdatingNeedsOneThatIsThere() throws {
    let harness = Harness()
    let first = Subscription(id: "s", kind: .database)
    var second = first
    second.firesOnce = true
    #expect(code(try modify(harness, .update, first)) == .notFound)
    _ = try modify(harness, .create, first)
    #expect(code(try modify(harness, .create, second)) == .exists)
    #expect(try modify(harness, .update, second) == .subscription(second))
    #expect(try modify(harness, .delete, first) == .deleted("s"))
    #expect(code(try modify(harness, .delete, first)) == .notFound)
    guard case .subscription(let named) = try modify(harness, .create, Subscription(id: "", kind: .database)) else {
      return #expect(Bool(false))
    }
    #expect(named.id.rawValue.utf8.count == 36)
  }

  @Test func whatCannotFireIsRefused() throws {
    let harness = try Harness.withZone()
    #expect(code(try modify(harness, .create, .init(id: "d", kind: .zone(ZoneSelector())))) == .badRequest)
    #expect(code(try modify(harness, .create, .init(id: "n", kind: .zone(ZoneSelector("None"))))) == .zoneNotFound)
    #expect(code(try modify(harness, .create, .init(id: "p", kind: .database), in: .open)) == .badRequest)
    #expect(code(try modify(harness, .create, .init(id: "é", kind: .database))) == .badRequest)
  }

  /// C32: who makes a change is not told of it, every other client of the user is, once.
  @Test(arguments: ["create", "update", "delete"])
  func everyClientButTheOneThatChangedSomethingIsTold(change: String) throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("old"))
    _ = try modify(harness, .create, Subscription(id: "all", kind: .database))
    let laptop = Harness.Caller("_alice", device: "laptop")
    let (phoneToken, laptopToken) = (try token(harness, as: .alice), try token(harness, as: laptop))
    let bobToken = try token(harness, as: .bob)
    switch change {
    case "create": _ = try harness.modify(.create("new"))
    case "update": _ = try harness.modify(.force("old"))
    default: _ = try harness.modify(.forceDelete("old"))
    }
    #expect(harness.wakes == [laptopToken])
    #expect(try take(harness, phoneToken) == [])
    #expect(try take(harness, bobToken) == [])
    #expect(try take(harness, laptopToken).count == 1)
  }

  @Test func clientsOfOneDeviceAreToldApartByTheirIdentifiers() throws {
    let harness = try Harness.withZone()
    _ = try modify(harness, .create, Subscription(id: "all", kind: .database))
    let first = Harness.Caller("_alice", device: "phone", clientID: "app 1")
    let second = Harness.Caller("_alice", device: "phone", clientID: "app 2")
    let tokens = [try token(harness, as: first), try token(harness, as: second)]
    _ = try harness.modify(.create("r"), as: first)
    #expect(harness.wakes == [tokens[1]])
  }

  @Test func notificationsSayWhatChangedAndAreCoalesced() throws {
    let harness = try Harness.withZone()
    try harness.makeZone("Other")
    var info = NotificationInfo()
    info.alertBody = "Hi"
    info.shouldBadge = true
    var zone = Subscription(id: "zone", kind: .zone(Harness.diary))
    zone.notificationInfo = info
    _ = try modify(harness, .create, zone)
    _ = try modify(harness, .create, Subscription(id: "all", kind: .database))
    let token = try token(harness, as: Harness.Caller("_alice", device: "laptop"))
    for _ in 0..<3 { _ = try harness.modify(.force("r")) }
    _ = try harness.modify(.force("r"), zone: ZoneSelector("Other"))
    let taken = try take(harness, token).map { $0.replacing(/"nid":"[0-9A-F-]{36}"/, with: "NID") }
    let head = #""ck":{"cid":"iCloud.test",NID,"ce":2,"ckuserid":"_alice","#
    #expect(
      taken == [
        #"{"aps":{"content-available":1},\#(head)"met":{"sid":"all","zid":"Diary","zoid":"_alice","dbs":1}}}"#,
        #"{"aps":{"alert":{"body":"Hi"},"badge":1},\#(head)"fet":{"sid":"zone","zid":"Diary","zoid":"_alice","dbs":1}}}"#,
        #"{"aps":{"content-available":1},\#(head)"met":{"sid":"all","zid":"Other","zoid":"_alice","dbs":1}}}"#,
      ])
  }

  @Test func onlyChangesOfTheTypeThatWasAskedForAreTold() throws {
    let harness = try Harness.withZone()
    for kind in [Subscription.Kind.database, .zone(ZoneSelector("Diary", owner: "_alice"))] {
      var subscription = Subscription(id: kind == .database ? "all" : "zone", kind: kind)
      subscription.recordType = "Note"
      subscription.firesOnce = kind != .database
      #expect(try modify(harness, .create, subscription) == .subscription(subscription))
      #expect(try modify(harness, .create, subscription) == .subscription(subscription))
    }
    let token = try token(harness, as: Harness.Caller("_alice", device: "laptop"))
    _ = try harness.modify(.create("entry"))
    #expect(try take(harness, token).isEmpty)
    _ = try harness.modify([.create("other"), .create("note", type: "Note")])
    #expect(try take(harness, token).count == 2)
    _ = try harness.modify(.forceDelete("note"))
    #expect(try take(harness, token).count == 1)
    try harness.deleteZone("Diary")
    #expect(try take(harness, token).count == 1)
    var odd = Subscription(id: "odd", kind: .database)
    odd.recordType = "no type"
    #expect(code(try modify(harness, .create, odd)) == .badRequest)
  }

  @Test func makingAndDeletingZonesIsToldAndAFailedSaveIsNot() throws {
    let harness = try Harness.withZone()
    _ = try modify(harness, .create, Subscription(id: "all", kind: .database))
    let token = try token(harness, as: Harness.Caller("_alice", device: "laptop"))
    _ = try harness.modify(.update("none", tag: nil))
    _ = try harness.modify(.forceDelete("none"))
    #expect(try take(harness, token).isEmpty)
    try harness.makeZone("New")
    #expect(try take(harness, token).count == 1)
    try harness.deleteZone("New")
    #expect(try take(harness, token).count == 1)
  }

  @Test func aSubscriptionThatFiresOnceIsGoneThen() throws {
    let harness = try Harness.withZone()
    var once = Subscription(id: "once", kind: .database)
    once.firesOnce = true
    _ = try modify(harness, .create, once)
    let token = try token(harness, as: Harness.Caller("_alice", device: "laptop"))
    _ = try harness.modify(.force("r"))
    _ = try harness.modify(.force("r"))
    #expect(try take(harness, token).count == 1)
    #expect(try harness.call(.subscriptionsList) == .subscriptions([]))
  }

  @Test(arguments: [Limits.pushTokensPerUserMax - 1, Limits.pushTokensPerUserMax, Limits.pushTokensPerUserMax + 1])
  func aUserHasAThousandTokensAndTheOldestThatNobodyWaitsAtGoes(count: Int) throws {
    let harness = Harness()
    _ = try modify(harness, .create, Subscription(id: "all", kind: .database))
    // The oldest is polled, the second oldest is not.
    var tokens: [String] = []
    let awaited = Mutex<Set<String>>([])
    harness.isAwaited = { token in awaited.withLock { $0.contains(token) } }
    for number in 0..<count {
      harness.now = harness.now + .seconds(1)
      tokens.append(try token(harness, as: Harness.Caller("_alice", device: DeviceID("device\(number % 30)"))))
      if number != 1 { awaited.withLock { _ = $0.insert(tokens[number]) } }
    }
    let gone = count > Limits.pushTokensPerUserMax ? [tokens[1]] : []
    #expect(harness.ended == gone)
    try harness.makeZone("A", as: Harness.Caller("_alice"))
    #expect(harness.wakes == Set(tokens).subtracting(gone))
  }

  @Test func tokensOfAClientDoNotPileUp() throws {
    let harness = Harness()
    _ = try modify(harness, .create, Subscription(id: "all", kind: .database))
    let laptop = try token(harness, as: Harness.Caller("_alice", device: "laptop"))
    var tokens: [String] = []
    for _ in 0...Limits.idlePushTokensPerClientMax {
      harness.now = harness.now + .seconds(1)
      tokens.append(try token(harness, as: .alice))
    }
    try harness.makeZone("A", as: Harness.Caller("_alice"))
    #expect(harness.wakes == Set(tokens.dropFirst() + [laptop]))
    // A dropped token comes back by registering it.
    let register = PushTokenRequest(apnsEnvironment: "development", apnsToken: tokens[0])
    #expect(try harness.call(.tokensRegister(register)) == .empty)
    try harness.makeZone("B", as: Harness.Caller("_alice"))
    #expect(harness.wakes.contains(tokens[0]))
  }

  @Test func anothersTokenAndAnInventedOneAreNotRegistered() throws {
    let harness = Harness()
    let mine = try token(harness, as: .alice)
    func register(_ token: String?, as caller: Harness.Caller) throws -> ServerErrorCode? {
      try harness.failure(
        .tokensRegister(.init(apnsEnvironment: "production", apnsToken: token)), as: caller)?.code
    }
    #expect(try register(mine, as: .alice) == nil)
    #expect(try register(mine, as: .bob) == .accessDenied)
    #expect(try register("Zm9v", as: .alice) == .badRequest)
    #expect(try register(nil, as: .alice) == .badRequest)
    #expect(try register(mine, as: .world) == .authenticationRequired)
  }
}

import Foundation
import Synchronization
import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

@Suite(.timeLimit(.minutes(1))) struct GatewayPollTests {
  private func touch(_ world: GatewayWorld, client: String = "writer", record: String = "r") async throws {
    let body =
      #"{"zoneID":"Trips","operations":[{"operationType":"forceUpdate","record":{"recordName":"\#(record)","recordType":"T"}}]}"#
    let answer = try await world.call(.recordsModify, body, query: "?clientId=\(client)")
    #expect(answer.status == 200)
  }

  @Test func aNotificationThatWaitsIsGivenAtOnceAndOnce() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    try await touch(world)
    let answer = try await world.send("GET", target)
    #expect(answer.status == 200)
    #expect(answer.text.contains("\"ck\""))
    #expect(answer.text.contains("Trips"))
    async let second = world.send("GET", target)
    try await world.untilParked(1)
    for _ in 0...51 { world.front.polls.tick() }
    let empty = try await second
    #expect(empty.status == 200)
    #expect(empty.body.isEmpty)
    #expect(world.front.polls.count == 0)
  }

  @Test func aParkedPollHearsOfAWrite() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    async let poll = world.send("GET", target)
    try await world.untilParked(1)
    try await touch(world)
    #expect(try await poll.text.contains("\"ck\""))
  }

  @Test func aWriterIsNotToldOfItself() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    async let poll = world.send("GET", target)
    try await world.untilParked(1)
    try await touch(world, client: "watcher")
    for _ in 0...51 { world.front.polls.tick() }
    #expect(try await poll.body.isEmpty)
  }

  @Test func whatDidNotReachItsClientIsGivenAgain() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    try await touch(world)
    let lost = try await world.send("GET", target, isConfirmed: false)
    let again = try await world.send("GET", target)
    #expect(!lost.body.isEmpty)
    #expect(again.text == lost.text)
  }

  @Test func twoPollsOfOneTokenShareTheNotifications() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    async let first = world.send("GET", target)
    async let second = world.send("GET", target)
    try await world.untilParked(2)
    try await touch(world)
    try await world.untilParked(1)
    for _ in 0...51 { world.front.polls.tick() }
    let answers = try await [first, second]
    #expect(answers.filter { !$0.body.isEmpty }.count == 1)
  }

  @Test func whatWasDeliveredIsRemovedLaterAndNotGivenAgain() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    let token = String(target.dropFirst("/push/1/".count))
    try await touch(world)
    #expect(try await !world.send("GET", target).body.isEmpty)
    #expect(world.waiting(token) == 1, "it stays for a stop")
    async let second = world.send("GET", target)
    try await world.untilParked(1)
    await world.front.removeDelivered()
    #expect(world.waiting(token) == 0)
    for _ in 0...51 { world.front.polls.tick() }
    #expect(try await second.body.isEmpty)
  }

  /// A store that counts what it is asked for.
  private final class CountingStore: StoreOverMemory {
    let store: MemoryStore
    let reads = Atomic(0)
    let writes = Atomic(0)

    init(_ store: MemoryStore) { self.store = store }

    func read<Value: Sendable>(
      size: BodySize, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
      completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      reads.add(1, ordering: .relaxed)
      store.read(body, completion: completion)
    }

    func write<Value: Sendable>(
      size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
      completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      writes.add(1, ordering: .relaxed)
      store.write(body, completion: completion)
    }
  }

  @Test func aClientThatComesBackIsHandedNewsWithoutAskingTheStore() async throws {
    let made = Box<CountingStore?>(nil)
    let world = try await GatewayWorld(over: { memory in
      let store = CountingStore(memory)
      made.value.withLock { $0 = store }
      return store
    })
    let store = try #require(made.value.withLock { $0 })
    try await world.makeZone()
    let target = try await world.makePushTarget()
    async let first = world.send("GET", target)
    try await world.untilParked(1)
    try await touch(world)
    #expect(try await first.text.contains("Trips"))
    let (reads, writes) = (store.reads.load(ordering: .relaxed), store.writes.load(ordering: .relaxed))
    for number in 0..<10 {
      // Half of the polls come before the news, half after.
      if number % 2 == 0 { try await touch(world, record: "r\(number)") }
      async let poll = world.send("GET", target)
      if number % 2 == 1 {
        try await world.untilParked(1)
        try await touch(world, record: "r\(number)")
      }
      #expect(try await poll.text.contains("Trips"))
    }
    // One write each is the save; who asks is remembered.
    #expect(store.writes.load(ordering: .relaxed) - writes == 10)
    #expect(store.reads.load(ordering: .relaxed) - reads == 0)
    await world.front.removeDelivered()
    #expect(store.writes.load(ordering: .relaxed) - writes == 11, "one commit removes them all")
  }

  // MARK: Tokens that are crowded out

  @Test func aPollWhoseTokenIsCrowdedOutIsToldAtOnce() async throws {
    let world = try await GatewayWorld()
    let target = try await world.makePushTarget()
    async let parked = world.send("GET", target)
    try await world.untilParked(1)
    let endpoint = Endpoint(
      container: world.container, environment: .development, scope: .private, operation: .tokensCreate)
    let context = CallContext(
      endpoint: endpoint, principal: Principal(user: world.user, account: "account-phone", device: "device-phone"),
      now: world.clock.now + .seconds(1), random: SplitMix64(seed: 1),
      urls: world.front.urls(for: HTTPRequestHead(method: "", target: "/")))
    // As if nobody waited at any of them.
    let wakes = try await world.store.write { transaction in
      var context = context
      for _ in 0..<Limits.idlePushTokensPerClientMax {
        let request = PushTokenRequest(apnsEnvironment: "development", clientID: "watcher")
        _ = try Service().write(.tokensCreate(request), in: transaction, context: &context)
      }
      return context.wakes
    }
    #expect(wakes.ended == [String(target.dropFirst("/push/1/".count))])
    world.front.wake(wakes)
    #expect(try await parked.status == 404)
    #expect(try await world.send("GET", target).status == 404)
  }

  @Test func aTokenWithAPollIsNotCrowdedOutByItsClientsOthers() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    async let parked = world.send("GET", target)
    try await world.untilParked(1)
    for _ in 0...Limits.idlePushTokensPerClientMax * 2 { _ = try await world.makePushTarget() }
    try await touch(world)
    #expect(try await parked.text.contains("Trips"))
  }

  @Test func furtherPollsOfOneTokenEndTheOldest() async throws {
    let world = try await GatewayWorld()
    let target = try await world.makePushTarget()
    try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for count in 1...PollTable.pollsPerTokenMax {
        group.addTask { try await world.send("GET", target).body }
        try await world.untilParked(count)
      }
      group.addTask { try await world.send("GET", target).body }
      #expect(try await group.next() == [])
      try await world.untilParked(PollTable.pollsPerTokenMax)
      for _ in 0...51 { world.front.polls.tick() }
      for try await body in group { #expect(body.isEmpty) }
    }
    #expect(world.front.polls.count == 0)
  }

  @Test func aClientThatLeavesFreesItsPoll() async throws {
    let world = try await GatewayWorld()
    let target = try await world.makePushTarget()
    let task = Task { try await world.send("GET", target) }
    try await world.untilParked(1)
    task.cancel()
    #expect(try await task.value.body.isEmpty)
    #expect(world.front.polls.count == 0)
  }

  @Test func pollsTimeOutByTheClockThatIsHandedIn() async throws {
    let world = try await GatewayWorld()
    let target = try await world.makePushTarget()
    try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
      group.addTask { try await world.send("GET", target).body }
      try await world.untilParked(1)
      group.addTask {
        await world.front.run(clock: HurriedClock())
        return nil
      }
      #expect(try await group.next() == [])
      group.cancelAll()
      #expect(try await group.next() == .some(nil))
    }
  }

  @Test func pollsTimeOutWhileClearingAwayTakesLong() async throws {
    let world = try await GatewayWorld()
    let target = try await world.makePushTarget()
    let answer = Task { try await world.send("GET", target).body }
    try await world.untilParked(1)
    let housekeeping = Task { await world.front.run(clock: HurriedClock()) }
    // An upload that settles holds up the collection of assets.
    let body = try await world.front.assets.gate.shared {
      try await world.until { world.front.polls.count == 0 }
      return try await answer.value
    }
    #expect(body.isEmpty)
    housekeeping.cancel()
    await housekeeping.value
  }

  // MARK: Zones that went

  /// What a deleted zone held is cleared away soon, and not only with the next round of housekeeping.
  @Test func whatADeletedZoneHeldIsClearedSoon() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let housekeeping = Task { await world.front.run() }
    for part in 0..<3 {
      let records = (0..<300).map { number in
        RecordChange(
          name: RecordName("r\(part)-\(number)"), type: "Note", fields: [FieldChange("a", Field(.int64(1)))])
      }
      _ = try await world.save(records)
    }
    let key = DatabaseKey(container: world.container, environment: .development, owner: world.user)
    func removedBytes() async throws -> Int64 { try await world.store.read { try $0.tally(of: key).removedBytes } }
    _ = try await world.call(.zonesModify(ZonesModifyRequest(operations: [.init(.delete, ZoneSelector("Trips"))])))
    #expect(try await removedBytes() > 0)
    let deadline = ContinuousClock.now + .seconds(30)
    // Housekeeping clears away in its own time, and tells nobody.
    while try await removedBytes() > 0, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(50)) }
    #expect(try await removedBytes() == 0)
    housekeeping.cancel()
    await housekeeping.value
  }

  // MARK: Devices that leave

  private func pushTokens(_ world: GatewayWorld) async throws -> [Entity] {
    let owner = "\(world.container)/development/\(world.user)"
    return try await world.store.read { try $0.entities(.pushToken, owner: owner) }
  }

  @Test func aRemovedDeviceIsToldOfNothingMore() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let (session, device) = try await world.secondDevice()
    let target = try await world.makePushTarget(session: session)
    let own = try await world.makePushTarget()
    async let parked = world.send("GET", target)
    try await world.untilParked(1)
    try await world.remove(device)
    #expect(try await parked.status == 404)
    try await touch(world)
    #expect(try await world.send("GET", target).status == 404)
    #expect(try await world.send("GET", own).text.contains("Trips"), "other devices hear of it as before")
    #expect(try await pushTokens(world).count == 1)
  }

  @Test func aTokenMadeOnAWebPageEndsWithTheDeviceThatSignedItIn() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let (session, device) = try await world.secondDevice()
    let made = try await world.send(
      "POST", "/virga/1/account/token", Array(#"{"container":"\#(world.container)"}"#.utf8), session: session)
    let tokens = try JSONDecoder().decode(AccountMessages.Tokens.self, from: Data(made.body))
    let query = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(tokens.webAuthToken.percentEncodedPathSegment)"
    let created = try await world.call(
      .tokensCreate, #"{"apnsEnvironment":"development"}"#, query: query, session: "")
    let reply = try Reply(decoding: created.body, for: .tokensCreate)
    guard case .pushToken(let token) = reply else { throw created.error }
    let target = try world.target(of: token.webcourierURL)
    async let parked = world.send("GET", target)
    try await world.untilParked(1)
    try await world.remove(device)
    #expect(try await parked.status == 404)
    #expect(try await pushTokens(world).isEmpty)
  }

  /// In a container without any database the removal finds no tokens, and a request under way may make one after it.
  @Test func tokensOfARemovedDeviceCountForNothing() async throws {
    let world = try await GatewayWorld()
    let (session, device) = try await world.secondDevice()
    let request = PushTokenRequest(apnsEnvironment: "development", clientID: "watcher")
    guard case .pushToken(let reply) = try await world.call(.tokensCreate(request), session: session) else {
      throw StoreError.damaged("tokens/create answers with something else")
    }
    try await world.remove(device)
    #expect(try await pushTokens(world).count == 1)
    #expect(try await world.send("GET", try world.target(of: reply.webcourierURL)).status == 404)

    let endpoint = Endpoint(
      container: world.container, environment: .development, scope: .private, operation: .tokensCreate)
    let context = CallContext(
      endpoint: endpoint, principal: Principal(user: world.user, account: "account-phone", device: device),
      now: world.clock.now, random: SplitMix64(seed: 1),
      urls: world.front.urls(for: HTTPRequestHead(method: "", target: "/")))
    await #expect(throws: ServiceError.deviceRemoved) {
      try await world.store.write { transaction in
        var context = context
        _ = try Service().write(.tokensCreate(request), in: transaction, context: &context)
      }
    }
    // The next one that is made clears it away.
    let own = try await world.makePushTarget()
    #expect(try await pushTokens(world).map(\.key) == [own.split(separator: "/").last.map(String.init)])
  }

  @Test func anUnknownTokenIsNotFound() async throws {
    let world = try await GatewayWorld()
    #expect(try await world.send("GET", "/push/1/none").status == 404)
    #expect(try await world.send("GET", "/push/1/%F0%9F%98%80").status == 404)
  }
}

/// A clock whose time passes as fast as it is waited for.
private struct HurriedClock: Clock {
  var now: ContinuousClock.Instant { ContinuousClock.now }
  var minimumResolution: Duration { .seconds(1) }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    await Task.yield()
  }
}

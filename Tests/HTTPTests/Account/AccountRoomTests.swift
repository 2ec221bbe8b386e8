import Foundation
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// What an account makes grow beside its records is counted or bounded.
@Suite struct AccountRoomTests {
  private func addKey(
    _ name: String, bytes: Int, container: String, zone: String = "_defaultZone", _ world: GatewayWorld
  ) async throws -> GatewayWorld.Answer {
    let body =
      #"{"zone":{"container":"\#(container)","environment":"development","zone":"\#(zone)"},"#
      + #""add":[{"name":"\#(name)","value":"\#(String(repeating: "x", count: bytes))"}]}"#
    return try await world.send("POST", "/virga/1/keys", Array(body.utf8), session: world.session)
  }

  /// A store whose commits take a while.
  private final class SlowStore: StoreOverMemory {
    let store: MemoryStore

    init(_ store: MemoryStore) { self.store = store }

    func write<Value: Sendable>(
      size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
      completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      store.write(body) { result in
        Thread.detachNewThread {
          // As if the disk took this long: all others are to arrive meanwhile.
          Thread.sleep(forTimeInterval: 0.3)
          completion(result)
        }
      }
    }
  }

  /// Makes accounts of so many devices at once, from one address, and gives what was refused.
  private func enrol(_ count: Int, in world: AccountWorld) async throws -> [any Error] {
    try await withThrowingTaskGroup(of: (any Error)?.self) { group in
      for number in 0..<count {
        let device = try world.device("device \(number)")
        group.addTask {
          do { _ = try await device.session() } catch { return error }
          return nil
        }
      }
      return try await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
    }
  }

  @Test func manyFirstUsesAtOnceFromOneAddressAllSucceed() async throws {
    let world = AccountWorld(over: { SlowStore($0) })
    let refused = try await enrol(2 * Limits.wrongGuessesPerAddressMax, in: world)
    #expect(refused.isEmpty, "\(refused)")
  }

  @Test func newAccountsAreCountedBeforeTheyAreMade() async throws {
    let world = AccountWorld(over: { SlowStore($0) })
    let taken = (Limits.accountsPerAddressMax - 2) * Limits.secondsPerAccountOfAddress
    world.routes.newAccounts.withLock { $0.charge(taken, to: "192.0.2.1", now: world.clock.now) }
    let refused = try await enrol(8, in: world)
    #expect(refused.count == 6, "\(refused)")
    // A device that has an account makes none, and what failed was given back.
    let home = try temporaryHome()
    world.clock.advance(by: .seconds(Limits.secondsPerAccountOfAddress))
    let first = try await world.device(home: home).session()
    #expect(try await enrol(1, in: world).count == 1)
    #expect(try await world.device(home: home).session().account == first.account)
  }

  @Test func keysCountAmongWhatADatabaseHolds() async throws {
    let world = try await GatewayWorld { $0.quotas = Quotas(userBytes: 100_000) }
    var stored = 0
    for number in 0..<5 where try await addKey("k\(number)", bytes: 30_000, container: "iCloud.q", world).status == 200
    {
      stored += 1
    }
    #expect(stored == 3)
    let key = DatabaseKey(
      container: "iCloud.q", environment: .development,
      owner: world.front.authenticator.user(of: "account-phone", in: "iCloud.q"))
    let row = try await world.store.read { try $0.database(key) }
    #expect((90_000...100_000).contains(try #require(row).keyBytes))
    // The same text once more is no more.
    #expect(try await addKey("k0", bytes: 30_000, container: "iCloud.q", world).status == 200)
    // What is left is too little for a record, too.
    let body =
      #"{"operations":[{"operationType":"create","record":{"recordName":"r","recordType":"N","fields":"#
      + #"{"t":{"value":"\#(String(repeating: "x", count: 20_000))","type":"STRING"}}}}]}"#
    let path = "/database/1/iCloud.q/development/private/records/modify"
    let refused = try await world.send("POST", path, Array(body.utf8))
    #expect(refused.text.contains("QUOTA_EXCEEDED"), "\(refused.text)")
  }

  /// The attack that this is against put 41 MB under a quota of 1 MB, a little into each of many containers.
  @Test func keysOfAllContainersTogetherAreBoundedByTheQuota() async throws {
    let world = try await GatewayWorld { $0.quotas = Quotas(userBytes: 100_000) }
    var stored = 0
    var last: ServiceError?
    for number in 0..<10 {
      let answer = try await addKey("k", bytes: 30_000, container: "iCloud.c\(number)", world)
      if answer.status == 200 { stored += 1 } else { last = answer.error }
    }
    #expect(stored == 3 && last?.code == .quotaExceeded)
    let reset = try await world.send("POST", "/virga/1/keys/reset", Array(#"{"add":[]}"#.utf8), session: world.session)
    #expect(reset.status == 200, "\(reset.text)")
    #expect(try await addKey("k", bytes: 30_000, container: "iCloud.c0", world).status == 200)
  }

  /// The attack that this is against put 46 KB into each of 40 containers that there are not.
  @Test func anAccountHasDataInSoManyContainers() async throws {
    let world = try await GatewayWorld()
    var stored = 0
    var last: ServiceError?
    for number in 0..<(Limits.containersPerAccountMax + 5) {
      let answer = try await addKey("k", bytes: 10, container: "iCloud.c\(number)", world)
      if answer.status == 200 { stored += 1 } else { last = answer.error }
    }
    #expect(stored == Limits.containersPerAccountMax)
    #expect(last?.reason.hasPrefix(Reason.limitExceeded) == true)
    let body = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
    let known = try await world.send(
      "POST", "/database/1/iCloud.c0/development/private/zones/modify", Array(body.utf8))
    #expect(known.text.contains("syncToken"), "\(known.text)")
    let new = try await world.send(
      "POST", "/database/1/iCloud.new/development/private/zones/modify", Array(body.utf8))
    #expect(new.text.contains(Reason.limitExceeded), "\(new.text)")
  }

  @Test(arguments: [99, 100, 101])
  func invitationsOfAnAccountAreCounted(count: Int) async throws {
    let world = try await GatewayWorld()
    var last = 200
    for _ in 0..<count {
      last = try await world.send("POST", "/virga/1/account/invite", Array("{}".utf8), session: world.session).status
    }
    #expect((last == 200) == (count <= Limits.enrolmentCodesPerAccountMax))
    // Codes that have ended make room.
    world.clock.advance(by: .seconds(60))
    let later = world.clock.now + Limits.enrolmentCodeAge
    try await world.store.write { transaction in
      try Accounts().invite(
        digest: "later", expires: later + .seconds(60), by: "account-phone", in: transaction, now: later)
    }
    let codes = try await world.store.read { try $0.entities(.invitation, owner: "account/account-phone") }
    #expect(codes.map(\.key) == ["later"])
  }

  @Test(arguments: [0, 1])
  func devicesThatWereRemovedAreCounted(extra: Int) async throws {
    let world = try await GatewayWorld()
    let now = world.clock.now
    let error = try await world.store.write { transaction -> ServiceError? in
      do {
        for number in 0..<(Limits.pastDevicesPerAccountMax - 1 + extra) {
          let id = DeviceID("d\(number)")
          try Accounts().add(
            Device(id: id, account: "account-phone", name: "x", publicKey: [3], enrolled: now), in: transaction)
          try Accounts().remove(id, from: "account-phone", in: transaction, now: now)
        }
        return nil
      } catch let error as ServiceError {
        return error
      }
    }
    #expect((error == nil) == (extra == 0), "\(String(describing: error))")
  }

  @Test func anAccountsOwnCallsAreRated() async throws {
    let world = try await GatewayWorld { $0.userRate = Rate(perSecond: 1, burst: 3) }
    func ask() async throws -> Int {
      try await world.send("POST", "/virga/1/account/invite", Array("{}".utf8), session: world.session).status
    }
    for _ in 0..<3 { #expect(try await ask() == 200) }
    #expect(try await ask() == 429)
    let keys = try await world.send("POST", "/virga/1/keys", Array(#"{"add":[]}"#.utf8), session: world.session)
    #expect(keys.status == 429)
    let reset = try await world.send("POST", "/virga/1/keys/reset", Array(#"{"add":[]}"#.utf8), session: world.session)
    #expect(reset.status == 429)
    world.clock.advance(by: .seconds(1))
    #expect(try await ask() == 200)
  }
}

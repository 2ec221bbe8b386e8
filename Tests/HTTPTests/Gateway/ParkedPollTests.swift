import Foundation
import Glibc
import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Ten thousand clients that wait for a notification, each on a connection of its own.
@Suite(.timeLimit(.minutes(5)), .serialized) struct ParkedPollTests {
  private static let polls = 10_000
  private static let tokensPerUser = 100
  /// What one parked poll may cost in a build without optimisation, both ends of its connection and its client included.
  private static let bytesPerPollMax = 24_576

  /// Lets this process open as many files as it may, and says how many that is.
  private static func raiseFileLimit(to wanted: Int) -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var raised = rlimit(rlim_cur: rlim_t(wanted), rlim_max: max(limit.rlim_max, rlim_t(wanted)))
    if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { return wanted }
    raised = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
    return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
      ? Int(limit.rlim_max) : Int(limit.rlim_cur)
  }

  private static var residentBytes: Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// The paths at which the users' tokens wait, by user; each token takes several polls.
  private func makeTokens(_ world: GatewayWorld, users: Int) async throws -> [[String]] {
    var paths: [[String]] = []
    for user in 0..<users {
      let device = Device(
        id: DeviceID("d\(user)"), account: AccountID("a\(user)"), name: "d", publicKey: [UInt8(user)],
        enrolled: world.clock.now)
      try await world.front.store.write { try Accounts().add(device, in: $0) }
      let session = world.front.authenticator.makeSession(account: device.account, device: device.id).token
      var own: [String] = []
      for token in 0..<Self.tokensPerUser {
        let request = PushTokenRequest(apnsEnvironment: "development", clientID: "c\(token)")
        guard case .pushToken(let reply) = try await world.call(.tokensCreate(request), session: session) else {
          continue
        }
        own.append(try world.target(of: reply.webcourierURL))
      }
      _ = try await world.call(
        .subscriptionsModify(
          SubscriptionsModifyRequest(operations: [.init(.create, Subscription(id: "all", kind: .database))])),
        session: session)
      paths.append(own)
    }
    return paths
  }

  @Test func tenThousandClientsWaitAndThoseConcernedAreTold() async throws {
    let perUser = Self.tokensPerUser * PollTable.pollsPerTokenMax
    // Tests that run beside this one hold some thousands, too.
    let files = Self.raiseFileLimit(to: Self.polls * 2 + 5_000)
    let users = Self.polls / perUser
    // Both ends of each connection are files of this process; those for whom there are none wait without one.
    let connected = min(users, (files - 500) / 2 / perUser)
    try #require(connected > 0, "this process may open only \(files) files")
    let count = connected * perUser

    let world = try await GatewayWorld { $0.pollTime = .seconds(600) }
    let paths = try await makeTokens(world, users: users)
    let server = HTTPServer(handler: world.front)
    let port = try server.start(host: "127.0.0.1", port: 0)
    let before = Self.residentBytes
    var clients: [[SocketClient]] = []
    for own in paths.prefix(connected) {
      clients.append(
        own.flatMap { path in
          (0..<PollTable.pollsPerTokenMax).map { _ in
            let client = SocketClient(port: port)
            client.send("GET \(path) HTTP/1.1\r\nHost: server.example\r\n\r\n")
            return client
          }
        })
    }
    try await world.until(within: .seconds(200)) { world.front.polls.count == count }
    let others = Task {
      await withTaskGroup { group in
        for path in paths.dropFirst(connected).joined() {
          for _ in 0..<PollTable.pollsPerTokenMax {
            group.addTask {
              _ = await world.front.exchange(HTTPRequest(head: HTTPRequestHead(method: "GET", target: path)))
            }
          }
        }
      }
    }
    try await world.until(within: .seconds(60)) { world.front.polls.count == Self.polls }
    let bytes = (Self.residentBytes - before) / count
    print("\(count) of \(Self.polls) parked polls have connections and take \(bytes) bytes each, with their clients")
    #expect(bytes < Self.bytesPerPollMax)

    // A change of one user's: each token of theirs is told once, and nobody else is.
    let session = world.front.authenticator.makeSession(account: "a0", device: "d0").token
    let zone = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Trips"}}}]}"#
    _ = try await world.call(.zonesModify, zone, query: "?clientId=writer", session: session)
    let told = paths[0].count
    try await world.until(within: .seconds(60)) { world.front.polls.count == Self.polls - told }
    // A poll is no longer parked a moment before its answer is with the system.
    var answered: [SocketClient] = []
    try await world.until(within: .seconds(60)) {
      answered = clients[0].filter { $0.waitForInput(milliseconds: 0) }
      return answered.count >= told
    }
    #expect(answered.count == told)
    #expect(answered.allSatisfy { $0.answer()?.text.contains("\"met\"") == true })
    #expect(clients.dropFirst().joined().allSatisfy { !$0.waitForInput(milliseconds: 0) })

    // Those who leave are noticed.
    clients = []
    others.cancel()
    await others.value
    try await world.until(within: .seconds(100)) { world.front.polls.count == 0 }
    await server.stop(drain: .milliseconds(500))
  }

  /// Changes that come faster than they are fetched are one notification for each subscription and zone.
  @Test func changesThatWaitAreOneNotification() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone("Trips")
    try await world.makeZone("Other")
    let target = try await world.makePushTarget()
    let token = String(target.dropFirst("/push/1/".count))
    let zoneSubscription = Subscription(id: "trips", kind: .zone(ZoneSelector("Trips")))
    _ = try await world.call(
      .subscriptionsModify(SubscriptionsModifyRequest(operations: [.init(.create, zoneSubscription)])))
    for number in 0..<200 {
      for zone in ["Trips", "Other"] {
        let save = #"{"operationType":"forceUpdate","record":{"recordName":"r\#(number % 7)","recordType":"Trip"}}"#
        _ = try await world.call(
          .recordsModify, #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[\#(save)]}"#, query: "?clientId=writer")
      }
    }
    let waiting = world.waiting(token)
    #expect((1...3).contains(waiting), "one for the database's subscription in each zone, and one for the zone's")
    var kinds: Set<String> = []
    for _ in 0..<waiting {
      let text = try await world.send("GET", target).text
      for kind in ["met", "fet"] where text.contains("\"\(kind)\"") { kinds.insert(kind) }
    }
    #expect(kinds == ["met", "fet"])
    await world.front.removeDelivered()
    #expect(world.waiting(token) == 0)
  }
}

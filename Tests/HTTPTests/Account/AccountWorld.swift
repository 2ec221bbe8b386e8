import Foundation
import Synchronization
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaModel
import VirgaServer
import VirgaWire

/// A clock that stands still until a test moves it.
final class ManualClock: Sendable {
  private let moment = Mutex(Timestamp(milliseconds: 1_800_000_000_000))
  var now: Timestamp { moment.withLock { $0 } }
  func advance(by duration: Duration) { moment.withLock { $0 = $0 + duration } }
}

/// A server's accounts in this process, over the memory store.
struct AccountWorld {
  let clock = ManualClock()
  let store = MemoryStore()
  let secrets = ServerSecrets.random()
  let authenticator: Authenticator
  let routes: AccountRoutes

  /// - Parameter over: Makes the store that the server uses of the memory store.
  init(
    policy: EnrolmentPolicy = .open, pollAge: Duration = .seconds(30), over wrap: (MemoryStore) -> any Store = { $0 }
  ) {
    let clock = clock
    authenticator = Authenticator(
      store: wrap(store), secrets: secrets, policy: policy, baseURL: "http://server.example", now: { clock.now })
    routes = AccountRoutes(authenticator: authenticator, pollAge: pollAge)
  }

  /// A device with a home of its own.
  func device(_ name: String = "phone", home: VirgaHome? = nil, address: String = "192.0.2.1") throws -> AccountClient {
    let clock = clock
    return AccountClient(
      home: try home ?? temporaryHome(), endpoint: "http://server.example",
      transport: RouteTransport(routes: routes, address: address), deviceName: name, now: { clock.now })
  }

  /// Sends raw JSON.
  func post(
    _ path: String, _ body: String, session: String? = nil, method: String = "POST", address: String = "192.0.2.9",
    headers: [(String, String)] = []
  ) async -> (status: Int, body: String) {
    var fields = headers
    if let session { fields.append(("X-Virga-Session", session)) }
    let head = HTTPRequestHead(method: method, target: "/virga/1/\(path)", headers: HTTPHeaders(fields))
    let answer = await routes.respond(
      to: HTTPRequest(head: head, body: .bytes(Array(body.utf8)), clientAddress: address))
    guard case .bytes(let bytes) = answer.body else { return (answer.status, "") }
    return (answer.status, String(decoding: bytes, as: UTF8.self))
  }

  func challenge() async throws -> AccountMessages.Challenge {
    let answer = await post("challenge", "{}")
    return try JSONDecoder().decode(AccountMessages.Challenge.self, from: Data(answer.body.utf8))
  }

  /// The principal of a request for the private database of a container.
  func principal(
    session: String? = nil, query: String = "", container: ContainerID = "iCloud.test", scope: DatabaseScope = .private,
    operation: VirgaWire.Operation = .zonesList, environment: VirgaModel.Environment = .development
  ) async throws(ServiceError) -> Principal {
    let endpoint = Endpoint(container: container, environment: environment, scope: scope, operation: operation)
    let headers = HTTPHeaders(session.map { [("x-virga-session", $0)] } ?? [])
    let head = HTTPRequestHead(method: "POST", target: endpoint.path + query, headers: headers)
    return try await authenticator.principal(for: HTTPRequest(head: head), endpoint: endpoint)
  }
}

/// Calls the routes directly.
struct RouteTransport: AccountTransport {
  let routes: AccountRoutes
  let address: String

  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8]) {
    let head = HTTPRequestHead(
      method: method, target: path, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }))
    let answer = await routes.respond(to: HTTPRequest(head: head, body: .bytes(body), clientAddress: address))
    guard case .bytes(let bytes) = answer.body else { return (answer.status, []) }
    return (answer.status, bytes)
  }
}

/// A new folder for a home, below the system's temporary folder.
func temporaryHome() throws -> VirgaHome {
  let path = FileManager.default.temporaryDirectory.appendingPathComponent("virga-home-\(UUID().uuidString)").path
  return VirgaHome(path: path)
}

extension AccountWorld {
  /// Lets `joiner` into the account of `inviter`.
  func pair(_ inviter: AccountClient, _ joiner: AccountClient) async throws {
    let code = try await inviter.invite()
    async let joined = joiner.join(code: code.code, replacing: false, announce: { _ in })
    let candidate = try await inviter.candidate(for: code.code)
    _ = try await inviter.confirm(candidate, code: code.code, accepts: true)
    _ = try await joined
  }
}

/// What a device was told to show.
final class Fingerprints: Sendable {
  private let texts = Mutex<[String]>([])
  var all: [String] { texts.withLock { $0 } }
  func add(_ text: String) { texts.withLock { $0.append(text) } }
}

/// A store in which something happens between a request's first look and its write.
final class InterruptedStore: StoreOverMemory {
  typealias Interruption = @Sendable (any WriteTransaction) throws -> Void

  let store: MemoryStore
  private let interruption = Mutex<Interruption?>(nil)

  init(_ store: MemoryStore) { self.store = store }

  /// Does this just before the next write.
  func interrupt(_ body: @escaping Interruption) { interruption.withLock { $0 = body } }

  func write<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let first = interruption.withLock { interruption in
      defer { interruption = nil }
      return interruption
    }
    if let first { store.write(first) { _ in } }
    store.write(body, completion: completion)
  }
}

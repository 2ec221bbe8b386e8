import CloudKit
import Foundation
import Synchronization
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaModel
import VirgaServer

@testable import VirgaCloudKit

/// The real server in this process, over a store in memory.
final class TestServer: Sendable {
  let folder: TemporaryFolder
  let front: Gateway
  let store = MemoryStore()
  private let clock: TestClock

  /// - Parameter baseURL: nil when it is reached by a socket.
  init(policy: EnrolmentPolicy = .open, baseURL: String? = TestServer.url) throws {
    let folder = try TemporaryFolder()
    let clock = TestClock()
    self.folder = folder
    self.clock = clock
    try FileManager.default.createDirectory(atPath: folder.path + "/data", withIntermediateDirectories: true)
    var configuration = GatewayConfiguration(folder: folder.path + "/data", policy: policy) { clock.now }
    configuration.baseURL = baseURL
    address = baseURL ?? "http://127.0.0.1"
    front = try Gateway(store: store, secrets: .random(), configuration: configuration)
  }

  static let url = "http://virga.test"
  /// What devices call the server. One without a name of its own answers to its machine's alone.
  let address: String

  var now: Timestamp { clock.now }
  func advance(by duration: Duration) { clock.advance(by: duration) }

  /// A device with a home of its own and no account yet.
  func device(_ name: String = "phone") throws -> TestDevice { try TestDevice(name, server: self) }
}

/// Time that passes when a test says so.
final class TestClock: Sendable {
  private let time = Mutex(Timestamp(milliseconds: 1_790_000_000_000))
  var now: Timestamp { time.withLock { $0 } }
  func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
}

/// A device: its home, its way to the server, and the container of the app on it.
final class TestDevice: Sendable {
  let home: VirgaHome
  let network: TestNetwork
  let service: RemoteService
  let container: CKContainer
  private let server: TestServer
  private let name: String

  convenience init(_ name: String, server: TestServer) throws {
    self.init(name, home: VirgaHome(path: server.folder.path + "/" + name), server: server)
  }

  private init(_ name: String, home: VirgaHome, server: TestServer) {
    self.name = name
    self.home = home
    self.server = server
    network = TestNetwork(server.front)
    service = RemoteService(
      endpoint: server.address, environment: .development, home: home, transport: network, deviceName: name,
      now: { [server] in server.now }, pause: { [server] in server.advance(by: $0) })
    container = CKContainer("iCloud.test", on: service)
  }

  var database: CKDatabase { container.privateCloudDatabase }

  /// The same device after a restart of its program.
  func restarted() -> TestDevice { TestDevice(name, home: home, server: server) }

  /// As if nothing had been sent or fetched yet.
  func emptyCache() throws { try FileManager.default.removeItem(atPath: home.path + "/cache") }

  /// Another device of the same account.
  func joined(as name: String) async throws -> TestDevice {
    let other = try TestDevice(name, server: server)
    try FileManager.default.createDirectory(atPath: other.home.path, withIntermediateDirectories: true)
    try await letIn(other)
    return other
  }

  func removeDevice(named name: String) async throws {
    for device in try await accounts.describe().devices where device.name == name {
      _ = try await accounts.remove(device.id)
    }
  }

  /// Confirms another device that joins this one's account.
  func letIn(_ other: TestDevice, replacing: Bool = false) async throws {
    let mine = accounts
    let theirs = other.accounts
    let code = try await mine.invite().code
    async let joined = theirs.join(code: code, replacing: replacing) { _ in }
    let candidate = try await mine.candidate(for: code)
    _ = try await mine.confirm(candidate, code: code, accepts: true)
    _ = try await joined
  }

  var accounts: AccountClient {
    AccountClient(
      home: home, endpoint: server.address,
      transport: AccountRequests(endpoint: server.address, transport: network), deviceName: name,
      now: { [server] in server.now })
  }
}

import Foundation
import VirgaAuth
import VirgaCloudKit
import VirgaHTTP
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// `virga serve`: puts the parts together, waits for a signal, takes them apart.
enum ServeCommand {
  /// How long requests under way may take once the server is asked to stop.
  private static let drainTime: Duration = .seconds(10)

  static func run(_ words: [String]) async throws {
    let arguments = try Arguments(words, for: ServeOptions.spec)
    if arguments.wantsHelp { return Terminal.print(ServeOptions.spec.help) }
    let options = try ServeOptions(arguments)
    if case .folder(let path) = options.data { try BackupMark.refuse(path) }
    let signals = StopSignals()
    let storage = try Storage(options.data, isServing: true)
    defer { storage.close() }

    let front = try front(options, storage)
    if let path = options.faultsPath { try loadFaults(path, into: front) }
    let log = EventLog(format: options.logFormat ?? .text)
    var connections = HTTPConfiguration()
    connections.bodyMemoryBytesMax = options.bodyMemoryBytes
    let server = HTTPServer(
      handler: options.logFormat == nil ? front : RequestLog(handler: front, log: log), configuration: connections)
    front.metrics.add { server.counters.readings + storage.readings }
    let port = try start(server, options)
    let firstCode: String?
    do { firstCode = try await front.accounts.codeForFirstAccount() } catch {
      throw Failure(.internalError, "the accounts cannot be read: \(error)")
    }
    if case .folder = options.data {
      try RunningServer(endpoint: localURL(host: options.host, port: port)).write(to: storage.folder)
    }
    defer { RunningServer.remove(from: storage.folder) }
    announce(options, storage, url: url(host: options.host, port: port), firstCode: firstCode)

    let housekeeping = Task { await front.run() }
    let signal = await signals.first()
    Terminal.complain("\(signal): finishing what is under way")
    housekeeping.cancel()
    await server.stop(drain: drainTime)
    await housekeeping.value
  }

  private static func front(_ options: ServeOptions, _ storage: Storage) throws(Failure) -> Front {
    var configuration = FrontConfiguration(
      folder: storage.folder, policy: options.policy,
      now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) })
    configuration.containers = options.containers.isEmpty ? nil : Set(options.containers)
    configuration.baseURL = options.baseURL
    configuration.quotas = options.quotas
    configuration.userRate = options.userRate
    configuration.addressRate = options.addressRate
    configuration.signInAge = options.signInAge
    configuration.keptSignInAge = options.keptSignInAge
    configuration.operatorToken = try operatorToken()
    let log = EventLog(format: options.logFormat ?? .text)
    configuration.log = { log.write(event: $0) }
    do throws(AssetFolderError) {
      return try Front(store: storage.store, secrets: storage.secrets, configuration: configuration)
    } catch {
      if case .full = error { throw Failure(.full, error.description) }
      throw Failure(.unwritable, error.description)
    }
  }

  private static func operatorToken() throws(Failure) -> String? {
    guard let token = ProcessInfo.processInfo.environment[OperatorClient.tokenVariable], !token.isEmpty else {
      return nil
    }
    guard token.utf8.count >= 20, token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw Failure(
        .badConfiguration, "\(OperatorClient.tokenVariable) needs at least 20 printable characters without spaces")
    }
    return token
  }

  private static func loadFaults(_ path: String, into front: Front) throws(Failure) {
    let bytes: [UInt8]
    do { bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path))) } catch {
      throw Failure(.badConfiguration, "the file of faults \(path) cannot be read")
    }
    do throws(FaultPlan.Objection) { front.faults.set(try FaultPlan(json: bytes)) } catch {
      throw Failure(.badConfiguration, "\(path): \(error)")
    }
  }

  private static func start(_ server: HTTPServer, _ options: ServeOptions) throws(Failure) -> UInt16 {
    do throws(HTTPServerError) { return try server.start(host: options.host, port: options.port) } catch {
      switch error {
      case .addressInUse(let host, let port):
        throw Failure(.unavailable, "port \(port) of \(host) is in use; another one: virga serve --port N")
      case .permissionDenied(_, let port):
        throw Failure(.noPermission, "port \(port) needs a privilege; ports from 1024 on do not")
      case .badHost(let host): throw Failure(.badHost, "\(host) is not an address of this machine")
      case .tooFewDescriptors(let limit):
        throw Failure(.internalError, "this process may open only \(limit) files; raise it with ulimit -n")
      case .system(let call, let code):
        throw Failure(.internalError, "\(call) failed: \(String(cString: strerror(code)))")
      }
    }
  }

  private static func url(host: String, port: UInt16) -> String {
    // An address that stands for all addresses is none that a client could use.
    let name = host == "0.0.0.0" || host == "::" ? VirgaCloudKit.Service.hostName : host
    return name.contains(":") ? "http://[\(name)]:\(port)" : "http://\(name):\(port)"
  }

  /// Where programs of this machine reach it.
  private static func localURL(host: String, port: UInt16) -> String {
    switch host {
    case "0.0.0.0": url(host: "127.0.0.1", port: port)
    case "::": url(host: "::1", port: port)
    default: url(host: host, port: port)
    }
  }

  private static func announce(_ options: ServeOptions, _ storage: Storage, url: String, firstCode: String?) {
    let accounts =
      switch options.policy {
      case .open: "open to everybody who reaches the address"
      case .invite: "with a code only"
      case .closed: "none"
      }
    let endpoint = url == VirgaHome.defaultEndpoint ? "" : " --endpoint \(options.baseURL ?? url)"
    let container = options.containers.first?.rawValue ?? "iCloud.com.example.App"
    var lines = [
      "Virga \(Program.version) serves \(url)",
      "  Data:         \(storage.description)",
      "  New accounts: \(accounts)",
    ]
    if let base = options.baseURL { lines.append("  Clients use:  \(base)") }
    if !options.containers.isEmpty {
      lines.append("  Containers:   \(options.containers.map(\.rawValue).joined(separator: ", "))")
    }
    lines.append("Try next:")
    if let firstCode {
      lines.append("  virga account join \(firstCode)\(endpoint)    (makes the first account)")
    }
    switch (options.policy, options.data) {
    case (.closed, .folder(let folder)):
      lines.append("  virga users list --data \(folder)    (who has an account)")
    case (.closed, .memory):
      lines.append("  curl \(url)/healthz    (nobody has an account, and none can be made)")
    default:
      if firstCode == nil { lines.append("  virga account show\(endpoint)") }
      lines.append("  virga account token --container \(container)\(endpoint)")
    }
    Terminal.announce(lines.joined(separator: "\n"))
  }
}

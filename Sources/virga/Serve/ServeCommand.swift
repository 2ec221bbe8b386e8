import Foundation
import VirgaAuth
import VirgaCloudKit
import VirgaCommandLine
import VirgaHTTP
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// `virga serve`: puts the parts together, waits for a signal, takes them apart.
enum ServeCommand {
  /// How long requests under way may take once the server is asked to stop.
  private static let drainTime: Duration = .seconds(10)

  static let commands = [Command(ServeOptions.spec, run)]

  private static func run(_ arguments: Arguments) async throws {
    let options = try ServeOptions(arguments)
    if case .folder(let path) = options.data { try BackupMark.refuse(path) }
    // Up to here a signal ends the program at once, also while a large file is rewritten: there is nothing to finish.
    let storage = try Storage(options.data, isServing: true)
    defer { storage.close() }
    let signals = StopSignals()

    let front = try front(options, storage)
    if let path = options.faultsPath { try loadFaults(path, into: front) }
    let log = EventLog(format: options.logFormat ?? .text)
    var connections = HTTPConfiguration()
    connections.bodyMemoryBytesMax = options.bodyMemoryBytes
    connections.countsLoopbackBodies = options.isPublic
    let server = HTTPServer(
      handler: options.logFormat == nil ? front : RequestLog(handler: front, log: log), configuration: connections)
    front.metrics.add { server.counters.readings + storage.readings }
    let port = try start(server, options)
    let firstCode: String?
    do { firstCode = try await front.accounts.codeForFirstAccount() } catch {
      throw Failure(.internalError, "the accounts cannot be read: \(plainText(of: error))")
    }
    let running = RunningServer(
      endpoint: localURL(host: options.host, port: port), folder: storage.folder, baseURL: options.baseURL)
    try running.write(to: storage.folder)
    let isListed = running.enlist()
    defer {
      running.delist()
      RunningServer.remove(from: storage.folder)
    }
    let greeting = ServeGreeting(
      options: options, storage: storage, url: options.url(port: port), firstCode: firstCode, isListed: isListed)
    Terminal.announce(greeting.text)

    let housekeeping = Task { await front.run() }
    let check = Task { await StartCheck(options, port: port)?.run(on: front, log: log) }
    defer { check.cancel() }
    let signal = await signals.first()
    Terminal.complain("\(signal): finishing open requests")
    housekeeping.cancel()
    await server.stop(drain: drainTime)
    await housekeeping.value
    await front.removeDelivered()
  }

  private static func front(_ options: ServeOptions, _ storage: Storage) throws(Failure) -> Gateway {
    var configuration = GatewayConfiguration(
      folder: storage.folder, policy: options.policy,
      now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) })
    configuration.containers = options.containers.isEmpty ? nil : Set(options.containers)
    configuration.baseURL = options.baseURL
    configuration.names = options.names
    configuration.quotas = options.quotas
    configuration.workThreads = WorkThreads(count: 2)
    configuration.userRate = options.userRate
    configuration.addressRate = options.addressRate
    configuration.signInAge = options.signInAge
    configuration.keptSignInAge = options.keptSignInAge
    configuration.operatorToken = try operatorToken()
    let log = EventLog(format: options.logFormat ?? .text)
    configuration.log = { log.write(event: $0) }
    do throws(AssetFolderError) {
      return try Gateway(store: storage.store, secrets: storage.secrets, configuration: configuration)
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

  private static func loadFaults(_ path: String, into front: Gateway) throws(Failure) {
    let bytes: [UInt8]
    do { bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path))) } catch {
      throw Failure(.badConfiguration, "the fault plan \(path) cannot be read")
    }
    do throws(FaultPlan.Objection) { front.faults.set(try FaultPlan(json: bytes)) } catch {
      throw Failure(.badConfiguration, "\(path): \(error)")
    }
  }

  private static func start(_ server: HTTPServer, _ options: ServeOptions) throws(Failure) -> UInt16 {
    do throws(HTTPServerError) { return try server.start(host: options.host, port: options.port) } catch {
      switch error {
      case .addressInUse(let host, let port):
        throw Failure(.unavailable, "port \(port) of \(host) is in use; choose another one: virga serve --port N")
      case .permissionDenied(_, let port):
        throw Failure(.noPermission, "port \(port) needs a privilege; use a port from 1024 on")
      case .badHost(let host): throw Failure(.badHost, "\(host) is not an address of this machine")
      case .tooFewDescriptors(let limit):
        throw Failure(.internalError, "this process may open only \(limit) files; raise it with ulimit -n")
      case .system(let call, let code):
        throw Failure(.internalError, "\(call) failed: \(String(cString: strerror(code)))")
      }
    }
  }

  /// Where programs of this machine reach it.
  private static func localURL(host: String, port: UInt16) -> String {
    switch host {
    case "0.0.0.0": ServeOptions.url(host: "127.0.0.1", port: port)
    case "::": ServeOptions.url(host: "::1", port: port)
    default: ServeOptions.url(host: host, port: port)
    }
  }
}

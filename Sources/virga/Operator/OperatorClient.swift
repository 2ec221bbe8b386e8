import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaCloudKit
import VirgaCommandLine
import VirgaModel
import VirgaWire

/// Asks a server what only its operator may: with the token in the environment, or with the one that the key in the
/// server's data folder makes. A server of the same user on this machine is found by itself.
struct OperatorClient: Sendable {
  /// Names the token, for the server and for who asks it.
  static let tokenVariable = "VIRGA_OPERATOR_TOKEN"

  static let options = [
    CommandSpec.Option(
      name: "--endpoint", value: "URL",
      help: "The server. Default: $VIRGA_ENDPOINT, then config.json in the home, then \(VirgaHome.defaultEndpoint)."),
    CommandSpec.Option(name: "--home", value: "DIR", help: "The device's home. Default: $VIRGA_HOME, then ~/.virga."),
  ]

  /// Where the server is, and the token to show.
  private struct Place: Sendable {
    var endpoint: String
    var token: String
  }

  private let place: Place?
  /// Whose certificates are trusted, if not the system's.
  private let certificateFile: String?
  /// Where a server is to be found that runs on this machine.
  let endpoint: String

  init(_ arguments: Arguments) throws {
    let environment = ProcessInfo.processInfo.environment
    let home = arguments.value("--home").map(VirgaHome.init(path:)) ?? VirgaHome(environment: environment)
    let given = arguments.value("--endpoint").map { ["VIRGA_ENDPOINT": $0] }
    do {
      endpoint = try Failure.endpoint(of: home, environment: given ?? environment)
      certificateFile = try home.certificateFile(environment: environment)
    } catch {
      throw AccountCommand.failure(error, endpoint: "")
    }
    let token = environment[Self.tokenVariable].flatMap { $0.isEmpty ? nil : $0 }
    place = token.map { [endpoint] in Place(endpoint: endpoint, token: $0) }
  }

  /// Reaches the server that uses a data folder, with the token that the folder's key makes. What answers must first
  /// prove that it has that key: the token would be good for nothing else, but is nobody else's business.
  init(_ arguments: Arguments, serverOf folder: String) async throws {
    let secrets = try Storage.existingSecrets(of: folder)
    do throws(SecureFileError) {
      if let given = arguments.value("--endpoint") {
        endpoint = try VirgaHome(environment: [:]).endpoint(environment: ["VIRGA_ENDPOINT": given])
      } else {
        endpoint = try RunningServer.read(from: folder)?.endpoint ?? VirgaHome.defaultEndpoint
      }
    } catch {
      throw Failure(.badConfiguration, error.description)
    }
    place = Place(endpoint: endpoint, token: secrets.operatorToken)
    certificateFile = nil
    try await Self.check(endpoint, isServerOf: folder, secrets)
  }

  /// The token with which the server is asked.
  func token() async throws -> String { try await found().token }

  /// The place that was named, or that of the server which this user runs at the endpoint.
  private func found() async throws -> Place {
    if let place { return place }
    guard let server = RunningServer.find(at: endpoint), let folder = server.folder,
      let secrets = try? ServerSecrets.read(from: folder)
    else {
      // Nothing to be asked is another trouble than not to be the one who may ask.
      _ = try await Self.identity(at: endpoint, nonce: Hex.encode(SystemRandom.bytes(16)))
      throw Failure(
        .noPermission,
        "there is no server of this user at \(endpoint); on the server's machine give --data and its folder, or put "
          + "its "
          + "operator's token into $\(Self.tokenVariable)")
    }
    try await Self.check(server.endpoint, isServerOf: folder, secrets)
    return Place(endpoint: server.endpoint, token: secrets.operatorToken)
  }

  private static func check(_ endpoint: String, isServerOf folder: String, _ secrets: ServerSecrets) async throws {
    let nonce = Hex.encode(SystemRandom.bytes(16))
    guard let identity = try await identity(at: endpoint, nonce: nonce),
      secrets.verifies(identity.proof, of: nonce, for: .identity)
    else {
      throw Failure(
        .unavailable, "the server at \(endpoint) is not the one that uses \(folder); give the right --endpoint")
    }
  }

  /// What answers at an address says of itself; `nil` if it is no server of this kind.
  private static func identity(at endpoint: String, nonce: String) async throws -> AccountMessages.Identity? {
    let answer: (status: Int, body: [UInt8])
    do {
      answer = try await CurlAccountTransport(endpoint: endpoint)
        .send(method: "GET", path: "/virga/1/identity?nonce=\(nonce)", headers: [], body: [])
    } catch {
      throw AccountCommand.failure(error, endpoint: endpoint)
    }
    guard answer.status == 200 else { return nil }
    return try? JSONDecoder().decode(AccountMessages.Identity.self, from: Data(answer.body))
  }

  /// Sends a request and gives the body of its answer.
  func send(_ method: String, _ path: String, query: [(name: String, value: String)], body: [UInt8] = []) async throws
    -> [UInt8]
  {
    let place = try await found()
    do {
      let transport = CurlAccountTransport(endpoint: place.endpoint, certificateFile: certificateFile)
      let parameters = query.map { "\($0.name)=\($0.value.percentEncodedPathSegment)" }.joined(separator: "&")
      let answer = try await transport.send(
        method: method, path: "/virga/1/\(path)?\(parameters)",
        headers: [(name: "X-Virga-Operator", value: place.token)], body: body)
      guard answer.status == 200 else { throw failure(answer.status, answer.body) }
      return answer.body
    } catch {
      throw AccountCommand.failure(error, endpoint: place.endpoint)
    }
  }

  /// Sends a file to a path whose URL needs no credentials but itself.
  func upload(_ path: String, to target: String) async throws -> (status: Int, body: [UInt8]) {
    let source: FileSource
    do { source = try FileSource(path: path) } catch { throw Failure(.damaged, "\(path) cannot be read") }
    let place = try await found()
    var request = TransportRequest(method: "POST", url: place.endpoint + target)
    request.body = .file(source)
    do {
      let answer = try await CurlTransport(certificateFile: certificateFile).send(request)
      return (answer.status, answer.body)
    } catch {
      throw AccountCommand.failure(error, endpoint: place.endpoint)
    }
  }

  private func failure(_ status: Int, _ body: [UInt8]) -> Failure {
    guard ServiceError.isOne(body) else {
      return Failure(.unavailable, "the answer from \(endpoint) does not come from a Virga server of this version")
    }
    let error = ServiceError(decoding: body, status: status)
    switch status {
    case 401, 403, 421: return Failure(.noPermission, error.reason)
    case 429, 503: return Failure(.unavailable, error.reason)
    default: return Failure(.failed, error.reason)
    }
  }
}

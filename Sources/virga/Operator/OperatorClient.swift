import Foundation
import VirgaAuth
import VirgaCloudKit
import VirgaModel
import VirgaWire

/// Asks a server what only its operator may: with the operator's token, or with this device's session on the server's
/// own machine.
struct OperatorClient: Sendable {
  /// Names the token, for the server and for who asks it.
  static let tokenVariable = "VIRGA_OPERATOR_TOKEN"

  static let options = [
    CommandSpec.Option(
      name: "--endpoint", value: "URL",
      help: "The server. Default: $VIRGA_ENDPOINT, then config.json in the home, then \(VirgaHome.defaultEndpoint)."),
    CommandSpec.Option(name: "--home", value: "DIR", help: "The device's home. Default: $VIRGA_HOME, then ~/.virga."),
  ]

  let endpoint: String
  private let home: VirgaHome
  private let token: String?

  init(_ arguments: Arguments) throws {
    let environment = ProcessInfo.processInfo.environment
    home = arguments.value("--home").map(VirgaHome.init(path:)) ?? VirgaHome(environment: environment)
    let given = arguments.value("--endpoint").map { ["VIRGA_ENDPOINT": $0] }
    do { endpoint = try Failure.endpoint(of: home, environment: given ?? environment) } catch {
      throw AccountCommand.failure(error, endpoint: "")
    }
    token = environment[Self.tokenVariable].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Reaches the server that uses a data folder, with the token that the folder's key makes. What answers must first
  /// prove that it has that key: the token would be good for nothing else, but is nobody else's business.
  init(_ arguments: Arguments, serverOf folder: String) async throws {
    home = VirgaHome(environment: [:])
    let secrets = try Storage.existingSecrets(of: folder)
    token = secrets.operatorToken
    do throws(SecureFileError) {
      if let given = arguments.value("--endpoint") {
        endpoint = try home.endpoint(environment: ["VIRGA_ENDPOINT": given])
      } else {
        endpoint = try RunningServer.read(from: folder)?.endpoint ?? VirgaHome.defaultEndpoint
      }
    } catch {
      throw Failure(.badConfiguration, error.description)
    }
    try await checkServer(of: folder, secrets)
  }

  private func checkServer(of folder: String, _ secrets: ServerSecrets) async throws {
    let nonce = Hex.encode(SystemRandom.bytes(16))
    let answer: (status: Int, body: [UInt8])
    do {
      answer = try await CurlAccountTransport(endpoint: endpoint)
        .send(method: "GET", path: "/virga/1/identity?nonce=\(nonce)", headers: [], body: [])
    } catch {
      throw AccountCommand.failure(error, endpoint: endpoint)
    }
    let identity = try? JSONDecoder().decode(AccountMessages.Identity.self, from: Data(answer.body))
    guard answer.status == 200, let identity, secrets.verifies(identity.proof, of: nonce, for: .identity) else {
      throw Failure(
        .unavailable, "what answers at \(endpoint) is not the server that uses \(folder); name its --endpoint")
    }
  }

  /// Sends a request and gives the body of its answer.
  func send(_ method: String, _ path: String, query: [(name: String, value: String)], body: [UInt8] = []) async throws
    -> [UInt8]
  {
    do {
      let transport = CurlAccountTransport(endpoint: endpoint)
      let parameters = query.map { "\($0.name)=\($0.value.percentEncodedPathSegment)" }.joined(separator: "&")
      let answer = try await transport.send(
        method: method, path: "/virga/1/\(path)?\(parameters)", headers: try await credentials(transport), body: body)
      guard answer.status == 200 else { throw failure(answer.status, answer.body) }
      return answer.body
    } catch {
      throw AccountCommand.failure(error, endpoint: endpoint)
    }
  }

  /// Sends a file to a path whose URL needs no credentials but itself.
  func upload(_ path: String, to target: String) async throws -> (status: Int, body: [UInt8]) {
    let source: FileSource
    do { source = try FileSource(path: path) } catch { throw Failure(.damaged, "\(path) cannot be read") }
    var request = TransportRequest(method: "POST", url: endpoint + target)
    request.body = .file(source)
    do {
      let answer = try await CurlTransport().send(request)
      return (answer.status, answer.body)
    } catch {
      throw AccountCommand.failure(error, endpoint: endpoint)
    }
  }

  private func credentials(_ transport: CurlAccountTransport) async throws -> [(name: String, value: String)] {
    if let token { return [(name: "X-Virga-Operator", value: token)] }
    let client = AccountClient(
      home: home, endpoint: endpoint, transport: transport, deviceName: VirgaCloudKit.Service.hostName,
      now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) })
    return [(name: "X-Virga-Session", value: try await client.session().token)]
  }

  private func failure(_ status: Int, _ body: [UInt8]) -> Failure {
    guard ServiceError.isOne(body) else {
      return Failure(.unavailable, "what answers at \(endpoint) is not a Virga server of this version")
    }
    let error = ServiceError(decoding: body, status: status)
    switch status {
    case 403 where token == nil:
      return Failure(
        .noPermission, "\(error.reason) (in $\(Self.tokenVariable), or give --data on the server's own machine)")
    case 401, 403, 421: return Failure(.noPermission, error.reason)
    case 429, 503: return Failure(.unavailable, error.reason)
    default: return Failure(.failed, error.reason)
    }
  }
}

import Foundation
import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// A server behind a socket, and a client that nobody here wrote: it knows the protocol, and has an API token and a
/// web-auth token at most.
final class ForeignClient {
  let world: GatewayWorld
  private let server: HTTPServer
  private let port: UInt16
  private(set) var apiToken = ""
  private(set) var webToken = ""

  /// Whose request it is.
  enum Credentials { case nobody, apiToken, user, device }

  private init(_ configure: (inout GatewayConfiguration) -> Void) async throws {
    world = try await GatewayWorld(configure)
    server = HTTPServer(handler: world.front)
    port = try server.start(host: "127.0.0.1", port: 0)
    try await signIn(to: .development)
  }

  /// Takes tokens of an environment; those of before belong to another one.
  func signIn(to environment: Environment) async throws {
    let body = #"{"container":"\#(world.container)","environment":"\#(environment)"}"#
    let answer = try await world.send("POST", "/virga/1/account/token", Array(body.utf8), session: world.session)
    let tokens = try JSONDecoder().decode(AccountMessages.Tokens.self, from: Data(answer.body))
    (apiToken, webToken) = (tokens.apiToken, tokens.webAuthToken)
  }

  /// Runs a test with one, and stops its server.
  static func run(
    _ configure: (inout GatewayConfiguration) -> Void = { _ in }, _ body: (ForeignClient) async throws -> Void
  ) async throws {
    let client = try await ForeignClient(configure)
    try await client.world.makeZone()
    let result: Result<Void, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    await client.server.stop(drain: .milliseconds(500))
    try result.get()
  }

  // MARK: Requests

  func query(_ credentials: Credentials) -> String {
    switch credentials {
    case .nobody, .device: ""
    case .apiToken: "?ckAPIToken=\(apiToken)"
    case .user: "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(webToken.percentEncodedPathSegment)"
    }
  }

  /// How many connections the server holds.
  var openConnections: Int { server.counters.connections }

  /// A connection to the server, for what `send` does not do.
  func connection() -> SocketClient { SocketClient(port: port) }

  /// Sends one request over a connection of its own.
  func send(
    _ method: String, _ target: String, _ body: [UInt8] = [], _ fields: String = "",
    as credentials: Credentials = .nobody,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> SocketClient.Answer {
    let client = SocketClient(port: port)
    var fields = fields
    if credentials == .device { fields += "X-Virga-Session: \(world.session)\r\n" }
    if method == "POST" || method == "PUT" { fields += "Content-Length: \(body.count)\r\n" }
    client.send("\(method) \(target) HTTP/1.1\r\nHost: server.example\r\n\(fields)\r\n")
    client.send(body)
    return try #require(client.answer(hasBody: method != "HEAD"), sourceLocation: sourceLocation)
  }

  func call(
    _ operation: VirgaWire.Operation, _ body: String, as credentials: Credentials = .user,
    in scope: DatabaseScope = .private, _ fields: String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> SocketClient.Answer {
    try send(
      "POST", world.path(operation, scope: scope) + query(credentials), Array(body.utf8), fields, as: credentials,
      sourceLocation: sourceLocation)
  }

  /// Saves one record with these fields in the zone that is there, and gives the answer's only item.
  func save(
    _ fields: String, type: String = "T", name: String = "r", kind: String = "forceReplace",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> PlainJSON {
    let record = #"{"recordName":"\#(name)","recordType":"\#(type)","fields":{\#(fields)}}"#
    let answer = try call(
      .recordsModify,
      #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"\#(kind)","record":\#(record)}]}"#,
      sourceLocation: sourceLocation)
    #expect(answer.status == 200, "\(answer.text)", sourceLocation: sourceLocation)
    return try #require(try answer.json["records"]?.elements.first, sourceLocation: sourceLocation)
  }
}

extension SocketClient.Answer {
  var json: PlainJSON { get throws { try PlainJSON(body) } }
  var error: ServiceError { ServiceError(decoding: body, status: status) }
}

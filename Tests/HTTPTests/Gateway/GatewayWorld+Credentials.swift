import Foundation
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

extension GatewayWorld {
  // MARK: The operator

  /// Sends a call of the operator and gives its answer.
  func manage(_ method: String, _ path: String, _ message: (any Encodable)? = nil) async throws -> Answer {
    let body = try message.map { Array(try JSONEncoder().encode($0)) } ?? []
    return try await send(
      method, "/virga/1/operator/\(path)", body, headers: [("X-Virga-Operator", front.secrets.operatorToken)])
  }

  func managed<Value: Decodable>(
    _ method: String, _ path: String, _ message: (any Encodable)? = nil
  ) async throws -> Value {
    let answer = try await manage(method, path, message)
    guard answer.status == 200 else { throw answer.error }
    return try JSONDecoder().decode(Value.self, from: Data(answer.body))
  }

  func makeToken(
    origins: [String]? = nil, callback: String? = nil, environment: VirgaModel.Environment? = nil
  ) async throws -> (id: String, text: String) {
    let token: OperatorMessages.Token = try await managed(
      "POST", "tokens/create",
      OperatorMessages.TokenRequest(
        container: container, environment: environment, name: "site", origins: origins, callback: callback))
    return (token.id, token.token ?? "")
  }

  func register(
    _ key: SigningKey, container: ContainerID? = nil, environment: VirgaModel.Environment? = nil
  ) async throws -> OperatorMessages.Key {
    try await managed(
      "POST", "keys/add",
      OperatorMessages.KeyRequest(
        container: container ?? self.container, environment: environment, name: "script",
        publicKey: try key.publicKey.pem()))
  }

  // MARK: Requests with other credentials

  func withToken(
    _ token: String, _ operation: VirgaWire.Operation, scope: DatabaseScope = .public, body: String = "{}",
    headers: [(String, String)] = []
  ) async throws -> Answer {
    try await send(
      "POST", path(operation, scope: scope) + "?ckAPIToken=\(token)", Array(body.utf8), headers: headers, session: "")
  }

  func signed(
    by key: SigningKey, _ keyID: String, _ operation: VirgaWire.Operation, scope: DatabaseScope = .public,
    body: String = "{}", query: String = "", headers: [(String, String)] = [], method: String = "POST"
  ) async throws -> Answer {
    let target = path(operation, scope: scope) + query
    let bytes = Array(body.utf8)
    let signature = try SignedRequest.headers(keyID: keyID, key: key, target: target, body: bytes, now: clock.now)
    return try await send(
      method, target, bytes, headers: headers + signature.map { ($0.name, $0.value) }, session: "")
  }
}

import Foundation
import TestSupport
import VirgaAuth

/// The web service of a server as a script uses it: tokens in the query, JSON over a plain connection.
final class WebService {
  private let connection: RawConnection
  private let path: String
  private let query: String

  /// Signs in with tokens of the account of a home, which is made if need be.
  init(_ server: ServerProcess, home: String, container: String = "iCloud.virga.test") async throws {
    let end = try await ProgramRun.run(server.account("token", "--container", container, "--json", home: home))
    let tokens = try JSONDecoder().decode(AccountMessages.Tokens.self, from: Data(end.output.utf8))
    let encoded = tokens.webAuthToken.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    query = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(encoded)"
    path = "/database/1/\(container)/development/"
    connection = try RawConnection(port: server.port)
  }

  /// The same tokens on a new connection: after a server came back.
  init(_ other: WebService, at server: ServerProcess) throws {
    (path, query) = (other.path, other.query)
    connection = try RawConnection(port: server.port)
  }

  /// Posts a JSON object and gives the answer's status and object.
  func call(
    _ operation: String, _ body: String = "{}", in database: String = "private"
  ) throws -> (status: Int, json: [String: Any]) {
    let target = "\(path)\(database)/\(operation)\(query)"
    let response = try connection.request(requestBytes("POST", target, body: Array(body.utf8)))
    let json = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
    return (response.status, json ?? [:])
  }
}

import Foundation
import TestSupport

/// A client as a script writes it: tokens from `virga account token`, JSON over a socket, and nothing of our modules.
final class ScriptClient: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let port: UInt16
  let container: String
  /// `ckAPIToken=…&ckWebAuthToken=…`
  let credentials: String

  init(server: ServerProcess, container: String, home: String = "script") async throws {
    port = server.port
    self.container = container
    let end = try await ProgramRun.run(server.account("token", "--container", container, "--json", home: home))
    guard let tokens = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any],
      let api = tokens["apiToken"] as? String, let web = tokens["webAuthToken"] as? String,
      let encoded = web.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
    else { throw Failure(description: "no tokens: \(end.output)\(end.errors)") }
    credentials = "ckAPIToken=\(api)&ckWebAuthToken=\(encoded)"
  }

  func target(_ operation: String, database: String = "private", parameters: String = "") -> String {
    "/database/1/\(container)/development/\(database)/\(operation)?\(credentials)\(parameters)"
  }

  /// Posts a body and gives the answer, whatever its status.
  func post(_ operation: String, _ body: String, on connection: RawConnection? = nil) throws -> RawConnection.Response {
    let connection = try connection ?? RawConnection(port: port)
    return try connection.request(requestBytes("POST", target(operation), body: Array(body.utf8)))
  }

  /// Posts a body and gives the answer of a call that succeeds.
  func call(_ operation: String, _ body: String, on connection: RawConnection? = nil) throws -> [String: Any] {
    let response = try post(operation, body, on: connection)
    guard response.status == 200,
      let object = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
    else { throw Failure(description: "\(operation): \(response.status) \(response.text)") }
    return object
  }

  /// The names of all live records of a zone with the number of their change tag.
  func allRecords(zone: String) throws -> [String: Int] {
    var found: [String: Int] = [:]
    var token = ""
    while true {
      let answer = try call("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}\#(token)}]}"#)
      guard let page = (answer["zones"] as? [[String: Any]])?.first, let next = page["syncToken"] as? String else {
        throw Failure(description: "\(answer)")
      }
      for record in page["records"] as? [[String: Any]] ?? [] {
        guard let name = record["recordName"] as? String, let tag = record["recordChangeTag"] as? String else {
          continue
        }
        found[name] = Int(tag, radix: 36)
      }
      if page["moreComing"] as? Bool != true { return found }
      token = #","syncToken":"\#(next)""#
    }
  }
}

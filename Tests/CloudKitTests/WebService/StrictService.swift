import Foundation
import Synchronization
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaModel

@testable import VirgaCloudKit

/// Stands where Apple's service would: refuses all that CloudKit Web Services do not know, and lets the real server
/// answer the rest.
///
/// Its users' tokens are single-use as Apple documents them: each answer brings the next one, and whoever has used that
/// can no longer use those before. It listens on plain HTTP at a loopback address, as the form of the endpoint allows.
final class StrictService: HTTPHandler {
  private struct User {
    /// What the real server knows the user by.
    var webAuthToken: String
    /// The newest token that came back; those before it are void.
    var used = 0
    var issued = 0
  }

  private struct State {
    var users: [User] = []
    var complaints: [String] = []
    var operations: [String] = []
    var handedOut: Set<String> = []
  }

  static let container: ContainerID = "iCloud.com.example.App"
  /// Sixty-four hexadecimal digits, as Apple's are.
  let apiToken = String(repeating: "0123456789abcdef", count: 4)
  private let server: TestServer
  private let realAPIToken: String
  private let state = Mutex(State())

  private init(_ server: TestServer, _ realAPIToken: String) {
    self.server = server
    self.realAPIToken = realAPIToken
  }

  convenience init(_ server: TestServer) async throws {
    self.init(server, try await Self.tokens("app", server).apiToken)
  }

  private static func tokens(_ name: String, _ server: TestServer) async throws -> AccountMessages.Tokens {
    let device = try server.device(name)
    let accounts = AccountClient(
      home: device.home, endpoint: server.address,
      transport: AccountRequests(endpoint: server.address, transport: device.network), deviceName: name,
      now: { server.now })
    return try await accounts.tokens(for: container, in: .development)
  }

  /// Signs somebody in, as a web page would.
  func signIn(_ name: String) async throws -> String {
    let tokens = try await Self.tokens(name, server)
    return state.withLock { state in
      state.users.append(User(webAuthToken: tokens.webAuthToken))
      return Self.token(user: state.users.count - 1, number: 0)
    }
  }

  /// Ends all tokens of all users.
  func signOutAll() { state.withLock { for index in $0.users.indices { $0.users[index].used = .max } } }

  /// What was refused, and why.
  var complaints: [String] { state.withLock { $0.complaints } }
  /// What was answered, such as `private records/modify`.
  var operations: [String] { state.withLock { $0.operations } }
  /// How many tokens a user was given.
  func issued(_ user: Int) -> Int { state.withLock { $0.users[user].issued } }

  // MARK: Tokens

  /// A token that looks like Apple's, with the characters that a query must encode.
  private static func token(user: Int, number: Int) -> String {
    "158__54__\(user)+\(number)/" + String(repeating: "Ab0", count: 32) + "=="
  }

  private enum Admission {
    case nobody
    case user(real: String, next: String)
    case refused
  }

  private func admit(_ token: String?) -> Admission {
    guard let token else { return .nobody }
    guard let match = token.wholeMatch(of: /158__54__([0-9]+)\+([0-9]+)\/(?:Ab0){32}==/),
      let user = Int(match.output.1),
      let number = Int(match.output.2)
    else { return .refused }
    return state.withLock { state in
      guard number >= state.users[user].used, number <= state.users[user].issued else { return .refused }
      state.users[user].used = number
      state.users[user].issued += 1
      return .user(
        real: state.users[user].webAuthToken, next: Self.token(user: user, number: state.users[user].issued))
    }
  }

  // MARK: Requests

  func bodyPlan(for head: HTTPRequestHead) -> BodyPlan { server.front.bodyPlan(for: head) }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let head = request.head
    var complaints = headerComplaints(head)
    if head.path.hasPrefix("/assets/") || head.path.hasPrefix("/push/") {
      complaints += contentComplaints(head)
      return complaints.isEmpty ? await server.front.respond(to: request) : refuse(complaints, head)
    }
    let parts = head.path.split(separator: "/").map { String($0).removingPercentEncoding ?? "" }
    let isDevice = parts.first == "device"
    let operation = parts.dropFirst(isDevice ? 4 : 5).joined(separator: "/")
    complaints += pathComplaints(parts, operation)
    let (query, queryComplaints) = query(of: head)
    complaints += queryComplaints
    complaints += bodyComplaints(request, operation)
    guard complaints.isEmpty else { return refuse(complaints, head) }
    state.withLock { $0.operations.append("\(isDevice ? "device" : parts[4]) \(operation)") }
    return await answer(request, query)
  }

  private func answer(_ request: HTTPRequest, _ query: [String: String]) async -> HTTPResponse {
    var request = request
    var items = ["ckAPIToken=\(realAPIToken)"]
    var next: String?
    switch admit(query["ckWebAuthToken"]) {
    case .nobody: break
    case .refused: items.append("ckWebAuthToken=void")
    case .user(let real, let token):
      items.append("ckWebAuthToken=\(real.percentEncodedPathSegment)")
      next = token
    }
    if let id = query["clientId"] { items.append("clientId=\(id)") }
    request.head.target = "\(request.head.path)?\(items.joined(separator: "&"))"
    var response = await server.front.respond(to: request)
    if case .bytes(let bytes) = response.body {
      let urls = String(decoding: bytes, as: UTF8.self).replacing("\\/", with: "/").matches(of: /http:\/\/[^"]+/)
      state.withLock { $0.handedOut.formUnion(urls.map { String($0.output) }) }
    }
    // Only what the stand-in issues counts.
    response.headers = HTTPHeaders(
      response.headers.fields.filter { !$0.name.hasPrefix("X-Apple-CloudKit") }.map { ($0.name, $0.value) })
    if let next { response.headers.append("X-Apple-CloudKit-Web-Auth-Token", next) }
    return response
  }

  private func refuse(_ complaints: [String], _ head: HTTPRequestHead) -> HTTPResponse {
    state.withLock { $0.complaints += complaints.map { "\(head.method) \(head.path): \($0)" } }
    let body = #"{"uuid":"u","serverErrorCode":"BAD_REQUEST","reason":"BadRequestException: Unexpected input"}"#
    return HTTPResponse(
      status: 400, headers: HTTPHeaders([("Content-Type", "application/json")]), body: .bytes(Array(body.utf8)))
  }

  // MARK: What is wrong

  private func headerComplaints(_ head: HTTPRequestHead) -> [String] {
    let known = [
      "host", "accept", "accept-encoding", "content-type", "content-length", "user-agent", "expect", "connection",
      "transfer-encoding", "range",
    ]
    return head.headers.fields.filter { !known.contains($0.name.lowercased()) }.map { "header \($0.name)" }
  }

  /// Bytes go where an answer said, and carry no credentials.
  private func contentComplaints(_ head: HTTPRequestHead) -> [String] {
    let url = "http://\(head.headers["Host"] ?? "")\(head.target)"
    let isKnown = state.withLock { $0.handedOut.contains(url) }
    let method = head.path.hasPrefix("/assets/1/upload") ? "POST" : "GET"
    return (isKnown ? [] : ["no answer gave this address"]) + (head.method == method ? [] : ["not a \(method)"])
  }

  private func pathComplaints(_ parts: [String], _ operation: String) -> [String] {
    guard RequestShapes.bodies[operation] != nil, parts.count > 4, ["database", "device"].contains(parts[0]),
      parts[1] == "1", parts[2] == Self.container.rawValue, ["development", "production"].contains(parts[3])
    else { return ["unknown path"] }
    if parts[0] == "device" || operation.hasPrefix("tokens/") {
      return parts[0] == "device" && operation.hasPrefix("tokens/") ? [] : ["wrong module"]
    }
    let people = operation.hasPrefix("users/") || ["records/resolve", "records/accept"].contains(operation)
    let allowed =
      people
      ? ["public"]
      : operation.hasPrefix("changes/") ? ["private", "shared"] : ["public", "private", "shared"]
    return allowed.contains(parts[4]) ? [] : ["\(operation) in \(parts[4])"]
  }

  private func query(of head: HTTPRequestHead) -> (items: [String: String], complaints: [String]) {
    var items: [String: String] = [:]
    var complaints: [String] = []
    let components = URLComponents(string: "http://host" + head.target)
    for item in components?.percentEncodedQueryItems ?? [] {
      let value = item.value ?? ""
      if value.contains(where: { "+/= ".contains($0) }) { complaints.append("\(item.name) is not encoded") }
      guard ["ckAPIToken", "ckWebAuthToken", "clientId", "getCurrentSyncToken"].contains(item.name) else {
        complaints.append("parameter \(item.name)")
        continue
      }
      if items.updateValue(value.removingPercentEncoding ?? "", forKey: item.name) != nil {
        complaints.append("\(item.name) twice")
      }
    }
    if items["ckAPIToken"] != apiToken { complaints.append("ckAPIToken is \(items["ckAPIToken"] ?? "missing")") }
    if let id = items["clientId"], UUID(uuidString: id) == nil { complaints.append("clientId is no UUID") }
    return (items, complaints)
  }

  private func bodyComplaints(_ request: HTTPRequest, _ operation: String) -> [String] {
    guard let shape = RequestShapes.bodies[operation], case .bytes(let bytes) = request.body else { return [] }
    guard let shape else {
      return request.head.method == "GET" && bytes.isEmpty ? [] : ["\(operation) is a GET without a body"]
    }
    guard request.head.method == "POST" else { return ["\(operation) is a POST"] }
    guard request.head.headers["Content-Type"] == "application/json" else { return ["no Content-Type"] }
    do {
      return shape.complaints(about: try JSONDecoder().decode(JSON.self, from: Data(bytes)), at: operation)
    } catch { return ["\(operation): no JSON"] }
  }
}

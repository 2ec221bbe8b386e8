import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Who may send nothing sends little: a large body comes only from callers whose head shows that they may.
@Suite(.timeLimit(.minutes(2))) struct StrangersBodyTests {
  private struct Caller {
    var target: String
    var fields: [(name: String, value: String)]
    var method = "POST"
  }

  private static let free = HTTPRequest.strangersBodyBytesMax

  private func run(_ body: (GatewayWorld, UInt16) async throws -> Void) async throws {
    let world = try await GatewayWorld()
    let server = HTTPServer(handler: world.front)
    let port = try server.start(host: "127.0.0.1", port: 0)
    let result: Result<Void, any Error>
    do { result = .success(try await body(world, port)) } catch { result = .failure(error) }
    await server.stop(drain: .milliseconds(500))
    try result.get()
  }

  private func head(_ caller: Caller, _ more: String) -> String {
    let fields = caller.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    return "\(caller.method) \(caller.target) HTTP/1.1\r\nHost: server.example\r\n\(fields)\(more)\r\n"
  }

  private func chunk(_ count: Int) -> String { String(count, radix: 16) + "\r\n" + text(count) + "\r\n" }
  private func text(_ count: Int) -> String { String(repeating: " ", count: count) }

  private func strangers(_ world: GatewayWorld) async throws -> [String: Caller] {
    let token = try await world.makeToken().text
    let own = try await world.makeToken(origins: ["https://site.example"]).text
    let key = try SigningKey.generate()
    let id = try await world.register(key).id
    let (modify, shared) = (world.path(.recordsModify), world.path(.recordsModify, scope: .public))
    let laptop = try await world.secondDevice()
    try await world.remove(laptop.device)
    func signed(_ id: String, _ now: Timestamp) throws -> Caller {
      let fields = try SignedRequest.headers(keyID: id, key: key, target: shared, body: [], now: now)
      return Caller(target: shared, fields: fields)
    }
    return [
      "nobody": Caller(target: modify, fields: []),
      "no session": Caller(target: modify, fields: [("X-Virga-Session", "a.b.9999999999999.c")]),
      "a session that has been changed": Caller(target: modify, fields: [("X-Virga-Session", world.session + "A")]),
      "a removed device": Caller(target: modify, fields: [("X-Virga-Session", laptop.session)]),
      "no API token": Caller(target: modify + "?ckAPIToken=abc", fields: []),
      "nobody's page": Caller(target: modify + "?ckAPIToken=\(token)", fields: []),
      "a page of elsewhere": Caller(target: modify + "?ckAPIToken=\(own)", fields: [("Origin", "https://a.example")]),
      "a page with a wrong web token": Caller(target: modify + "?ckAPIToken=\(token)&ckWebAuthToken=abc", fields: []),
      "nobody, who may save nothing": Caller(target: shared + "?ckAPIToken=\(token)", fields: []),
      "an unknown key": try signed(String(repeating: "0", count: 64), world.clock.now),
      "a signature of yesterday": try signed(id, world.clock.now + .seconds(-86_400)),
      "an unknown container's": Caller(
        target: modify.replacing("/development/", with: "/nowhere/"), fields: [("X-Virga-Session", world.session)]),
      "no operator": Caller(target: "/virga/1/operator/tokens/create", fields: []),
      "a wrong operator": Caller(target: "/virga/1/operator/keys/add", fields: [("X-Virga-Operator", "guess")]),
      "no operator, for a schema": Caller(target: "/virga/1/schema/import?container=a", fields: []),
      "no operator, for records": Caller(target: "/virga/1/operate", fields: []),
      "no operator, for faults": Caller(target: "/virga/1/faults", fields: [], method: "PUT"),
    ]
  }

  /// The same is said as of a small body, before any of the large one is read.
  @Test func aLargeBodyOfAStrangerIsAnsweredByItsHead() async throws {
    try await run { world, port in
      for (name, stranger) in try await strangers(world).sorted(by: { $0.key < $1.key }) {
        let small = try #require(
          SocketClient(port: port).ask(
            head(stranger, "Content-Length: \(Self.saving.utf8.count)\r\n") + Self.saving))
        let said = ServiceError(decoding: small.body, status: small.status)
        #expect(small.status >= 400, "\(name)")
        for more in ["", "Expect: 100-continue\r\n"] {
          let client = SocketClient(port: port)
          client.send(head(stranger, "Content-Length: \(Self.free + 1)\r\n\(more)"))
          let answer = try #require(client.answer(), "\(name)")
          #expect(answer.status == small.status, "\(name)")
          #expect(ServiceError(decoding: answer.body, status: answer.status) == said, "\(name)")
          #expect(answer.fields["access-control-allow-origin"] == small.fields["access-control-allow-origin"])
          #expect(client.isClosedByServer(), "\(name)")
        }
      }
    }
  }

  /// A body that does not say how long it will be is stopped where it gets large.
  @Test func aBodyOfUnknownLengthIsStoppedWhereItGetsLarge() async throws {
    try await run { world, port in
      let stranger = Caller(target: world.path(.recordsModify), fields: [])
      let client = SocketClient(port: port)
      client.send(head(stranger, "Transfer-Encoding: chunked\r\n") + chunk(Self.free))
      // So much is anybody's.
      #expect(!client.waitForInput(milliseconds: 200))
      client.send(chunk(1))
      #expect(client.answer()?.status == 401)
      #expect(client.isClosedByServer())
      let other = SocketClient(port: port)
      other.send(head(stranger, "Transfer-Encoding: chunked\r\n") + chunk(Self.free) + "0\r\n\r\n")
      #expect(other.answer()?.status == 401)
    }
  }

  /// A body at the bound is read, and the connection lives on.
  @Test func aStrangersSmallBodyIsReadAsBefore() async throws {
    try await run { world, port in
      let stranger = Caller(target: world.path(.recordsModify), fields: [])
      let client = SocketClient(port: port)
      for count in [Self.free - 1, Self.free] {
        client.send(head(stranger, "Content-Length: \(count)\r\n"))
        #expect(!client.waitForInput(milliseconds: 200))
        client.send(text(count))
        #expect(client.answer()?.status == 401)
      }
    }
  }

  private static let saving =
    #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"n","recordType":"Note"}}]}"#

  /// Callers who may send much do, and what they send after it on the same connection is answered too.
  @Test func thoseWhoMaySendMuchDo() async throws {
    try await run { world, port in
      let body = Self.saving + text(3 * Self.free)
      let key = try SigningKey.generate()
      let id = try await world.register(key).id
      let shared = world.path(.recordsModify, scope: .public)
      let signature = try SignedRequest.headers(
        keyID: id, key: key, target: shared, body: Array(body.utf8), now: world.clock.now)
      let session = ("X-Virga-Session", world.session)
      for caller in [
        Caller(target: world.path(.recordsModify), fields: [session]), Caller(target: shared, fields: [session]),
        Caller(target: shared, fields: signature),
      ] {
        let client = SocketClient(port: port)
        client.send(head(caller, "Content-Length: \(body.utf8.count)\r\n") + body)
        #expect(client.answer()?.status == 200)
        let parts = [body.prefix(5), body.dropFirst(5).prefix(2 * Self.free), body.dropFirst(5 + 2 * Self.free)]
        client.send(head(caller, "Transfer-Encoding: chunked\r\n"))
        for part in parts { client.send(String(part.utf8.count, radix: 16) + "\r\n" + part + "\r\n") }
        client.send("0\r\n\r\n" + head(caller, "Content-Length: \(body.utf8.count)\r\nExpect: 100-continue\r\n"))
        #expect(client.answer()?.status == 200)
        #expect(client.answer()?.status == 100)
        client.send(body + "GET /healthz HTTP/1.1\r\nHost: server.example\r\n\r\n")
        #expect(client.answer()?.status == 200)
        #expect(client.answer()?.status == 200)
      }
    }
  }

  /// A client that leaves while its credentials are looked at takes nothing with it.
  @Test func whoLeavesMeanwhileIsForgotten() async throws {
    try await run { world, port in
      for _ in 0..<20 {
        let client = SocketClient(port: port)
        client.send(head(Caller(target: world.path(.recordsModify), fields: []), "Content-Length: 8000000\r\n"))
      }
      #expect(SocketClient(port: port).ask("GET /healthz HTTP/1.1\r\nHost: server.example\r\n\r\n")?.status == 200)
    }
  }
}

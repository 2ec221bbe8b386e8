import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Large bodies that say little keep nobody else waiting.
@Suite(.timeLimit(.minutes(3))) struct LargeBodyTests {
  private func run(_ body: (GatewayWorld, UInt16) async throws -> Void) async throws {
    let threads = WorkThreads(count: 1)
    let world = try await GatewayWorld { $0.workThreads = threads }
    var connections = HTTPConfiguration()
    connections.loops = 1
    let server = HTTPServer(handler: world.front, configuration: connections)
    let port = try server.start(host: "127.0.0.1", port: 0)
    let result: Result<Void, any Error>
    do { result = .success(try await body(world, port)) } catch { result = .failure(error) }
    await server.stop(drain: .seconds(20))
    try result.get()
  }

  private static let unknownMembers =
    #"{"operations":[{"operationType":"create","record":{"recordType":"N","#
    + (0..<120_000).map { #""u\#($0)":1"# }.joined(separator: ",") + "}}]}"
  private static let longList =
    #"{"operations":[{"operationType":"create","record":{"recordType":"N","fields":{"a":{"value":["#
    + Array(repeating: "1", count: 700_000).joined(separator: ",") + "]}}}}]}"

  @Test(arguments: [unknownMembers, longList])
  func theLoopServesOthersWhileALargeBodyIsRead(_ body: String) async throws {
    try await run { world, port in
      let large = SocketClient(port: port)
      large.send(
        "POST \(world.path(.recordsModify)) HTTP/1.1\r\nHost: server.example\r\nX-Virga-Session: \(world.session)\r\n"
          + "Content-Length: \(body.utf8.count)\r\n\r\n")
      large.send(body)
      var answered = 0
      // The one loop has the large body by now, or is about to; a hundred others are served before it is read.
      while !large.waitForInput(milliseconds: 0), answered < 100 {
        let other = SocketClient(port: port)
        #expect(other.ask("GET /healthz HTTP/1.1\r\nHost: server.example\r\n\r\n")?.status == 200)
        answered += 1
      }
      #expect(answered >= 5, "others waited for the large body")
      let answer = try #require(large.answer())
      #expect(answer.status == 200 && answer.text.contains("BAD_REQUEST"))
    }
  }

  /// Nobody may save, and so nobody's large body is read.
  @Test func aLargeSaveOfNobodyIsRefusedBeforeItIsRead() async throws {
    let world = try await GatewayWorld()
    let token = try await world.makeToken().text
    let body = Array("{".utf8) + [UInt8](repeating: 0x20, count: 100_000)
    let target = world.path(.recordsModify, scope: .public) + "?ckAPIToken=\(token)"
    let answer = try await world.send("POST", target, body, session: "")
    #expect(answer.status == 421, "\(answer.text)")
    let signedIn = try await world.send("POST", world.path(.recordsModify, scope: .public), body)
    #expect(signedIn.status == 400, "whoever may save is told what is wrong with the body")
  }
}

import Foundation
import Testing
import VirgaModel
import VirgaSchema
import VirgaWire

@testable import VirgaHTTP

@Suite struct GatewaySchemaTests {
  private static let text = "DEFINE SCHEMA RECORD TYPE Trip (name STRING QUERYABLE, GRANT READ TO \"_world\");"

  private func send(
    _ world: GatewayWorld, _ method: String, _ call: String, _ body: String = "", headers: [(String, String)] = [],
    host: String? = "127.0.0.1:8787", address: String = "127.0.0.1", isOperator: Bool = true, session: String = "",
    query: String = "container=iCloud.com.example.Diary"
  ) async -> HTTPResponse {
    var fields = headers
    if let host { fields.append(("Host", host)) }
    if isOperator { fields.append(("X-Virga-Operator", world.front.secrets.operatorToken)) }
    if !session.isEmpty { fields.append(("X-Virga-Session", session)) }
    let head = HTTPRequestHead(
      method: method, target: "/virga/1/schema/\(call)?\(query)", headers: HTTPHeaders(fields))
    return await world.front.exchange(
      HTTPRequest(head: head, body: .bytes(Array(body.utf8)), clientAddress: address))
  }

  private func text(_ response: HTTPResponse) -> String {
    guard case .bytes(let bytes) = response.body else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func report(_ response: HTTPResponse) throws -> SchemaReport {
    #expect(response.status == 200, "\(text(response))")
    return try JSONDecoder().decode(SchemaReport.self, from: Data(text(response).utf8))
  }

  @Test func aSchemaGoesItsWholeWayOverHTTP() async throws {
    let world = try await GatewayWorld()
    #expect(text(await send(world, "GET", "export")) == Schema().completed().text)
    #expect(try report(await send(world, "POST", "validate", Self.text)).changes.map(\.subject) == ["Trip"])
    #expect(text(await send(world, "GET", "export")) == Schema().completed().text)
    #expect(try report(await send(world, "POST", "import", Self.text)).isApplied)
    let export = text(await send(world, "GET", "export"))
    #expect(try Schema(export) == Schema(Self.text).completed())
    let difference = try report(await send(world, "GET", "diff"))
    #expect(difference.changes.map(\.text) == ["+ type Trip (name)"])
    #expect(!difference.isApplied)
    #expect(try report(await send(world, "POST", "deploy")).isApplied)
    let production = await send(
      world, "GET", "export", query: "container=iCloud.com.example.Diary&environment=production")
    #expect(text(production) == export)
    let refused = try report(
      await send(world, "POST", "import", "DEFINE SCHEMA RECORD TYPE Trip (name ASSET);"))
    #expect(refused.refusals.map(\.subject) == ["Trip.name"])
    #expect(!refused.isValid && !refused.isApplied)
    #expect(try report(await send(world, "POST", "reset")).isApplied)
  }

  @Test func aTextThatIsNoSchemaIsToldLineByLine() async throws {
    let world = try await GatewayWorld()
    for call in ["import", "validate"] {
      let report = try report(await send(world, "POST", call, "DEFINE SCHEMA\nRECORD TYPE T (a BAD);"))
      #expect(report.problems.map(\.line) == [2])
      #expect(report.problems.map(\.column) == [18])
      #expect(report.problems[0].message.hasPrefix("Encountered \" <IDENTIFIER> \"BAD \"\" at line 2, column 18."))
      #expect(!report.isApplied)
    }
  }

  @Test func aResetTellsWhoWaitsForChanges() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let token = try await String(world.makePushTarget().split(separator: "/").last ?? "")
    #expect(world.waiting(token) == 0)
    #expect(await send(world, "POST", "reset").status == 200)
    #expect(world.waiting(token) == 1)
  }

  @Test func onlyTheOperatorManagesSchemas() async throws {
    let world = try await GatewayWorld()
    #expect(await send(world, "GET", "export", host: "localhost:1").status == 200)
    #expect(await send(world, "GET", "export", host: "[::1]:1", address: "::1").status == 200)
    // A device is no operator, wherever it asks from and whatever it calls the server.
    for response in [
      await send(world, "GET", "export", isOperator: false, session: world.session),
      await send(world, "GET", "export", host: "localhost", isOperator: false, session: world.session),
      await send(world, "GET", "export", host: "[::1]", address: "::1", isOperator: false, session: world.session),
      await send(world, "POST", "reset", host: nil, isOperator: false, session: world.session),
      await send(world, "GET", "export", isOperator: false),
    ] {
      #expect(response.status == 403)
      #expect(text(response).contains("send the operator's token in X-Virga-Operator"))
    }
    let guess = [("X-Virga-Operator", "guess")]
    #expect(await send(world, "GET", "export", headers: guess, isOperator: false).status == 401)
  }

  @Test func aTokenOfTheOperatorsOwnCountsFromAnywhere() async throws {
    let world = try await GatewayWorld { $0.operatorToken = "a long and secret token" }
    func status(_ token: String) async -> Int {
      await send(
        world, "GET", "export", headers: [("X-Virga-Operator", token)], address: "192.0.2.1", isOperator: false
      ).status
    }
    #expect(await status("a long and secret toke") == 401)
    #expect(await status("a long and secret token") == 200)
    #expect(await status(world.front.secrets.operatorToken) == 200)
  }

  @Test func wrongRequestsAreRefused() async throws {
    let world = try await GatewayWorld { $0.containers = ["iCloud.com.example.Diary"] }
    #expect(await send(world, "POST", "export").status == 405)
    #expect(await send(world, "GET", "deploy").status == 405)
    #expect(await send(world, "POST", "drop").status == 404)
    #expect(await send(world, "GET", "export", query: "").status == 400)
    #expect(await send(world, "GET", "export", query: "container=a/b").status == 400)
    #expect(await send(world, "GET", "export", query: "container=iCloud.other").status == 404)
    let query = "container=iCloud.com.example.Diary&environment=test"
    #expect(await send(world, "GET", "export", query: query).status == 400)
    let large = String(repeating: " ", count: Limits.schemaTextBytesMax + 1)
    #expect(await send(world, "POST", "import", large).status == 400)
    #expect(await send(world, "POST", "import", String(large.dropFirst())).status == 200)
  }
}

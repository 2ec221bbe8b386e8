import Foundation
import Testing

@testable import VirgaHTTP

@Suite struct OwnCallTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private func source(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  /// What the handlers' sources take apart: `case ("POST", "name")`, where some leave out a prefix.
  private func handled(in path: String, prefix: String = "") throws -> Set<String> {
    Set(try source(path).matches(of: /case \("([A-Z]+)", "([a-z\/-]+)"\)/).map { "\($0.1) \(prefix)\($0.2)" })
  }

  @Test func theTableHoldsWhatTheHandlersAnswer() throws {
    var handled = try handled(in: "Sources/VirgaHTTP/Accounts/AccountRoutes.swift")
    handled.formUnion(try self.handled(in: "Sources/VirgaHTTP/SignIn/SignInRoutes.swift"))
    handled.formUnion(try self.handled(in: "Sources/VirgaHTTP/Operator/Gateway+Management.swift"))
    handled.formUnion(try self.handled(in: "Sources/VirgaHTTP/Operator/OperatorRoutes.swift", prefix: "operator/"))
    handled.formUnion(SchemaCall.allCases.map { "\($0.method) schema/\($0.rawValue)" })
    handled.insert("POST keys/reset")
    let table = OwnCall.all.map { "\($0.method) \($0.name)" }
    #expect(Set(table).count == table.count, "a call stands twice in the table")
    #expect(handled.subtracting(table).sorted() == [], "these are answered and not in the table")
    #expect(Set(table).subtracting(handled).sorted() == [], "these are in the table and not answered")
  }

  /// Without credentials: the operator's and devices' calls are refused, and none is unknown.
  @Test(arguments: OwnCall.all)
  func eachCallIsAnsweredToThoseWhoMayCall(call: OwnCall) async throws {
    let world = try await GatewayWorld()
    let answer = try await world.send(call.method, "/virga/1/\(call.name)", Array("{}".utf8))
    #expect(!answer.text.contains("is not a call of this server") && answer.status != 405, "\(answer.text)")
    switch call.caller {
    case .operator: #expect(answer.status == 403, "\(answer.status) \(answer.text)")
    case .device: #expect(answer.status == 400 || answer.status == 401, "\(answer.status) \(answer.text)")
    case .anybody: #expect(answer.status != 401 && answer.status != 403, "\(answer.status) \(answer.text)")
    }
  }

  @Test(arguments: [("GET", "enrol"), ("POST", "nothing"), ("GET", "keys/reset"), ("POST", "sign-in")])
  func whatIsNotInTheTableIsNotFound(method: String, name: String) async throws {
    let world = try await GatewayWorld()
    #expect(try await world.send(method, "/virga/1/\(name)").status == 404)
  }

  @Test func theDocumentPrintsTheTable() throws {
    let document = try source("docs/endpoints.md")
    #expect(document.contains(OwnCall.document), "docs/endpoints.md must hold this table:\n\(OwnCall.document)")
  }
}

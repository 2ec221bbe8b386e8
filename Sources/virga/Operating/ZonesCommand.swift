import VirgaCommandLine

/// `virga zones …`: anybody's zones, for whoever runs the server.
enum ZonesCommand {
  private static func spec(
    _ name: String, _ summary: String, operands: [CommandSpec.Operand] = [], _ options: [CommandSpec.Option] = []
  ) -> CommandSpec {
    CommandSpec(
      name: "virga zones \(name)", summary: summary, operands: operands,
      options: DatabaseChoice.options + options
        + [.init(name: "--json", value: nil, help: "Print each zone as JSON on one line.")] + OperatorAccess.options,
      notes: OperatorAccess.notes)
  }

  private static let list = spec("list", "Lists the zones of a user.")
  private static let create = spec("create", "Creates a zone.", operands: ["NAME"])
  private static let delete = spec(
    "delete", "Deletes a zone with all its records, for good.", operands: ["NAME"], [.yes])

  static let commands = [
    command(list, "zones/list") { _ in [:] },
    command(create, "zones/modify") { operation("create", $0) },
    command(delete, "zones/modify") { operation("delete", $0) },
  ]

  private static func command(
    _ spec: CommandSpec, _ operation: String, _ body: @escaping @Sendable (Arguments) -> [String: Any]
  ) -> Command {
    Command(spec) { try await perform($0, operation, body) }
  }

  private static func operation(_ kind: String, _ arguments: Arguments) -> [String: Any] {
    let zone = ["zoneID": ["zoneName": arguments.operands[0]]]
    return ["operations": [["operationType": kind, "zone": zone] as [String: Any]]]
  }

  private static func perform(
    _ arguments: Arguments, _ operation: String, _ body: (Arguments) -> [String: Any]
  ) async throws {
    let choice = try DatabaseChoice(arguments)
    let access = try await OperatorAccess(arguments)
    defer { access.close() }
    if arguments.spec.name == delete.name {
      try arguments.confirm("Delete zone \(arguments.operands[0]) with all its records?", "nothing was deleted")
    }
    let answer = try await access.send(
      "POST", "operate", query: choice.query + [(name: "operation", value: operation)],
      body: ProtocolJSON.bytes(body(arguments)))
    for zone in try ProtocolJSON.object(answer)["zones"] as? [[String: Any]] ?? [] {
      if let reason = zone["reason"] {
        throw Failure(.failed, (arguments.operands.first.map { "\($0): " } ?? "") + "\(reason)")
      }
      if arguments.has("--json") {
        ProtocolJSON.print(zone, onOneLine: true)
      } else {
        Terminal.print((zone["zoneID"] as? [String: Any])?["zoneName"] as? String ?? "")
      }
    }
  }
}

/// `virga zones …`: anybody's zones, for whoever runs the server.
enum ZonesCommand {
  private static func spec(_ name: String, _ summary: String, operands: [String] = []) -> CommandSpec {
    CommandSpec(
      name: "virga zones \(name)", summary: summary, operands: operands,
      options: DatabaseChoice.options
        + [.init(name: "--json", value: nil, help: "Print each zone as JSON on one line.")] + OperatorAccess.options,
      notes: OperatorAccess.notes)
  }

  private static let list = spec("list", "Lists the zones of a user.")
  private static let create = spec("create", "Creates a zone.", operands: ["NAME"])
  private static let delete = spec(
    "delete", "Deletes a zone with all its records, for good.", operands: ["NAME"])

  private static let help = """
    The zones of anybody, for whoever runs the server.

    Usage: virga zones list | create NAME | delete NAME

    Each explains itself with --help.
    """

  static func run(_ words: [String]) async throws {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "list": try await perform(rest, list, "zones/list") { _ in [:] }
    case "create": try await perform(rest, create, "zones/modify") { operation("create", $0) }
    case "delete": try await perform(rest, delete, "zones/modify") { operation("delete", $0) }
    case "help", "--help", "-h": Terminal.print(help)
    case nil: throw Failure.usage("virga zones", "a command is missing")
    case let word?: throw Failure.usage("virga zones", "unknown command \(word)")
    }
  }

  private static func operation(_ kind: String, _ arguments: Arguments) -> [String: Any] {
    let zone = ["zoneID": ["zoneName": arguments.operands[0]]]
    return ["operations": [["operationType": kind, "zone": zone] as [String: Any]]]
  }

  private static func perform(
    _ words: [String], _ spec: CommandSpec, _ operation: String, _ body: (Arguments) -> [String: Any]
  ) async throws {
    let arguments = try Arguments(words, for: spec)
    if arguments.wantsHelp { return Terminal.print(spec.help) }
    let choice = try DatabaseChoice(arguments)
    let access = try await OperatorAccess(arguments)
    defer { access.close() }
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

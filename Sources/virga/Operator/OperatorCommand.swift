import Foundation
import VirgaCommandLine
import VirgaModel
import VirgaSchema

/// What the commands of whoever runs the server have in common.
enum OperatorCommand {
  /// Of what belongs to one environment.
  static let environment = CommandSpec.Option(
    name: "--environment", value: "NAME",
    help: "The environment: development or production. Default: development.")

  /// What lists show of tokens and keys that are older than that rule.
  static let bothEnvironments = "both"

  static func spec(
    _ name: String, _ summary: String, operands: [CommandSpec.Operand] = [], options: [CommandSpec.Option] = [],
    notes: String = ""
  ) -> CommandSpec {
    let json = CommandSpec.Option(name: "--json", value: nil, help: "Print JSON.")
    return CommandSpec(
      name: "virga \(name)", summary: summary, operands: operands, options: options + OperatorAccess.options + [json],
      notes: notes.isEmpty ? OperatorAccess.notes : "\(notes)\n\n\(OperatorAccess.notes)")
  }

  /// A command that runs with a client of the server.
  static func command(
    _ spec: CommandSpec, _ body: @escaping @Sendable (OperatorAccess, Arguments) async throws -> Void
  ) -> Command {
    Command(spec) { arguments in
      let access = try await OperatorAccess(arguments)
      defer { access.close() }
      try await body(access, arguments)
    }
  }
}

extension OperatorAccess {
  /// Says so if the server has nothing of the container that a command names: it may be new, or its name a wrong one.
  func warnIfUnknown(_ container: String?) async throws {
    guard let container else { return }
    let answer = try await send("GET", "schema/diff", query: [(name: "container", value: container)])
    if try JSONDecoder().decode(SchemaReport.self, from: Data(answer)).isContainerKnown == false {
      Terminal.complain("virga: \(ContainerSchemas.unknown(ContainerID(container)))")
    }
  }

  /// - Parameter path: What comes after `/virga/1/operator/`.
  func get<Answer: Decodable>(_ path: String, container: String?) async throws -> Answer {
    let query = container.map { [(name: "container", value: $0)] } ?? []
    return try decoded(try await send("GET", "operator/\(path)", query: query))
  }

  func post<Answer: Decodable>(_ path: String, _ message: some Encodable) async throws -> Answer {
    let body = Array(try JSONEncoder().encode(message))
    return try decoded(try await send("POST", "operator/\(path)", query: [], body: body))
  }

  private func decoded<Answer: Decodable>(_ bytes: [UInt8]) throws -> Answer {
    do { return try JSONDecoder().decode(Answer.self, from: Data(bytes)) } catch {
      throw Failure(.unavailable, "the answer does not come from a Virga server of this version")
    }
  }
}

extension Arguments {
  /// The container that a command is about, if it was named.
  func container() throws(Failure) -> String? {
    guard let name = value("--container") else { return nil }
    if let objection = NameRule.container.objection(to: name) { throw .usage(spec.name, "--container \(objection)") }
    return name
  }
}

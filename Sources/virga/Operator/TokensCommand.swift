import Foundation
import VirgaAuth
import VirgaCommandLine
import VirgaModel

/// `virga tokens …`: the API tokens of a server's containers.
enum TokensCommand {
  private static let list = OperatorCommand.spec(
    "tokens list", "Lists the API tokens, without the tokens themselves.",
    options: [.init(name: "--container", value: "ID", help: "Only tokens of this container.")])
  private static let create = OperatorCommand.spec(
    "tokens create", "Makes an API token for a container in one environment. The token is shown only once.",
    options: [
      DatabaseChoice.container,
      OperatorCommand.environment,
      .init(name: "--name", value: "NAME", help: "A name for the token."),
      .init(
        name: "--origin", value: "ORIGIN",
        help: "Allow pages of this origin, such as https://app.example; may be repeated.\nDefault: any.",
        isRepeatable: true),
      .init(
        name: "--callback", value: "URL",
        help: "Where the sign-in page sends the browser with its token: an https address, or one that begins\n"
          + "with cloudkit-CONTAINER:// for a native app. Default: the page posts the token to its opener."),
    ])
  private static let revoke = OperatorCommand.spec(
    "tokens revoke", "Revokes an API token and the sign-ins made with it. They stop working at once.", operands: ["ID"],
    options: [.yes], notes: "ID may be the beginning of an identifier if only one begins so.")

  static let commands = [
    OperatorCommand.command(list, list),
    OperatorCommand.command(create, create),
    OperatorCommand.command(revoke, revoke),
  ]

  private static func list(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    let container = try arguments.container()
    let tokens: [OperatorMessages.Token] = try await client.get("tokens", container: container)
    if tokens.isEmpty { try await client.warnIfUnknown(container) }
    if arguments.has("--json") {
      for token in tokens { try Terminal.print(json: token) }
      return
    }
    for token in tokens {
      let uses = [
        token.name ?? "-", token.origins.map { $0.joined(separator: " ") } ?? "any origin",
        token.callback ?? "post message",
      ]
      let environment = token.environment?.rawValue ?? OperatorCommand.bothEnvironments
      Terminal.print("\(token.id)  \(token.container)  \(environment)  \(uses.joined(separator: "  "))")
    }
  }

  private static func create(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    guard let container = try arguments.container() else {
      throw Failure.usage(create.name, "--container is missing")
    }
    let origins = arguments.values("--origin")
    let token: OperatorMessages.Token = try await client.post(
      "tokens/create",
      OperatorMessages.TokenRequest(
        container: ContainerID(container), environment: try arguments.choice("--environment"),
        name: arguments.value("--name"), origins: origins.isEmpty ? nil : origins,
        callback: arguments.value("--callback")))
    if arguments.has("--json") { return try Terminal.print(json: token) }
    Terminal.print("ckAPIToken  \(token.token ?? "")\nid          \(token.id)")
  }

  private static func revoke(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    let tokens: [OperatorMessages.Token] = try await client.get("tokens", container: nil)
    let id = try arguments.identifier(
      arguments.operands[0], among: tokens.map(\.id), of: "API token", listing: "virga tokens list")
    let token = tokens.first { $0.id == id }
    try arguments.confirm(
      "Revoke API token '\(token?.name ?? id)' of \(token?.container.rawValue ?? "") and its sign-ins?",
      "nothing was revoked")
    let _: OperatorMessages.Done = try await client.post("tokens/revoke", OperatorMessages.Identified(id: id))
    if arguments.has("--json") { return try Terminal.print(json: OperatorMessages.Done()) }
    Terminal.print("Revoked.")
  }
}

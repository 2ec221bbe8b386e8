import VirgaAuth
import VirgaModel

/// `virga users …`: the accounts of a server.
enum UsersCommand {
  private static let list = OperatorCommand.spec(
    "users list", "Lists the accounts with their devices, and who they are in the containers where they have data.",
    options: [
      .init(name: "--container", value: "ID", help: "Who they are in this container, with data or without.")
    ])

  private static let help = """
    The accounts of a server.

    Usage: virga users list

    It explains itself with --help.
    """

  static func run(_ words: [String]) async throws {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "list": try await OperatorCommand.perform(rest, list) { try await list($0, $1) }
    case "help", "--help", "-h": Terminal.print(help)
    case nil: throw Failure.usage("virga users", "a command is missing")
    case let word?: throw Failure.usage("virga users", "unknown command \(word)")
    }
  }

  private static func list(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    let accounts: [OperatorMessages.Account] = try await client.get("users", container: arguments.value("--container"))
    if arguments.has("--json") { return try Terminal.print(json: accounts) }
    for account in accounts {
      Terminal.print("Account \(account.account)")
      for device in account.devices { Terminal.print("  device \(device.id)  \(device.name)") }
      for user in account.users { Terminal.print("  user   \(user.user)  \(user.container)") }
    }
  }
}

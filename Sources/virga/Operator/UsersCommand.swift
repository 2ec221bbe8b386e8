import Foundation
import VirgaAuth
import VirgaCommandLine
import VirgaModel

/// `virga users …`: the accounts of a server, and the roles that users have.
enum UsersCommand {
  private static let list = OperatorCommand.spec(
    "users list", "Lists the accounts, their devices, and their user names in each container where they have data.",
    options: [
      .init(name: "--container", value: "ID", help: "Show user names in this container, with or without data.")
    ])

  private static let roles = OperatorCommand.spec(
    "users roles", "Shows a user's roles in a container, or sets them.", operands: ["USER"],
    options: [
      DatabaseChoice.container,
      .init(
        name: "--environment", value: "NAME", help: "development or production. Default: development.",
        values: .words(["development", "production"])),
      .init(
        name: "--set", value: "ROLES",
        help: "The user's roles, with commas between them; 'none' removes all."),
    ],
    notes: """
      USER is an account or a user's record name (_…). The container's schema creates roles (CREATE ROLE). They count in the
      public database.
      """)

  static let commands = [
    OperatorCommand.command(list, list),
    OperatorCommand.command(roles, roles),
  ]

  private static func roles(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    guard let container = try arguments.container() else {
      throw Failure.usage(roles.name, "--container is missing")
    }
    let environment: VirgaModel.Environment? = try arguments.choice("--environment")
    let query = [
      (name: "container", value: container), (name: "user", value: arguments.operands[0]),
      (name: "environment", value: (environment ?? .development).rawValue),
    ]
    let answer: [UInt8]
    if let text = arguments.value("--set") {
      let names = text == "none" ? [] : text.split(separator: ",").map(String.init)
      answer = try await client.send(
        "PUT", "roles", query: query, body: Array(try JSONEncoder().encode(OperatorMessages.Roles(roles: names))))
    } else {
      answer = try await client.send("GET", "roles", query: query)
    }
    let found = try JSONDecoder().decode(OperatorMessages.Roles.self, from: Data(answer))
    if arguments.has("--json") { return try Terminal.print(json: found) }
    for role in found.roles { Terminal.print(role) }
  }

  private static func list(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    let container = try arguments.container()
    let accounts: [OperatorMessages.Account] = try await client.get("users", container: container)
    try await client.warnIfUnknown(container)
    if arguments.has("--json") {
      for account in accounts { try Terminal.print(json: account) }
      return
    }
    for account in accounts {
      Terminal.print(account.account.map { "Account \($0)" } ?? "Without an account here")
      for device in account.devices { Terminal.print("  device \(device.id)  \(device.name)") }
      for user in account.users { Terminal.print("  user   \(user.user)  \(user.container)") }
    }
  }
}

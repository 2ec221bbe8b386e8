import Foundation
import VirgaAuth
import VirgaCommandLine
import VirgaModel

/// `virga keys …`: the keys with which programs sign their requests.
enum KeysCommand {
  private static let list = OperatorCommand.spec(
    "keys list", "Lists the server-to-server keys and their users.",
    options: [.init(name: "--container", value: "ID", help: "Only keys of this container.")])
  private static let add = OperatorCommand.spec(
    "keys add", "Registers a public key for a container's public database in one environment, and prints its key ID.",
    operands: ["PEM-FILE"],
    options: [
      DatabaseChoice.container,
      OperatorCommand.environment,
      .init(name: "--name", value: "NAME", help: "A name for the key. Default: the file's name."),
    ],
    notes: """
      To make a key pair:
        openssl ecparam -name prime256v1 -genkey -noout -out key.pem
        openssl ec -in key.pem -pubout -out public.pem
      Give only public.pem to the server.
      """)
  private static let remove = OperatorCommand.spec(
    "keys remove", "Removes a key. It stops working at once.", operands: ["KEY-ID"], options: [.yes],
    notes: "KEY-ID may be the beginning of an identifier if only one begins so.")

  static let commands = [
    OperatorCommand.command(list, list),
    OperatorCommand.command(add, add),
    OperatorCommand.command(remove, remove),
  ]

  private static func list(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    let container = try arguments.container()
    let keys: [OperatorMessages.Key] = try await client.get("keys", container: container)
    if keys.isEmpty { try await client.warnIfUnknown(container) }
    if arguments.has("--json") {
      for key in keys { try Terminal.print(json: key) }
      return
    }
    for key in keys {
      let environment = key.environment?.rawValue ?? OperatorCommand.bothEnvironments
      Terminal.print("\(key.id)  \(key.container)  \(environment)  \(key.user)  \(key.name)")
    }
  }

  private static func add(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    guard let container = try arguments.container() else {
      throw Failure.usage(add.name, "--container is missing")
    }
    let path = arguments.operands[0]
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(.unreadable, "cannot read \(path)")
    }
    let text = String(decoding: data, as: UTF8.self)
    // What holds the private half stays on this machine.
    guard !text.contains("PRIVATE KEY") else {
      throw Failure(.failed, "\(path) holds a private key; give the public one: openssl ec -in \(path) -pubout")
    }
    let name = arguments.value("--name") ?? URL(fileURLWithPath: path).lastPathComponent
    let key: OperatorMessages.Key = try await client.post(
      "keys/add",
      OperatorMessages.KeyRequest(
        container: ContainerID(container), environment: try arguments.choice("--environment"), name: name,
        publicKey: text))
    if arguments.has("--json") { return try Terminal.print(json: key) }
    Terminal.print("Key ID  \(key.id)\nUser    \(key.user)")
  }

  private static func remove(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    let keys: [OperatorMessages.Key] = try await client.get("keys", container: nil)
    let id = try arguments.identifier(
      arguments.operands[0], among: keys.map(\.id), of: "key", listing: "virga keys list")
    let key = keys.first { $0.id == id }
    try arguments.confirm("Remove key '\(key?.name ?? id)' of \(key?.container.rawValue ?? "")?", "nothing was removed")
    let _: OperatorMessages.Done = try await client.post("keys/remove", OperatorMessages.Identified(id: id))
    if arguments.has("--json") { return try Terminal.print(json: OperatorMessages.Done()) }
    Terminal.print("Removed.")
  }
}

import VirgaAuth
import VirgaCommandLine

/// `virga containers …`: what a server serves.
enum ContainersCommand {
  private static let list = OperatorCommand.spec(
    "containers list", "Lists the containers with data, API tokens or keys on the server.")

  static let commands = [OperatorCommand.command(list, list)]

  private static func list(_ client: OperatorAccess, _ arguments: Arguments) async throws {
    let containers: [OperatorMessages.Container] = try await client.get("containers", container: nil)
    for container in containers {
      if arguments.has("--json") {
        try Terminal.print(json: container)
        continue
      }
      let parts = container.environments.map { environment in
        let users = environment.users == 1 ? "1 user" : "\(environment.users) users"
        return "\(environment.environment.rawValue): \(users)" + (environment.hasPublicData ? " and public data" : "")
      }
      Terminal.print("\(container.container)  \(parts.isEmpty ? "no data" : parts.joined(separator: "; "))")
    }
  }
}

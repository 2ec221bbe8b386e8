import Foundation
import VirgaAuth
import VirgaCommandLine

/// `virga operator token`: the token for programs that manage a server without `virga`, such as a monitor.
enum OperatorTokenCommand {
  private static let token = CommandSpec(
    name: "virga operator token",
    summary: "Prints the operator's token of a server on this machine.",
    options: OperatorAccess.options,
    notes: """
      The token is made from the key in the data folder. Send it in the header X-Virga-Operator, or for /metrics as
      Authorization: Bearer TOKEN. It allows reading and changing everything on the server: keep it as safe as the folder.

      \(OperatorAccess.notes)
      """)

  static let commands = [Command(token) { Terminal.print(try await find($0)) }]

  private static func find(_ arguments: Arguments) async throws -> String {
    guard let folder = OperatorAccess.folder(arguments) else { return try await OperatorClient(arguments).token() }
    try OperatorAccess.checkFolder(folder)
    return try Storage.existingSecrets(of: folder).operatorToken
  }
}

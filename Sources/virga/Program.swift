import Glibc
import VirgaCommandLine

/// The program: finds the command and turns what it throws into a line and an exit code.
enum Program {
  static let version = "0.1.0"

  static let commands =
    ServeCommand.commands + AccountCommand.commands + SchemaCommand.commands + RecordsCommand.commands
    + ZonesCommand.commands + ContainersCommand.commands + StatsCommand.commands + BackupCommand.commands
    + TokensCommand.commands + KeysCommand.commands + UsersCommand.commands + OperatorTokenCommand.commands
    + FaultsCommand.commands + ExportCommand.commands + ImportCommand.commands
    + EraseCommand.commands + InstallCommands.commands

  private static var help: String {
    """
    \(spec.summary)

    Usage: virga COMMAND [options]

    Commands:
    \(spec.commandList())

    More about a command: virga COMMAND --help, or virga help COMMAND
    """
  }

  private static func help(of group: String) -> String {
    """
    \(spec.groups.first { $0.name == group }?.brief ?? "").

    Usage: virga \(group) COMMAND [options]

    Commands:
    \(spec.commandList(of: group))

    More about a command: add --help.
    """
  }

  static func run(_ words: [String]) async -> Int32 {
    do {
      try await dispatch(words)
      return 0
    } catch let failure as Failure {
      Terminal.complain("virga: \(failure.message)")
      return failure.code.rawValue
    } catch {
      Terminal.complain("virga: this should not happen, please report it: \(plainText(of: error))")
      return Failure.Code.internalError.rawValue
    }
  }

  private static func dispatch(_ words: [String]) async throws {
    // People's data are nobody else's to read, whatever folder they are written to. What holds none is for everybody.
    if !["schema", "completion", "manual"].contains(words.first) { umask(0o077) }
    switch words.first {
    case "help" where words.dropFirst().contains { !$0.hasPrefix("-") }:
      try await dispatch(words.dropFirst() + ["--help"])
    case "help", "--help", "-h": Terminal.print(help)
    case "--version": try await dispatch(["version"] + words.dropFirst())
    case nil: throw Failure(.usage, "a command is missing: serve, account, schema or another one (see virga --help)")
    case let word?:
      let below = spec.commands(below: [word])
      guard let first = below.first else { throw Failure.usage("virga", "unknown command \(word)") }
      if first.words == [word] { return try await perform([word], Array(words.dropFirst())) }
      guard words.count > 1 else { throw Failure.usage("virga \(word)", "a command is missing") }
      if ["help", "--help", "-h"].contains(words[1]) { return Terminal.print(help(of: word)) }
      guard below.contains(where: { $0.words == [word, words[1]] }) else {
        throw Failure.usage("virga \(word)", "unknown command \(words[1])")
      }
      try await perform([word, words[1]], Array(words.dropFirst(2)))
    }
  }

  private static func perform(_ name: [String], _ rest: [String]) async throws {
    guard let command = commands.first(where: { $0.spec.words == name }) else {
      preconditionFailure("a command that the table does not have")
    }
    let arguments = try Arguments(rest, for: command.spec)
    if arguments.wantsHelp { return Terminal.print(command.spec.help()) }
    try await command.run(arguments)
  }
}

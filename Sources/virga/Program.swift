import Glibc

/// The program: finds the command and turns what it throws into a line and an exit code.
enum Program {
  static let version = "0.1.0"

  private static let help = """
    Virga: a sync server that speaks CloudKit's protocol, the accounts of its devices and the schemas of its containers.

    Usage: virga <command> [options]

    Commands:
      serve                run the server
      account show         show this device's account
      account invite       let another device into it
      account join CODE    join an account, or make one with an enrolment code
      account new          make an account of its own for this device
      account devices      list the account's devices
      account remove ID    remove a device
      account approve CODE sign in the web page that shows a code
      account accept URL   accept what somebody shares
      account token        print tokens for programs that speak the web service
      account reset-keys   begin anew with another key of encrypted values
      schema export        print a container's schema
      schema import        make a file development's schema
      schema validate      check a file
      schema diff          compare development with production, or with files
      schema deploy        bring development's schema to production
      schema reset         make development like production, without data
      records …            get, query, put, delete, history or restore records
      zones …              list, create or delete zones
      stats                show what fills the store
      backup FOLDER        copy all data, while the server runs
      restore FOLDER       make a data folder of a backup
      tokens               list, create and revoke API tokens
      keys                 list, add and remove server-to-server keys
      users                list accounts, devices and users; show and give roles
      operator token       print the operator's token, for a monitor
      faults               show, set or clear what goes wrong on purpose
      export USER FOLDER   write everything of one person as JSON and files
      import FOLDER        save what was exported for a person
      erase USER           erase everything of one person
      version              print the version

    Each command explains itself with --help, or with: virga help COMMAND
    """

  static func run(_ words: [String]) async -> Int32 {
    do {
      try await dispatch(words)
      return 0
    } catch let failure as Failure {
      Terminal.complain("virga: \(failure.message)")
      return failure.code.rawValue
    } catch {
      Terminal.complain("virga: unexpected error: \(error)")
      return Failure.Code.internalError.rawValue
    }
  }

  private static func dispatch(_ words: [String]) async throws {
    let rest = Array(words.dropFirst())
    // People's data are nobody else's to read, whatever folder they are written to. A schema is for everybody.
    if words.first != "schema" { umask(0o077) }
    switch words.first {
    case "serve": try await ServeCommand.run(rest)
    case "account": try await AccountCommand.run(rest)
    case "schema": try await SchemaCommand.run(rest)
    case "records": try await RecordsCommand.run(rest)
    case "zones": try await ZonesCommand.run(rest)
    case "stats": try StatsCommand.run(rest)
    case "backup": try BackupCommand.backup(rest)
    case "restore": try await BackupCommand.restore(rest)
    case "tokens": try await TokensCommand.run(rest)
    case "keys": try await KeysCommand.run(rest)
    case "users": try await UsersCommand.run(rest)
    case "operator": try await OperatorTokenCommand.run(rest)
    case "faults": try await FaultsCommand.run(rest)
    case "export": try await ExportCommand.run(rest)
    case "import": try await ImportCommand.run(rest)
    case "erase": try await EraseCommand.run(rest)
    case "version", "--version":
      guard rest.isEmpty else { throw Failure.usage("virga", "version takes no arguments") }
      Terminal.print("virga \(version)")
    case "help" where rest.first == "version": Terminal.print(help)
    case "help" where rest.contains { !$0.hasPrefix("-") }: try await dispatch(rest + ["--help"])
    case "help", "--help", "-h": Terminal.print(help)
    case nil: throw Failure(.usage, "a command is missing: serve, account, schema or another one (see virga --help)")
    case let word?: throw Failure.usage("virga", "unknown command \(word)")
    }
  }
}

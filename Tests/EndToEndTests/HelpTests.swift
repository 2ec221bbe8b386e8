import Testing

/// Each command explains itself, and says what is wrong with what was typed.
@Suite(.timeLimit(.minutes(2))) struct HelpTests {
  static let commands = [
    "serve", "account show", "account invite", "account join", "account new", "account devices", "account remove",
    "account approve", "account accept", "account token", "account reset-keys", "schema export", "schema import",
    "schema validate", "schema diff", "schema deploy", "schema reset", "records list", "records get", "records query",
    "records changes",
    "records put", "records delete", "records history", "records restore", "zones list", "zones create", "zones delete",
    "containers list",
    "stats", "backup", "restore",
    "tokens list", "tokens create", "tokens revoke", "keys list", "keys add", "keys remove", "users list",
    "users roles", "operator token", "faults show", "faults set", "faults clear", "export",
    "import", "erase", "completion", "manual", "version",
  ]

  @Test(arguments: commands) func helpNamesUseOptionsExamplesAndExitCodes(command: String) async throws {
    let end = try await ProgramRun.run(command.split(separator: " ").map(String.init) + ["--help"])
    #expect(end.code == 0 && end.errors.isEmpty)
    for part in ["Usage: virga \(command)", "Options:\n", "Example", "  virga ", "Exit codes:"] {
      #expect(end.output.contains(part) || part == "  virga " && end.output.contains("| virga "), "\(part)")
    }
    #expect(!end.output.contains("\t"))
  }

  @Test func theHelpNamesEveryCommand() async throws {
    let all = try await ProgramRun.run(["help"]).output
    var groups: Set<String> = []
    for command in Self.commands {
      let words = command.split(separator: " ").map(String.init)
      #expect(all.contains("  \(words[0]) "), "\(command)")
      if words.count > 1 { groups.insert(words[0]) }
      #expect(all.contains("\(words.last ?? "")"), "\(command)")
    }
    for group in groups {
      let end = try await ProgramRun.run([group, "--help"])
      for command in Self.commands where command.hasPrefix("\(group) ") {
        #expect(end.output.contains("  \(command) "), "\(command)")
      }
      #expect(try await ProgramRun.run([group]).code == 64)
      #expect(try await ProgramRun.run([group, "nonsense"]).errors.contains("unknown command nonsense"))
    }
    #expect(try await ProgramRun.run(["help", "serve"]).output.contains("Usage: virga serve"))
    #expect(all.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }

  @Test(arguments: commands) func anUnknownOptionIsNamedWithTheHelpToReadOn(command: String) async throws {
    let end = try await ProgramRun.run(command.split(separator: " ").map(String.init) + ["--nonsense"])
    #expect(end.code == 64)
    #expect(end.errors == "virga: unknown option --nonsense (see virga \(command) --help)\n")
  }

  /// Each kind of mistake has its line and its code.
  @Test(arguments: [
    (["account", "show", "--endpoint", "sync.example"], 64 as Int32, "http://"),
    (["tokens", "list", "--endpoint", "ftp://sync.example"], 64, "http://"),
    (["keys", "add", "/nonexistent.pem", "--container", "c", "--endpoint", "http://127.0.0.1:1"], 66, "cannot read"),
    (["records", "get", "x", "--container", "c", "--user", "u", "--data", "/nonexistent"], 73, "has no server's data"),
    (["account", "accept", "https://sync.example/"], 64, "is not the address of a share"),
    (["users", "roles", "x", "--container", "c", "--environment", "test", "--data", "."], 73, "has no server's data"),
    (["schema", "diff", "--container", "c", "--environment", "production"], 64, "--environment has no effect here"),
    (["schema", "diff", "--file", "a", "--file", "b", "--container", "c"], 64, "--container has no effect here"),
    (["schema", "diff", "--file", "a", "--file", "b", "--endpoint", "http://a"], 64, "--endpoint has no effect here"),
    (["schema", "validate", "--file", "a", "--endpoint", "http://a"], 64, "--endpoint has no effect here"),
    (["tokens", "list", "--container", "a/b", "--data", "."], 73, "has no server's data"),
    (["nonsense"], 64, "unknown command nonsense"),
  ])
  func mistakesAreNamed(words: [String], code: Int32, text: String) async throws {
    let end = try await ProgramRun.run(words)
    #expect(end.code == code && end.errors.hasPrefix("virga: ") && end.errors.contains(text), "\(end)")
    #expect(end.output.isEmpty)
  }
}

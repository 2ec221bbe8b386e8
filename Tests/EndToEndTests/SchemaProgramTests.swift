import Foundation
import Testing

/// C114: schemas are managed from a shell on Linux, and a script sees by the exit code how it went.
@Suite(.timeLimit(.minutes(2))) struct SchemaProgramTests {
  private static let first = """
    DEFINE SCHEMA
    CREATE ROLE editor;
    RECORD TYPE Trip (name STRING QUERYABLE, GRANT READ TO "_world", GRANT WRITE TO editor);
    """
  private static let second = """
    DEFINE SCHEMA
    CREATE ROLE editor;
    RECORD TYPE Trip (name STRING QUERYABLE, place LOCATION, GRANT READ TO "_world", GRANT WRITE TO editor);
    """
  private static let renamed = "DEFINE SCHEMA RECORD TYPE Trip (title STRING);"

  private func file(_ text: String, _ server: ServerProcess, _ name: String = "schema.ckdb") throws -> String {
    let path = "\(server.folder.path)/\(name)"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  private func run(
    _ server: ServerProcess, _ words: String..., container: String? = "iCloud.a", environment: [String: String] = [:]
  ) async throws -> ProgramRun.End {
    let place = ["--endpoint", server.endpoint, "--home", "\(server.folder.path)/home"]
    let scope = container.map { ["--container", $0] } ?? []
    return try await ProgramRun.run(["schema"] + words + scope + place, environment: environment)
  }

  /// C124
  @Test func aFileWithTheTypeOfSharesGoesToProductionAndBack() async throws {
    let server = try await ServerProcess()
    let path = try file(
      """
      DEFINE SCHEMA
      RECORD TYPE "cloudkit.share" (
        "cloudkit.title" STRING, "cloudkit.type" STRING, "cloudkit.thumbnailImageData" BYTES,
        GRANT WRITE TO "_creator", GRANT READ TO "_world"
      );
      """, server)
    #expect(try await run(server, "validate", "--file", path).code == 0)
    #expect(try await run(server, "import", "--file", path).code == 0)
    #expect(try await run(server, "deploy", "--yes").code == 0)
    let export = try await run(server, "export", "--environment", "production").output
    for name in ["title", "type", "thumbnailImageData"] { #expect(export.contains("\"cloudkit.\(name)\"")) }
    let dotted = try file(#"DEFINE SCHEMA RECORD TYPE Trip ("my.field" STRING);"#, server, "dotted.ckdb")
    #expect(try await run(server, "validate", "--file", dotted).code != 0)
    let bare = try file("DEFINE SCHEMA RECORD TYPE cloudkit.share ();", server, "bare.ckdb")
    #expect(try await run(server, "validate", "--file", bare).errors.contains("needs quotes: \"cloudkit.share\""))
  }

  @Test func aSchemaGoesFromAFileToProduction() async throws {
    let server = try await ServerProcess()
    let path = try file(Self.first, server)
    #expect(try await run(server, "validate", "--file", path).code == 0)
    let imported = try await run(server, "import", "--file", path)
    #expect(imported.code == 0)
    #expect(imported.output == "+ role editor\n+ type Trip (name)\nImported into development.\n")

    // Export, import into another container, export again: the same bytes.
    let copy = server.folder.path + "/copy.ckdb"
    let export = try await run(server, "export")
    #expect(try await run(server, "export", "--file", copy).code == 0)
    #expect(try String(contentsOfFile: copy, encoding: .utf8) == export.output)
    #expect(try await run(server, "import", "--file", copy, container: "iCloud.b").code == 0)
    #expect(try await run(server, "export", container: "iCloud.b").output == export.output)

    let different = try await run(server, "diff")
    #expect(different.code == 1)
    #expect(different.output == "+ role editor\n+ type Trip (name)\n")
    #expect(different.errors == "virga: the schemas differ\n")
    #expect(try await run(server, "deploy", "--yes").code == 0)
    #expect(try await run(server, "diff").code == 0)
    #expect(try await run(server, "export", "--environment", "production").output == export.output)

    // It is in the server's data, not in its memory.
    await server.terminate()
    try await server.restart()
    #expect(try await run(server, "export", "--environment", "production").output == export.output)
  }

  @Test func whatProductionWouldLoseIsRefused() async throws {
    // C57
    let server = try await ServerProcess(options: ["--ephemeral"])
    _ = try await run(server, "import", "--file", try file(Self.first, server))
    #expect(try await run(server, "deploy", "--yes").code == 0)
    let production = try await run(server, "export", "--environment", "production").output
    let path = try file(Self.renamed, server)
    for command in ["validate", "import"] {
      let refused = try await run(server, command, "--file", path)
      #expect(refused.code == 1)
      #expect(refused.errors.contains("editor: production keeps role 'editor'"))
      #expect(refused.errors.contains("Trip.name: production keeps field 'name' of type 'Trip'"))
      #expect(refused.errors.contains("or renamed ('title' would be another field)"))
    }
    #expect(try await run(server, "export").output == production)

    let more = try file(Self.second, server)
    let added = try await run(server, "diff", "--file", more)
    #expect(added.code == 1)
    #expect(added.output == "+ field Trip.place LOCATION\n")
    #expect(try await run(server, "import", "--file", more).code == 0)
    #expect(try await run(server, "diff").output == "+ field Trip.place LOCATION\n")
    let reset = try await run(server, "reset", "--yes")
    #expect(reset.code == 0)
    #expect(reset.output == "- field Trip.place LOCATION\nDevelopment was reset. Records deleted: 0\n")
    #expect(try await run(server, "diff").code == 0)
  }

  @Test func whatCannotBeUndoneIsAskedFor() async throws {
    let server = try await ServerProcess(options: ["--ephemeral"])
    _ = try await run(server, "import", "--file", try file(Self.second, server))
    let place = ["--container", "iCloud.a", "--endpoint", server.endpoint, "--home", "\(server.folder.path)/home"]
    for (words, word) in [
      (["import", "--file", try file(Self.first, server)], "imported"), (["deploy"], "deployed"), (["reset"], "reset"),
    ] {
      let run = try ProgramRun(["schema"] + words + place)
      run.type("n")
      let end = await run.end()
      #expect(end.code == 1)
      #expect(end.errors.hasSuffix("virga: nothing was \(word); to answer yes, add --yes\n"), "\(end.errors)")
    }
    #expect(try await run(server, "diff").output == "+ role editor\n+ type Trip (name, place)\n")
    let run = try ProgramRun(["schema", "deploy"] + place)
    run.type("y")
    #expect(await run.end().code == 0)
    #expect(try await self.run(server, "diff").code == 0)
  }

  @Test func filesAreCheckedAndComparedWithoutAServer() async throws {
    let folder = try TemporaryFolder()
    func run(_ words: String...) async throws -> ProgramRun.End { try await ProgramRun.run(["schema"] + words) }
    func file(_ name: String, _ text: String) throws -> String {
      try text.write(toFile: "\(folder.path)/\(name)", atomically: true, encoding: .utf8)
      return "\(folder.path)/\(name)"
    }
    let (first, second) = (try file("1", Self.first), try file("2", Self.second))
    let broken = try file("3", "DEFINE SCHEMA\nRECORD TYPE T (\n  a BOOL,\n  b LIST<ASSET> SORTABLE\n);\n")
    #expect(try await run("validate", "--file", first).output == "Schema is valid.\n")
    let bad = try await run("validate", "--file", broken)
    #expect(bad.code == 1)
    #expect(bad.errors.contains("\n\(broken):3:5: Encountered \" <IDENTIFIER> \"BOOL \"\" at line 3, column 5."))
    let json = try await run("validate", "--file", broken, "--json")
    #expect(json.code == 1)
    #expect(json.output.contains(#""problems":[{"column":5,"line":3,"#))
    #expect(try await run("diff", "--file", first, "--file", first).code == 0)
    let differing = try await run("diff", "--file", first, "--file", second)
    #expect(differing.code == 1)
    #expect(differing.output == "+ field Trip.place LOCATION\n")

    #expect(try await run("validate", "--file", folder.path + "/none").code == 66)
    #expect(try await run("validate").code == 64)
    #expect(try await run("export").code == 64)
    #expect(try await run("export", "--container", "a b").code == 64)
    #expect(try await run("export", "--container", "a", "--environment", "test").code == 64)
    #expect(try await run("drop").code == 64)
    #expect(try await run("diff", "--file", first, "--file", first, "--file", first).code == 64)
  }

  @Test func aServerWithATokenWantsIt() async throws {
    let token = ["VIRGA_OPERATOR_TOKEN": "0123456789abcdef0123"]
    let server = try await ServerProcess(options: ["--ephemeral"], environment: token)
    // Another user of the machine does not find it.
    let elsewhere = ["XDG_STATE_HOME": server.folder.path + "/other"]
    let refused = try await run(server, "export", environment: elsewhere)
    #expect(refused.code == 77)
    #expect(refused.errors.contains("or put its operator's token into $VIRGA_OPERATOR_TOKEN"), "\(refused.errors)")
    #expect(try await run(server, "export").code == 0, "its own user does")
    #expect(try await run(server, "export", environment: token.merging(elsewhere) { $1 }).code == 0)
    #expect(try await run(server, "export", environment: ["VIRGA_OPERATOR_TOKEN": "another"]).code == 77)
    let short = try await ProgramRun.run(
      ["serve", "--ephemeral", "--port", "0"], environment: ["VIRGA_OPERATOR_TOKEN": "short"])
    #expect(short.code == 78)
  }
}

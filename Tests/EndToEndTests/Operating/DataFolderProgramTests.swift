import Foundation
import Glibc
import TestSupport
import Testing
import VirgaSQLite

/// What the program does with a folder that is not whole, not a server's own, or not to be read: nothing that would hide it.
@Suite(.timeLimit(.minutes(2))) struct DataFolderProgramTests {
  private func run(_ words: String...) async throws -> ProgramRun.End { try await ProgramRun.run(words) }

  /// The folder of a server that has an account, a record and an asset, and has ended; and a backup of it.
  private func folders() async throws -> (server: ServerProcess, backup: String) {
    let server = try await ServerProcess()
    let client = try await WebService(server, home: "home")
    let operation = #"{"operationType":"create","record":{"recordName":"n","recordType":"Note"}}"#
    #expect(try client.call("records/modify", #"{"operations":[\#(operation)]}"#).status == 200)
    await server.terminate()
    let backup = server.folder.path + "/backup"
    #expect(try await run("backup", backup, "--data", server.data).code == 0)
    return (server, backup)
  }

  @Test func noKeyIsMadeBesideData() async throws {
    let server = try await folders().server
    let key = server.data + "/secret.key"
    let kept = server.folder.path + "/kept.key"
    try FileManager.default.moveItem(atPath: key, toPath: kept)
    for words in [
      ["serve", "--port", "0", "--data", server.data], ["users", "list", "--data", server.data],
      ["export", "_x", server.folder.path + "/export", "--data", server.data],
      ["backup", server.folder.path + "/other", "--data", server.data],
    ] {
      let end = try await ProgramRun.run(words)
      #expect(end.code == 65 && end.errors.contains("secret.key"), "\(words) \(end)")
      #expect(!FileManager.default.fileExists(atPath: key), "\(words)")
    }
    let end = try await run("users", "list", "--data", server.data)
    #expect(end.errors.contains("put it back from a backup"))
    try FileManager.default.moveItem(atPath: kept, toPath: key)
    #expect(try await run("users", "list", "--data", server.data).code == 0)
  }

  @Test func aFirstStartThatWasKilledBeforeItsKeyWasMadeIsGoneOnWith() async throws {
    let server = try await ServerProcess()
    await server.kill()
    try FileManager.default.removeItem(atPath: server.data + "/secret.key")
    try await server.restart()
    #expect(await server.terminate().code == 0)
  }

  @Test func noDatabaseIsMadeBesideAssets() async throws {
    let server = try await ServerProcess()
    await server.terminate()
    // As from a copy that left some files out.
    for name in ["virga.sqlite", "lock"] { try FileManager.default.removeItem(atPath: "\(server.data)/\(name)") }
    let asset = server.data + "/assets/ab"
    try FileManager.default.createDirectory(atPath: asset, withIntermediateDirectories: true)
    try Data("bytes".utf8).write(to: URL(fileURLWithPath: asset + "/abcd"))
    let end = try await run("serve", "--port", "0", "--data", server.data)
    #expect(end.code == 65 && end.errors.contains("virga.sqlite is missing"), "\(end)")
    // As from a restore that was killed: beginning anew would be wrong advice.
    try FileManager.default.createDirectory(atPath: server.data + "/restoring", withIntermediateDirectories: true)
    let cutOff = try await run("serve", "--port", "0", "--data", server.data)
    #expect(cutOff.code == 65 && cutOff.errors.contains("was cut off"), "\(cutOff)")
    #expect(!FileManager.default.fileExists(atPath: server.data + "/virga.sqlite"))
  }

  @Test func aBackupIsNotServed() async throws {
    let (server, backup) = try await folders()
    let before = try FileManager.default.subpathsOfDirectory(atPath: backup).sorted()
    let end = try await run("serve", "--port", "0", "--data", backup)
    #expect(end.code == 73 && end.errors.contains("is a backup"), "\(end)")
    #expect(end.errors.contains("virga restore \(backup) --data DIR"))
    let place = ["--container", "iCloud.virga.test", "--user", "_x", "--data", backup]
    for words in [
      ["records", "put"] + place, ["zones", "create", "Z"] + place, ["records", "get", "n"] + place,
      ["tokens", "list", "--data", backup], ["users", "list", "--data", backup],
    ] {
      let end = try await ProgramRun.run(words)
      #expect(end.code == 73 && end.errors.contains("virga restore \(backup) --data DIR"), "\(end)")
    }
    #expect(try await run("stats", "--data", backup).code == 0)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: backup).sorted() == before)
    // What it is restored to is a server's folder again.
    let restored = server.folder.path + "/restored"
    #expect(try await run("restore", backup, "--data", restored).code == 0)
    let second = try await ServerProcess(data: restored)
    #expect(await second.terminate().code == 0)
  }

  @Test func aFolderThatCannotBeReadIsNotCalledEmpty() async throws {
    let folder = try TemporaryFolder()
    let data = folder.path + "/data"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    // Root reads everything, but no link that leads to itself.
    #expect(symlink("virga.sqlite", data + "/virga.sqlite") == 0)
    for words in [["stats", "--data", data], ["restore", data, "--data", folder.path + "/new"]] {
      let end = try await ProgramRun.run(words)
      #expect(end.code == 73 && end.errors.contains("cannot be read: Too many levels of symbolic links"), "\(end)")
    }
    let end = try await run("stats", "--data", folder.path + "/none")
    #expect(end.code == 73 && end.errors.contains("has no server's data"))
  }

  @Test func aDamagedDatabaseIsToldOnOneLine() async throws {
    let server = try await folders().server
    let database = server.data + "/virga.sqlite"
    try Connection(path: database).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try Data(repeating: 0x5a, count: 20_000).write(to: URL(fileURLWithPath: database))
    for words in [["stats"], ["erase", "_x", "--yes"]] {
      let end = try await ProgramRun.run(words + ["--data", server.data])
      #expect(end.code == 65 && end.errors.split(separator: "\n").count == 1, "\(end)")
      #expect(!end.errors.contains("SELECT") && end.errors.contains("damaged"), "\(end)")
    }
  }

  /// Runs a shell's command line with the program as `$0`.
  private func shell(_ line: String) throws -> (code: Int32, errors: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", line, ProgramRun.path]
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let data = try errors.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  @Test func outputThatCannotBeWrittenIsAFailure() throws {
    let full = try shell(#""$0" version > /dev/full"#)
    #expect(full.code == 74 && full.errors == "virga: cannot write the output: No space left on device\n")
    let closed = try shell(#""$0" version >&-"#)
    #expect(closed.code == 73 && closed.errors.contains("cannot write the output"))
    #expect(try shell(#""$0" version 2> /dev/full"#).code == 0)
    // Whoever stops reading has what they wanted.
    #expect(try shell(#"("$0" help; echo "$?" >&2) | true"#).errors != "74\n")
  }
}

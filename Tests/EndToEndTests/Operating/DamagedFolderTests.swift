import Foundation
import Glibc
import TestSupport
import Testing
import VirgaSQLite

/// C126: what is damaged, empty or something else is told, and never taken for a first start; a copy that fails leaves
/// nothing behind that looks like one.
@Suite(.timeLimit(.minutes(2))) struct DamagedFolderTests {
  private let server: ServerProcess
  private let backup: String
  private var folder: String { server.folder.path }

  /// The folder of a server that has an account and a record with an asset, and has ended; and a backup of it.
  init() async throws {
    server = try await ServerProcess()
    let client = try await WebService(server, home: "home")
    let token = #"{"recordName":"photo","recordType":"Photo","fieldName":"file"}"#
    let upload = try client.call("assets/upload", #"{"tokens":[\#(token)]}"#)
    let url = try #require((upload.json["tokens"] as? [[String: Any]])?.first?["url"] as? String)
    let target = String(url[try #require(url.range(of: "/assets/")).lowerBound...])
    let receipt = try RawConnection(port: server.port).request(requestBytes("POST", target, body: Array("bytes".utf8)))
    let file = try #require(try JSONSerialization.jsonObject(with: Data(receipt.body)) as? [String: Any])
    let asset = String(decoding: try JSONSerialization.data(withJSONObject: file["singleFile"] ?? file), as: UTF8.self)
    let record = #"{"recordName":"photo","recordType":"Photo","fields":{"file":{"value":\#(asset)}}}"#
    let answer = try client.call(
      "records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
    #expect(answer.status == 200, "\(answer.json)")
    await server.terminate()
    backup = server.folder.path + "/backup"
    #expect(try await ProgramRun.run(["backup", backup, "--data", server.data]).code == 0)
    // All of it in one file.
    try Connection(path: server.data + "/virga.sqlite").execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// What reads a data folder, each as one would type it.
  private func readings(_ data: String) -> [[String]] {
    [
      ["serve", "--port", "0"], ["stats"], ["backup", folder + "/copy"], ["export", "_x", folder + "/copy"],
      ["zones", "list", "--container", "c", "--user", "u"],
    ].map { $0 + ["--data", data] }
  }

  private func content(_ path: String) throws -> [String: Data] {
    var found: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
    where !name.hasPrefix("lock") && !name.hasSuffix("-wal") && !name.hasSuffix("-shm") {
      found[name] = FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data()
    }
    return found
  }

  private func copy(_ source: String, _ name: String) throws -> String {
    let target = "\(folder)/\(name)"
    try FileManager.default.copyItem(atPath: source, toPath: target)
    for suffix in ["-wal", "-shm"] { unlink("\(target)/virga.sqlite\(suffix)") }
    return target
  }

  private func expectDamage(_ data: String, _ text: String) async throws {
    let before = try content(data)
    for words in readings(data) {
      let end = try await ProgramRun.run(words)
      #expect(end.code == 65 && end.errors.contains(text), "\(words) \(end)")
      #expect(end.errors.split(separator: "\n").count == 1 && end.output.isEmpty, "\(end)")
      for word in ["SELECT", "Error(", "SQLite:", "PRAGMA"] { #expect(!end.errors.contains(word), "\(end.errors)") }
      #expect(try content(data) == before, "\(words) wrote something")
      #expect(!FileManager.default.fileExists(atPath: folder + "/copy"), "\(words)")
    }
  }

  @Test func anEmptyDatabaseIsNotAFirstStart() async throws {
    let restored = folder + "/restored"
    #expect(try await ProgramRun.run(["restore", backup, "--data", restored]).code == 0)
    let bare = folder + "/bare"
    try FileManager.default.createDirectory(atPath: bare, withIntermediateDirectories: true)
    try Data().write(to: URL(fileURLWithPath: bare + "/virga.sqlite"))
    // Of a server that ran, of one that was restored and never ran, of one whose folder lost its mark, and of nobody.
    let unmarked = try copy(restored, "unmarked")
    unlink(unmarked + "/lock")
    for data in [server.data, restored, unmarked, bare] {
      try Data().write(to: URL(fileURLWithPath: data + "/virga.sqlite"))
      try await expectDamage(data, "virga.sqlite is empty: put it back from a backup")
    }
    // Nor is one that is missing beside the key.
    unlink(unmarked + "/virga.sqlite")
    let end = try await ProgramRun.run(["serve", "--port", "0", "--data", unmarked])
    #expect(end.code == 65 && end.errors.contains("virga.sqlite is missing: put it back from a backup"), "\(end)")
  }

  @Test(arguments: [0, 16, 28, 100]) func aFlippedByteIsDamage(offset: Int) async throws {
    let data = try copy(server.data, "flipped")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: data + "/virga.sqlite"))
    bytes[offset] ^= 0xff
    try bytes.write(to: URL(fileURLWithPath: data + "/virga.sqlite"))
    try await expectDamage(data, "data")
  }

  @Test func aFileThatWasCutIsDamage() async throws {
    let data = try copy(server.data, "cut")
    #expect(truncate(data + "/virga.sqlite", 20_000) == 0)
    try await expectDamage(data, "damaged")
  }

  @Test func theFileOfAnotherProgramIsLeftAlone() async throws {
    let data = try copy(server.data, "foreign")
    unlink(data + "/virga.sqlite")
    try Connection(path: data + "/virga.sqlite").execute("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")
    try await expectDamage(data, "belongs to another program")
  }

  @Test func whatIsNoBackupIsNotRestored() async throws {
    let empty = folder + "/empty"
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
    let keyless = try copy(backup, "keyless")
    unlink(keyless + "/secret.key")
    let lossy = try copy(backup, "lossy")
    try FileManager.default.removeItem(atPath: lossy + "/assets")
    let cut = try copy(backup, "cut")
    #expect(truncate(cut + "/virga.sqlite", 20_000) == 0)
    let target = folder + "/target"
    for source in [empty, backup + "/virga.sqlite", folder + "/none", keyless, lossy, cut] {
      let end = try await ProgramRun.run(["restore", source, "--data", target])
      #expect(end.code == 65 && !end.errors.isEmpty && end.output.isEmpty, "\(source) \(end)")
      #expect(!FileManager.default.fileExists(atPath: target), "\(source)")
      // A folder that was there before is there still, empty.
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
      #expect(try await ProgramRun.run(["restore", source, "--data", target]).code == 65)
      #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [])
      try FileManager.default.removeItem(atPath: target)
    }
  }

  @Test func aFolderInUseIsNotRestoredInto() async throws {
    let before = try content(server.data)
    let end = try await ProgramRun.run(["restore", backup, "--data", server.data])
    #expect(end.code == 73 && end.errors.contains("is not empty"), "\(end)")
    #expect(try content(server.data) == before)
  }

  @Test func aBackupThatFailsLeavesNothing() async throws {
    try FileManager.default.removeItem(atPath: server.data + "/assets")
    let target = folder + "/target"
    let end = try await ProgramRun.run(["backup", target, "--data", server.data])
    #expect(end.code == 65 && end.errors.contains("the bytes of an asset are missing"), "\(end)")
    #expect(!FileManager.default.fileExists(atPath: target))
  }

  @Test(.enabled(if: SmallDisk.isAvailable, "mounting a small disk needs root"))
  func aBackupOntoAFullDiskNamesTheDiskAndLeavesNothing() async throws {
    let disk = try #require(SmallDisk(kilobytes: 64))
    let target = disk.path + "/backup"
    let end = try await ProgramRun.run(["backup", target, "--data", server.data])
    #expect(end.code == 74 && end.errors == "virga: no space is left in \(target)\n", "\(end)")
    #expect(!FileManager.default.fileExists(atPath: target))
  }
}

import Foundation
import Glibc
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// `virga backup` and `virga restore`: all that a server has, as a folder.
enum BackupCommand {
  private static let backup = CommandSpec(
    name: "virga backup",
    summary: "Copies all data into a new folder: database, assets and the server's key. The server may be running.",
    operands: ["FOLDER"],
    options: [.init(name: "--data", value: "DIR", help: "The server's data folder. Default: ./virga-data.")],
    notes: """
      The folder holds what people stored and the server's key: keep it as safe as the server itself. Assets are linked where
      both folders are on one file system, and copied otherwise.

      Exit codes: 0 done · 64 wrong arguments · 65 damaged data · 73 a folder cannot be used · 74 the disk is full
      """)
  private static let restore = CommandSpec(
    name: "virga restore",
    summary: "Makes the data folder of a server from a backup. Devices then begin their next fetch anew.",
    operands: ["FOLDER"],
    options: [
      .init(name: "--data", value: "DIR", help: "The new data folder, empty or missing. Default: ./virga-data.")
    ],
    notes: """
      Change tokens that were given before no longer count, since they may tell of changes that the backup does not have.

      Exit codes: 0 done · 64 wrong arguments · 65 damaged backup · 73 a folder cannot be used · 74 the disk is full
      """)

  static func backup(_ words: [String]) throws {
    let arguments = try Arguments(words, for: backup)
    if arguments.wantsHelp { return Terminal.print(backup.help) }
    let data = arguments.value("--data") ?? "./virga-data"
    try OperatorAccess.checkFolder(data)
    let count = try copy(from: data, to: arguments.operands[0])
    try BackupMark.write(to: arguments.operands[0])
    Terminal.print("Backed up \(data) to \(arguments.operands[0]) with \(count) assets.")
  }

  static func restore(_ words: [String]) async throws {
    let arguments = try Arguments(words, for: restore)
    if arguments.wantsHelp { return Terminal.print(restore.help) }
    let data = arguments.value("--data") ?? "./virga-data"
    let source = arguments.operands[0]
    guard try OperatorAccess.isThere(source + "/virga.sqlite"),
      try OperatorAccess.isThere(source + "/" + ServerSecrets.fileName)
    else { throw Failure(.damaged, "\(source) is no backup: it lacks virga.sqlite or \(ServerSecrets.fileName)") }
    try translating { try StoreBackup.check(database: source + "/virga.sqlite") }
    let count = try copy(from: source, to: data, isRestored: true)
    let store = try translating { try SQLiteStore(folder: StoreCopy.restoringFolder(in: data)) }
    do {
      defer { store.close() }
      let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
      try await store.write { transaction in
        var random = SystemRandom()
        try VirgaServer.Service().renewIncarnations(in: transaction, now: now, random: &random)
      }
    } catch {
      throw Storage.failure(error)
    }
    try translating { try StoreCopy.finishRestoring(data) }
    Terminal.print("Restored \(source) into \(data) with \(count) assets. Next: virga serve --data \(data)")
  }

  /// Copies database, key and assets into a folder that is new or empty.
  /// - Returns: How many assets there are.
  static func copy(from source: String, to target: String, isRestored: Bool = false) throws -> Int {
    let count = try translating {
      let copy = try StoreCopy(from: source, to: target, isRestored: isRestored)
      try copy.copyFiles()
      try copy.copyDatabase()
      return try copy.completeFiles()
    }
    do {
      let key = SecureFile(path: source + "/" + ServerSecrets.fileName)
      guard let bytes = try key.read() else { throw Failure(.damaged, "\(source) has no \(ServerSecrets.fileName)") }
      try SecureFile(path: target + "/" + ServerSecrets.fileName).create(bytes)
    } catch let error as SecureFileError {
      throw Failure(.unwritable, error.description)
    }
    sync()
    return count
  }

  static func translating<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as StoreError { throw Storage.failure(error) }
  }
}

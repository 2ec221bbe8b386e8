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
      .init(name: "--data", value: "DIR", help: "The new data folder, empty or missing. Default: ./virga-data."),
      .init(
        name: "--removals", value: "DIR",
        help: "The former data folder: devices, tokens and keys that were removed there are removed again."),
    ],
    notes: """
      Whoever was removed after the backup is in it: devices, tokens and keys, which --removals removes again, and participants
      and shares, which their owners have to remove again.
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
    let former = arguments.value("--removals")
    let removable = try former.map { try removableEntities(of: $0, backup: source) }
    let count = try copy(from: source, to: data, isRestored: true)
    let folder = StoreCopy.restoringFolder(in: data)
    let restored = try entities(of: folder)
    let store = try translating { try SQLiteStore(folder: folder) }
    let removed: [Entity.Kind: Int]
    do {
      defer { store.close() }
      let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
      removed = try await store.write { transaction in
        var random = SystemRandom()
        let service = VirgaServer.Service()
        try service.renewIncarnations(in: transaction, now: now, random: &random)
        return try removable.map { try service.repeatRemovals(from: $0, among: restored, in: transaction) } ?? [:]
      }
    } catch {
      throw Storage.failure(error)
    }
    try translating { try StoreCopy.finishRestoring(data) }
    Terminal.print("Restored \(source) into \(data) with \(count) assets. Next: virga serve --data \(data)")
    if let former {
      let counts = [Entity.Kind.device, .apiToken, .serverKey].map { removed[$0] ?? 0 }
      Terminal.print(
        "Removed again, as in \(former): \(counts[0]) devices, \(counts[1]) API tokens, \(counts[2]) keys. "
          + "Participants and shares are as in the backup.")
    } else {
      Terminal.print(
        "Devices, tokens, keys, participants and shares that were removed after the backup are back. "
          + "--removals FORMER-FOLDER removes devices, tokens and keys again.")
    }
  }

  private static func entities(of folder: String) throws -> [Entity] {
    try translating {
      try StoreBackup.entities(VirgaServer.Service.removable, ofDatabase: "\(folder)/virga.sqlite")
    }
  }

  /// What the former folder has of those who may have been removed.
  /// - Throws: If the folder is not of the server that the backup is of, whose devices it would all lack.
  private static func removableEntities(of folder: String, backup: String) throws -> [Entity] {
    do {
      let keys = [folder, backup].map { SecureFile(path: "\($0)/\(ServerSecrets.fileName)") }
      let (own, other) = (try keys[0].read(), try keys[1].read())
      guard own != nil, own == other else {
        throw Failure(.unreadable, "\(folder) is no folder of the server whose backup \(backup) is")
      }
    } catch let error as SecureFileError {
      throw Storage.failure(error)
    }
    return try entities(of: folder)
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

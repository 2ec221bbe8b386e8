import Foundation
import Glibc
import VirgaAuth
import VirgaHTTP
import VirgaCommandLine
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// `virga backup` and `virga restore`: all that a server has, as a folder.
enum BackupCommand {
  private static let backup = CommandSpec(
    name: "virga backup",
    summary: "Copies all data into a new folder: database, assets and the server's key. The server may be running.",
    operands: ["FOLDER"],
    options: [OperatorAccess.folderOption],
    notes: """
      The backup holds all data and the server's key. Keep it as safe as the server itself. If both folders are on one file
      system, assets are linked and not copied.

      Exit codes: 0 done · 64 wrong arguments · 65 damaged data · 73 a folder cannot be used · 74 the disk is full
      """)
  private static let restore = CommandSpec(
    name: "virga restore",
    summary: "Makes a server's data folder from a backup. Devices then start their next fetch from the beginning.",
    operands: ["FOLDER"],
    options: [
      .init(
        name: "--data", value: "DIR",
        help: "The new data folder, empty or missing. Default: $VIRGA_DATA, then ./virga-data.",
        variable: "VIRGA_DATA"),
      .init(
        name: "--removals", value: "DIR",
        help: "The old data folder. Devices, tokens and keys that were removed there are removed again."),
    ],
    notes: """
      Devices, tokens, keys, participants and shares that were removed after the backup are back. --removals removes devices,
      tokens and keys again. Owners must remove participants and shares again themselves. Repeat every erasure made since
      the backup.
      Change tokens from before the restore expire, because they may stand for changes that the backup does not have.

      Exit codes: 0 done · 64 wrong arguments · 65 damaged backup · 73 a folder cannot be used · 74 the disk is full
      """)

  static let commands = [Command(backup, backup), Command(restore, restore)]

  private static func backup(_ arguments: Arguments) async throws {
    let data = arguments.value("--data") ?? "./virga-data"
    let target = arguments.operands[0]
    TemporaryFiles.use(target)
    try OperatorAccess.checkFolder(data)
    let (copy, count) = try await copy(from: data, to: target)
    do { try BackupMark.write(to: target) } catch {
      copy.discard()
      throw error
    }
    Terminal.print("Backed up \(data) to \(target) with \(count) assets.")
  }

  private static func restore(_ arguments: Arguments) async throws {
    let data = arguments.value("--data") ?? "./virga-data"
    let source = arguments.operands[0]
    TemporaryFiles.use(data)
    guard try OperatorAccess.isThere("\(source)/\(DataFile.database)"),
      try OperatorAccess.isThere(source + "/" + ServerSecrets.fileName)
    else { throw Failure(.damaged, "\(source) is not a backup: virga.sqlite or \(ServerSecrets.fileName) is missing") }
    try OperatorAccess.checkFolder(source)
    try translating(in: [data]) { try StoreBackup.check(database: "\(source)/\(DataFile.database)") }
    let former = arguments.value("--removals")
    let removable = try former.map { try removableEntities(of: $0, backup: source) }
    let (copy, count) = try await copy(from: source, to: data, isRestored: true)
    let removed: [Entity.Kind: Int]
    do {
      removed = try await renew(data, removing: removable)
      try translating(in: [data]) { try StoreCopy.finishRestoring(data) }
    } catch {
      copy.discard()
      throw error
    }
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

  /// Makes the copy's database one of which no token was given yet.
  /// - Returns: How many of those were removed that were removed before.
  private static func renew(_ data: String, removing removable: [Entity]?) async throws -> [Entity.Kind: Int] {
    let folder = StoreCopy.restoringFolder(in: data)
    let restored = try entities(of: folder)
    let store = try translating(in: [data]) { try SQLiteStore(folder: folder) }
    defer { store.close() }
    do {
      let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
      return try await store.write { transaction in
        var random = SystemRandom()
        let service = VirgaServer.Service()
        try service.renewIncarnations(in: transaction, now: now, random: &random)
        return try removable.map { try service.repeatRemovals(from: $0, among: restored, in: transaction) } ?? [:]
      }
    } catch {
      throw Storage.failure(error, in: [data])
    }
  }

  private static func entities(of folder: String) throws -> [Entity] {
    try translating(in: [folder]) {
      try StoreBackup.entities(VirgaServer.Service.removable, ofDatabase: "\(folder)/\(DataFile.database)")
    }
  }

  /// What the former folder has of those who may have been removed.
  /// - Throws: If the folder is not of the server that the backup is of, whose devices it would all lack.
  private static func removableEntities(of folder: String, backup: String) throws -> [Entity] {
    do {
      let keys = [folder, backup].map { SecureFile(path: "\($0)/\(ServerSecrets.fileName)") }
      let (own, other) = (try keys[0].read(), try keys[1].read())
      guard own != nil, own == other else {
        throw Failure(.unreadable, "\(folder) does not belong to the same server as the backup \(backup)")
      }
    } catch let error as SecureFileError {
      throw Storage.failure(error)
    }
    return try entities(of: folder)
  }

  /// Copies database, key and assets into a folder that is new or empty. If that fails, the folder is as it was.
  /// - Returns: The copy, to be discarded if something else fails, and how many assets there are.
  static func copy(
    from source: String, to target: String, isRestored: Bool = false
  ) async throws -> (copy: StoreCopy, assets: Int) {
    let places = [target, source]
    let copy = try translating(in: places) { try StoreCopy(from: source, to: target, isRestored: isRestored) }
    do {
      let count = try await Terminal.following("Copying assets", .things("files")) { meter in
        try translating(in: places) {
          try copy.copyFiles { meter.update(done: Int64($0), total: Int64($1)) }
          meter.begin("Copying the database", unit: .bytes)
          let watch = ProgressWatch.file(copy.databasePath, of: size(of: "\(source)/\(DataFile.database)"), meter)
          defer { watch.stop() }
          try copy.copyDatabase()
          return try copy.completeFiles()
        }
      }
      let key = SecureFile(path: source + "/" + ServerSecrets.fileName)
      guard let bytes = try key.read() else { throw Failure(.damaged, "\(source) has no \(ServerSecrets.fileName)") }
      try SecureFile(path: target + "/" + ServerSecrets.fileName).create(bytes)
      sync()
      return (copy, count)
    } catch {
      copy.discard()
      throw error is SecureFileError ? Storage.failure(error, in: places) : error
    }
  }

  private static func size(of path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }

  /// - Parameter folders: Where something is written; the full one of them is named.
  static func translating<Value>(in folders: [String], _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as StoreError { throw Storage.failure(error, in: folders) }
  }
}

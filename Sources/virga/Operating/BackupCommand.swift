import Foundation
import Glibc
import VirgaAuth
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
    Terminal.print("Backed up \(data) to \(arguments.operands[0]) with \(count) assets.")
  }

  static func restore(_ words: [String]) async throws {
    let arguments = try Arguments(words, for: restore)
    if arguments.wantsHelp { return Terminal.print(restore.help) }
    let data = arguments.value("--data") ?? "./virga-data"
    let source = arguments.operands[0]
    guard FileManager.default.fileExists(atPath: source + "/virga.sqlite"),
      FileManager.default.fileExists(atPath: source + "/" + ServerSecrets.fileName)
    else { throw Failure(.damaged, "\(source) is no backup: it lacks virga.sqlite or \(ServerSecrets.fileName)") }
    if let names = try? FileManager.default.contentsOfDirectory(atPath: data), !names.isEmpty {
      throw Failure(.unwritable, "\(data) is not empty: a backup is restored into a folder of its own")
    }
    try translating { try StoreBackup.check(database: source + "/virga.sqlite") }
    let count = try copy(from: source, to: data)
    let storage = try Storage(.folder(data))
    defer { storage.close() }
    try await storage.store.write { transaction in
      var random = SystemRandom()
      try VirgaServer.Service().renewIncarnations(in: transaction, random: &random)
    }
    Terminal.print("Restored \(source) into \(data) with \(count) assets. Next: virga serve --data \(data)")
  }

  /// Copies database, key and assets into a folder that is new or empty.
  /// - Returns: How many assets there are.
  static func copy(from source: String, to target: String) throws -> Int {
    let files = FileManager.default
    if let names = try? files.contentsOfDirectory(atPath: target), !names.isEmpty {
      throw Failure(.unwritable, "\(target) exists and is not empty")
    }
    do {
      try files.createDirectory(
        atPath: target + "/assets", withIntermediateDirectories: true,
        attributes: [.posixPermissions: NSNumber(value: 0o700)])
    } catch {
      throw Failure(.unwritable, "cannot create \(target)")
    }
    try translating { try StoreBackup.copyDatabase(from: source, to: target + "/virga.sqlite") }
    // The database first: what it claims is kept for weeks after it was replaced, so the files are still there.
    let assets = try translating { try StoreBackup.assets(ofDatabase: target + "/virga.sqlite") }
    for asset in assets { try copyAsset(asset.checksum, isClaimed: asset.isClaimed, from: source, to: target) }
    do {
      let key = SecureFile(path: source + "/" + ServerSecrets.fileName)
      guard let bytes = try key.read() else { throw Failure(.damaged, "\(source) has no \(ServerSecrets.fileName)") }
      try SecureFile(path: target + "/" + ServerSecrets.fileName).create(bytes)
    } catch let error as SecureFileError {
      throw Failure(.unwritable, error.description)
    }
    sync()
    return assets.count
  }

  private static func copyAsset(_ checksum: String, isClaimed: Bool, from source: String, to target: String) throws {
    guard let digest = Data(base64Encoded: checksum) else { throw Failure(.damaged, "\(checksum) is no checksum") }
    let name = Hex.encode(Array(digest))
    let place = "assets/\(name.prefix(2))"
    mkdir("\(target)/\(place)", 0o700)
    let (from, to) = ("\(source)/\(place)/\(name)", "\(target)/\(place)/\(name)")
    if link(from, to) == 0 { return }
    let code = errno
    if code == ENOENT {
      // Bytes that no record claims may be collected while the backup is taken.
      guard isClaimed else { return }
      throw Failure(.damaged, "the bytes of an asset are missing: \(from)")
    }
    do { try FileManager.default.copyItem(atPath: from, toPath: to) } catch {
      throw Failure(errno == ENOSPC ? .full : .unwritable, "cannot copy \(from) to \(target)")
    }
  }

  static func translating<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as StoreError { throw Storage.failure(error) }
  }
}

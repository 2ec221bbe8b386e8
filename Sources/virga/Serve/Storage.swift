import Foundation
import VirgaAuth
import VirgaCommandLine
import VirgaHTTP
import VirgaServer
import VirgaServerSQLite

/// Where a server keeps its rows, its files and its key.
struct Storage: Sendable {
  let store: any Store
  let secrets: ServerSecrets
  /// The folder of database, key and assets; a temporary one for a server without data.
  let folder: String
  private let database: SQLiteStore?

  /// What the server says of it when it starts.
  var description: String { database == nil ? "in memory; lost when the server stops" : folder }

  /// - Parameter isServing: Whether the store is opened for many writes, and not for a command or two.
  init(_ data: ServeOptions.Data, isServing: Bool = false) throws(Failure) {
    switch data {
    case .memory:
      store = MemoryStore()
      database = nil
      // Assets are files even then: they may be larger than memory.
      folder = FileManager.default.temporaryDirectory.path + "/virga-\(UUID().uuidString)"
      do {
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: NSNumber(value: 0o700)])
      } catch {
        throw Failure(.unwritable, "cannot create \(folder) for assets")
      }
      // The key lies there for as long as the server runs: its user's commands make the operator's token of it.
      do { secrets = try ServerSecrets.load(from: folder) } catch { throw Self.failure(error) }
    case .folder(let path):
      try Self.check(path)
      let database: SQLiteStore
      var options = SQLiteStore.Options()
      if isServing { options.logRoomTime = .milliseconds(200) }
      options.note = { Terminal.complain($0) }
      do { database = try SQLiteStore(folder: path, options: options) } catch { throw Self.failure(error) }
      self.database = database
      store = database
      folder = URL(fileURLWithPath: path).standardizedFileURL.path
      do { secrets = try Self.secrets(of: folder) } catch {
        database.close()
        throw error
      }
    }
  }

  /// - Throws: If the folder lost its database: a new one beside the rest would hide the loss.
  private static func check(_ path: String) throws(Failure) {
    TemporaryFiles.use(path)
    let files = FileManager.default
    guard !files.fileExists(atPath: "\(path)/\(DataFile.database)") else { return }
    // A restore that was cut off has a word of its own.
    guard !files.fileExists(atPath: StoreCopy.restoringFolder(in: path)) else { return }
    if files.fileExists(atPath: "\(path)/\(ServerSecrets.fileName)") {
      throw Failure(
        .damaged,
        "\(path) holds a server's \(ServerSecrets.fileName) but \(DataFile.database) is missing: put it back from a backup, "
          + "or empty the folder to start fresh")
    }
    let assets = files.enumerator(atPath: "\(path)/\(DataFile.assets)")
    while let name = assets?.nextObject() as? String {
      var isFolder: ObjCBool = false
      guard files.fileExists(atPath: "\(path)/assets/\(name)", isDirectory: &isFolder), !isFolder.boolValue else {
        continue
      }
      throw Failure(
        .damaged,
        "\(path) holds assets but \(DataFile.database) is missing: put it back from a backup, or empty the folder to "
          + "start fresh")
    }
  }

  /// The key of a folder whose store is open; a new one if nothing is kept there yet.
  private static func secrets(of folder: String) throws(Failure) -> ServerSecrets {
    let isNew: Bool
    do { isNew = try StoreBackup.isEmpty(database: "\(folder)/\(DataFile.database)") } catch { throw failure(error) }
    guard isNew else { return try existingSecrets(of: folder) }
    do throws(SecureFileError) { return try ServerSecrets.load(from: folder) } catch { throw failure(error) }
  }

  /// The key that lies beside data. Another one is never made there: it would make everybody a stranger to their data.
  static func existingSecrets(of folder: String) throws(Failure) -> ServerSecrets {
    let found: ServerSecrets?
    do throws(SecureFileError) { found = try ServerSecrets.read(from: folder) } catch { throw failure(error) }
    guard let found else {
      throw Failure(
        .damaged,
        "\(folder) holds data but its \(ServerSecrets.fileName) is missing; put it back from a backup; without it, "
          + "nobody "
          + "finds their data")
    }
    return found
  }

  /// What the store counts.
  var readings: [Metrics.Reading] {
    guard let database else { return [] }
    let counts = database.counts
    return [
      .init("virga_store_reads_total", .counter, "Read transactions.", counts.reads),
      .init("virga_store_writes_total", .counter, "Write transactions.", counts.writes),
      .init("virga_store_commits_total", .counter, "Durable commits.", counts.commits),
      .init("virga_store_statements_total", .counter, "Statements started.", counts.statements),
      .init("virga_store_rows_total", .counter, "Rows returned by statements.", counts.rows),
      .init("virga_store_checkpoints_total", .counter, "Checkpoints of the write-ahead log.", counts.checkpoints),
      .init("virga_store_checkpoints_failed_total", .counter, "Checkpoints that failed.", counts.failedCheckpoints),
      .init("virga_store_writes_waiting", .gauge, "Writes that wait for the writer.", database.waitingWriteCount),
    ]
  }

  /// Writes what waits and gives the folder back.
  func close() {
    if let database { return database.close() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// What is said of a folder whose database a command could not read.
  static func unreadable(_ folder: String, _ error: any Error) -> Failure {
    let failure = failure(error, in: [folder])
    guard [.damaged, .internalError, .unwritable].contains(failure.code) else { return failure }
    return Failure(failure.code, "the data in \(folder) cannot be read: \(failure.message)")
  }

  /// - Parameter folders: Where something is written; the full one of them is named.
  static func failure(_ error: any Error, in folders: [String] = []) -> Failure {
    switch StoreError.translating(error) {
    case SecureFileError.damaged: Failure(.damaged, "\(error)")
    case SecureFileError.tooOpen: Failure(.noPermission, "\(error)")
    case SecureFileError.full: Failure(.full, "\(error)")
    case is SecureFileError: Failure(.unwritable, "\(error)")
    case StoreError.inUse(let text): Failure(.inUse, text)
    case StoreError.unwritable(let text): Failure(.unwritable, text)
    case StoreError.full(let text):
      Failure(.full, folders.isEmpty ? text : "no space is left in \(TemporaryFiles.full(among: folders))")
    // SQLite's words may be several lines.
    case StoreError.damaged(let text):
      Failure(.damaged, text.split(whereSeparator: \.isNewline).joined(separator: " "))
    case StoreError.diskFailed(let text): Failure(.internalError, text)
    case StoreError.newerVersion(let found, let known):
      Failure(
        .newerVersion,
        "a newer version wrote the data (layout \(found), this version knows \(known)); update virga")
    case let failure as Failure: failure
    case let error as StoreError: Failure(.internalError, error.description)
    default: Failure(.internalError, "the data folder cannot be opened: \(plainText(of: error))")
    }
  }
}

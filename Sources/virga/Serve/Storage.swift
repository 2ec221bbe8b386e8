import Foundation
import VirgaAuth
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
  var description: String { database == nil ? "in memory, gone when the server ends" : folder }

  init(_ data: ServeOptions.Data) throws(Failure) {
    switch data {
    case .memory:
      store = MemoryStore()
      secrets = .random()
      database = nil
      // Assets are files even then: they may be larger than memory.
      folder = FileManager.default.temporaryDirectory.path + "/virga-\(UUID().uuidString)"
      do {
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: NSNumber(value: 0o700)])
      } catch {
        throw Failure(.unwritable, "cannot create \(folder) for assets")
      }
    case .folder(let path):
      let database: SQLiteStore
      do { database = try SQLiteStore(folder: path) } catch { throw Self.failure(error) }
      self.database = database
      store = database
      folder = URL(fileURLWithPath: path).standardizedFileURL.path
      do throws(SecureFileError) { secrets = try ServerSecrets.load(from: folder) } catch {
        database.close()
        switch error {
        case .damaged: throw Failure(.damaged, error.description)
        case .tooOpen: throw Failure(.noPermission, error.description)
        case .unreadable, .unwritable: throw Failure(.unwritable, error.description)
        }
      }
    }
  }

  /// What the store counts.
  var readings: [Metrics.Reading] {
    guard let database else { return [] }
    let counts = database.counts
    return [
      .init("virga_store_reads_total", .counter, "Bodies that read.", counts.reads),
      .init("virga_store_writes_total", .counter, "Bodies that wrote.", counts.writes),
      .init("virga_store_commits_total", .counter, "Durable commits.", counts.commits),
      .init("virga_store_statements_total", .counter, "Statements begun.", counts.statements),
      .init("virga_store_rows_total", .counter, "Rows that statements gave.", counts.rows),
      .init("virga_store_checkpoints_total", .counter, "Checkpoints of the write-ahead log.", counts.checkpoints),
      .init("virga_store_checkpoints_failed_total", .counter, "Checkpoints that failed.", counts.failedCheckpoints),
      .init("virga_store_writes_waiting", .gauge, "Bodies that wait for the writer.", database.waitingWriteCount),
    ]
  }

  /// Writes what waits and gives the folder back.
  func close() {
    if let database { return database.close() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func failure(_ error: any Error) -> Failure {
    switch error {
    case StoreError.inUse(let text): Failure(.inUse, text)
    case StoreError.unwritable(let text): Failure(.unwritable, text)
    case StoreError.full(let text): Failure(.full, text)
    case StoreError.damaged(let text): Failure(.damaged, text)
    case StoreError.diskFailed(let text): Failure(.internalError, text)
    case StoreError.newerVersion(let found, let known):
      Failure(
        .newerVersion,
        "the data were written by a newer version (layout \(found), this one knows \(known)); update virga")
    default: Failure(.internalError, "the data folder cannot be opened: \(error)")
    }
  }
}

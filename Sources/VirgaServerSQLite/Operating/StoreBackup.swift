import Glibc
import VirgaModel
package import VirgaServer
import VirgaSQLite

/// Copies of a store's database, taken while a server may be writing it.
package enum StoreBackup {
  /// Writes the database as it stands at one moment into a new file, without what was deleted.
  package static func copyDatabase(from folder: String, to path: String) throws {
    let source = "\(folder)/\(DataFile.database)"
    do {
      let connection = try Connection(path: source, access: .readOnly, busyTimeout: .seconds(60))
      try connection.checkLayout(applicationID: Layout.applicationID, known: Layout.migrations.count)
      try connection.run("VACUUM INTO ?", path)
    } catch let error as SQLiteError {
      switch error.condition {
      case .full: throw StoreError.full("no space is left for \(path)")
      case .corrupt, .notADatabase: throw StoreError.damaged("\(source) is damaged: \(error.message)")
      case .cannotOpen: throw StoreError.unwritable("\(source) or \(path) cannot be opened")
      default: throw StoreError(error)
      }
    } catch {
      throw StoreError.translating(error)
    }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw StoreError.unwritable("\(path) cannot be opened") }
    defer { Glibc.close(file) }
    guard fsync(file) == 0, chmod(path, 0o600) == 0 else {
      throw StoreError.unwritable("\(path) cannot be made durable")
    }
  }

  /// What a database says of its assets: their checksums, and whether a record claims them.
  package static func assets(ofDatabase path: String) throws -> [(checksum: String, isClaimed: Bool)] {
    do {
      let connection = try Connection(path: path, access: .readOnly)
      return try connection.query(
        "SELECT checksum, EXISTS (SELECT 1 FROM claim c WHERE c.checksum = a.checksum) FROM asset a ORDER BY checksum"
      ) { ($0.text(0), $0.bool(1)) }
    } catch {
      throw StoreError.translating(error)
    }
  }

  /// The entities of some kinds, in the order of kind and key.
  package static func entities(_ kinds: [Entity.Kind], ofDatabase path: String) throws -> [Entity] {
    do {
      let connection = try Connection(path: path, access: .readOnly)
      return try kinds.flatMap { kind in
        try connection.query("SELECT key, owner, value FROM entity WHERE kind = ? ORDER BY key", kind.rawValue) {
          Entity(kind, key: $0.text(0), owner: $0.text(1), value: $0.blob(2))
        }
      }
    } catch {
      throw StoreError.translating(error)
    }
  }

  /// Whether nothing was ever kept in a database for anybody; what the server notes for itself does not count.
  package static func isEmpty(database path: String) throws -> Bool {
    do {
      let connection = try Connection(path: path, access: .readOnly)
      return try connection.first(
        """
        SELECT NOT EXISTS (SELECT 1 FROM database)
          AND NOT EXISTS (SELECT 1 FROM entity WHERE kind <> 'setting')
        """
      ) { $0.bool(0) } ?? true
    } catch {
      throw StoreError.translating(error)
    }
  }

  /// - Throws: `.damaged` if a page or an index is wrong.
  package static func check(database path: String) throws {
    let connection: Connection
    let answer: String?
    do {
      connection = try Connection(path: path, access: .readOnly)
      answer = try connection.first("PRAGMA integrity_check(1)") { $0.text(0) }
    } catch {
      throw StoreError.damaged("\(path) is not a database that can be read")
    }
    guard answer == "ok" else { throw StoreError.damaged("\(path): \(answer ?? "cannot be checked")") }
  }
}

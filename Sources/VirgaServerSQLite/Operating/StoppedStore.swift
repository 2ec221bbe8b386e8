import Glibc
package import VirgaServer
import VirgaSQLite

/// A store in a folder, read beside a server that may be running, or changed while none is.
package enum StoppedStore {
  /// Runs a body on what the store holds now.
  /// - Throws: `StoreError` for what SQLite says.
  package static func read<Value>(_ folder: String, _ body: (any ReadTransaction) throws -> Value) throws -> Value {
    try reading(folder) { connection in
      try connection.transaction(.deferred) {
        let transaction = SQLiteTransaction(connection, isWriter: false)
        transaction.begin()
        defer { transaction.end() }
        return try body(transaction)
      }
    }
  }

  /// Runs a body alone on a store that nobody else uses, and keeps all of its writes or none.
  package static func write<Value>(_ folder: String, _ body: (any WriteTransaction) throws -> Value) throws -> Value {
    try writing(folder) { try write($0, body) }
  }

  private static func write<Value>(
    _ connection: Connection, _ body: (any WriteTransaction) throws -> Value
  ) throws -> Value {
    try connection.transaction(.immediate) {
      let transaction = SQLiteTransaction(connection, isWriter: true)
      transaction.begin()
      let value = try body(transaction)
      transaction.end()
      try transaction.writeBack()
      return value
    }
  }

  /// Removes the files of assets that no row knows, and rewrites the database's file so that nothing deleted is left in
  /// it. Then it runs a body whose writes are durable once all that is.
  package static func giveBackBytes(_ folder: String, finally body: (any WriteTransaction) throws -> Void) throws {
    try writing(folder) { connection in
      let known = try connection.query("SELECT checksum FROM asset ORDER BY checksum") { $0.text(0) }
      let places = Set(known.compactMap(StoreCopy.place(ofChecksum:)))
      for place in StoreCopy.places(in: folder) where !places.contains(place) {
        let path = "\(folder)/\(DataFile.assets)/\(place)"
        guard unlink(path) == 0 || errno == ENOENT else { throw StoreError.unwritable("\(path) cannot be removed") }
      }
      try connection.transaction(.immediate) {
        try connection.execute(
          """
          DELETE FROM word WHERE id NOT IN (
            SELECT type FROM record UNION SELECT created_by FROM record UNION SELECT created_on FROM record
            UNION SELECT modified_by FROM record UNION SELECT modified_on FROM record
            UNION SELECT type FROM version UNION SELECT created_by FROM version UNION SELECT created_on FROM version
            UNION SELECT modified_by FROM version UNION SELECT modified_on FROM version);
          """)
      }
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
      try write(connection, body)
      _ = try connection.query("PRAGMA wal_checkpoint(TRUNCATE)") { $0.int(0) }
    }
  }

  /// Reads the database of a folder.
  static func reading<Value>(_ folder: String, _ body: (Connection) throws -> Value) throws -> Value {
    do {
      let connection = try Connection(path: "\(folder)/\(DataFile.database)", access: .readOnly)
      let known = Layout.migrations.count
      // An earlier version's file is brought to the newest layout first; a server that runs has done that.
      if try connection.checkLayout(applicationID: Layout.applicationID, known: known) < known {
        try SQLiteStore(folder: folder).close()
      }
      return try body(connection)
    } catch {
      throw StoreError.translating(error)
    }
  }

  private static func writing<Value>(_ folder: String, _ body: (Connection) throws -> Value) throws -> Value {
    let lock = try DataFolder(folder)
    defer { lock.unlock() }
    try lock.checkFile()
    do {
      let connection = try Connection(path: lock.databasePath, access: .readWrite)
      try connection.execute("PRAGMA secure_delete = ON; PRAGMA synchronous = FULL")
      return try body(connection)
    } catch {
      throw StoreError.translating(error)
    }
  }
}

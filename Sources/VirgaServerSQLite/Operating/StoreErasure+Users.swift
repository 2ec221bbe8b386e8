import VirgaSQLite
import VirgaServer

extension StoreErasure {
  /// Whether a store knows somebody by a user's record name: as the owner of a database, as who made or changed a record,
  /// by a record of their own, in a share, or by what is listed under them. It may be a user whose account is gone.
  package static func knows(user name: String, folder: String) throws -> Bool {
    // What the erased are called is nobody's name.
    guard name != "_erased" else { return false }
    return try reading(folder) { connection in
      try connection.first(
        """
        SELECT EXISTS (SELECT 1 FROM database WHERE owner = ?1)
          OR EXISTS (SELECT 1 FROM word WHERE text = ?1)
          OR EXISTS (SELECT 1 FROM record WHERE name = ?1)
          OR EXISTS (SELECT 1 FROM entity WHERE substr(owner, -length(?1) - 1) = '/' || ?1)
          OR EXISTS (SELECT 1 FROM record WHERE instr(fields, CAST('"' || ?1 || '"' AS BLOB)))
        """, name
      ) { $0.bool(0) } ?? false
    }
  }

  /// Reads the database of a folder.
  /// - Throws: `StoreError` for what SQLite says.
  static func reading<Value>(_ folder: String, _ body: (Connection) throws -> Value) throws -> Value {
    do {
      let connection = try Connection(path: folder + "/virga.sqlite", access: .readOnly)
      try connection.checkLayout(applicationID: Layout.applicationID, known: Layout.migrations.count)
      return try body(connection)
    } catch {
      throw StoreError.translating(error)
    }
  }
}

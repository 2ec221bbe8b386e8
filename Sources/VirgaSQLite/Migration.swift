/// A step from one layout of a database to the next.
public struct Migration: Sendable {
  /// The layout's number after the step: 1, 2, 3…
  public var number: Int
  /// A script without `BEGIN` and `COMMIT`.
  public var script: String

  /// Makes a step to a version of the schema.
  /// - Parameter number: The version that it leads to, from 1, without gaps.
  /// - Parameter script: SQL, run in one transaction.
  public init(_ number: Int, _ script: String) {
    self.number = number
    self.script = script
  }
}

/// Why a database cannot be brought to the layout that a program knows.
public enum MigrationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A later version of the program wrote it.
  case newerVersion(found: Int, known: Int)
  /// Another program wrote it.
  case foreign(applicationID: Int)

  public var description: String {
    switch self {
    case .newerVersion(let found, let known):
      "a newer version wrote the database (layout \(found), this version knows \(known))"
    case .foreign: "the database belongs to another program"
    }
  }
}

extension Connection {
  /// Brings the database to the last of `migrations`, each in a transaction of its own. The layout's number is kept in
  /// `user_version`, the program's in `application_id`.
  /// - Parameter applicationID: The program's number, 1...2^31−1.
  /// - Throws: `MigrationError` before anything is written, or `SQLiteError`.
  public func migrate(applicationID: Int32, _ migrations: [Migration]) throws {
    precondition(migrations.map(\.number) == Array(1...max(1, migrations.count)), "migrations count from 1")
    let found = try checkLayout(applicationID: applicationID, known: migrations.count)
    for migration in migrations.dropFirst(found) {
      try transaction {
        // Another process may have taken the step while this one waited for the lock.
        if try checkLayout(applicationID: applicationID, known: migrations.count) >= migration.number { return }
        try execute(migration.script)
        try execute("PRAGMA application_id = \(applicationID); PRAGMA user_version = \(migration.number)")
      }
    }
  }

  /// Reads the number of the database's layout, 0 for an empty one, and writes nothing.
  /// - Throws: `MigrationError` if it is not between 0 and `known`, or another program's; or `SQLiteError`.
  @discardableResult
  public func checkLayout(applicationID: Int32, known: Int) throws -> Int {
    let found = try first("PRAGMA user_version") { $0.int(0) } ?? 0
    let writer = try first("PRAGMA application_id") { $0.int(0) } ?? 0
    let isEmpty = try first("SELECT count(*) FROM sqlite_schema") { $0.int(0) } == 0
    if writer != Int(applicationID), writer != 0 || !isEmpty { throw MigrationError.foreign(applicationID: writer) }
    if found > known { throw MigrationError.newerVersion(found: found, known: known) }
    return found
  }
}

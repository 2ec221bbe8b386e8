/// A step from one layout of a database to the next.
public struct Migration: Sendable {
  /// The layout's number after the step: 1, 2, 3…
  public var number: Int
  /// A script without `BEGIN` and `COMMIT`.
  public var script: String
  /// Many rows that are moved after it, with progress.
  public var rows: Rows?

  /// Makes a step to a version of the schema.
  /// - Parameter number: The version that it leads to, from 1, without gaps.
  /// - Parameter script: SQL, run in one transaction.
  /// - Parameter rows: Rows to move after the script, in the same transaction.
  public init(_ number: Int, _ script: String, rows: Rows? = nil) {
    self.number = number
    self.script = script
    self.rows = rows
  }

  /// Rows with numbers from 1 that are moved a portion at a time.
  public struct Rows: Sendable {
    /// A query for how many there are.
    public var count: String
    /// Moves those whose numbers are greater than the first parameter and not greater than the second.
    public var move: String
    /// A script that follows.
    public var end: String

    /// Describes a move by its three statements.
    public init(count: String, move: String, end: String) {
      self.count = count
      self.move = move
      self.end = end
    }
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
  /// - Parameter progress: Is told of a step that moves many rows: its number, and what share of the rows was moved.
  /// - Throws: `MigrationError` before anything is written, or `SQLiteError`.
  public func migrate(
    applicationID: Int32, _ migrations: [Migration], progress: (_ step: Int, _ share: Double) -> Void = { _, _ in }
  ) throws {
    precondition(migrations.map(\.number) == Array(1...max(1, migrations.count)), "migrations count from 1")
    let found = try checkLayout(applicationID: applicationID, known: migrations.count)
    for migration in migrations.dropFirst(found) {
      try transaction {
        // Another process may have taken the step while this one waited for the lock.
        if try checkLayout(applicationID: applicationID, known: migrations.count) >= migration.number { return }
        try execute(migration.script)
        if let rows = migration.rows { try move(rows) { progress(migration.number, $0) } }
        try execute("PRAGMA application_id = \(applicationID); PRAGMA user_version = \(migration.number)")
      }
    }
  }

  private static let rowsPerPortion: Int64 = 10_000

  private func move(_ rows: Migration.Rows, progress: (Double) -> Void) throws {
    let count = try first(rows.count) { $0.int64(0) } ?? 0
    for start in stride(from: 0, to: count, by: Int(Self.rowsPerPortion)) {
      if count > Self.rowsPerPortion { progress(Double(start) / Double(count)) }
      try run(rows.move, start, start + Self.rowsPerPortion)
    }
    try execute(rows.end)
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

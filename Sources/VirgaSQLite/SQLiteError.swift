import CSQLite

/// Why SQLite refused or failed.
public struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  /// What a caller may act on.
  public enum Condition: Hashable, Sendable {
    /// Another connection holds the lock that is needed, for longer than the timeout.
    case busy
    /// No space is left on the disk.
    case full
    /// The file's content contradicts itself.
    case corrupt
    /// The file is not an SQLite database.
    case notADatabase
    /// The file, or the connection, cannot be written.
    case readOnly
    /// The file cannot be opened.
    case cannotOpen
    /// A `UNIQUE`, `NOT NULL`, `CHECK` or foreign key rule was broken.
    case constraint
    /// The disk failed to make written bytes durable; what it holds now is unknown.
    case syncFailed
    /// The disk failed to read or write.
    case ioFailed
    /// Something else; see the code and the message.
    case other
  }

  /// What kind of failure it is.
  public var condition: Condition
  /// SQLite's extended result code.
  public var code: Int32
  /// What SQLite says.
  public var message: String
  /// The statement, without its values.
  public var sql: String?

  /// Makes an error, as a test of an app needs one.
  public init(condition: Condition, code: Int32, message: String, sql: String? = nil) {
    self.condition = condition
    self.code = code
    self.message = message
    self.sql = sql
  }

  /// Reads what the connection says of its last failure.
  init(_ code: Int32, on database: OpaquePointer?, sql: String? = nil) {
    let extended = database.map { sqlite3_extended_errcode($0) } ?? code
    self.code = extended & 0xff == code & 0xff ? extended : code
    message = String(cString: database.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
    self.sql = sql
    let systemError = database.map { sqlite3_system_errno($0) } ?? 0
    condition = Self.condition(of: self.code, systemError: systemError)
  }

  private static func condition(of code: Int32, systemError: Int32) -> Condition {
    switch code & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_FULL: .full
    case SQLITE_CORRUPT: .corrupt
    case SQLITE_NOTADB: .notADatabase
    case SQLITE_READONLY: .readOnly
    case SQLITE_CANTOPEN: systemError == noSpaceLeft ? .full : .cannotOpen
    case SQLITE_CONSTRAINT: .constraint
    case SQLITE_IOERR where code >> 8 == 4 || code >> 8 == 5: .syncFailed  // IOERR_FSYNC, IOERR_DIR_FSYNC
    case SQLITE_IOERR where systemError == noSpaceLeft: .full
    case SQLITE_IOERR: .ioFailed
    default: .other
    }
  }

  /// `ENOSPC`, the same on Linux and on Apple's systems.
  private static let noSpaceLeft: Int32 = 28

  /// What happened, for whoever uses the program. The statement says something only to those who write it.
  public var description: String { "SQLite: \(message) (code \(code))" }

  public var debugDescription: String { description + (sql.map { " in: \($0)" } ?? "") }
}

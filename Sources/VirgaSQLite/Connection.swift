import CSQLite

/// An open SQLite database.
///
/// A connection takes no locks of its own: use it, and all that comes from it, on one thread at a time (in an actor, or
/// inside a `Mutex`). Another thread or process opens another connection.
public final class Connection {
  /// What a connection may do with its file.
  public enum Access: Hashable, Sendable {
    /// Reads a file, also while others write it.
    case readOnly
    /// Reads a file that nobody changes while it is open, and makes no file beside it: for a medium that cannot be
    /// written. What is in a write-ahead log beside the file is not seen.
    case immutable
    /// Reads and writes a file that is there.
    case readWrite
    /// Creates the file if it is missing.
    case readWriteCreate
  }

  /// When a transaction takes the write lock.
  public enum TransactionKind: Hashable, Sendable {
    /// Takes the write lock at once. The right kind for anything that writes: a transaction that starts by reading and
    /// then writes fails, however long the timeout, if another one wrote in between.
    case immediate
    /// Reads a snapshot; the lock comes with the first statement.
    case deferred
  }

  let handle: OpaquePointer
  let counts = ConnectionCounts()
  private var prepared: [String: Statement] = [:]
  private var preparedLiterals: [UnsafePointer<UInt8>: Statement] = [:]

  /// Opens a file; `:memory:` is a database of its own that goes with the connection.
  /// - Parameter busyTimeout: How long a statement waits for another connection's lock before it throws `.busy`.
  public init(path: String, access: Access = .readWriteCreate, busyTimeout: Duration = .seconds(5)) throws(SQLiteError)
  {
    let flags =
      switch access {
      case .readOnly: SQLITE_OPEN_READONLY
      case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .readWrite: SQLITE_OPEN_READWRITE
      case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    Self.countNoMemory
    var opened: OpaquePointer?
    let name = access == .immutable ? "file:" + Self.escaped(path) + "?immutable=1" : path
    let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard let opened, code == SQLITE_OK else {
      let error = SQLiteError(code, on: opened)
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    let (seconds, attoseconds) = busyTimeout.components
    sqlite3_busy_timeout(handle, Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
  }

  deinit { sqlite3_close_v2(handle) }

  /// A path as it stands in an address.
  private static func escaped(_ path: String) -> String {
    let digits = Array("0123456789ABCDEF")
    return path.utf8.map { byte in
      if "%?#".utf8.contains(byte) { return "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])" }
      return String(decoding: [byte], as: UTF8.self)
    }.joined()
  }

  private static let countNoMemory: Void = virga_sqlite_count_no_memory()

  // MARK: Statements

  /// Runs a script of statements without parameters; their rows are passed over.
  public func execute(_ script: String) throws(SQLiteError) {
    let code = sqlite3_exec(handle, script, nil, nil, nil)
    if code != SQLITE_OK { throw SQLiteError(code, on: handle, sql: script) }
  }

  /// A prepared statement for a text; it is kept with the connection and given again for the same text.
  public func statement(_ sql: String) throws(SQLiteError) -> Statement {
    if let known = prepared[sql], !known.isRunning { return known }
    let statement = try prepare(sql)
    if prepared[sql] == nil { prepared[sql] = statement }
    return statement
  }

  /// The same for a literal, found by its address.
  package func statement(literal sql: StaticString) throws(SQLiteError) -> Statement {
    if let known = preparedLiterals[sql.utf8Start], !known.isRunning { return known }
    let statement = try prepare(sql.withUTF8Buffer { String(decoding: $0, as: UTF8.self) })
    if preparedLiterals[sql.utf8Start] == nil { preparedLiterals[sql.utf8Start] = statement }
    return statement
  }

  private func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK else { throw SQLiteError(code, on: handle, sql: sql) }
    guard let prepared else {
      throw SQLiteError(condition: .other, code: SQLITE_MISUSE, message: "no statement in the text", sql: sql)
    }
    return Statement(prepared, counts: counts)
  }

  /// Runs one statement.
  /// - Returns: How many rows it inserted, updated or deleted.
  @discardableResult
  public func run(_ sql: String, _ values: (any Bindable)?...) throws(SQLiteError) -> Int {
    let statement = try statement(sql)
    try statement.bind(values)
    let before = sqlite3_total_changes64(handle)
    try statement.run()
    return sqlite3_total_changes64(handle) == before ? 0 : changedRowCount
  }

  /// Answers what `body` makes of each row. `body` may use the connection.
  public func query<Value>(
    _ sql: String, _ values: (any Bindable)?..., as body: (borrowing Row) throws -> Value
  ) throws -> [Value] {
    let statement = try statement(sql)
    try statement.bind(values)
    var answers: [Value] = []
    try statement.forEach { row in
      answers.append(try body(row))
      return true
    }
    return answers
  }

  /// Answers what `body` makes of the first row; `nil` if there is none.
  public func first<Value>(
    _ sql: String, _ values: (any Bindable)?..., as body: (borrowing Row) throws -> Value
  ) throws -> Value? {
    let statement = try statement(sql)
    try statement.bind(values)
    return try statement.first(body)
  }

  /// The rowid of the last row inserted.
  public var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle) }

  /// How many rows the last `INSERT`, `UPDATE` or `DELETE` changed.
  public var changedRowCount: Int { Int(sqlite3_changes64(handle)) }

  // MARK: Transactions

  /// Whether a transaction is open on this connection.
  public var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Runs `body` in a transaction: all it writes is kept, or nothing if it throws. Within a transaction it becomes a
  /// part of that one which is undone alone.
  public func transaction<Value>(_ kind: TransactionKind = .immediate, _ body: () throws -> Value) throws -> Value {
    if isInTransaction { return try savepoint(body) }
    switch kind {
    case .immediate: try statement(literal: "BEGIN IMMEDIATE").run()
    case .deferred: try statement(literal: "BEGIN").run()
    }
    do {
      let value = try body()
      try statement(literal: "COMMIT").run()
      return value
    } catch {
      try abandon()
      throw error
    }
  }

  private func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
    try statement(literal: "SAVEPOINT part").run()
    do {
      let value = try body()
      try statement(literal: "RELEASE part").run()
      return value
    } catch {
      // Some failures, such as a full disk, end the whole transaction by themselves.
      if isInTransaction {
        try statement(literal: "ROLLBACK TO part").run()
        try statement(literal: "RELEASE part").run()
      }
      throw error
    }
  }

  /// Undoes the transaction, if there still is one.
  package func abandon() throws(SQLiteError) {
    if isInTransaction { try statement(literal: "ROLLBACK").run() }
  }
}

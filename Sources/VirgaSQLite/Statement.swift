import CSQLite

/// A prepared statement. Bind its parameters, which count from 1, then run it.
///
/// It belongs to its connection's thread, as the connection does. Each way of running it resets it at the end, also on
/// an error: a statement that is left standing on a row would hold its snapshot, and the write-ahead log could not be
/// emptied.
public final class Statement {
  private let handle: OpaquePointer
  private let counts: ConnectionCounts

  init(_ handle: OpaquePointer, counts: ConnectionCounts) {
    self.handle = handle
    self.counts = counts
  }

  deinit { sqlite3_finalize(handle) }

  /// Whether it stands on a row of a run that has not ended.
  var isRunning: Bool { sqlite3_stmt_busy(handle) != 0 }

  // MARK: Parameters

  /// Sets the parameter of that number, from 1, to an integer.
  public func bind(_ index: Int, _ value: Int64) throws(SQLiteError) {
    try check(sqlite3_bind_int64(handle, Int32(index), value))
  }

  /// Sets the parameter of that number, from 1, to a floating-point number.
  public func bind(_ index: Int, _ value: Double) throws(SQLiteError) {
    try check(sqlite3_bind_double(handle, Int32(index), value))
  }

  /// Sets the parameter of that number, from 1, to a text, which is copied.
  public func bind(_ index: Int, _ value: String) throws(SQLiteError) {
    var value = value
    let code = value.withUTF8 { bytes in
      // A null pointer, which an empty buffer may have, would bind NULL.
      bytes.isEmpty
        ? sqlite3_bind_text(handle, Int32(index), "", 0, Self.transient)
        : sqlite3_bind_text64(
          handle, Int32(index), bytes.baseAddress, UInt64(bytes.count), Self.transient, UInt8(SQLITE_UTF8))
    }
    try check(code)
  }

  /// Sets the parameter of that number, from 1, to bytes, which are copied.
  public func bind(_ index: Int, _ value: [UInt8]) throws(SQLiteError) {
    let code = value.withUnsafeBytes { bytes in
      bytes.isEmpty
        ? sqlite3_bind_zeroblob(handle, Int32(index), 0)
        : sqlite3_bind_blob64(handle, Int32(index), bytes.baseAddress, UInt64(bytes.count), Self.transient)
    }
    try check(code)
  }

  /// Sets the parameter of that number, from 1, to NULL.
  public func bindNull(_ index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_null(handle, Int32(index)))
  }

  /// Sets the parameter of that number, from 1, to a text, or to NULL for `nil`.
  public func bind(_ index: Int, _ value: String?) throws(SQLiteError) {
    if let value { try bind(index, value) } else { try bindNull(index) }
  }

  /// Binds all parameters in their order.
  public func bind(_ values: [(any Bindable)?]) throws(SQLiteError) {
    precondition(values.count == Int(sqlite3_bind_parameter_count(handle)), "a value for each parameter")
    for (offset, value) in values.enumerated() {
      if let value { try value.bind(to: self, at: offset + 1) } else { try bindNull(offset + 1) }
    }
  }

  // MARK: Running

  /// Runs to the end; rows are passed over.
  public func run() throws(SQLiteError) {
    begin()
    while try step() {}
  }

  /// Answers what `body` makes of the first row; `nil` if there is none.
  public func first<Value>(_ body: (borrowing Row) throws -> Value) throws -> Value? {
    begin()
    guard try step() else { return nil }
    defer { sqlite3_reset(handle) }
    return try body(Row(handle))
  }

  /// Calls `body` for each row until it answers false.
  public func forEach(_ body: (borrowing Row) throws -> Bool) throws {
    begin()
    defer { sqlite3_reset(handle) }
    while try step() {
      if try !body(Row(handle)) { return }
    }
  }

  private func begin() {
    precondition(!isRunning, "a statement runs once at a time")
    counts.statements &+= 1
  }

  /// Whether there is a row; resets the statement otherwise.
  private func step() throws(SQLiteError) -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW {
      counts.rows &+= 1
      return true
    }
    if code == SQLITE_DONE {
      sqlite3_reset(handle)
      return false
    }
    let error = failure(code)
    sqlite3_reset(handle)
    throw error
  }

  private func check(_ code: Int32) throws(SQLiteError) {
    if code != SQLITE_OK { throw failure(code) }
  }

  private func failure(_ code: Int32) -> SQLiteError {
    SQLiteError(code, on: sqlite3_db_handle(handle), sql: sqlite3_sql(handle).map { String(cString: $0) })
  }

  /// `SQLITE_TRANSIENT`: SQLite copies the bytes before the call returns.
  private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}

/// What a connection has done so far. It lives on one thread, with its connection.
final class ConnectionCounts {
  var statements = 0
  var rows = 0
  /// Pages in the write-ahead log after the last commit.
  var walPages = 0
}

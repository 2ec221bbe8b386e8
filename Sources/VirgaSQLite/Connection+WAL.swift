import CSQLite

extension Connection {
  /// Statements run since the connection was opened, and rows that they gave.
  package var statementCount: Int { counts.statements }
  package var rowCount: Int { counts.rows }

  /// Rows inserted, updated and deleted since the connection was opened, also by what was undone.
  package var totalChangeCount: Int { Int(sqlite3_total_changes64(handle)) }

  /// Pages in the write-ahead log after this connection's last commit, once `ownCheckpoints` was called.
  package var walPageCount: Int { counts.walPages }

  /// Ends SQLite's own checkpoints, which would run inside a commit: the caller checkpoints instead.
  package func ownCheckpoints() {
    let hook: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
      context, _, _, pages in
      if let context { Unmanaged<ConnectionCounts>.fromOpaque(context).takeUnretainedValue().walPages = Int(pages) }
      return SQLITE_OK
    }
    // The counts live as long as the connection, which alone calls the hook.
    sqlite3_wal_hook(handle, hook, Unmanaged.passUnretained(counts).toOpaque())
  }

  /// Moves pages from the write-ahead log into the file as far as no reader is in the way, waiting for nobody.
  /// - Returns: How many pages the log holds, and how many of them were moved; both 0 if another one checkpoints.
  @discardableResult
  package func checkpoint() throws(SQLiteError) -> (pages: Int, moved: Int) {
    var pages: Int32 = 0
    var moved: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &moved)
    if code & 0xff == SQLITE_BUSY { return (0, 0) }
    if code != SQLITE_OK { throw SQLiteError(code, on: handle, sql: "checkpoint") }
    return (Int(pages), Int(moved))
  }
}

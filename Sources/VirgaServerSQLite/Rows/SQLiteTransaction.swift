import VirgaModel
import VirgaSQLite
import VirgaServer

/// The verbs on one connection: the writer's, or a reader's that only reads.
///
/// SQL stands next to what binds it. A constraint that breaks means that a caller broke the store's contract.
final class SQLiteTransaction: WriteTransaction {
  let connection: Connection
  let isWriter: Bool
  var words = StringTable()
  var cache = WriterCache()
  /// The zone that a read asked for last: in its snapshot it stays the same.
  var zoneOfRead: ZoneRow?
  private var isOpen = false

  init(_ connection: Connection, isWriter: Bool) {
    self.connection = connection
    self.isWriter = isWriter
  }

  /// Begins a read, or a job of the writer's.
  func begin() {
    isOpen = true
    zoneOfRead = nil
    if isWriter {
      cache.databases.beginJob()
      cache.zones.beginJob()
      cache.tallies.beginJob()
      cache.outbox.beginJob()
    }
  }

  func end() { isOpen = false }

  /// After the undoing of a job: what was remembered of it may never have been.
  /// - Parameter hasWritten: Whether it wrote to the file.
  func undoJob(hasWritten: Bool) { undoCaches(to: (0, 0, 0, 0), hasWritten: hasWritten) }

  private func undoCaches(to counts: (databases: Int, zones: Int, tallies: Int, outbox: Int), hasWritten: Bool) {
    cache.databases.undo(to: counts.databases, hasWritten: hasWritten)
    cache.zones.undo(to: counts.zones, hasWritten: hasWritten)
    cache.tallies.undo(to: counts.tallies, hasWritten: hasWritten)
    cache.outbox.undo(to: counts.outbox, hasWritten: hasWritten)
    guard hasWritten else { return }
    words = StringTable()
    cache.indexes = [:]
    cache.recordTypes = [:]
    cache.lists = EntityLists()
  }

  /// After the undoing of a whole group.
  func dropCaches() {
    words = StringTable()
    cache = WriterCache()
  }

  /// Writes the rows that the group's jobs changed; before its commit.
  func writeBack() throws {
    isOpen = true
    defer { isOpen = false }
    try writeChangedRows()
    try writeOutbox()
    cache.databases.noteWritten()
    cache.zones.noteWritten()
    cache.tallies.noteWritten()
  }

  func attempt<Value>(_ part: () throws -> Value) throws -> Value {
    let counts = (
      cache.databases.changeCount, cache.zones.changeCount, cache.tallies.changeCount, cache.outbox.changeCount
    )
    let changes = connection.totalChangeCount
    try statement("SAVEPOINT part").run()
    do {
      let value = try part()
      try statement("RELEASE part").run()
      return value
    } catch {
      // A full disk and the like end the whole transaction; the job then fails, whatever its body does.
      guard connection.isInTransaction else { throw error }
      undoCaches(to: counts, hasWritten: connection.totalChangeCount != changes)
      try statement("ROLLBACK TO part").run()
      try statement("RELEASE part").run()
      throw error
    }
  }

  func statement(_ sql: StaticString) throws(SQLiteError) -> Statement {
    precondition(isOpen, "the transaction has ended")
    return try connection.statement(literal: sql)
  }
}

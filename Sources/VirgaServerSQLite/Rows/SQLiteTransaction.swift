import VirgaModel
import VirgaSQLite
import VirgaServer

/// The verbs on one connection: the writer's, or a reader's that only reads.
///
/// SQL stands next to what binds it. A constraint that breaks means that a caller broke the store's contract.
final class SQLiteTransaction: WriteTransaction {
  let connection: Connection
  let isWriter: Bool
  var words = WordCache()
  var cache = WriterCache()
  private var isOpen = false

  init(_ connection: Connection, isWriter: Bool) {
    self.connection = connection
    self.isWriter = isWriter
  }

  func begin() { isOpen = true }

  func end() { isOpen = false }

  /// After an undo: what was remembered may never have been.
  func dropCaches() {
    words = WordCache()
    cache = WriterCache()
  }

  func statement(_ sql: StaticString) throws(SQLiteError) -> Statement {
    precondition(isOpen, "the transaction has ended")
    return try connection.statement(literal: sql)
  }
}

/// Rows that the writer need not read again, for nobody else writes.
struct WriterCache {
  struct ZoneKey: Hashable {
    var database: DatabaseKey
    var name: ZoneName
  }

  private static let rowsMax = 4_096

  var databases: [DatabaseKey: DatabaseRow] = [:]
  var zones: [ZoneKey: ZoneRow] = [:]
  /// The indexes of a zone, by its number.
  var indexes: [Int64: [RecordIndex]] = [:]
  /// What was read from the entities of record types, by their keys.
  var recordTypes: [String: any Sendable] = [:]

  /// Keeps the caches from growing without end: a full one begins anew.
  mutating func makeRoom() {
    if databases.count >= Self.rowsMax { databases = [:] }
    if zones.count >= Self.rowsMax { zones = [:] }
    if indexes.count >= Self.rowsMax { indexes = [:] }
    if recordTypes.count >= Self.rowsMax { recordTypes = [:] }
  }
}

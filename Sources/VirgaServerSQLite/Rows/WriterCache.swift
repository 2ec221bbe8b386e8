import VirgaModel
import VirgaSQLite
import VirgaServer

/// What the writer need not read again. All of it assumes that nobody else writes to the file: a store that several
/// processes write needs another way to know that a row did not change.
struct WriterCache {
  private static let rowsMax = 4_096

  var databases = RowCache<DatabaseKey, DatabaseRow>()
  var zones = RowCache<ZoneAddress, ZoneRow>()
  var tallies = RowCache<DatabaseKey, DatabaseTally>()
  /// The indexes of a zone, by its number.
  var indexes: [Int64: [RecordIndex]] = [:]
  /// What was read from the entities of record types, by their keys.
  var recordTypes: [String: any Sendable] = [:]
  /// What was read from the entities that every save asks for.
  var lists = EntityLists()
  var outbox = Outbox()

  /// Keeps these caches from growing without end: a full one begins anew.
  mutating func makeRoom() {
    if indexes.count >= Self.rowsMax { indexes = [:] }
    if recordTypes.count >= Self.rowsMax { recordTypes = [:] }
  }
}

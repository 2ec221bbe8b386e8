import VirgaModel
import VirgaWire

/// Work in one zone, which is one change in its database's feed. What belongs to every such work is done here, so that no
/// caller forgets a part: numbers are taken, bytes are counted, both rows are written and subscribers are told.
struct ZoneWork {
  let transaction: any WriteTransaction
  /// As the work leaves it. What its records take more or less counts in the database too.
  var row: ZoneRow
  private var database: DatabaseRow
  private let usedBytes: Int64

  /// Takes the next number of the database's feed.
  init(on row: ZoneRow, in transaction: any WriteTransaction, context: inout CallContext) throws {
    try self.init(on: row, row.name, of: row.database, in: transaction, context: &context)
  }

  /// - Parameter known: The zone's row. A default zone may have none; it is made, so that records can be put into it.
  init(
    on known: ZoneRow?, _ name: ZoneName, of key: DatabaseKey, in transaction: any WriteTransaction,
    context: inout CallContext
  ) throws {
    self.transaction = transaction
    database = try transaction.openDatabase(key, context: &context)
    database.sequence += 1
    row = known ?? ZoneRow(database: key, name: name, incarnation: context.makeIncarnation())
    row.databaseSequence = database.sequence
    usedBytes = row.usedBytes
    if known == nil {
      try transaction.put(database)
      try transaction.put(&row)
    }
  }

  /// The number of the next change in the zone.
  mutating func nextSequence() -> Int64 {
    row.sequence += 1
    return row.sequence
  }

  /// Writes both rows. For those who tell of several zones at once; all others `finish`.
  mutating func write() throws {
    database.usedBytes += row.usedBytes - usedBytes
    try transaction.put(database)
    try transaction.put(&row)
  }

  /// Writes both rows and tells subscribers.
  /// - Parameter events: What happened to records.
  mutating func finish(_ events: [RecordEvent] = [], context: inout CallContext) throws {
    try write()
    let id = ZoneID(row.name, owner: row.database.owner ?? .defaultOwner)
    try notifySubscribers(of: id, in: row.database, events: events, transaction: transaction, context: &context)
  }
}

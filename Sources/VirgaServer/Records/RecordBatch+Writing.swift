import VirgaModel
import VirgaWire

extension RecordBatch {
  /// Nothing is written: operations that would have succeeded fail with the others.
  func abandon() {
    for entry in entries {
      if case .failure = entry.outcome { continue }
      entry.outcome = .failure(RecordFailure(entry.name, ServiceError(.atomicError, Reason.atomicFailure)))
    }
  }

  mutating func write(context: inout CallContext) throws {
    let hasWork = entries.contains {
      switch $0.outcome {
      case .save, .delete, .leave: true
      case .nothing, .failure: false
      }
    }
    guard hasWork else { return }
    var (database, row) = try open(context: &context)

    let sharing = try ShareConsequences(of: self, row: row)
    let addedBytes = try countAddedBytes()
    let usedBytes = row.usedBytes
    for entry in entries { try write(entry, row: &row, context: context) }
    for name in cascaded {
      guard let record = try transaction.record(name, in: row), !record.isDeleted else { continue }
      try bury(record, row: &row, context: context)
    }
    for record in endedShares { try bury(record, row: &row, context: context) }
    for record in implied.values.sorted(by: { $0.name < $1.name }) {
      try writeImplied(record, row: &row)
    }
    try writeAddresses(startingAt: row.sequence)
    try sharing?.carry(of: self, row: &row, context: &context)
    try schemas.save(to: transaction)
    row.usedBytes += addedBytes
    database.usedBytes += row.usedBytes - usedBytes
    try transaction.put(database)
    try transaction.put(&row)
    zone.row = row
    try notifySubscribers(
      of: zone.id, in: zone.database, events: events, transaction: transaction, context: &context)
  }

  /// The addresses of the shares that begin, in place of those that ended shares of the same roots had.
  private func writeAddresses(startingAt start: Int64) throws {
    if newAddresses.isEmpty { return }
    let roots = Set(newAddresses.map(\.root))
    for old in try transaction.shareAddresses(of: zone.id.name, in: zone.database) where roots.contains(old.root) {
      try transaction.removeEntity(.shareAddress, key: old.entity.key)
    }
    for var address in newAddresses {
      address.start = start
      try transaction.put(address.entity)
    }
  }

  private mutating func open(context: inout CallContext) throws -> (database: DatabaseRow, zone: ZoneRow) {
    var database = try transaction.openDatabase(zone.database, context: &context)
    database.sequence += 1
    if zone.row == nil { try transaction.put(database) }
    var row = zone.row ?? ZoneRow(database: zone.database, name: zone.id.name, incarnation: context.makeIncarnation())
    row.databaseSequence = database.sequence
    // Records are put under the row's number, which a new row gets here.
    if row.id == 0 { try transaction.put(&row) }
    return (database, row)
  }

  private mutating func write(_ entry: Entry, row: inout ZoneRow, context: CallContext) throws {
    switch entry.outcome {
    case .save(let save):
      row.sequence += 1
      save.record.sequence = row.sequence
      try transaction.put(save.record, in: row, replacing: save.previous, keepsVersion: keepsVersions)
      for receipt in save.receipts {
        try transaction.put(receipt.spent.entity)
        try transaction.removeUnclaimed(receipt)
      }
      events.append(RecordEvent(save.isNew ? .created : .updated, save.record))
    case .delete(let record): try bury(record, row: &row, context: context)
    case .leave(let record):
      var state = try ShareState(record)
      if let user = access.user {
        state.remove(user)
        _ = try transaction.put(state, of: record, by: user, row: &row, context: context)
      }
    case .nothing, .failure: break
    }
  }

  /// A record whose own content stays, with the share that it now has or has no more.
  private func writeImplied(_ record: StoredRecord, row: inout ZoneRow) throws {
    guard let live = try transaction.record(record.name, in: row), !live.isDeleted else { return }
    row.sequence += 1
    var next = record
    next.sequence = row.sequence
    try transaction.put(next, in: row, replacing: live, keepsVersion: keepsVersions)
  }

  private mutating func bury(_ record: StoredRecord, row: inout ZoneRow, context: CallContext) throws {
    row.sequence += 1
    let modified = context.stamp(by: access.user ?? .defaultOwner, after: record.modified)
    let tombstone = record.tombstone(sequence: row.sequence, modified: modified)
    try transaction.put(tombstone, in: row, replacing: record, keepsVersion: keepsVersions)
    events.append(RecordEvent(.deleted, record))
  }

  /// One result for each operation, in their order.
  func results(context: CallContext) throws -> [RecordResult] {
    func view(_ desiredKeys: [FieldName]?) -> RecordView {
      RecordView(
        zone: zone, desiredKeys: desiredKeys, numbersAsStrings: request.numbersAsStrings, context: context)
    }
    let shared = view(request.desiredKeys)
    return try entries.map { entry in
      switch entry.outcome {
      case .save(let save):
        .record(try (entry.operation.desiredKeys.map { view($0) } ?? shared).envelope(of: save.record))
      case .delete, .leave, .nothing: .deleted(entry.name, zone: nil, type: nil)
      case .failure(let failure): .failure(failure)
      }
    }
  }
}

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

  mutating func write(in transaction: any WriteTransaction, context: inout CallContext) throws {
    let hasWork = entries.contains {
      switch $0.outcome {
      case .save, .delete, .leave: true
      case .nothing, .failure: false
      }
    }
    guard hasWork else { return }
    var work = try ZoneWork(on: zone.row, zone.id.name, of: zone.database, in: transaction, context: &context)
    let sharing = try ShareConsequences(of: self, row: work.row)
    work.row.usedBytes += try countAddedBytes()
    for entry in entries { try write(entry, &work, context: context) }
    for name in cascaded {
      guard let record = try transaction.record(name, in: work.row), !record.isDeleted else { continue }
      try writeTombstone(record, &work, context: context)
    }
    for record in endedShares { try writeTombstone(record, &work, context: context) }
    for record in implied.values.sorted(by: { $0.name < $1.name }) { try writeImplied(record, &work) }
    try writeAddresses(startingAt: work.row.sequence, in: transaction)
    try sharing?.carry(of: self, row: &work.row, in: transaction, context: &context)
    try schemas.save(to: transaction)
    try forgetDeletions(&work.row, in: work.transaction)
    try work.finish(events, context: &context)
    zone.row = work.row
  }

  /// The addresses of the shares that begin, in place of those that ended shares of the same roots had.
  private func writeAddresses(startingAt start: Int64, in transaction: any WriteTransaction) throws {
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

  private mutating func write(_ entry: Entry, _ work: inout ZoneWork, context: CallContext) throws {
    let transaction = work.transaction
    switch entry.outcome {
    case .save(let save):
      save.record.sequence = work.nextSequence()
      try transaction.put(save.record, in: work.row, replacing: save.previous, keepsVersion: keepsVersions)
      for receipt in save.receipts {
        try transaction.put(receipt.spent.entity)
        try transaction.removeUnreferenced(receipt)
      }
      events.append(RecordEvent(save.isNew ? .created : .updated, save.record))
    case .delete(let record): try writeTombstone(record, &work, context: context)
    case .leave(let record):
      var state = try ShareState(record)
      if let user = access.user {
        state.remove(user)
        _ = try transaction.put(state, of: record, by: user, row: &work.row, context: context)
      }
    case .nothing, .failure: break
    }
  }

  /// A record whose own content stays, with the share that it now has or has no more.
  private func writeImplied(_ record: StoredRecord, _ work: inout ZoneWork) throws {
    guard let live = try transaction.record(record.name, in: work.row), !live.isDeleted else { return }
    var next = record
    next.sequence = work.nextSequence()
    try work.transaction.put(next, in: work.row, replacing: live, keepsVersion: keepsVersions)
  }

  private mutating func writeTombstone(_ record: StoredRecord, _ work: inout ZoneWork, context: CallContext) throws {
    let modified = context.stamp(by: access.user ?? .defaultOwner, after: record.modified)
    let tombstone = record.tombstone(sequence: work.nextSequence(), modified: modified)
    try work.transaction.put(tombstone, in: work.row, replacing: record, keepsVersion: keepsVersions)
    buried += 1
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

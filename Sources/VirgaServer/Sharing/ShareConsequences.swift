import VirgaModel
import VirgaWire

/// What a batch does to those with whom the zone's records are shared: what lay where is noted before it is written,
/// and told afterwards.
struct ShareConsequences {
  /// The shares that changed and deleted records belonged to before.
  private var before: [RecordName: RecordName] = [:]
  private var deleted: [RecordName] = []
  private let isWholeZone: Bool

  /// `nil` if nothing of the zone is or will be shared.
  init?(of batch: RecordBatch, row: ZoneRow) throws {
    let begins = batch.entries.contains { if case .save(let save) = $0.outcome { save.beginsShare } else { false } }
    if row.sharing == .none && !begins { return nil }
    isWholeZone = row.sharing == .wholeZone
    guard row.sharing == .hierarchies else { return }
    let tree = ShareTree(of: row, in: batch.transaction)
    for entry in batch.entries {
      switch entry.outcome {
      case .save(let save):
        guard let old = save.previous, !old.isDeleted, old.type != .share else { continue }
        before[entry.name] = try tree.share(of: old)
      case .delete(let old) where old.type != .share:
        before[entry.name] = try tree.share(of: old)
        deleted.append(entry.name)
      case .delete, .leave, .nothing, .failure: continue
      }
    }
    for name in batch.cascaded {
      before[name] = try tree.share(ofRecordNamed: name)
      deleted.append(name)
    }
  }

  /// Tells the participants' views of the zone. All records have been written.
  func carry(
    of batch: RecordBatch, row: inout ZoneRow, in transaction: any WriteTransaction, context: inout CallContext
  ) throws {
    var book = ShareRegistry(transaction)
    let ended = batch.deletedShares
    var states: [RecordName: ShareState] = [:]
    for share in ended { states[share.name] = try ShareState(share) }
    for (name, noted) in try touchedShares(by: batch, row: row) {
      if states[name] == nil, let share = try transaction.liveShare(name, in: row) {
        states[name] = try ShareState(share)
      }
      if let state = states[name] { try book.touch(state, noting: noted, in: row) }
    }
    for entry in batch.entries {
      switch entry.outcome {
      case .save(let save) where save.record.type == .share && !save.isNew:
        guard let old = save.previous else { continue }
        let members = Set(try ShareState(save.record).members)
        for user in try ShareState(old).members where !members.contains(user) {
          try book.leave(user, save.record, in: row)
        }
      case .leave(let share):
        if let user = batch.access.user { try book.leave(user, share, in: row) }
      default: continue
      }
    }
    for share in ended { try book.end(share, in: row) }
    try setSharing(of: &row, batch)
    try book.write(row: &row, events: batch.events, context: &context)
  }

  /// The shares with new or changed records, in the order of their names, with the records to be noted.
  private func touchedShares(
    by batch: RecordBatch, row: ZoneRow
  ) throws -> [(RecordName, [RecordName])] {
    if isWholeZone { return [(.zoneShare, [])] }
    var touched: [RecordName: [RecordName]] = [:]
    for name in deleted { if let share = before[name] { touched[share, default: []].append(name) } }
    let tree = ShareTree(of: row, in: batch.transaction)
    var moved: [RecordName: RecordName?] = [:]
    for case .save(let save) in batch.entries.lazy.map(\.outcome) where !save.beginsShare {
      let after = try tree.share(of: save.record)
      if let after { touched[after, default: []] += [] }
      guard !save.isNew, save.record.type != .share, after != before[save.record.name] else { continue }
      moved.updateValue(after, forKey: save.record.name)
    }
    let movedNames = Set(moved.keys)
    for (name, after) in moved.sorted(by: { $0.key < $1.key }) {
      let limit = Limits.shareNotesMax
      // What lies below another that moves is noted with that one.
      let found = try batch.transaction.descendants(of: [name], in: row, atMost: limit, stoppingAt: movedNames)
      guard let below = found else {
        throw ServiceError.limitExceeded(
          "records that enter or leave a share together", observed: limit + 1, limit: limit)
      }
      if let old = before[name] { touched[old, default: []] += [name] + below }
      if let after { touched[after, default: []] += below }
    }
    for case .leave(let share) in batch.entries.lazy.map(\.outcome) { touched[share.name, default: []] += [] }
    return touched.sorted { $0.key < $1.key }
  }

  private func setSharing(of row: inout ZoneRow, _ batch: RecordBatch) throws {
    for address in batch.newAddresses { row.sharing = address.root == nil ? .wholeZone : .hierarchies }
    if !batch.deletedShares.isEmpty, batch.newAddresses.isEmpty, try batch.transaction.liveShares(of: row).isEmpty {
      row.sharing = .none
    }
  }
}

extension RecordBatch {
  /// The shares' records that are gone.
  var deletedShares: [StoredRecord] {
    entries.compactMap {
      if case .delete(let record) = $0.outcome, record.type == .share { record } else { nil }
    } + endedShares
  }
}

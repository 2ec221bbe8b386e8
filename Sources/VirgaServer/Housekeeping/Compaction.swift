package import VirgaModel

/// A piece of what clears a store of what is past its age: small enough that saves which wait for it do not wait long.
package enum CompactionStep: Hashable, Sendable {
  /// Tombstones, whose zones then refuse older tokens, replaced versions, and notes to participants.
  case zones([ZoneAddress])
  /// Records that went with their zones.
  case removedRecords
  /// Entries of indexes that were taken away.
  case removedIndexes
  /// Space of the store's file that nothing uses.
  case space
  /// Receipts by their keys.
  case receipts([String])
  /// All receipts that expired before a day are gone.
  case receiptsGone(before: Int64)
}

extension Service {
  private static let zonesPerStep = 16
  private static let rowsPerStep = 500
  private static let recordBytesPerStep = 1 << 20
  private static let spaceBytesPerStep = 512 << 10
  private static let firstReceiptDay = "receipts.firstDay"

  /// What there is to be forgotten; each step is to be performed in a write of its own, in this order.
  package func compactionSteps(in transaction: any ReadTransaction, now: Timestamp) throws -> [CompactionStep] {
    let zones = try transaction.zonesToCompact(
      tombstonesBefore: now - Limits.tombstoneAge, versionsBefore: now - Limits.versionAge)
    return zones.portions(of: Self.zonesPerStep).map(CompactionStep.zones)
      + [.removedRecords, .removedIndexes] + (try receiptSteps(in: transaction, now: now)) + [.space]
  }

  /// - Returns: Whether the step is to be performed again, since there was more than it does at once.
  package func perform(
    _ step: CompactionStep, in transaction: any WriteTransaction, now: Timestamp
  ) throws -> Bool {
    switch step {
    case .zones(let keys):
      var isMoreLikely = false
      for key in keys {
        guard let zone = try transaction.zone(key.name, in: key.database) else { continue }
        if try compact(zone, in: transaction, now: now) { isMoreLikely = true }
      }
      return isMoreLikely
    case .removedRecords:
      return try transaction.clearRemovedRecords(limit: Self.rowsPerStep, bytes: Self.recordBytesPerStep)
    case .removedIndexes: return try transaction.clearRemovedIndexes(limit: Limits.entriesPerIndexStepMax)
    case .space: return try transaction.releaseSpace(bytes: Self.spaceBytesPerStep)
    case .receipts(let keys):
      for key in keys {
        if let receipt = try transaction.entity(.receipt, key: key).map(AssetReceiptRecord.init), !receipt.isSpent {
          try transaction.removeUnreferenced(receipt)
        }
        try transaction.removeEntity(.receipt, key: key)
      }
      return false
    case .receiptsGone(let day):
      try transaction.put(Entity(.setting, key: Self.firstReceiptDay, value: Array(String(day).utf8)))
      return false
    }
  }

  private func compact(_ zone: ZoneRow, in transaction: any WriteTransaction, now: Timestamp) throws -> Bool {
    try dropVisibilityChanges(of: zone, in: transaction)
    // Before its tombstones, each of which takes what is left of its record's versions along.
    let versions = try transaction.dropVersions(in: zone, before: now - Limits.versionAge, limit: Self.rowsPerStep)
    if versions > 0 { return true }
    let moment = now - Limits.tombstoneAge
    let dropped = try transaction.dropTombstones(in: zone, before: moment, limit: Self.rowsPerStep)
    guard let last = dropped.max() else { return false }
    if last > zone.lowWaterMark {
      var zone = zone
      zone.lowWaterMark = last
      try transaction.put(&zone)
    }
    return dropped.count == Self.rowsPerStep
  }

  /// Drops notes to participants whose every name a later note has too, or that no token is old enough to need.
  private func dropVisibilityChanges(of row: ZoneRow, in transaction: any WriteTransaction) throws {
    guard row.sharing != .none, !row.isDeleted else { return }
    let members = try transaction.liveShares(of: row).reduce(into: Set<UserName>()) { members, share in
      members.formUnion(try ShareState(share).members)
    }
    for user in members.sorted() {
      guard let zone = try transaction.sharedZone(row.name, in: row.database, for: user) else { continue }
      let notes = try transaction.entities(.visibilityChange, owner: zone.key).map(VisibilityChange.init)
      var later: Set<RecordName> = []
      for note in notes.sorted(by: { $0.first > $1.first }) {
        let isPast = note.first + Int64(note.names.count) <= row.lowWaterMark
        if isPast || note.names.allSatisfy(later.contains) {
          try transaction.removeEntity(.visibilityChange, key: note.entity.key)
        }
        later.formUnion(note.names)
      }
    }
  }

  /// Receipts are listed under the day on which they expire; a setting remembers the first day not yet gone through.
  private func receiptSteps(in transaction: any ReadTransaction, now: Timestamp) throws -> [CompactionStep] {
    let today = AssetReceiptRecord.day(of: now)
    let known = try transaction.entity(.setting, key: Self.firstReceiptDay)
      .flatMap { Int64(String(decoding: $0.value, as: UTF8.self)) }
    // Whoever never compacted has no receipts older than this.
    let first = known ?? today - 400
    guard first < today else { return [] }
    var keys: [String] = []
    for day in first..<today {
      keys += try transaction.entities(.receipt, owner: AssetReceiptRecord.owner(day: day)).map(\.key)
    }
    return keys.portions(of: Self.rowsPerStep).map(CompactionStep.receipts) + [.receiptsGone(before: today)]
  }

  /// Drops the rows of assets that no version of a record claims and that nobody can claim any more.
  /// - Returns: Their checksums, so that the caller deletes the bytes once the transaction has committed.
  package func collectAssets(
    in transaction: any WriteTransaction, now: Timestamp, limit: Int
  ) throws -> [String] {
    let rows = try transaction.unreferencedAssets(before: now - Limits.unreferencedAssetAge, limit: limit)
    for row in rows { try transaction.removeAsset(row.checksum) }
    return rows.map(\.checksum)
  }
}

extension Array {
  fileprivate func portions(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}

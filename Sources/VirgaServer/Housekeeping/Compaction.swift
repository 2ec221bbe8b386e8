package import VirgaModel

extension Service {
  /// Forgets what is past its age: tombstones, whose zones then refuse older tokens, replaced versions, and receipts.
  package func compact(in transaction: any WriteTransaction, now: Timestamp) throws {
    for database in try transaction.databases() {
      for var zone in try transaction.allZones(of: database.key) {
        try dropNotes(of: zone, in: transaction)
        let dropped = try transaction.dropTombstones(in: zone, before: now - Limits.tombstoneAge)
        guard let dropped, dropped > zone.floor else { continue }
        zone.floor = dropped
        try transaction.put(&zone)
      }
    }
    try transaction.dropVersions(before: now - Limits.versionAge, keeping: Limits.versionsPerRecordMax)
    try dropReceipts(in: transaction, now: now)
  }

  /// Drops notes to participants whose every name a later note has too, or that no token is old enough to need.
  private func dropNotes(of row: ZoneRow, in transaction: any WriteTransaction) throws {
    guard row.sharing != .none, !row.isDeleted else { return }
    let members = try transaction.liveShares(of: row).reduce(into: Set<UserName>()) { members, share in
      members.formUnion(try ShareState(share).members)
    }
    for user in members.sorted() {
      guard let zone = try transaction.sharedZone(row.name, in: row.database, for: user) else { continue }
      let notes = try transaction.entities(.shareNote, owner: zone.key).map(ShareNote.init)
      var later: Set<RecordName> = []
      for note in notes.sorted(by: { $0.first > $1.first }) {
        let isPast = note.first + Int64(note.names.count) <= row.floor
        if isPast || note.names.allSatisfy(later.contains) {
          try transaction.removeEntity(.shareNote, key: note.entity.key)
        }
        later.formUnion(note.names)
      }
    }
  }

  /// Receipts are listed under the day on which they expire; a setting remembers the first day not yet gone through.
  private func dropReceipts(in transaction: any WriteTransaction, now: Timestamp) throws {
    let key = "receipts.firstDay"
    let today = AssetReceiptRecord.day(of: now)
    let known = try transaction.entity(.setting, key: key).flatMap { Int64(String(decoding: $0.value, as: UTF8.self)) }
    // Whoever never compacted has no receipts older than this.
    let first = min(known ?? today - 400, today)
    for day in first..<today {
      for entity in try transaction.entities(.receipt, owner: AssetReceiptRecord.owner(day: day)) {
        try transaction.removeEntity(.receipt, key: entity.key)
      }
    }
    try transaction.put(Entity(.setting, key: key, value: Array(String(today).utf8)))
  }

  /// Drops the rows of assets that no version of a record claims and that nobody can claim any more.
  /// - Returns: Their checksums, so that the caller deletes the bytes once the transaction has committed.
  package func collectAssets(
    in transaction: any WriteTransaction, now: Timestamp, limit: Int
  ) throws -> [String] {
    let rows = try transaction.unclaimedAssets(before: now - Limits.unclaimedAssetAge, limit: limit)
    for row in rows { try transaction.removeAsset(row.checksum) }
    return rows.map(\.checksum)
  }
}

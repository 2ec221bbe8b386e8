import VirgaModel
import VirgaWire

extension RecordBatch {
  /// Fails the saves that would take the database over its quota, operation after operation. What makes a record
  /// smaller always succeeds.
  mutating func check(_ quotas: Quotas) throws {
    guard let limit = quotas.limit(of: zone.database) else { return }
    var used = try transaction.database(zone.database).map { $0.usedBytes + $0.keyBytes } ?? 0
    let tally = try transaction.tally(of: zone.database)
    // Nobody fills the disk by replacing and deleting: what was is kept as far as there is room for it.
    keepsVersions = tally.historyBytes < limit
    forgetsDeletions = Int64(tally.tombstones) * Limits.tombstoneBytes > limit
    for entry in entries {
      if tally.removedBytes > limit, case .save(let save) = entry.outcome, save.previous == nil {
        // Nobody fills the disk by deleting zones faster than they can be cleared away.
        let error = ServiceError(
          .tryAgainLater, "zones that were deleted lately are still being cleared away",
          retryAfterSeconds: Limits.removalRetrySeconds)
        entry.outcome = .failure(RecordFailure(entry.name, error))
        continue
      }
      let added = try addedBytes(by: entry.outcome)
      if added > 0 && used + added > limit {
        // How much there is of others' data is told to nobody else.
        let sizes = access.scope == .private ? ": \(used + added) bytes needed, \(limit) allowed" : ""
        let error = ServiceError(.quotaExceeded, Reason.quotaExceeded + sizes)
        entry.outcome = .failure(RecordFailure(entry.name, error))
      } else {
        used += added
      }
    }
  }

  /// Drops the zone's oldest tombstones where there are too many, more than the batch made: so whoever deletes much makes
  /// readers of that zone who were away begin anew, and keeps nobody from saving.
  func forgetDeletions(_ row: inout ZoneRow, in transaction: any WriteTransaction) throws {
    guard forgetsDeletions, buried > 0 else { return }
    let dropped = try transaction.dropTombstones(
      in: row, before: Timestamp(milliseconds: .max), limit: 2 * buried)
    row.lowWaterMark = max(row.lowWaterMark, dropped.max() ?? 0)
  }

  /// What the database holds more, or less, when the batch is done.
  func countAddedBytes() throws -> Int64 {
    var added: Int64 = 0
    for entry in entries { added += try addedBytes(by: entry.outcome) }
    for name in cascaded {
      guard let row = zone.row, let record = try transaction.record(name, in: row), !record.isDeleted else { continue }
      added -= try record.bytes()
    }
    for share in endedShares { added -= try share.bytes() }
    return added
  }

  private func addedBytes(by outcome: Outcome) throws -> Int64 {
    switch outcome {
    case .save(let save):
      let old = try save.previous.map { $0.isDeleted ? 0 : try $0.bytes() } ?? 0
      return save.record.jsonBytes + save.assetBytes - old
    case .delete(let record): return -(try record.bytes())
    case .leave, .nothing, .failure: return 0
    }
  }
}

extension StoredRecord {
  /// Of a share, its participants too.
  var jsonBytes: Int64 { Int64(fieldsJSON.count + unknownMembers.count) }

  /// What the live record takes, with its assets.
  func bytes() throws -> Int64 {
    guard hasAssets else { return jsonBytes }
    return jsonBytes + (try plainFields().assetBytes)
  }
}

package import VirgaModel
package import VirgaWire

extension Service {
  /// The versions of a record that are still kept, newest first; a tombstone is the newest of a record that was deleted.
  package func history(
    of record: RecordName, in selector: ZoneSelector, transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let zone = try Access(context).openZone(selector, in: transaction)
    guard let row = zone.row else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    let view = RecordView(zone: zone, context: context)
    let newest = try transaction.record(record, in: row)
    if let newest, let reach = zone.reach, try !reach.sees(newest) {
      throw ServiceError(.notFound, Reason.recordNotFound)
    }
    let versions = try transaction.versions(of: record, in: row).filter { version in
      try newest.map { try zone.mayRead(version, of: $0, in: transaction) } ?? true
    }
    let all = (newest.map { [$0] } ?? []) + versions
    guard !all.isEmpty else { throw ServiceError(.notFound, Reason.recordNotFound) }
    return .records(RecordsReply(records: try all.map(view.result)))
  }

  /// A page of the live records of a zone, oldest change first, also of a default zone, which has no feed. A record that
  /// changes between two pages comes again.
  /// - Parameter maker: Only those that this user made.
  /// - Parameter marker: The `continuationMarker` of the page before.
  package func liveRecords(
    of zone: ZoneSelector, madeBy maker: UserName? = nil, after marker: String? = nil,
    in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let zone = try Access(context).openZone(zone, in: transaction)
    guard let row = zone.row else { return .records(RecordsReply(records: [])) }
    let view = RecordView(zone: zone, context: context)
    var records: [RecordResult] = []
    var position = try marker.map { try Self.position($0, in: row) } ?? 0
    var (byteCount, readCount, isFull) = (0, 0, false)
    let portion = Limits.recordsPerLargePageMax + 1
    try transaction.changes(in: row, after: position, limit: .max, portion: portion) { record in
      if records.count >= Limits.recordsPerLargePageMax || byteCount >= Limits.pageBytesMax
        || readCount >= Limits.changesReadPerPageMax
      {
        isFull = true
        return false
      }
      readCount += 1
      position = record.sequence
      guard !record.isDeleted, maker == nil || record.created.user == maker else { return true }
      byteCount += record.fieldsJSON.count + Limits.recordOverheadBytes
      records.append(try view.result(record))
      return true
    }
    return .records(
      RecordsReply(records: records, continuationMarker: isFull ? "\(row.incarnation).\(position)" : nil))
  }

  /// Where in a zone's life a page ended. It is for the operator, who sees everything.
  private static func position(_ marker: String, in row: ZoneRow) throws -> Int64 {
    let parts = marker.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, UInt64(parts[0]) == row.incarnation, let position = Int64(parts[1]) else {
      throw ServiceError.badRequest("the marker belongs to another zone, or to an earlier zone of this name")
    }
    return position
  }
}

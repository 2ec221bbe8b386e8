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

  /// The live records of a zone, oldest change first, also of a default zone, which has no feed.
  /// - Parameter maker: Only those that this user made.
  package func liveRecords(
    of zone: ZoneSelector, madeBy maker: UserName? = nil, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let zone = try Access(context).openZone(zone, in: transaction)
    guard let row = zone.row else { return .records(RecordsReply(records: [])) }
    let view = RecordView(zone: zone, context: context)
    var records: [RecordResult] = []
    try transaction.changes(in: row, after: 0, limit: .max) { record in
      if !record.isDeleted, maker == nil || record.created.user == maker { records.append(try view.result(record)) }
      return true
    }
    return .records(RecordsReply(records: records))
  }
}

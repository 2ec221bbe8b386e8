import VirgaModel
package import VirgaWire

/// What is to come of a zone's feed, found out without reading any of it.
package struct FeedOutlook {
  package let zone: ZoneRow
  /// The feed has at most so many changes behind the request's token.
  package let changesMax: Int64
}

extension Service {
  /// What a request for a user's own zone is going to read.
  /// - Returns: `nil` where that cannot be said: the request itself says why.
  package func outlook(
    of request: ZoneChangesRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> FeedOutlook? {
    do {
      let access = try Access(context)
      guard access.scope == .private, !request.isReversed,
        let row = try access.openZone(request.zone, in: transaction).feedRow
      else { return nil }
      let start = try FeedPosition(
        request.syncToken, feed: .zone, incarnation: row.incarnation, sequence: row.sequence,
        lowWaterMark: row.lowWaterMark)
      return FeedOutlook(zone: row, changesMax: row.sequence - start.position)
    } catch is ServiceError {
      return nil
    }
  }
}

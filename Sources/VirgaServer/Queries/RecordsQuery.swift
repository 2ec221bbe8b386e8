import VirgaModel
import VirgaWire

extension Service {
  /// Finds the records that meet a query, a page at a time.
  ///
  /// A page goes on behind the last record of the one before, by the values that the query sorts by. So a record that
  /// stays as it is comes once, whatever else changes between the pages.
  /// - Throws: `WriteNeeded` if an index has to be made first.
  func queryRecords(
    _ request: RecordsQueryRequest, in transaction: any ReadTransaction, context: inout CallContext
  ) throws -> Reply {
    let access = try Access(context)
    try Limits.check(desiredKeys: request.desiredKeys)
    let seal = TokenCipher(context)
    let start = try request.continuationMarker.map { try ContinuationMarker($0, of: request, seal).position }
    let zones = try access.zones(of: request, in: transaction)
    let query = try CheckedQuery(request.query, access: access, in: transaction, context: context)
    var run = QueryRun(
      query, after: start, limit: try pageLimit(request.resultsLimit, context: context),
      scanMax: recordsScannedPerZoneMax, transaction: transaction)
    defer { context.hiddenReads += run.hiddenReads }
    for zone in zones { try run.read(zone) }
    let (entries, end) = run.finish()

    var views: [ZoneID: RecordView] = [:]
    let records = try entries.map { entry in
      let view =
        views[entry.zone.id]
        ?? RecordView(
          zone: entry.zone, desiredKeys: request.desiredKeys, numbersAsStrings: request.numbersAsStrings,
          context: context)
      views[entry.zone.id] = view
      return RecordResult.record(try view.envelope(of: entry.record))
    }
    let wantsToken = context.wantsSyncToken && zones.count == 1
    return .records(
      RecordsReply(
        records: records, syncToken: wantsToken ? zones[0].syncToken : nil,
        continuationMarker: end.map { ContinuationMarker($0).text(for: request, seal) }))
  }
}

extension Access {
  /// The zones that a query looks at, in the order of their names. A stated zone counts more than `zoneWide`.
  func zones(of request: RecordsQueryRequest, in transaction: any ReadTransaction) throws -> [OpenZone] {
    guard request.zone == nil, request.isZoneWide, scope != .public else {
      return [try openZone(request.zone ?? ZoneSelector(), in: transaction)]
    }
    guard let database else {
      throw ServiceError.badRequest("\(Reason.noZoneWideInShared): name the zone, with its owner")
    }
    return try transaction.liveZones(of: database).sorted { $0.name < $1.name }.map { row in
      OpenZone(id: ZoneID(row.name, owner: owner), database: database, row: row)
    }
  }
}

import VirgaModel
import VirgaWire

extension Service {
  func recordChanges(
    _ request: ZoneChangesRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let access = try Access(context)
    var feed = ZoneFeed(access: access, transaction: transaction, context: context)
    return .recordChanges(try feed.page(request))
  }

  func zoneChanges(
    _ requests: [ZoneChangesRequest], in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let access = try Access(context)
    try Limits.check(requests.count, atMost: Limits.operationsPerRequestMax, "zones in one request")
    var feed = ZoneFeed(access: access, transaction: transaction, context: context)
    return .zoneChanges(
      try requests.map { request in
        try itemResult(failure: { .failure(request.zone, $0) }) { .page(try feed.page(request)) }
      })
  }
}

/// Reads pages of zones' change feeds. All pages of one request share one allowance of bytes, but each that has
/// changes to give holds at least one, so that every reader gets on.
struct ZoneFeed {
  let access: Access
  let transaction: any ReadTransaction
  let context: CallContext
  private var bytesLeft = Limits.pageBytesMax

  init(access: Access, transaction: any ReadTransaction, context: CallContext) {
    self.access = access
    self.transaction = transaction
    self.context = context
  }

  mutating func page(_ request: ZoneChangesRequest) throws -> ZoneChangesPage {
    guard access.scope != .public else { throw ServiceError.badRequest("cannot get changes in the public database") }
    guard request.zone.name != .default || access.database == nil else {
      throw ServiceError.badRequest(Reason.noChangesInDefaultZone)
    }
    let zone = try access.openZone(request.zone, in: transaction)
    guard let row = zone.row else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    var page = Page(
      limit: try pageLimit(request.resultsLimit, context: context), bytesLeft: bytesLeft,
      types: request.desiredRecordTypes.map(Set.init))
    let view = RecordView(
      zone: zone, desiredKeys: request.desiredKeys, numbersAsStrings: request.numbersAsStrings, context: context)
    let token =
      request.isReversed
      ? try readBackward(request, row: row, view: view, into: &page)
      : try readForward(request, row: row, view: view, into: &page)
    bytesLeft = page.bytesLeft
    return ZoneChangesPage(zone: zone.id, records: page.records, syncToken: token.text, moreComing: page.isCut)
  }

  private func readForward(
    _ request: ZoneChangesRequest, row: ZoneRow, view: RecordView, into page: inout Page
  ) throws -> ChangeToken {
    let start = try FeedPosition(
      request.syncToken, feed: .zone, incarnation: row.incarnation, sequence: row.sequence, floor: row.floor)
    var last = start.position
    try transaction.changes(in: row, after: start.position, limit: Limits.changesReadPerPageMax + 1) { record in
      let isNews = !record.isDeleted || record.sequence > start.horizon
      guard try page.add(record, isNews: isNews, view: view) else { return false }
      last = record.sequence
      return true
    }
    return row.token(at: page.isCut ? last : row.sequence, horizon: start.horizon)
  }

  /// A walk from the newest change to the oldest shows live records only: it tells what there is, not what happened.
  private func readBackward(
    _ request: ZoneChangesRequest, row: ZoneRow, view: RecordView, into page: inout Page
  ) throws -> ChangeToken {
    var last = row.sequence + 1
    if let text = request.syncToken {
      guard let token = ChangeToken(text: text), token.feed == .zoneReversed, token.incarnation == row.incarnation,
        token.position <= last
      else {
        throw ServiceError.changeTokenExpired
      }
      last = token.position
    }
    try transaction.changes(in: row, before: last, limit: Limits.changesReadPerPageMax + 1) { record in
      guard try page.add(record, isNews: !record.isDeleted, view: view) else { return false }
      last = record.sequence
      return true
    }
    return row.token(at: page.isCut ? last : 0, feed: .zoneReversed)
  }
}

/// A page that fills.
private struct Page {
  var limit: Int
  var bytesLeft: Int
  var types: Set<RecordType>?
  var records: [RecordResult] = []
  /// Whether the page ended before the feed did.
  var isCut = false
  private var read = 0

  init(limit: Int, bytesLeft: Int, types: Set<RecordType>?) {
    self.limit = limit
    self.bytesLeft = bytesLeft
    self.types = types
  }

  /// Takes a change, or answers false because it belongs to the next page.
  mutating func add(_ record: StoredRecord, isNews: Bool, view: RecordView) throws -> Bool {
    let isWanted = isNews && (record.isDeleted || types?.contains(record.type) ?? true)
    let size = isWanted ? record.fieldsJSON.count + Limits.recordOverheadBytes : 0
    if read == Limits.changesReadPerPageMax
      || isWanted && (records.count == limit || size > bytesLeft && !records.isEmpty)
    {
      isCut = true
      return false
    }
    read += 1
    if isWanted {
      bytesLeft = max(0, bytesLeft - size)
      records.append(try view.result(record))
    }
    return true
  }
}

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
    var feed = ZoneFeed(access: access, transaction: transaction, context: context)
    return .zoneChanges(
      try requests.map { request in
        try itemResult(failure: { .failure(request.zone, $0) }) { .page(try feed.page(request)) }
      })
  }
}

/// Reads pages of zones' change feeds. All pages of one request share one allowance of bytes, but each that has
/// changes to give holds at least one, so that every reader gets on, until the answer has grown too large for more zones.
/// They share an allowance of changes to look at in the same way.
struct ZoneFeed {
  let access: Access
  let transaction: any ReadTransaction
  let context: CallContext
  private var bytesLeft = Limits.pageBytesMax
  private var bytesTaken = 0
  private var readsLeft = Limits.changesReadPerPageMax

  /// Each page looks at so many changes at least.
  private static let readsPerZoneMin = 100

  init(access: Access, transaction: any ReadTransaction, context: CallContext) {
    self.access = access
    self.transaction = transaction
    self.context = context
  }

  mutating func page(_ request: ZoneChangesRequest) throws -> ZoneChangesPage {
    guard access.scope != .public else { throw ServiceError.badRequest("cannot get changes in the public database") }
    guard request.zone.name != .default || access.scope == .shared else {
      throw ServiceError.badRequest(Reason.noChangesInDefaultZone)
    }
    try Limits.check(desiredKeys: request.desiredKeys)
    try Limits.check(
      request.desiredRecordTypes?.count ?? 0, atMost: Limits.recordTypesPerSchemaMax, "names in desiredRecordTypes")
    let zone = try access.openZone(request.zone, in: transaction)
    guard let row = zone.feedRow else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    try Limits.check(bytesTaken, atMost: Limits.answerBytesMax, "bytes of records in one answer")
    var page = Page(
      limit: try pageLimit(request.resultsLimit, context: context), bytesLeft: bytesLeft,
      readMax: max(readsLeft, Self.readsPerZoneMin), types: request.desiredRecordTypes.map(Set.init))
    let view = RecordView(
      zone: zone, desiredKeys: request.desiredKeys, numbersAsStrings: request.numbersAsStrings, context: context)
    let token =
      request.isReversed
      ? try readBackward(request, row: row, reach: zone.reach, view: view, into: &page)
      : try readForward(request, row: row, reach: zone.reach, view: view, into: &page)
    bytesLeft = page.bytesLeft
    bytesTaken += page.bytes
    readsLeft -= page.read
    return ZoneChangesPage(zone: zone.id, records: page.records, syncToken: token.text, moreComing: page.isCut)
  }

  private func readForward(
    _ request: ZoneChangesRequest, row: ZoneRow, reach: SharedReach?, view: RecordView, into page: inout Page
  ) throws -> ChangeToken {
    let start = try FeedPosition(
      request.syncToken, feed: .zone, incarnation: row.incarnation, sequence: row.sequence, floor: row.floor)
    var last = start.position
    // Of a hierarchy's deletions its notes tell: a tombstone does not say what it once belonged to.
    let isFiltered = reach.map { !$0.isWholeZone } ?? false
    var notes = try reach.map { try transaction.shareNotes(of: $0.zone, after: start.position) }
    var note = try notes?.next()
    try transaction.changes(in: row, after: start.position, limit: Limits.changesReadPerPageMax + 1) { record in
      while let due = note, due.sequence < record.sequence {
        guard try add(due, start, row: row, reach: reach, view: view, to: &page) else { return false }
        last = due.sequence
        note = try notes?.next()
      }
      var isNews = !record.isDeleted || record.sequence > start.horizon && !isFiltered
      if isNews, isFiltered, let reach { isNews = try reach.sees(record) }
      guard try page.add(record, isNews: isNews, view: view) else { return false }
      last = record.sequence
      return true
    }
    while !page.isCut, let due = note {
      guard try add(due, start, row: row, reach: reach, view: view, to: &page) else { break }
      last = due.sequence
      note = try notes?.next()
    }
    return row.token(at: page.isCut ? last : row.sequence, horizon: start.horizon)
  }

  /// Tells of a record that the participant began or ceased to see. One that changed since is told under its own number.
  private func add(
    _ note: (sequence: Int64, name: RecordName), _ start: FeedPosition, row: ZoneRow, reach: SharedReach?,
    view: RecordView, to page: inout Page
  ) throws -> Bool {
    guard var record = try transaction.record(note.name, in: row) else {
      // Its tombstone is past its age, and so is every token that asks for it.
      return true
    }
    let isVisible = try !record.isDeleted && reach?.sees(record) == true
    if !isVisible {
      record.isDeleted = true
      record.fieldsJSON = Array("{}".utf8)
    }
    let isNews = note.sequence > start.horizon && !(isVisible && record.sequence > note.sequence)
    return try page.add(record, isNews: isNews, view: view)
  }

  /// A walk from the newest change to the oldest shows live records only: it tells what there is, not what happened.
  private func readBackward(
    _ request: ZoneChangesRequest, row: ZoneRow, reach: SharedReach?, view: RecordView, into page: inout Page
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
      let isNews = try !record.isDeleted && reach?.sees(record) != false
      guard try page.add(record, isNews: isNews, view: view) else { return false }
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
  /// How many changes it looks at.
  let readMax: Int
  var types: Set<RecordType>?
  var records: [RecordResult] = []
  /// Whether the page ended before the feed did.
  var isCut = false
  /// The bytes of its records.
  private(set) var bytes = 0
  private(set) var read = 0

  init(limit: Int, bytesLeft: Int, readMax: Int, types: Set<RecordType>?) {
    self.limit = limit
    self.bytesLeft = bytesLeft
    self.readMax = readMax
    self.types = types
  }

  /// Takes a change, or answers false because it belongs to the next page.
  mutating func add(_ record: StoredRecord, isNews: Bool, view: RecordView) throws -> Bool {
    let isWanted = isNews && (record.isDeleted || types?.contains(record.type) ?? true)
    let size = isWanted ? record.fieldsJSON.count + Limits.recordOverheadBytes : 0
    if read == readMax
      || isWanted && (records.count == limit || size > bytesLeft && !records.isEmpty)
    {
      isCut = true
      return false
    }
    read += 1
    if isWanted {
      bytesLeft = max(0, bytesLeft - size)
      bytes += size
      records.append(try view.result(record))
    }
    return true
  }
}

import VirgaModel
import VirgaWire

extension Service {
  func recordChanges(
    _ request: ZoneChangesRequest, in transaction: any ReadTransaction, context: inout CallContext
  ) throws -> Reply {
    let access = try Access(context)
    var feed = ZoneFeed(access: access, transaction: transaction, context: context)
    defer { context.hiddenReads += feed.hiddenReads }
    return .recordChanges(try feed.page(request))
  }

  func zoneChanges(
    _ requests: [ZoneChangesRequest], in transaction: any ReadTransaction, context: inout CallContext
  ) throws -> Reply {
    let access = try Access(context)
    var feed = ZoneFeed(access: access, transaction: transaction, context: context)
    defer { context.hiddenReads += feed.hiddenReads }
    return .zoneChanges(
      try requests.map { request in
        try itemResult(failure: { .failure(request.zone, $0) }) { .page(try feed.page(request)) }
      })
  }
}

/// Reads pages of zones' change feeds. All pages of one request share one allowance of bytes, but each that has
/// changes to give holds at least one, so that every reader gets on, until the answer has grown too large for more zones.
/// They share an allowance of changes to look at in the same way. What a participant of hierarchies does not see ends no
/// page, but a request that had to read much of it gives no further zone.
struct ZoneFeed {
  let access: Access
  let transaction: any ReadTransaction
  let context: CallContext
  private var bytesLeft = Limits.pageBytesMax
  private var bytesTaken = 0
  private var readsLeft = Limits.changesReadPerPageMax
  /// Reads for participants of hierarchies that end no page.
  private(set) var hiddenReads = 0
  /// Zones are opened once, however often a request names them: that reads the zone's shares.
  private var zones: [ZoneID: OpenZone] = [:]

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
    let zone = try open(request.zone)
    guard let row = zone.feedRow else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    try Limits.check(bytesTaken, atMost: Limits.answerBytesMax, "bytes of records in one answer")
    if zone.reach?.isWholeZone == false, hiddenReads > Limits.hiddenReadsPerRequestMax {
      throw ServiceError(.tryAgainLater, "ask for this zone in another request", retryAfterSeconds: 1)
    }
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
    hiddenReads += page.hiddenReads
    return ZoneChangesPage(
      zone: zone.id, records: page.records, syncToken: zone.tokens.text(of: token), moreComing: page.isCut)
  }

  private mutating func open(_ selector: ZoneSelector) throws -> OpenZone {
    let id = try access.zoneID(selector)
    if let zone = zones[id] { return zone }
    let zone = try access.openZone(selector, in: transaction)
    zones[id] = zone
    return zone
  }

  private func readForward(
    _ request: ZoneChangesRequest, row: ZoneRow, reach: VisibleScope?, view: RecordView, into page: inout Page
  ) throws -> ChangeToken {
    let start = try FeedPosition(
      request.syncToken, tokens: access.tokens, feed: .zone, incarnation: row.incarnation, sequence: row.sequence,
      lowWaterMark: row.lowWaterMark)
    var last = start.position
    page.reserve(row.sequence - start.position)
    // Of a hierarchy's deletions its notes tell: a tombstone does not say what it once belonged to.
    let isFiltered = reach.map { !$0.isWholeZone } ?? false
    var notes = try reach.map { try transaction.visibilityChanges(of: $0.zone, after: start.position) }
    var note = try notes?.next()
    let portion = page.limit + 1
    let hiddenReads = try changes(
      in: row, of: isFiltered ? reach : nil, after: start.position, portion: portion
    ) { record in
      while let due = note, due.sequence < record.sequence {
        guard try add(due, start, row: row, reach: reach, view: view, to: &page) else { return false }
        last = due.sequence
        note = try notes?.next()
      }
      let isNews = !record.isDeleted || record.sequence > start.horizon && !isFiltered
      guard try page.add(record, isNews: isNews, view: view) else { return false }
      last = record.sequence
      return true
    }
    page.hiddenReads += hiddenReads
    while !page.isCut, let due = note {
      guard try add(due, start, row: row, reach: reach, view: view, to: &page) else { break }
      last = due.sequence
      note = try notes?.next()
    }
    return row.token(at: page.isCut ? last : row.sequence, horizon: start.horizon)
  }

  /// Calls `body` with the changes of a zone, oldest first, until it answers false; of a hierarchy with the live records
  /// that its participant sees.
  ///
  /// How many others changed must not show, so a page does not end because of them. If there are very many, the records
  /// of the hierarchy are looked for from its root.
  /// - Returns: How many reads were for what is hidden.
  private func changes(
    in row: ZoneRow, of reach: VisibleScope?, after position: Int64, portion: Int,
    _ body: (StoredRecord) throws -> Bool
  ) throws -> Int {
    let limit = Limits.changesReadPerPageMax
    guard let reach else {
      try transaction.changes(in: row, after: position, limit: limit + 1, portion: portion, body)
      return 0
    }
    var hidden = 0
    var last = position
    func visit(_ record: StoredRecord) throws -> Bool {
      guard try !record.isDeleted && reach.sees(record) else {
        hidden += 1
        return true
      }
      return try body(record)
    }
    var isDone = false
    try transaction.changes(in: row, after: position, limit: .max, portion: portion) { record in
      if hidden > limit { return false }
      isDone = try !visit(record)
      last = record.sequence
      return !isDone
    }
    guard hidden > limit, !isDone else { return hidden }
    let later = try visible(reach, in: row, where: { $0 > last })
    hidden += later.reads
    guard let names = later.names else {
      // What the participant sees is as much.
      try transaction.changes(in: row, after: last, limit: .max, portion: portion, visit)
      return hidden
    }
    for name in names {
      if let record = try transaction.record(name, in: row), try !body(record) { break }
    }
    return hidden
  }

  /// The names of what a participant sees, by the number of the last change; `nil` for too many. And about how many reads
  /// it took to know.
  private func visible(
    _ reach: VisibleScope, in row: ZoneRow, where isWanted: (Int64) -> Bool
  ) throws -> (names: [RecordName]?, reads: Int) {
    guard let names = try reach.names(in: row, atMost: Limits.changesReadPerPageMax, transaction) else {
      return (nil, Limits.changesReadPerPageMax)
    }
    var found: [(sequence: Int64, name: RecordName)] = []
    for name in names {
      guard let record = try transaction.record(name, in: row), isWanted(record.sequence), !record.isDeleted,
        try reach.sees(record)
      else { continue }
      found.append((record.sequence, name))
    }
    return (found.sorted { $0.sequence < $1.sequence }.map(\.name), 2 * names.count)
  }

  /// Tells of a record that the participant began or ceased to see. One that changed since is told under its own number.
  private func add(
    _ note: (sequence: Int64, name: RecordName), _ start: FeedPosition, row: ZoneRow, reach: VisibleScope?,
    view: RecordView, to page: inout Page
  ) throws -> Bool {
    guard var record = try transaction.record(note.name, in: row) else {
      // Its tombstone is past its age, and so is every token that asks for it.
      page.hiddenReads += 1
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
    _ request: ZoneChangesRequest, row: ZoneRow, reach: VisibleScope?, view: RecordView, into page: inout Page
  ) throws -> ChangeToken {
    var last = row.sequence + 1
    if let text = request.syncToken {
      guard let token = access.tokens.token(text), token.feed == .zoneReversed, token.incarnation == row.incarnation,
        token.position <= last
      else {
        throw ServiceError.changeTokenExpired
      }
      last = token.position
    }
    let hierarchy = reach.flatMap { $0.isWholeZone ? nil : $0 }
    let visible = try hierarchy.map { try self.visible($0, in: row, where: { $0 < last }) }
    page.hiddenReads += visible?.reads ?? 0
    if let names = visible?.names {
      // As in a forward walk, what is hidden ends no page.
      for name in names.reversed() {
        guard let record = try transaction.record(name, in: row) else { continue }
        guard try page.add(record, isNews: true, view: view) else { break }
        last = record.sequence
      }
    } else {
      let limit = hierarchy == nil ? Limits.changesReadPerPageMax + 1 : .max
      try transaction.changes(in: row, before: last, limit: limit) { record in
        if let hierarchy, try record.isDeleted || !hierarchy.sees(record) {
          page.hiddenReads += 1
          return true
        }
        guard try page.add(record, isNews: !record.isDeleted, view: view) else { return false }
        last = record.sequence
        return true
      }
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
  /// Reads that do not end it.
  var hiddenReads = 0

  init(limit: Int, bytesLeft: Int, readMax: Int, types: Set<RecordType>?) {
    self.limit = limit
    self.bytesLeft = bytesLeft
    self.readMax = readMax
    self.types = types
  }

  /// Makes room for as many records as there may be.
  mutating func reserve(_ changes: Int64) {
    records.reserveCapacity(min(limit, Limits.recordsPerPageMax, Int(clamping: changes)))
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

import VirgaModel
import VirgaWire

extension Service {
  /// Lists the zones that changed, each once, in the order of their last change. One that was deleted and created again
  /// since the reader asked last is listed twice, since why it was deleted tells the reader what to do: as deleted, and
  /// later, on the same page or another, as it is now.
  func databaseChanges(
    _ request: DatabaseChangesRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> DatabaseChangesReply {
    let access = try Access(context)
    guard access.scope != .public else { throw ServiceError.badRequest("cannot get changes in the public database") }
    if access.scope == .shared { return try sharedDatabaseChanges(request, access, in: transaction, context: context) }
    let row = try access.database.flatMap { try transaction.database($0) }
    let sequence = row?.sequence ?? 0
    let limit = try pageLimit(request.resultsLimit, context: context)
    let start = try FeedPosition(
      request.syncToken, feed: .database, incarnation: row?.incarnation, sequence: sequence)
    guard let row else {
      let token = ChangeToken(feed: .database, incarnation: 0, position: 0)
      return DatabaseChangesReply(zones: [], syncToken: token.text, moreComing: false)
    }

    let changed = try transaction.zones(in: row.key, after: start.position, limit: limit + 1)
    // Deletions up to here are known, or nothing to the reader.
    let known = max(start.position, start.horizon)
    let rest = changed.count > limit ? try transaction.allZones(of: row.key, after: known) : changed
    let again = rest.filter { !$0.isDeleted && $0.deletionSequence > known }
    let entries = (changed.map { Entry($0) } + again.map { Entry(deletionOf: $0) }).sorted { $0.number < $1.number }
    let moreComing = entries.count > limit
    let page = entries.prefix(limit)
    let position = moreComing ? page[page.count - 1].number : sequence
    let told = page.filter { !$0.isDeletion || $0.number > known }
    let token = ChangeToken(
      feed: .database, incarnation: row.incarnation, position: position, horizon: start.horizon)
    return DatabaseChangesReply(
      zones: told.map { .zone($0.row.envelope(owner: access.owner, isDeleted: $0.isDeletion)) }, syncToken: token.text,
      moreComing: moreComing)
  }
}

/// What the feed tells of a zone under one number.
private struct Entry {
  let row: ZoneRow
  let number: Int64
  let isDeletion: Bool

  init(_ row: ZoneRow) { (self.row, number, isDeletion) = (row, row.databaseSequence, row.isDeleted) }

  init(deletionOf row: ZoneRow) { (self.row, number, isDeletion) = (row, row.deletionSequence, true) }
}

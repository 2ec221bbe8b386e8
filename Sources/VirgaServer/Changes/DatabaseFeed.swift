import VirgaModel
import VirgaWire

extension Service {
  /// Lists the zones that changed, each once, in the order of their last change.
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

    let zones = try transaction.zones(in: row.key, after: start.position, limit: limit + 1)
    let moreComing = zones.count > limit
    let page = zones.prefix(limit)
    let position = moreComing ? page[page.count - 1].databaseSequence : sequence
    let told = page.filter { !$0.isDeleted || $0.databaseSequence > start.horizon }
    let token = ChangeToken(
      feed: .database, incarnation: row.incarnation, position: position, horizon: start.horizon)
    return DatabaseChangesReply(
      zones: told.map { .zone($0.envelope(owner: access.owner)) }, syncToken: token.text, moreComing: moreComing)
  }
}

package import VirgaModel
import VirgaWire

// The shared database holds nothing: it is a view of the zones of others that the user accepted shares in.

extension Service {
  func listSharedZones(_ access: Access, in transaction: any ReadTransaction) throws -> Reply {
    guard let user = access.user else { return .zones([]) }
    let zones = try transaction.sharedZones(of: user, access.container, access.environment)
    return .zones(
      try zones.filter { !$0.isDeleted }.sorted { $0.id < $1.id }.compactMap { zone in
        do {
          return .zone(try access.openZone(ZoneSelector(zone.id), in: transaction).envelope)
        } catch let error as ServiceError where error.code == .zoneNotFound {
          return nil
        }
      })
  }

  /// Lists the shared zones that changed: those that were accepted, those with changes, and those that are gone.
  func sharedDatabaseChanges(
    _ request: DatabaseChangesRequest, _ access: Access, in transaction: any ReadTransaction, context: CallContext
  ) throws -> DatabaseChangesReply {
    let user = try context.principal.requiredUser()
    let feed = try transaction.sharedFeed(of: user, access.container, access.environment)
    let limit = try pageLimit(request.resultsLimit, context: context)
    let start = try FeedPosition(
      request.syncToken, tokens: access.tokens, feed: .database, incarnation: feed?.incarnation,
      sequence: feed?.sequence ?? 0)
    guard let feed else {
      let token = ChangeToken(feed: .database, incarnation: 0, position: 0)
      return DatabaseChangesReply(zones: [], syncToken: access.tokens.text(of: token), moreComing: false)
    }
    let changed = try transaction.sharedZones(of: user, access.container, access.environment)
      .filter { $0.sequence > start.position }
      .sorted { $0.sequence < $1.sequence }
    let moreComing = changed.count > limit
    let page = changed.prefix(limit)
    let position = moreComing ? page[page.count - 1].sequence : feed.sequence
    let told = try page.filter { !$0.isDeleted || $0.sequence > start.horizon }.map { zone -> ZoneResult in
      if !zone.isDeleted, let row = try transaction.zone(zone.name, in: zone.database), !row.isDeleted {
        var seen = row
        seen.incarnation ^= zone.incarnation
        return .zone(seen.envelope(owner: zone.id.owner, tokens: access.tokens))
      }
      var gone = ZoneEnvelope(id: zone.id, syncToken: nil, isAtomic: true, isDeleted: true)
      gone.deletionReason = .deleted
      return .zone(gone)
    }
    let token = ChangeToken(
      feed: .database, incarnation: feed.incarnation, position: position, horizon: start.horizon)
    return DatabaseChangesReply(zones: told, syncToken: access.tokens.text(of: token), moreComing: moreComing)
  }

  /// Leaves all shares of a zone.
  func leaveZone(
    _ selector: ZoneSelector, _ access: Access, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> ZoneEnvelope {
    let id = try access.zoneID(selector)
    let gone = ZoneEnvelope(id: id, syncToken: nil, isAtomic: true, isDeleted: true)
    let key = DatabaseKey(container: access.container, environment: access.environment, owner: id.owner)
    guard let user = access.user, let shared = try transaction.sharedZone(id.name, in: key, for: user),
      let row = try transaction.zone(id.name, in: key)
    else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    if shared.isDeleted { return gone }
    var work = try ZoneWork(on: row, in: transaction, context: &context)
    try work.take(user, outOf: shared.shares.compactMap { try transaction.liveShare($0, in: row) }, context: &context)
    return gone
  }
}

extension Service {
  /// Takes a user out of every share of the container, those that they were only invited to included.
  package func leaveShares(
    of user: UserName, in transaction: any WriteTransaction, context: inout CallContext
  ) throws {
    let (container, environment) = (context.endpoint.container, context.endpoint.environment)
    for key in try transaction.databases().map(\.key) {
      guard key.container == container, key.environment == environment, key.owner != nil, key.owner != user else {
        continue
      }
      for row in try transaction.allZones(of: key) where row.sharing != .none && !row.isDeleted {
        let shares = try transaction.liveShares(of: row).filter { try ShareState($0).participant(user) != nil }
        guard !shares.isEmpty else { continue }
        var work = try ZoneWork(on: row, in: transaction, context: &context)
        try work.take(user, outOf: shares, context: &context)
      }
    }
  }
}

extension ZoneWork {
  /// Takes a participant out of shares of the zone; that is all that the work does.
  fileprivate mutating func take(
    _ user: UserName, outOf shares: [StoredRecord], context: inout CallContext
  ) throws {
    var book = ShareRegistry(transaction)
    for share in shares {
      var state = try ShareState(share)
      state.remove(user)
      _ = try transaction.put(state, of: share, by: user, row: &row, context: context)
      try book.touch(state, in: row)
      try book.leave(user, share, in: row)
    }
    try book.write(row: &row, context: &context)
    try finish(context: &context)
  }
}

extension WriteTransaction {

  /// Ends all shares of a zone that is about to go, and forgets their addresses. The caller puts the row.
  func endShares(of row: inout ZoneRow, context: inout CallContext) throws {
    guard row.sharing != .none else { return }
    var book = ShareRegistry(self)
    for share in try liveShares(of: row) { try book.end(share, in: row) }
    try book.write(row: &row, context: &context)
    for address in try shareAddresses(of: row.name, in: row.database) {
      try removeEntity(.shareAddress, key: address.entity.key)
    }
    row.sharing = .none
  }
}

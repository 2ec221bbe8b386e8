import VirgaModel
import VirgaWire

extension Service {
  /// Tells whoever holds a share's address what is shared, if they may know.
  func resolveShares(
    _ request: ShortGUIDsRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let user = try context.principal.requiredUser()
    var allowance = AnswerAllowance()
    return .shares(
      try request.shortGUIDs.map { shortGUID in
        try itemResult(failure: { .failure(shortGUID, $0) }) {
          let place = try SharePlace(shortGUID, in: transaction, context: context)
          let participant = try place.participant(user)
          return .metadata(
            try place.metadata(for: participant, in: transaction, context: context, allowance: &allowance))
        }
      })
  }

  /// Lets the caller into shares: as who was invited, or by the address of one that is open.
  func acceptShares(
    _ request: ShortGUIDsRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    let user = try context.principal.requiredUser()
    var allowance = AnswerAllowance()
    try ensureUserRecord(of: user, in: transaction, context: &context)
    var results: [ShareResult] = []
    for shortGUID in request.shortGUIDs {
      results.append(
        try transaction.itemResult(failure: { .failure(shortGUID, $0) }) {
          let wakes = context.wakes
          do {
            var place = try SharePlace(shortGUID, in: transaction, context: context)
            if place.owner != user { try place.accept(user, in: transaction, context: &context) }
            let participant = try place.participant(user)
            return .metadata(
              try place.metadata(for: participant, in: transaction, context: context, allowance: &allowance))
          } catch {
            // What it put into queues is undone with it.
            context.wakes = wakes
            throw error
          }
        })
    }
    return .shares(results)
  }
}

/// A live share that an address leads to.
private struct SharePlace {
  let shortGUID: ShortGUID
  let address: ShareAddress
  let owner: UserName
  var zone: OpenZone
  var share: StoredRecord
  var state: ShareState

  init(_ shortGUID: ShortGUID, in transaction: any ReadTransaction, context: CallContext) throws {
    let endpoint = context.endpoint
    guard
      let address = try transaction.shareAddress(
        shortGUID.value, container: endpoint.container, environment: endpoint.environment),
      let owner = address.database.owner, let row = try transaction.zone(address.zone, in: address.database),
      !row.isDeleted, let share = try transaction.liveShare(at: address, in: row)
    else { throw ServiceError(.notFound, Reason.shareNotFound) }
    try Limits.check(desiredKeys: shortGUID.rootRecordDesiredKeys)
    self.shortGUID = shortGUID
    self.address = address
    self.owner = owner
    self.share = share
    zone = OpenZone(id: ZoneID(address.zone, owner: owner), database: address.database, row: row)
    if address.root != nil, context.principal.user != owner { zone.tags = TokenCipher(context) }
    state = try ShareState(share)
  }

  /// What the user is in the share; whoever may join is shown as somebody who has not yet.
  /// - Throws: `accessDenied` for strangers, who are told nothing more.
  func participant(_ user: UserName) throws -> ShareParticipant {
    if var known = state.participant(user) {
      known.permission = state.permission(of: known)
      return known
    }
    guard state.publicPermission != .none else { throw ServiceError(.accessDenied, Reason.notInvited) }
    return ShareParticipant(
      identity: UserIdentity(userRecordName: user), role: .publicUser, permission: state.publicPermission,
      acceptanceStatus: .invited)
  }

  mutating func accept(_ user: UserName, in transaction: any WriteTransaction, context: inout CallContext) throws {
    guard try state.accept(user, context: &context), let row = zone.row else { return }
    var work = try ZoneWork(on: row, in: transaction, context: &context)
    share = try transaction.put(state, of: share, by: user, row: &work.row, context: context)
    var book = ShareRegistry(transaction)
    try book.touch(state, in: work.row)
    try book.join(user, share, in: work.row, context: &context)
    try book.write(row: &work.row, context: &context)
    try work.finish(context: &context)
    zone.row = work.row
  }

  func metadata(
    for participant: ShareParticipant, in transaction: any ReadTransaction, context: CallContext,
    allowance: inout AnswerAllowance
  ) throws -> ShareMetadata {
    try allowance.take(share)
    var metadata = ShareMetadata(
      shortGUID: shortGUID, container: context.endpoint.container, environment: context.endpoint.environment,
      scope: participant.role == .owner ? .private : .shared, zone: zone.id,
      share: try RecordView(zone: zone, context: context).envelope(of: share),
      ownerIdentity: UserIdentity(userRecordName: owner, lookupInfo: .userRecordName(owner)),
      participant: participant)
    metadata.webpageURL = context.urls.shareURL(
      SharePath(
        container: context.endpoint.container, environment: context.endpoint.environment, shortGUID: shortGUID.value))
    guard let name = share.share?.recordName, let row = zone.row else { return metadata }
    metadata.rootRecordName = name
    if shortGUID.shouldFetchRootRecord, let root = try transaction.record(name, in: row), !root.isDeleted {
      try allowance.take(root)
      let view = RecordView(zone: zone, desiredKeys: shortGUID.rootRecordDesiredKeys, context: context)
      metadata.rootRecord = try view.envelope(of: root)
    }
    return metadata
  }
}

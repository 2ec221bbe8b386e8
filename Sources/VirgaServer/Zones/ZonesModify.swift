package import VirgaModel
import VirgaWire

extension Service {
  /// Creates and deletes zones. Creating one that exists and deleting one that was deleted succeed and change nothing,
  /// so that a request whose answer was lost may be sent again.
  func modifyZones(
    _ request: ZonesModifyRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    let access = try Access(context)
    guard access.scope != .public else { throw ServiceError.badRequest(Reason.noZonesInPublic) }
    var seen: Set<ZoneSelector> = []
    for operation in request.operations {
      let bare = ZoneSelector(
        operation.zone.name, owner: operation.zone.owner == access.user ? nil : operation.zone.owner)
      guard seen.insert(bare).inserted else {
        throw ServiceError.badRequest("more than one operation names zone '\(bare.name)'")
      }
    }
    var shelf = ZoneShelf(access: access, transaction: transaction)
    (shelf.zonesMax, shelf.namesMax) = (zonesPerDatabaseMax, zoneNamesPerDatabaseMax)
    let results: [ZoneResult] = try request.operations.map { operation in
      try transaction.itemResult(failure: { .failure(operation.zone, $0) }) {
        switch operation.kind {
        case .create: .zone(try shelf.create(operation.zone, context: &context))
        case .delete: .zone(try shelf.delete(operation.zone, context: &context))
        }
      }
    }
    try shelf.notify(context: &context)
    return .zones(results)
  }
}

extension Service {
  /// Deletes a zone as its user does outside of any app: in the settings, or by a reset of encrypted data.
  /// - Returns: Whether there was such a zone.
  package func remove(
    _ zone: ZoneName, reason: ZoneDeletionReason, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Bool {
    let access = try Access(context)
    guard let key = access.database, let row = try transaction.zone(zone, in: key), !row.isDeleted else { return false }
    var shelf = ZoneShelf(access: access, transaction: transaction)
    _ = try shelf.delete(ZoneSelector(zone), reason: reason, context: &context)
    try shelf.notify(context: &context)
    return true
  }
}

/// The zones of one private database.
private struct ZoneShelf {
  let access: Access
  let transaction: any WriteTransaction
  /// What came or went.
  private var changed: [ZoneID] = []
  var zonesMax = Limits.zonesPerDatabaseMax
  var namesMax = Limits.zoneNamesPerDatabaseMax
  init(access: Access, transaction: any WriteTransaction) {
    self.access = access
    self.transaction = transaction
  }

  mutating func create(_ selector: ZoneSelector, context: inout CallContext) throws -> ZoneEnvelope {
    guard let key = access.database else {
      throw ServiceError(.accessDenied, "zones cannot be made in the shared database")
    }
    let id = try access.zoneID(selector)
    if id.name == .default { return ZoneEnvelope(id: id, syncToken: nil, isAtomic: false) }
    if let objection = NameRule.name.objection(to: id.name.rawValue) {
      throw ServiceError.badRequest("zone name \(objection)")
    }
    let known = try transaction.zone(id.name, in: key)
    if let known, !known.isDeleted { return known.envelope(owner: id.owner) }
    let tally = try transaction.tally(of: key)
    try Limits.check(tally.zones + 1, atMost: zonesMax, "zones of a database")
    if known == nil {
      try Limits.check(
        tally.zones + tally.pastZones + 1, atMost: namesMax, "names of zones, deleted ones too, in a database")
    }
    // A zone that is created again goes on with its numbers, so that no tag of its earlier life ever fits.
    let past = known ?? ZoneRow(database: key, name: id.name, incarnation: 0)
    var work = try ZoneWork(on: past, in: transaction, context: &context)
    work.row.incarnation = context.makeIncarnation()
    work.row.lowWaterMark = work.row.sequence
    work.row.isDeleted = false
    try work.write()
    changed.append(id)
    return work.row.envelope(owner: id.owner)
  }

  /// Tells subscribers of all that came or went, once it is done.
  func notify(context: inout CallContext) throws {
    guard let key = access.database else { return }
    try notifySubscribers(ofZones: changed, in: key, transaction: transaction, context: &context)
  }

  mutating func delete(
    _ selector: ZoneSelector, reason: ZoneDeletionReason = .deleted, context: inout CallContext
  ) throws -> ZoneEnvelope {
    guard let key = access.database else {
      return try Service().leaveZone(selector, access, in: transaction, context: &context)
    }
    let id = try access.zoneID(selector)
    guard id.name != .default else { throw ServiceError.badRequest("the default zone cannot be deleted") }
    guard let row = try transaction.zone(id.name, in: key) else {
      throw ServiceError(.zoneNotFound, Reason.zoneNotFound)
    }
    if row.isDeleted { return row.envelope(owner: id.owner) }
    var work = try ZoneWork(on: row, in: transaction, context: &context)
    try transaction.endShares(of: &work.row, context: &context)
    try transaction.removeRecords(of: &work.row)
    work.row.noteDeletion(reason, at: work.row.databaseSequence)
    try work.write()
    changed.append(id)
    return work.row.envelope(owner: id.owner)
  }
}

import VirgaModel
import VirgaWire

/// A zone that a call may use. The default zone is there before its row is.
struct OpenZone {
  let id: ZoneID
  let database: DatabaseKey
  var row: ZoneRow?
  /// What the caller may see of it, if it is another user's.
  var reach: VisibleScope?
  /// What the caller may do in it, if it is the public database's.
  var grants: PublicGrants?
  /// What its change tokens are sealed with, if it is another user's.
  var tokens: TokenCipher?
  /// What its change tags are sealed with, if only a part of it is shared: they count the changes of the rest, too.
  var tags: TokenCipher?

  var isDefault: Bool { id.name == .default }
}

extension Access {
  /// - Throws: `zoneNotFound`, saying why where that is known.
  func openZone(_ selector: ZoneSelector, in transaction: any ReadTransaction) throws -> OpenZone {
    let id = try zoneID(selector)
    guard let database else { return try openSharedZone(id, in: transaction) }
    let row = try transaction.zone(id.name, in: database)
    if id.name != .default {
      guard let row else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
      if row.isDeleted { throw ServiceError(.zoneNotFound, row.deletionReason.text) }
    }
    let grants = scope == .public ? PublicGrants(self, in: transaction) : nil
    return OpenZone(id: id, database: database, row: row, grants: grants)
  }
}

extension Access {
  private func openSharedZone(_ id: ZoneID, in transaction: any ReadTransaction) throws -> OpenZone {
    let key = DatabaseKey(container: container, environment: environment, owner: id.owner)
    guard let user, let shared = try transaction.sharedZone(id.name, in: key, for: user), !shared.isDeleted,
      let row = try transaction.zone(id.name, in: key), !row.isDeleted
    else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    let reach = try VisibleScope(shared, row: row, in: transaction)
    guard !reach.isEmpty else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    return OpenZone(
      id: id, database: key, row: row, reach: reach, tokens: tokens, tags: reach.isWholeZone ? nil : tokens)
  }
}

extension OpenZone {
  /// The zone's row as the caller's change tokens know it: a view of another user's zone has a life of its own.
  var feedRow: ZoneRow? {
    guard var row else { return nil }
    if let reach { row.incarnation ^= reach.zone.incarnation }
    return row
  }

  /// The live record of that name that the caller may see.
  func visibleRecord(_ name: RecordName, in transaction: any ReadTransaction) throws -> StoredRecord? {
    guard let row, let record = try transaction.record(name, in: row), !record.isDeleted else { return nil }
    if let reach, try !reach.sees(record) { return nil }
    return record
  }
}

extension OpenZone {
  /// Whether the caller could ever have read an earlier version of a record.
  ///
  /// A participant could not if it lay outside of what is shared, or was replaced before the share began.
  func mayRead(_ version: StoredRecord, of live: StoredRecord, in transaction: any ReadTransaction) throws -> Bool {
    guard let reach, let row else { return true }
    guard let grant = try reach.grant(for: version), let share = try transaction.record(grant.share, in: row) else {
      return false
    }
    let later = try transaction.versions(of: live.name, in: row).filter { $0.sequence > version.sequence }
    let next = later.min { $0.sequence < $1.sequence } ?? live
    let address = try share.shortGUID.flatMap {
      try transaction.shareAddress($0, container: database.container, environment: database.environment)
    }
    if let start = address?.start { return next.sequence > start }
    return next.modified.time >= share.created.time
  }
}

extension ZoneDeletionReason? {
  var text: String {
    switch self {
    case .purged: Reason.zonePurged
    case .encryptedDataReset: Reason.encryptedDataReset
    case .deleted, nil: Reason.zoneNotFound
    }
  }
}

extension WriteTransaction {
  /// The database's row, made if nothing was written there before.
  /// - Throws: `limitExceeded` if the caller's account has data in too many containers already.
  func openDatabase(_ key: DatabaseKey, context: inout CallContext) throws -> DatabaseRow {
    let owner = key.owner == context.principal.user ? context.principal.account : nil
    return try openDatabase(key, of: owner) { context.makeIncarnation() }
  }

  /// - Parameter account: The owner's, if the owner is who makes it.
  func openDatabase(
    _ key: DatabaseKey, of account: AccountID?, makeIncarnation: () -> UInt64
  ) throws -> DatabaseRow {
    if let row = try database(key) { return row }
    if key.owner != nil, let account { try Credentials().noteContainer(key.container, of: account, in: self) }
    let row = DatabaseRow(key: key, incarnation: makeIncarnation())
    try put(row)
    return row
  }
}

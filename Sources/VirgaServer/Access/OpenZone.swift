import VirgaModel
import VirgaWire

/// A zone that a call may use. The default zone is there before its row is.
struct OpenZone {
  let id: ZoneID
  let database: DatabaseKey
  var row: ZoneRow?

  var isDefault: Bool { id.name == .default }
}

extension Access {
  /// - Throws: `zoneNotFound`, saying why where that is known.
  func openZone(_ selector: ZoneSelector, in transaction: any ReadTransaction) throws -> OpenZone {
    let id = try zoneID(selector)
    guard let database else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
    let row = try transaction.zone(id.name, in: database)
    if id.name != .default {
      guard let row else { throw ServiceError(.zoneNotFound, Reason.zoneNotFound) }
      if row.isDeleted { throw ServiceError(.zoneNotFound, row.deletionReason.text) }
    }
    return OpenZone(id: id, database: database, row: row)
  }
}

extension ZoneDeletionReason? {
  fileprivate var text: String {
    switch self {
    case .purged: Reason.zonePurged
    case .encryptedDataReset: Reason.encryptedDataReset
    case .deleted, nil: Reason.zoneNotFound
    }
  }
}

extension WriteTransaction {
  /// The database's row, made if nothing was written there before.
  func openDatabase(_ key: DatabaseKey, context: inout CallContext) throws -> DatabaseRow {
    if let row = try database(key) { return row }
    let row = DatabaseRow(key: key, incarnation: context.makeIncarnation())
    try put(row)
    return row
  }
}

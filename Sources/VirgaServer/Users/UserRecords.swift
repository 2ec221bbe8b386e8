import VirgaModel
import VirgaWire

// Each user who signed in has a record of the type `Users` in the public database, under their name. The service makes
// it when they first ask who they are or accept a share. Only they may change it, and nobody may give themselves roles.

extension FieldName {
  /// The numbers of the roles that a user has.
  static let roles: FieldName = "roles"
}

extension Service {
  func callingUser(in transaction: any WriteTransaction, context: inout CallContext) throws -> Reply {
    let user = try context.principal.requiredUser()
    try ensureUserRecord(of: user, in: transaction, context: &context)
    return .user(user)
  }

  func ensureUserRecord(
    of user: UserName, in transaction: any WriteTransaction, context: inout CallContext
  ) throws {
    let key = DatabaseKey(
      container: context.endpoint.container, environment: context.endpoint.environment, owner: nil)
    var row = try transaction.zone(.default, in: key)
    if let row, let record = try transaction.record(RecordName(user.rawValue), in: row), !record.isDeleted { return }
    var database = try transaction.openDatabase(key, context: &context)
    database.sequence += 1
    try transaction.put(database)
    var zone = row ?? ZoneRow(database: key, name: .default, incarnation: context.makeIncarnation())
    zone.databaseSequence = database.sequence
    if zone.id == 0 { try transaction.put(&zone) }
    zone.sequence += 1
    let stamp = context.stamp(by: user)
    let record = StoredRecord(
      name: RecordName(user.rawValue), type: .users, sequence: zone.sequence, created: stamp, modified: stamp,
      fieldsJSON: Array("{}".utf8))
    try transaction.put(record, in: zone, replacing: nil, keepsVersion: false)
    try transaction.put(&zone)
    row = zone
  }

  /// Finds users of the container. Accounts have no e-mail address and no telephone number, so only a user record's
  /// name finds anybody; all others are left out, as the service leaves out whoever it does not know.
  func lookUpUsers(
    _ request: UsersLookupRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    _ = try context.principal.requiredUser()
    let key = DatabaseKey(
      container: context.endpoint.container, environment: context.endpoint.environment, owner: nil)
    guard let row = try transaction.zone(.default, in: key) else { return .users([]) }
    return .users(
      try request.lookupInfos.compactMap { info in
        guard case .userRecordName(let name) = info,
          let record = try transaction.record(RecordName(name.rawValue), in: row), !record.isDeleted,
          record.type == .users
        else { return nil }
        return UserIdentity(userRecordName: name, lookupInfo: info)
      })
  }
}

package import VirgaModel
package import VirgaSchema
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
    let row = try transaction.zone(.default, in: key)
    let known = try row.flatMap { try transaction.record(RecordName(user.rawValue), in: $0) }
    if let known, !known.isDeleted { return }
    let fields = Array("{}".utf8)
    var work = try ZoneWork(on: row, .default, of: key, in: transaction, context: &context)
    work.row.usedBytes += Int64(fields.count)
    let stamp = context.stamp(by: user, after: known?.modified)
    let record = StoredRecord(
      name: RecordName(user.rawValue), type: .users, sequence: work.nextSequence(), created: stamp, modified: stamp,
      fieldsJSON: fields)
    try transaction.put(record, in: work.row, replacing: known, keepsVersion: false)
    try work.finish(context: &context)
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

extension ReadTransaction {
  /// The roles of the container's own that a user has.
  func roles(
    of user: UserName, container: ContainerID, environment: Environment
  ) throws -> Set<RoleName> {
    let key = DatabaseKey(container: container, environment: environment, owner: nil)
    guard let row = try zone(.default, in: key), let record = try record(RecordName(user.rawValue), in: row),
      !record.isDeleted, record.type == .users
    else { return [] }
    do {
      guard case .int64List(let numbers) = try Fields(json: record.fieldsJSON)[.roles]?.value else { return [] }
      let known = try roles(of: container, in: environment).entries
      return Set(known.filter { numbers.contains($0.number) }.map(\.role))
    } catch {
      guard error is WireError else { throw error }
      throw StoreError.damaged("the record of user '\(user)' cannot be read")
    }
  }
}

extension Service {
  /// The roles of the container's own that a user has, in the order of their names.
  package func roles(of user: UserName, in transaction: any ReadTransaction, context: CallContext) throws -> [RoleName]
  {
    let (container, environment) = (context.endpoint.container, context.endpoint.environment)
    return try transaction.roles(of: user, container: container, environment: environment).sorted {
      $0.rawValue < $1.rawValue
    }
  }

  /// Gives a user the roles of these names and takes all others: an operator's right, for nobody gives them to
  /// themselves.
  /// - Throws: `badRequest` for a role that the schema does not create.
  package func setRoles(
    _ names: [RoleName], of user: UserName, in transaction: any WriteTransaction, context: inout CallContext
  ) throws {
    let (container, environment) = (context.endpoint.container, context.endpoint.environment)
    let known = try transaction.roles(of: container, in: environment).entries
    let numbers = try names.map { name in
      guard let entry = known.first(where: { $0.role == name }) else {
        throw ServiceError.badRequest("the schema creates no role '\(name)'")
      }
      return entry.number
    }
    try ensureUserRecord(of: user, in: transaction, context: &context)
    let key = DatabaseKey(container: container, environment: environment, owner: nil)
    guard let row = try transaction.zone(.default, in: key),
      let live = try transaction.record(RecordName(user.rawValue), in: row)
    else { return }
    var fields: Fields
    do { fields = try Fields(json: live.fieldsJSON) } catch { throw ServiceError(error) }
    fields[.roles] = Field(.int64List(numbers.sorted()))
    var work = try ZoneWork(on: row, in: transaction, context: &context)
    var next = live
    next.sequence = work.nextSequence()
    next.modified = context.stamp(by: user, after: live.modified)
    next.fieldsJSON = fields.storedJSON
    (next.assetChecksums, next.references) = fields.claims(parent: live.parent)
    work.row.usedBytes += next.jsonBytes - live.jsonBytes
    try transaction.put(next, in: row, replacing: live, keepsVersion: true)
    try work.finish(context: &context)
  }
}

package import VirgaModel
import VirgaSchema
import VirgaWire

/// What a caller may do with the records of the public database: what the grants of their types give to the roles that
/// the caller has.
///
/// Everybody has `_world`, who is signed in has `_icloud`, who created a record has `_creator` for that record, and the
/// roles of a container's own belong to those whose user records name their numbers.
final class PublicGrants {
  let user: UserName?
  private let container: ContainerID
  private let environment: Environment
  private let transaction: any ReadTransaction
  private var grants: [RecordType: [SchemaGrant]] = [:]
  private var ownRoles: Set<RoleName>?

  init(_ access: Access, in transaction: any ReadTransaction) {
    user = access.user
    container = access.container
    environment = access.environment
    self.transaction = transaction
  }

  /// What another user than the caller may do in a public database.
  init(to user: UserName, in database: DatabaseKey, _ transaction: any ReadTransaction) {
    self.user = user
    container = database.container
    environment = database.environment
    self.transaction = transaction
  }

  /// - Parameter creator: Who made the record, or would make it.
  func rights(to type: RecordType, madeBy creator: UserName?) throws -> SchemaRights {
    try grants(of: type).reduce(into: []) { rights, grant in
      let applies =
        switch grant.role {
        case .world: true
        case .icloud: user != nil
        case .creator: user != nil && creator == user
        default: try roles().contains(grant.role)
        }
      if applies { rights.formUnion(grant.rights) }
    }
  }

  func mayRead(_ record: StoredRecord) throws -> Bool {
    try rights(to: record.type, madeBy: record.created.user).contains(.read)
  }

  func refusal(of kind: RecordOperation.Kind, of type: RecordType?, on live: StoredRecord?) throws -> ServiceError? {
    // Nobody but the service makes or removes a user's record.
    if live?.type == .users && kind.isDelete { return ServiceError(.accessDenied, Reason.writeNotPermitted) }
    guard let type = live?.type ?? type else {
      return user == nil ? ServiceError(.accessDenied, Reason.writeNotPermitted) : nil
    }
    let rights = try rights(to: type, madeBy: live.map(\.created.user) ?? user)
    // What may create and change asks for both rights. A create over a record that is there fails because it is.
    let needsCreate = kind == .create || kind.mayCreate && live?.type != .users
    let mayNotWrite = kind != .create && !rights.contains(.write)
    if mayNotWrite && live != nil { return ServiceError(.accessDenied, Reason.writeNotPermitted) }
    if needsCreate && !rights.contains(.create) { return ServiceError(.accessDenied, Reason.createNotPermitted) }
    return mayNotWrite ? ServiceError(.accessDenied, Reason.writeNotPermitted) : nil
  }

  /// The grants of a type as its schema has them; a type that nobody declared has the usual ones.
  private func grants(of type: RecordType) throws -> [SchemaGrant] {
    if let known = grants[type] { return known }
    let schema = try transaction.schema(of: type, container: container, environment: environment)
    let usual = type == .users ? SchemaGrant.usual.filter { $0.role != .icloud } : SchemaGrant.usual
    let found = schema.map(\.definition.grants) ?? usual
    grants[type] = found
    return found
  }

  private func roles() throws -> Set<RoleName> {
    if let ownRoles { return ownRoles }
    let roles = try user.map { try transaction.roles(of: $0, container: container, environment: environment) } ?? []
    ownRoles = roles
    return roles
  }
}

extension OpenZone {
  /// - Throws: `accessDenied` for a record whose type grants the caller no READ.
  func checkReading(of record: StoredRecord) throws {
    if let grants, try !grants.mayRead(record) { throw ServiceError(.accessDenied, Reason.readNotPermitted) }
  }
}

extension Service {
  /// Whether any record type of a public database lets those who are not signed in create or change records.
  package func worldMayWrite(
    in container: ContainerID, _ environment: Environment, _ transaction: any ReadTransaction
  ) throws -> Bool {
    try transaction.schema(of: container, in: environment).recordTypes.contains { type in
      type.grants.contains { $0.role == .world && !$0.rights.isDisjoint(with: [.create, .write]) }
    }
  }
}

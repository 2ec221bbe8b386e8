import FoundationEssentials
import VirgaAuth
import VirgaModel
import VirgaSchema
import VirgaServer
import VirgaWire

extension Gateway {
  /// Performs a call of the protocol on behalf of a user, whom the query names with the rest of the endpoint.
  func operate(_ head: HTTPRequestHead, body: [UInt8], uuid: String) async throws -> [UInt8] {
    let query = QueryParameters(of: head)
    let name = query["operation"] ?? ""
    guard let operation = Operation(rawValue: name) else {
      throw ServiceError(.notFound, "there is no operation '\(name.prefix(100))'")
    }
    let context = try operatorContext(query, operation, head)
    try await checkNamed(query, context)
    let reply = try await run(try Call(decoding: body, for: operation), context)
    return reply.encoded(extensions: true, uuid: uuid, owner: context.zoneOwner)
  }

  /// The versions of a record that are kept.
  func history(_ head: HTTPRequestHead, uuid: String) async throws -> [UInt8] {
    let query = QueryParameters(of: head)
    let context = try operatorContext(query, .recordsLookup, head)
    try await checkNamed(query, context)
    guard let record = query["record"] else { throw ServiceError.badRequest("record is missing") }
    let zone = ZoneSelector(query["zone"].map { ZoneName($0) } ?? .default)
    let reply = try await store.read { [service] transaction in
      try service.history(of: RecordName(record), in: zone, transaction: transaction, context: context)
    }
    return reply.encoded(extensions: true, uuid: uuid, owner: context.zoneOwner)
  }

  /// A page of the records of a zone; of the public database those that the user made.
  func zoneRecords(_ head: HTTPRequestHead, uuid: String) async throws -> [UInt8] {
    let query = QueryParameters(of: head)
    let context = try operatorContext(query, .recordsLookup, head)
    let zone = ZoneSelector(query["zone"].map { ZoneName($0) } ?? .default)
    let maker = context.endpoint.scope == .public ? context.principal.user : nil
    return try await store.read { [service] transaction in
      try service.liveRecords(
        of: zone, madeBy: maker, after: query["marker"], in: transaction, context: context
      ).encoded(extensions: true, uuid: uuid, owner: context.zoneOwner)
    }
  }

  /// The roles of a user, whom the query names.
  func roles(_ head: HTTPRequestHead) async throws -> [UInt8] {
    let (user, context) = try userContext(head)
    let named = QueryParameters(of: head)["user"] ?? ""
    return try await store.read { [service, authenticator] transaction in
      try Self.checkKnown(named, user, context.endpoint, authenticator, in: transaction)
      return try Self.encoded(service.roles(of: user, in: transaction, context: context))
    }
  }

  /// Gives a user the roles that the body names and takes all others.
  func setRoles(_ head: HTTPRequestHead, body: [UInt8]) async throws -> [UInt8] {
    let (user, context) = try userContext(head)
    let named = QueryParameters(of: head)["user"] ?? ""
    guard let message = try? JSONDecoder().decode(OperatorMessages.Roles.self, from: Data(body)) else {
      throw ServiceError.badRequest("the body must be {\"roles\":[NAME, …]}")
    }
    return try await store.write { [service, authenticator] transaction in
      try Self.checkKnown(named, user, context.endpoint, authenticator, in: transaction)
      var context = context
      try service.setRoles(message.roles.map { RoleName($0) }, of: user, in: transaction, context: &context)
      return try Self.encoded(service.roles(of: user, in: transaction, context: context))
    }
  }

  /// Takes a user, whom the query names, out of every share of a container.
  func leaveShares(_ head: HTTPRequestHead) async throws -> [UInt8] {
    let (user, context) = try userContext(head)
    let wakes = try await store.write { [service] transaction in
      var context = context
      try service.leaveShares(of: user, in: transaction, context: &context)
      return context.wakes
    }
    wake(wakes)
    return Array("{}".utf8)
  }

  func userContext(_ head: HTTPRequestHead) throws -> (UserName, CallContext) {
    let context = try operatorContext(QueryParameters(of: head), .recordsModify, head)
    guard let user = context.principal.user else { throw ServiceError.badRequest("user is missing") }
    return (user, context)
  }

  /// Checks that who is named is anybody at all, where the caller wants that checked.
  private func checkNamed(_ query: QueryParameters, _ context: CallContext) async throws {
    guard query.isTrue("userMustExist"), let named = query["user"], let user = context.principal.user else { return }
    let endpoint = context.endpoint
    try await store.read { [authenticator] transaction in
      try Self.checkKnown(named, user, endpoint, authenticator, in: transaction)
    }
  }

  /// - Throws: `NOT_FOUND` for a name that is nobody's, so that a slip of the pen makes no user. Somebody is who has an
  ///   account, a server-to-server key, a private database or a user record.
  private static func checkKnown(
    _ named: String, _ user: UserName, _ endpoint: Endpoint, _ authenticator: Authenticator,
    in transaction: any ReadTransaction
  ) throws {
    if try transaction.entity(.account, key: named) != nil { return }
    let container = endpoint.container
    let owned = DatabaseKey(container: container, environment: endpoint.environment, owner: user)
    if try transaction.database(owned) != nil { return }
    let keys = try Credentials().keys(of: container, in: transaction).map(\.account)
    let accounts = try keys + Accounts().all(in: transaction).map(\.id)
    if accounts.contains(where: { authenticator.user(of: $0, in: container) == user }) { return }
    let database = DatabaseKey(container: container, environment: endpoint.environment, owner: nil)
    let zone = try transaction.zone(.default, in: database)
    guard try zone.flatMap({ try transaction.record(RecordName(user.rawValue), in: $0) }) == nil else { return }
    throw ServiceError(.notFound, "there is no user '\(named.prefix(100))' in container \(endpoint.container)")
  }

  private static func encoded(_ roles: [RoleName]) throws -> [UInt8] {
    Array(try JSONEncoder().encode(OperatorMessages.Roles(roles: roles.map(\.rawValue))))
  }

  private func operatorContext(
    _ query: QueryParameters, _ operation: Operation, _ head: HTTPRequestHead
  ) throws -> CallContext {
    guard let container = query["container"] else { throw ServiceError.badRequest("container is missing") }
    guard let environment = Environment(rawValue: query["environment"] ?? "development") else {
      throw ServiceError.badRequest("environment must be development or production")
    }
    guard let scope = DatabaseScope(pathName: query["database"] ?? "private") else {
      throw ServiceError.badRequest("database must be public, private or shared")
    }
    let id = ContainerID(container)
    let endpoint = Endpoint(container: id, environment: environment, scope: scope, operation: operation)
    var principal = Principal.world
    if let user = query["user"] {
      principal.user = user.hasPrefix("_") ? UserName(user) : authenticator.user(of: AccountID(user), in: id)
    }
    var context = CallContext(
      endpoint: endpoint, principal: principal, now: configuration.now(), random: configuration.makeRandom(),
      urls: urls(for: head))
    context.cipher = fieldKey
    context.tokenCipher = tokenKey
    context.wantsExtensions = true
    return context
  }
}

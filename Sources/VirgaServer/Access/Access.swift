import VirgaModel
import VirgaWire

/// What a caller may see and do: the one place where that is decided.
///
/// A private database is its user's alone. In the public one a record type's grants decide: see `PublicGrants`. The shared database is a
/// view of what others share with the user of their private databases: see `VisibleScope`.
struct Access {
  let scope: DatabaseScope
  let user: UserName?
  let container: ContainerID
  let environment: Environment
  /// The database of the call; `nil` for the shared one, which holds nothing of its own.
  let database: DatabaseKey?
  /// The owner that zones are given in answers. Zones of the public database belong to nobody.
  let owner: UserName
  /// What tokens of zones of others are sealed with. One's own zones hold nothing that is to be kept from oneself.
  let tokens: TokenCipher?

  init(_ context: CallContext) throws {
    let endpoint = context.endpoint
    scope = endpoint.scope
    user = context.principal.user
    container = endpoint.container
    environment = endpoint.environment
    tokens = endpoint.scope == .shared ? TokenCipher(context) : nil
    switch scope {
    case .public:
      owner = .defaultOwner
      database = DatabaseKey(container: endpoint.container, environment: endpoint.environment, owner: nil)
    case .private:
      owner = try context.principal.requiredUser()
      database = DatabaseKey(container: endpoint.container, environment: endpoint.environment, owner: owner)
    case .shared:
      owner = try context.principal.requiredUser()
      database = nil
    }
  }

  /// The zone's full name, whether it exists or not.
  /// - Throws: `zoneNotFound` for a zone that cannot lie in this database, `accessDenied` for one that lies in the
  ///   private database of another user.
  func zoneID(_ selector: ZoneSelector) throws -> ZoneID {
    let isOwn = selector.owner == nil || selector.owner == .defaultOwner || selector.owner == user
    if scope == .shared {
      guard !isOwn, let other = selector.owner, selector.name != .default else {
        throw ServiceError(.zoneNotFound, Reason.zoneNotFound)
      }
      return ZoneID(selector.name, owner: other)
    }
    if scope == .private, !isOwn, let other = selector.owner {
      throw ServiceError(.accessDenied, "\(Reason.notYourZone): zone '\(selector.name)', owner '\(other)'")
    }
    guard isOwn, scope != .public || selector.name == .default else {
      throw ServiceError(.zoneNotFound, Reason.zoneNotFound)
    }
    return ZoneID(selector.name, owner: owner)
  }

  /// Why the caller may not do this to a record of the zone; `current` is the live record, if there is one.
  /// - Throws: `authenticationRequired` where somebody who is signed in might.
  func refusal(
    of kind: RecordOperation.Kind, of type: RecordType?, on current: StoredRecord?, in zone: OpenZone
  ) throws -> ServiceError? {
    if let reach = zone.reach { return try reach.refusal(of: kind, of: type, on: current) }
    let refusal = try zone.grants?.refusal(of: kind, of: type, on: current)
    if refusal != nil && user == nil { throw ServiceError.signInRequired }
    return refusal
  }
}

extension Principal {
  /// - Throws: `authenticationRequired` when nobody is signed in.
  func requiredUser() throws -> UserName {
    guard let user else { throw ServiceError.signInRequired }
    return user
  }
}

extension ServiceError {
  fileprivate static let signInRequired = ServiceError(.authenticationRequired, "request needs authorization")
}

import VirgaModel
import VirgaWire

/// What a caller may see and do: the one place where that is decided.
///
/// A private database is its user's alone. The public one may be read by the world; whoever is signed in may create
/// records there, and who created a record may change it (the usual grants of a record type). The shared database is
/// a view of other users' zones, and shows none.
struct Access {
  let scope: DatabaseScope
  let user: UserName?
  /// The database of the call; `nil` for the shared one, which holds nothing of its own.
  let database: DatabaseKey?
  /// The owner that zones are given in answers. Zones of the public database belong to nobody.
  let owner: UserName

  init(_ context: CallContext) throws {
    let endpoint = context.endpoint
    scope = endpoint.scope
    user = context.principal.user
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
  /// - Throws: `zoneNotFound` for a zone that cannot lie in this database.
  func zoneID(_ selector: ZoneSelector) throws -> ZoneID {
    let isOwn = selector.owner == nil || selector.owner == .defaultOwner || selector.owner == user
    guard database != nil, isOwn, scope != .public || selector.name == .default else {
      throw ServiceError(.zoneNotFound, Reason.zoneNotFound)
    }
    return ZoneID(selector.name, owner: owner)
  }

  /// Why the caller may not do this to a record; `current` is the live record, if there is one.
  func refusal(of kind: RecordOperation.Kind, on current: StoredRecord?) -> ServiceError? {
    guard scope == .public else { return nil }
    guard let current else {
      return user == nil ? ServiceError(.accessDenied, "CREATE operation not permitted") : nil
    }
    // A create over a record of another user fails because the record exists.
    if kind == .create && user != nil { return nil }
    return current.created.user == user ? nil : ServiceError(.accessDenied, "WRITE operation not permitted")
  }
}

extension Principal {
  /// - Throws: `authenticationRequired` when nobody is signed in.
  func requiredUser() throws -> UserName {
    guard let user else { throw ServiceError(.authenticationRequired, "request needs authorization") }
    return user
  }
}

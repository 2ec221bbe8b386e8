import VirgaModel
import VirgaWire

extension Service {
  func listSubscriptions(in transaction: any ReadTransaction, context: CallContext) throws -> Reply {
    let shelf = try SubscriptionShelf(context)
    return .subscriptions(
      try shelf.all(in: transaction).map { .subscription(try $0.subscription(owner: shelf.user)) })
  }

  func lookUpSubscriptions(
    _ request: SubscriptionsLookupRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let shelf = try SubscriptionShelf(context)
    try Limits.check(request.ids.count, atMost: Limits.operationsPerRequestMax, "subscriptions in one request")
    return .subscriptions(
      try request.ids.map { id in
        guard let stored = try shelf.subscription(id, in: transaction) else {
          return .failure(id, SubscriptionShelf.notFound)
        }
        return .subscription(try stored.subscription(owner: shelf.user))
      })
  }

  /// Makes, changes and deletes subscriptions. Creating one again with the same content succeeds.
  func modifySubscriptions(
    _ request: SubscriptionsModifyRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    var shelf = try SubscriptionShelf(context)
    try Limits.check(request.operations.count, atMost: Limits.operationsPerRequestMax, "operations in one request")
    var seen: Set<SubscriptionID> = []
    for operation in request.operations where operation.subscription.id != "" {
      guard seen.insert(operation.subscription.id).inserted else {
        throw ServiceError.badRequest("subscription '\(operation.subscription.id)' is named by more than one operation")
      }
    }
    var results: [SubscriptionResult] = []
    for operation in request.operations {
      var subscription = operation.subscription
      if operation.kind == .create && subscription.id == "" { subscription.id = SubscriptionID(context.makeUUID()) }
      results.append(
        try itemResult(failure: { .failure(subscription.id, $0) }) {
          if let fault = operation.fault { throw fault }
          if operation.kind == .delete { return try shelf.delete(subscription.id, in: transaction) }
          return try shelf.save(subscription, isNew: operation.kind == .create, in: transaction)
        })
    }
    return .subscriptions(results)
  }
}

/// The subscriptions of one user in one database.
private struct SubscriptionShelf {
  static let notFound = ServiceError(.notFound, "Subscription not found")

  let user: UserName
  private let access: Access
  private let owner: String
  /// How many there are, once it was asked.
  private var count: Int?

  init(_ context: CallContext) throws {
    user = try context.principal.requiredUser()
    access = try Access(context)
    owner = StoredSubscription.owner(
      user, container: context.endpoint.container, environment: context.endpoint.environment, scope: access.scope)
  }

  func all(in transaction: any ReadTransaction) throws -> [StoredSubscription] {
    try transaction.entities(.subscription, owner: owner).map(StoredSubscription.init)
  }

  func subscription(_ id: SubscriptionID, in transaction: any ReadTransaction) throws -> StoredSubscription? {
    try transaction.entity(.subscription, key: "\(owner)/\(id)").map(StoredSubscription.init)
  }

  mutating func delete(_ id: SubscriptionID, in transaction: any WriteTransaction) throws -> SubscriptionResult {
    guard try subscription(id, in: transaction) != nil else { throw Self.notFound }
    try transaction.removeEntity(.subscription, key: "\(owner)/\(id)")
    count? -= 1
    return .deleted(id)
  }

  mutating func save(
    _ subscription: Subscription, isNew: Bool, in transaction: any WriteTransaction
  ) throws -> SubscriptionResult {
    if let objection = NameRule.name.objection(to: subscription.id.rawValue) {
      throw ServiceError.badRequest("subscription ID \(objection)")
    }
    let stored = try StoredSubscription(subscription, watching: try watched(subscription, in: transaction))
    let known = try self.subscription(subscription.id, in: transaction)
    if isNew {
      if let known, known != stored {
        throw ServiceError(.exists, "subscription '\(subscription.id)' exists with other content; update it")
      }
      let before = try count ?? transaction.entities(.subscription, owner: owner).count
      let after = known == nil ? before + 1 : before
      try Limits.check(after, atMost: Limits.subscriptionsPerDatabaseMax, "subscriptions")
      count = after
    } else if known == nil {
      throw Self.notFound
    }
    try transaction.put(stored.entity(owner: owner))
    return .subscription(try stored.subscription(owner: user))
  }

  private func watched(
    _ subscription: Subscription, in transaction: any ReadTransaction
  ) throws -> StoredSubscription.Watched {
    switch subscription.kind {
    case .query:
      throw ServiceError.badRequest("subscriptions of the kind query do not fire on this server, so it keeps none")
    case _ where access.scope == .public:
      throw ServiceError.badRequest("the public database has no subscriptions to zones or to the whole of it")
    case .database: return .database
    case .zone(let selector):
      guard selector.name != .default else {
        throw ServiceError.badRequest("the default zone has no change feed to subscribe to")
      }
      return .zone(try access.openZone(selector, in: transaction).id.name)
    }
  }
}

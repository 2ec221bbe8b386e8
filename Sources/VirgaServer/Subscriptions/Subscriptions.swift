import VirgaModel
import VirgaWire

extension Service {
  func listSubscriptions(in transaction: any ReadTransaction, context: CallContext) throws -> Reply {
    let shelf = try SubscriptionShelf(context)
    return .subscriptions(
      try shelf.all(in: transaction).map { .subscription(try $0.subscription(owner: shelf.zoneOwner)) })
  }

  func lookUpSubscriptions(
    _ request: SubscriptionsLookupRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let shelf = try SubscriptionShelf(context)
    return .subscriptions(
      try request.ids.map { id in
        guard let stored = try shelf.subscription(id, in: transaction) else {
          return .failure(id, SubscriptionShelf.notFound)
        }
        return .subscription(try stored.subscription(owner: shelf.zoneOwner))
      })
  }

  /// Makes, changes and deletes subscriptions. Creating one again with the same content succeeds.
  func modifySubscriptions(
    _ request: SubscriptionsModifyRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    var shelf = try SubscriptionShelf(context)
    var seen: Set<SubscriptionID> = []
    for operation in request.operations where operation.subscription.id != "" {
      guard seen.insert(operation.subscription.id).inserted else {
        throw ServiceError.badRequest("more than one operation names subscription '\(operation.subscription.id)'")
      }
    }
    var results: [SubscriptionResult] = []
    for operation in request.operations {
      var subscription = operation.subscription
      if operation.kind == .create && subscription.id == "" { subscription.id = SubscriptionID(context.makeUUID()) }
      results.append(
        try transaction.itemResult(failure: { .failure(subscription.id, $0) }) {
          if let fault = operation.fault { throw fault }
          if operation.kind == .delete { return try shelf.delete(subscription.id, in: transaction) }
          return try shelf.save(
            subscription, isNew: operation.kind == .create, in: transaction, context: context)
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
  /// The owner that zones are given in answers.
  var zoneOwner: UserName { access.owner }
  /// What there is, once it was asked.
  private var room: SubscriptionRoom?

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
    guard let known = try subscription(id, in: transaction) else { throw Self.notFound }
    try transaction.remove(known, owner: owner)
    room?.remove(id)
    return .deleted(id)
  }

  mutating func save(
    _ subscription: Subscription, isNew: Bool, in transaction: any WriteTransaction, context: CallContext
  ) throws -> SubscriptionResult {
    if let objection = NameRule.plainName.objection(to: subscription.id.rawValue) {
      throw ServiceError.badRequest("subscription ID \(objection)")
    }
    if let type = subscription.recordType, let objection = NameRule.recordType.objection(to: type.rawValue) {
      throw ServiceError.badRequest("recordType \(objection)")
    }
    try Limits.check(subscription.firesOn.count, atMost: Limits.subscriptionEventsMax, "events of a subscription")
    try Limits.check(
      subscription.notificationInfo.storedBytes, atMost: Limits.notificationInfoBytesMax,
      "bytes of a subscription's notificationInfo")
    let stored = try StoredSubscription(
      subscription, watching: try watched(subscription, in: transaction, context: context))
    let known = try self.subscription(subscription.id, in: transaction)
    if isNew {
      if let known, known != stored {
        throw ServiceError(.exists, "subscription '\(subscription.id)' exists with other content; update it")
      }
    } else if known == nil {
      throw Self.notFound
    }
    let entity = stored.entity(owner: owner)
    if stored != known {
      var room = try self.room ?? SubscriptionRoom(all(in: transaction), owner: owner, scope: access.scope)
      try room.take(stored, bytes: entity.value.count)
      self.room = room
    }
    try transaction.put(entity)
    if access.scope == .public, let database = access.database,
      let watch = stored.watchEntity(owner: owner, in: database)
    {
      try transaction.put(watch)
    }
    return .subscription(try stored.subscription(owner: zoneOwner))
  }

  private func watched(
    _ subscription: Subscription, in transaction: any ReadTransaction, context: CallContext
  ) throws -> StoredSubscription.Watched {
    switch subscription.kind {
    case .query(let json, let zone):
      return .query(try watchedQuery(json, zone, of: subscription, in: transaction, context: context))
    case _ where access.scope == .public:
      throw ServiceError.badRequest("the public database has no subscriptions to zones or to the whole database")
    case .database: return .database
    case .zone(let selector):
      guard selector.name != .default else {
        throw ServiceError.badRequest("the default zone has no change feed to subscribe to")
      }
      let id = try access.openZone(selector, in: transaction).id
      return .zone(id.name, of: access.scope == .shared ? id.owner : nil)
    }
  }

  /// Sorts of the query say nothing to a subscription.
  private func watchedQuery(
    _ json: [UInt8], _ zone: ZoneSelector?, of subscription: Subscription, in transaction: any ReadTransaction,
    context: CallContext
  ) throws -> WatchedQuery {
    if access.scope == .shared {
      throw ServiceError.badRequest(
        "the shared database has no subscriptions to queries; subscribe to it or to a zone of it")
    }
    try Limits.check(json.count, atMost: Limits.subscriptionQueryBytesMax, "bytes of a subscription's query")
    let info = subscription.notificationInfo
    try Limits.check(
      info.additionalFields?.count ?? 0, atMost: Limits.notificationFieldsMax, "fields in a notification")
    let events = RecordEvents(words: subscription.firesOn)
    if events.isEmpty {
      throw ServiceError.badRequest("firesOn of a query subscription must name create, update or delete")
    }
    var query: Query
    do {
      query = try Query(json: json)
    } catch {
      throw ServiceError(error)
    }
    query.sorts = []
    let zone = try zone.map { try access.openZone($0, in: transaction).id.name }
    let checked = try CheckedQuery(query, for: .watching, access: access, in: transaction, context: context)
    let carriesFields =
      info.additionalFields?.isEmpty == false || !info.argumentNames.isEmpty || info.collapseIDKey != nil
    return WatchedQuery(
      recordType: query.recordType, events: events, zone: zone, carriesFields: carriesFields, json: checked.query.json)
  }
}

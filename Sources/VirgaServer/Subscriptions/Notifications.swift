import VirgaModel
import VirgaWire

/// Puts notifications of a change in a zone into every queue that a subscription asks for, but not into those of the
/// client that made the change. One that still waits and tells the same is replaced.
/// - Parameter events: What happened to records, for subscriptions to queries.
func notifySubscribers(
  of zone: ZoneID, in database: DatabaseKey, events: [RecordEvent] = [], transaction: any WriteTransaction,
  context: inout CallContext
) throws {
  if let user = database.owner {
    let notifier = Notifier(zone, in: database, scope: .private, transaction: transaction)
    try notifier.tell(user, of: events, context: &context)
  } else if !events.isEmpty {
    let notifier = Notifier(zone, in: database, scope: .public, transaction: transaction)
    try notifier.tellEverybody(of: events, context: &context)
  }
}

/// The same for zones of a private database that came or went, in one call.
func notifySubscribers(
  ofZones zones: [ZoneID], in database: DatabaseKey, transaction: any WriteTransaction, context: inout CallContext
) throws {
  guard let user = database.owner, let first = zones.first else { return }
  try Notifier(first, in: database, scope: .private, transaction: transaction)
    .tell(user, ofZones: zones, context: &context)
}

/// The same for a user who sees the zone in their shared database, where nobody subscribes to queries.
func notifyParticipant(
  _ user: UserName, of zone: ZoneID, in database: DatabaseKey, events: [RecordEvent],
  transaction: any WriteTransaction, context: inout CallContext
) throws {
  let notifier = Notifier(zone, in: database, scope: .shared, transaction: transaction)
  try notifier.tell(user, of: events, context: &context)
}

/// Tells of a change in one zone, as users see it in one of their databases.
private struct Notifier {
  private var zone: ZoneID
  private let database: DatabaseKey
  private let scope: DatabaseScope
  private let transaction: any WriteTransaction
  private let schemas: NotifiedSchemas

  init(_ zone: ZoneID, in database: DatabaseKey, scope: DatabaseScope, transaction: any WriteTransaction) {
    self.zone = zone
    self.database = database
    self.scope = scope
    self.transaction = transaction
    schemas = NotifiedSchemas(database, in: transaction)
  }

  /// Tells the owner's subscriptions to zones that these zones came or went.
  func tell(_ user: UserName, ofZones zones: [ZoneID], context: inout CallContext) throws {
    let tokens = try tokens(of: user, context)
    if tokens.isEmpty { return }
    let owner = StoredSubscription.owner(
      user, container: database.container, environment: database.environment, scope: scope)
    for subscription in try StoredSubscription.all(under: owner, in: transaction) {
      for zone in zones where subscription.watches(zone, []) {
        var notifier = self
        notifier.zone = zone
        let isSent = try notifier.send(subscription, to: user, at: tokens, context: &context)
        guard subscription.firesOnce, isSent else { continue }
        try transaction.remove(subscription, owner: owner)
        break
      }
    }
  }

  /// Tells the user's subscriptions in a database that is theirs.
  func tell(_ user: UserName, of events: [RecordEvent], context: inout CallContext) throws {
    let tokens = try tokens(of: user, context)
    if tokens.isEmpty { return }
    let owner = StoredSubscription.owner(
      user, container: database.container, environment: database.environment, scope: scope)
    let all = try StoredSubscription.all(under: owner, in: transaction)
    let others = all.filter { subscription in
      if case .query = subscription.watched { false } else { subscription.watches(zone, events) }
    }
    // Queries may fire for each record, and what they use up must not silence the others. These come last: a queue that
    // is full drops what is oldest.
    schemas.reserve(others.count * tokens.count, for: user)
    for subscription in all {
      guard case .query(let query) = subscription.watched else { continue }
      try tell(user, of: events, subscription, query, at: tokens, context: &context)
    }
    schemas.reserve(0, for: user)
    for subscription in others {
      let isSent = try send(subscription, to: user, at: tokens, context: &context)
      if subscription.firesOnce, isSent { try transaction.remove(subscription, owner: owner) }
    }
  }

  /// Tells the subscriptions of all users who may read the records.
  func tellEverybody(of events: [RecordEvent], context: inout CallContext) throws {
    let types = Set(events.map(\.record.type)).sorted()
    var users: [UserName: (tokens: [PushToken], grants: PublicGrants)] = [:]
    for type in types {
      let owner = StoredSubscription.watchOwner(type, in: database)
      for (user, subscription) in try StoredSubscription.watching(under: owner, in: transaction) {
        guard case .query(let query) = subscription.watched else { continue }
        let (tokens, grants) =
          try users[user] ?? (try tokens(of: user, context), PublicGrants(to: user, in: database, transaction))
        users[user] = (tokens, grants)
        if tokens.isEmpty { continue }
        let readable = try events.filter { try $0.record.type == type && grants.mayRead($0.record) }
        try tell(user, of: readable, subscription, query, at: tokens, context: &context)
      }
    }
  }

  private func tell(
    _ user: UserName, of events: [RecordEvent], _ subscription: StoredSubscription, _ query: WatchedQuery,
    at tokens: [PushToken], context: inout CallContext
  ) throws {
    var fired = try query.fired(by: events, in: zone, schemas)[...]
    if fired.isEmpty { return }
    if subscription.firesOnce { fired = fired.prefix(1) }
    // A queue holds no more.
    var isSent = false
    for event in fired.suffix(Limits.notificationsPerTokenMax) {
      if try send(subscription, of: event, to: user, at: tokens, context: &context) { isSent = true }
    }
    if subscription.firesOnce, isSent {
      let owner = StoredSubscription.owner(
        user, container: database.container, environment: database.environment, scope: scope)
      try transaction.remove(subscription, owner: owner)
    }
  }

  /// The queues of a user, without those of the client that makes the call.
  private func tokens(of user: UserName, _ context: CallContext) throws -> [PushToken] {
    let all = try PushToken.all(
      of: user, container: database.container, environment: database.environment, in: transaction)
    // What clients call themselves is told apart among those of one user only.
    return context.principal.user == user ? all.filter { !$0.isOrigin(context) } : all
  }

  /// - Returns: Whether there was room for it in any queue.
  private func send(
    _ subscription: StoredSubscription, of event: RecordEvent? = nil, to user: UserName, at tokens: [PushToken],
    context: inout CallContext
  ) throws -> Bool {
    var payload = NotificationPayload(
      subscription, container: database.container, user: user, zone: zone, scope: scope)
    if let event {
      try payload.add(event, of: subscription, seal: StoredFieldCipher(database, zone.name, context: context))
    }
    var key = "\(scope.rawValue) \(subscription.id)\n\(zone.owner)/\(zone.name)"
    // Of one record, what is told last stands for the same that was told before. Its creation stays its creation.
    if let event { key += "\n\(event.record.name)\n\(event.reason.pushNumber)" }
    if let collapse = try subscription.collapseKey() { key = "\(scope.rawValue) \(subscription.id)\n\(collapse)" }
    payload.id = context.makeUUID()
    let json = payload.json
    var isSent = false
    for token in tokens where schemas.takeRoom(for: user) {
      isSent = true
      var row = NotificationRow(pushToken: token.token, coalescingKey: key, payload: json)
      row.id = try transaction.append(row)
      context.wakes.add(row)
    }
    return isSent
  }
}

extension WriteTransaction {
  func remove(_ subscription: StoredSubscription, owner: String) throws {
    let key = "\(owner)/\(subscription.id)"
    try removeEntity(.subscription, key: key)
    if case .query = subscription.watched { try removeEntity(.watch, key: key) }
  }
}

import VirgaModel
import VirgaWire

/// Puts a notification into every queue of the database's user that a subscription asks for, but not into those of
/// the client that made the change. One that still waits for the same subscription and zone is replaced.
func notifySubscribers(
  of zone: ZoneID, in database: DatabaseKey, transaction: any WriteTransaction, context: inout CallContext
) throws {
  guard let user = database.owner else { return }
  try notify(user, of: zone, in: database, scope: .private, transaction: transaction, context: &context)
}

/// The same for a user who sees the zone in their private or their shared database.
func notify(
  _ user: UserName, of zone: ZoneID, in database: DatabaseKey, scope: DatabaseScope,
  transaction: any WriteTransaction, context: inout CallContext
) throws {
  let (container, environment) = (database.container, database.environment)
  let tokens = try PushToken.all(of: user, container: container, environment: environment, in: transaction)
    .filter { !$0.isOrigin(context) }
  if tokens.isEmpty { return }
  let owner = StoredSubscription.owner(user, container: container, environment: environment, scope: scope)
  for entity in try transaction.entities(.subscription, owner: owner) {
    let subscription = try StoredSubscription(entity)
    guard subscription.watches(zone) else { continue }
    for token in tokens {
      let payload = subscription.payload(
        container: container, user: user, zone: zone, scope: scope, notification: context.makeUUID())
      try transaction.append(
        NotificationRow(
          pushToken: token.token, coalescingKey: "\(subscription.id) \(zone.name)", payload: payload))
      context.wakes.insert(token.token)
    }
    if subscription.firesOnce { try transaction.removeEntity(.subscription, key: entity.key) }
  }
}

import VirgaModel

/// What the subscriptions of one user in one database take. Saves read them, those of others too, so all of it is bounded:
/// what one person adds to another's save stays small.
struct SubscriptionRoom {
  fileprivate struct Taken {
    var bytes: Int
    var watched: RecordType?
    var queryBytes: Int
  }

  private let countMax: Int
  private var taken: [SubscriptionID: Taken] = [:]

  init(_ all: [StoredSubscription], owner: String, scope: DatabaseScope) {
    countMax = scope == .shared ? Limits.subscriptionsPerSharedDatabaseMax : Limits.subscriptionsPerDatabaseMax
    for one in all { taken[one.id] = Taken(one, bytes: one.entity(owner: owner).value.count) }
  }

  mutating func remove(_ id: SubscriptionID) { taken[id] = nil }

  /// Takes room for one more, or for one that changes.
  /// - Throws: `limitExceeded`; nothing is taken then.
  mutating func take(_ subscription: StoredSubscription, bytes: Int) throws {
    let new = Taken(subscription, bytes: bytes)
    let others = taken.filter { $0.key != subscription.id }.map(\.value)
    try Limits.check(others.count + 1, atMost: countMax, "subscriptions")
    try Limits.check(
      others.reduce(bytes) { $0 + $1.bytes }, atMost: Limits.subscriptionBytesPerDatabaseMax,
      "bytes of all subscriptions in one database")
    if let type = new.watched {
      let watching = others.filter { $0.watched == type }
      try Limits.check(
        watching.count + 1, atMost: Limits.watchedQueriesPerTypeMax, "subscriptions to queries of record type '\(type)'"
      )
      try Limits.check(
        watching.reduce(new.queryBytes) { $0 + $1.queryBytes }, atMost: Limits.watchedQueryBytesPerTypeMax,
        "bytes of the queries that watch record type '\(type)'")
    }
    taken[subscription.id] = new
  }
}

extension SubscriptionRoom.Taken {
  fileprivate init(_ subscription: StoredSubscription, bytes: Int) {
    self.bytes = bytes
    guard case .query(let query) = subscription.watched else {
      (watched, queryBytes) = (nil, 0)
      return
    }
    (watched, queryBytes) = (query.recordType, query.json.count)
  }
}

import FoundationEssentials
import VirgaModel
import VirgaWire

/// A subscription as it is stored. What a save needs to fire it comes first, ready made; the rest is read when a client
/// asks for it.
///
/// As an entity's value it is lines: whether it fires once, of what record type alone, and what it watches; the `aps` part
/// of its notifications; for a query its record type and itself; and the details as JSON.
struct StoredSubscription: Hashable {
  enum Watched: Hashable {
    case database
    /// With the owner of a zone of somebody else.
    case zone(ZoneName, of: UserName?)
    case query(WatchedQuery)
  }

  let id: SubscriptionID
  let watched: Watched
  let firesOnce: Bool
  /// The only record type whose changes count, for a zone or a database.
  let recordType: RecordType?
  /// JSON.
  let aps: [UInt8]
  private let details: [UInt8]

  private struct Details: Codable {
    var firesOn: [String]
    var info: NotificationInfo
    /// The query as it was given.
    var query: String?
  }

  /// - Parameter watched: What the subscription's kind names, resolved.
  init(_ subscription: Subscription, watching watched: Watched) throws {
    id = subscription.id
    self.watched = watched
    firesOnce = subscription.firesOnce
    if case .query = watched { recordType = nil } else { recordType = subscription.recordType }
    aps = subscription.notificationInfo.apsJSON
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    var details = Details(firesOn: subscription.firesOn, info: subscription.notificationInfo)
    if case .query(let json, _) = subscription.kind { details.query = String(decoding: json, as: UTF8.self) }
    self.details = Array(try encoder.encode(details))
  }

  init(_ entity: Entity) throws {
    let damage = StoreError.damaged("subscription \(entity.key) cannot be read")
    let newline = UInt8(ascii: "\n")
    let isQuery =
      entity.value.prefix { $0 != newline }.split(separator: UInt8(ascii: " ")).dropFirst().first
      .map { $0.elementsEqual("query".utf8) } ?? false
    let lines = entity.value.split(
      separator: newline, maxSplits: isQuery ? 4 : 2, omittingEmptySubsequences: false)
    // Only the last word may hold a space: a zone's name. It may begin with a mark that would combine with the space.
    let words = (lines.first ?? []).split(
      separator: UInt8(ascii: " "), maxSplits: isQuery ? 4 : 3, omittingEmptySubsequences: false
    ).map { String(decoding: $0, as: UTF8.self) }
    guard lines.count == (isQuery ? 5 : 3), words.count >= 2, let slash = entity.key.index(ofSlash: 4) else {
      throw damage
    }
    id = SubscriptionID(String(entity.key[slash...].dropFirst()))
    let pace = words[0].split(separator: "/")
    firesOnce = pace.first == "once"
    recordType = pace.count == 2 ? RecordType(String(pace[1])) : nil
    aps = Array(lines[1])
    details = Array(lines[lines.count - 1])
    switch (words[1], words.count) {
    case ("zone", 3...): watched = .zone(ZoneName(words[2...].joined(separator: " ")), of: nil)
    case ("shared", 4): watched = .zone(ZoneName(words[3]), of: UserName(words[2]))
    case ("query", 4...):
      guard let events = Int(words[2]) else { throw damage }
      watched = .query(
        WatchedQuery(
          recordType: RecordType(String(decoding: lines[2], as: UTF8.self)), events: RecordEvents(rawValue: events),
          zone: words.count == 5 ? ZoneName(words[4]) : nil, carriesFields: words[3] == "filled",
          json: Array(lines[3])))
    default: watched = .database
    }
  }

  func entity(owner: String) -> Entity {
    let newline = [UInt8(ascii: "\n")]
    var middle: [UInt8] = []
    let head: String
    switch watched {
    case .database: head = "database"
    case .zone(let name, nil): head = "zone \(name)"
    case .zone(let name, let owner?): head = "shared \(owner) \(name)"
    case .query(let query):
      let zone = query.zone.map { " \($0)" } ?? ""
      head = "query \(query.events.rawValue) \(query.carriesFields ? "filled" : "plain")\(zone)"
      middle = Array(query.recordType.rawValue.utf8) + newline + query.json + newline
    }
    let pace = (firesOnce ? "once" : "always") + (recordType.map { "/\($0)" } ?? "")
    let value = Array("\(pace) \(head)\n".utf8) + aps + newline + middle + details
    return Entity(.subscription, key: "\(owner)/\(id)", owner: owner, value: value)
  }

  /// Where the public database finds it by the record type of its query.
  func watchEntity(owner: String, in database: DatabaseKey) -> Entity? {
    guard case .query(let query) = watched else { return nil }
    var entity = entity(owner: owner)
    entity.kind = .watch
    entity.owner = Self.watchOwner(query.recordType, in: database)
    return entity
  }

  func subscription(owner: UserName) throws -> Subscription {
    let details = try readDetails()
    let kind: Subscription.Kind =
      switch watched {
      case .database: .database
      case .zone(let name, let other): .zone(ZoneSelector(name, owner: other ?? owner))
      case .query(let query):
        .query(json: Array((details.query ?? "").utf8), zone: query.zone.map { ZoneSelector($0, owner: owner) })
      }
    var subscription = Subscription(id: id, kind: kind)
    subscription.firesOn = details.firesOn
    subscription.firesOnce = firesOnce
    subscription.notificationInfo = details.info
    subscription.recordType = recordType
    return subscription
  }

  func notificationInfo() throws -> NotificationInfo { try readDetails().info }

  /// What notifications have in common that replace one another; `nil` if nothing was said.
  func collapseKey() throws -> String? {
    guard case .query(let query) = watched, query.carriesFields else { return nil }
    return try notificationInfo().collapseIDKey
  }

  private func readDetails() throws -> Details {
    do {
      return try JSONDecoder().decode(Details.self, from: Data(details))
    } catch {
      throw StoreError.damaged("subscription \(id) cannot be read")
    }
  }

  /// Whether a change of a zone is one that was asked for.
  /// - Parameter events: What happened to its records; none if the change is the zone's own.
  func watches(_ zone: ZoneID, _ events: [RecordEvent]) -> Bool {
    if let recordType, !events.isEmpty, !events.contains(where: { $0.record.type == recordType }) { return false }
    return switch watched {
    case .database: true
    case .zone(let name, let owner): name == zone.name && owner ?? zone.owner == zone.owner
    case .query: false
    }
  }

  /// Under what the subscriptions of a user in one database are listed; the identifier follows after a slash.
  static func owner(_ user: UserName, container: ContainerID, environment: Environment, scope: DatabaseScope) -> String
  {
    "\(container)/\(environment)/\(scope.pathName)/\(user)"
  }

  /// Under what all that watch a record type of the public database are listed.
  static func watchOwner(_ type: RecordType, in database: DatabaseKey) -> String {
    "\(database.container)/\(database.environment)/\(type)"
  }

  /// The subscriptions that are listed under an owner, by their identifiers. Every save asks for them.
  static func all(under owner: String, in transaction: any ReadTransaction) throws -> [StoredSubscription] {
    try transaction.entities(.subscription, owner: owner) { try $0.map(StoredSubscription.init) }
  }

  /// The same of all who watch a record type of the public database.
  static func watching(
    under owner: String, in transaction: any ReadTransaction
  ) throws -> [(user: UserName, subscription: StoredSubscription)] {
    try transaction.entities(.watch, owner: owner) {
      try $0.map { (try user(ofKey: $0.key), try StoredSubscription($0)) }
    }
  }

  /// Whose a subscription is, by its key.
  private static func user(ofKey key: String) throws -> UserName {
    let parts = key.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5 else { throw StoreError.damaged("subscription \(key) cannot be read") }
    return UserName(String(parts[3]))
  }
}

extension NotificationInfo {
  /// What it takes in the store: every save that it may tell of reads it.
  var storedBytes: Int { get throws { try JSONEncoder().encode(self).count } }
}

extension String {
  /// Where the `count`th slash stands.
  fileprivate func index(ofSlash count: Int) -> String.Index? {
    var left = count
    return utf8.firstIndex {
      if $0 == UInt8(ascii: "/") { left -= 1 }
      return left == 0
    }
  }
}

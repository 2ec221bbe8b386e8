import VirgaModel

/// A user's view of a zone of somebody else: one for each zone that they accepted a share in.
///
/// It stays when the last share has ended, so that the feed tells of it. As an entity's value it is text, a line for
/// each part: owner, zone, incarnation, number in the feed, then the accepted shares.
struct SharedZone: Hashable {
  let user: UserName
  let database: DatabaseKey
  let name: ZoneName
  /// Drawn anew when the zone is shared again after it was gone.
  var incarnation: UInt64
  /// The number of the last change in the user's feed of shared zones.
  var sequence: Int64 = 0
  /// The names of the accepted shares.
  var shares: [RecordName] = []

  var isDeleted: Bool { shares.isEmpty }
  var id: ZoneID { ZoneID(name, owner: database.owner ?? .defaultOwner) }

  init(of name: ZoneName, in database: DatabaseKey, for user: UserName, incarnation: UInt64) {
    self.user = user
    self.database = database
    self.name = name
    self.incarnation = incarnation
  }

  init(_ entity: Entity, for user: UserName, container: ContainerID, environment: Environment) throws {
    let parts = String(decoding: entity.value, as: UTF8.self).split(separator: "\n").map(String.init)
    guard parts.count >= 4, let incarnation = UInt64(parts[2]), let sequence = Int64(parts[3]) else {
      throw StoreError.damaged("shared zone \(entity.key) cannot be read")
    }
    self.init(
      of: ZoneName(parts[1]),
      in: DatabaseKey(container: container, environment: environment, owner: UserName(parts[0])), for: user,
      incarnation: incarnation)
    self.sequence = sequence
    shares = parts[4...].map { RecordName($0) }
  }

  var entity: Entity {
    let parts = [database.owner?.rawValue ?? "", name.rawValue, String(incarnation), String(sequence)]
    return Entity(
      .sharedZone, key: key, owner: Self.owner(user, database.container, database.environment),
      value: Array((parts + shares.map(\.rawValue)).joined(separator: "\n").utf8))
  }

  var key: String { Self.key(name, in: database, for: user) }

  static func key(_ name: ZoneName, in database: DatabaseKey, for user: UserName) -> String {
    "\(owner(user, database.container, database.environment))/\(database.owner?.rawValue ?? "")/\(name)"
  }

  static func owner(_ user: UserName, _ container: ContainerID, _ environment: Environment) -> String {
    "\(container)/\(environment)/\(user)"
  }
}

extension ReadTransaction {
  func sharedZone(_ name: ZoneName, in database: DatabaseKey, for user: UserName) throws -> SharedZone? {
    try entity(.sharedZone, key: SharedZone.key(name, in: database, for: user)).map {
      try SharedZone($0, for: user, container: database.container, environment: database.environment)
    }
  }

  /// All that a user ever accepted, those that are gone too.
  func sharedZones(of user: UserName, _ container: ContainerID, _ environment: Environment) throws -> [SharedZone] {
    try entities(.sharedZone, owner: SharedZone.owner(user, container, environment)).map {
      try SharedZone($0, for: user, container: container, environment: environment)
    }
  }

  func sharedFeed(of user: UserName, _ container: ContainerID, _ environment: Environment) throws -> SharedFeed? {
    let key = SharedZone.owner(user, container, environment)
    guard let entity = try entity(.sharedFeed, key: key) else { return nil }
    let own = try database(DatabaseKey(container: container, environment: environment, owner: user))
    return try SharedFeed(entity.value, key: key, databaseIncarnation: own?.incarnation ?? 0) { 0 }
  }
}

extension WriteTransaction {
  /// Stores a shared zone that changed, as the latest of its user's feed, and tells the user's subscriptions.
  /// - Parameter events: What happened to the zone's records.
  func putChanged(_ zone: SharedZone, events: [RecordEvent], context: inout CallContext) throws {
    var zone = zone
    let key = zone.database
    let own = DatabaseKey(container: key.container, environment: key.environment, owner: zone.user)
    let incarnation = try openDatabase(own, context: &context).incarnation
    let feedKey = SharedZone.owner(zone.user, key.container, key.environment)
    let drawn = context.makeIncarnation()
    var feed = try SharedFeed(
      entity(.sharedFeed, key: feedKey)?.value, key: feedKey, databaseIncarnation: incarnation
    ) { drawn }
    feed.sequence += 1
    zone.sequence = feed.sequence
    try put(feed.entity)
    try put(zone.entity)
    try notifyParticipant(zone.user, of: zone.id, in: key, events: events, transaction: self, context: &context)
  }
}

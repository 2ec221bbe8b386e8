import VirgaModel

/// Where a short GUID leads. It outlives its share until its root is shared again, under another short GUID: a link that
/// was handed out lets nobody in after that.
///
/// As an entity's value it is text, a line for each part; that of the root is empty for a whole zone.
struct ShareAddress: Hashable {
  let shortGUID: String
  let database: DatabaseKey
  let zone: ZoneName
  var share: RecordName
  var root: RecordName?
  /// The zone's number when the share had begun; `nil` for one that began before that was kept.
  var start: Int64?

  init(_ shortGUID: String, database: DatabaseKey, zone: ZoneName, share: RecordName, root: RecordName?) {
    self.shortGUID = shortGUID
    self.database = database
    self.zone = zone
    self.share = share
    self.root = root
  }

  init(_ entity: Entity, container: ContainerID, environment: Environment) throws {
    // Four lines, or three without a root, have no start.
    let parts = String(decoding: entity.value, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard (3...5).contains(parts.count) else { throw StoreError.damaged("a share's address cannot be read") }
    let key = DatabaseKey(container: container, environment: environment, owner: UserName(parts[0]))
    self.init(
      String(entity.key.dropFirst(Self.key("", container, environment).count)), database: key,
      zone: ZoneName(parts[1]), share: RecordName(parts[2]),
      root: parts.count > 3 && !parts[3].isEmpty ? RecordName(parts[3]) : nil)
    start = parts.count == 5 ? Int64(parts[4]) : nil
  }

  var entity: Entity {
    var parts = [database.owner?.rawValue ?? "", zone.rawValue, share.rawValue, root?.rawValue ?? ""]
    if let start { parts.append(String(start)) }
    return Entity(
      .shareAddress, key: Self.key(shortGUID, database.container, database.environment),
      owner: Self.owner(of: zone, in: database), value: Array(parts.joined(separator: "\n").utf8))
  }

  static func key(_ shortGUID: String, _ container: ContainerID, _ environment: Environment) -> String {
    "\(container)/\(environment)/\(shortGUID)"
  }

  /// Under what the addresses of a zone are listed.
  static func owner(of zone: ZoneName, in database: DatabaseKey) -> String {
    "\(database.container)/\(database.environment)/\(database.owner?.rawValue ?? "")/\(zone)"
  }
}

extension ReadTransaction {
  func shareAddress(
    _ shortGUID: String, container: ContainerID, environment: Environment
  ) throws -> ShareAddress? {
    try entity(.shareAddress, key: ShareAddress.key(shortGUID, container, environment)).map {
      try ShareAddress($0, container: container, environment: environment)
    }
  }

  /// The addresses that a zone's shares have or had, by their text.
  func shareAddresses(of zone: ZoneName, in database: DatabaseKey) throws -> [ShareAddress] {
    try entities(.shareAddress, owner: ShareAddress.owner(of: zone, in: database)).map {
      try ShareAddress($0, container: database.container, environment: database.environment)
    }
  }

  /// The live share records of a zone.
  func liveShares(of zone: ZoneRow) throws -> [StoredRecord] {
    try shareAddresses(of: zone.name, in: zone.database).compactMap { try liveShare(at: $0, in: zone) }
  }

  /// The live share that an address leads to. Another share that has taken the name is not meant: who knows the one
  /// address need not know the other.
  func liveShare(at address: ShareAddress, in zone: ZoneRow) throws -> StoredRecord? {
    try liveShare(address.share, in: zone).flatMap { $0.shortGUID == address.shortGUID ? $0 : nil }
  }

  /// The live share record of that name.
  func liveShare(_ name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    guard let record = try record(name, in: zone), !record.isDeleted, record.type == .share else { return nil }
    return record
  }
}

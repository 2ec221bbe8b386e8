import FoundationEssentials
package import VirgaModel
import VirgaWire

/// Texts by which devices hand each other keys. They are ciphertext to the server, which decides who sees which list, and
/// that nothing in one is ever changed.
package struct KeyRegistry: Sendable {
  package enum Place: Hashable, Sendable {
    case account(AccountID)
    /// A zone, as somebody who may be its owner sees it.
    case zone(ZoneName, DatabaseKey, reader: UserName)

    fileprivate var owner: String {
      switch self {
      case .account(let account): account.rawValue
      case .zone(let zone, let database, _):
        "\(database.container)/\(database.environment)/\(database.owner?.rawValue ?? "")/\(zone)"
      }
    }
  }

  package struct Item: Hashable, Sendable {
    package var name: String
    package var value: String
    package var added: Timestamp

    package init(name: String, value: String, added: Timestamp) {
      self.name = name
      self.value = value
      self.added = added
    }
  }

  private struct Stored: Codable {
    var value: String
    var added: Timestamp
  }

  package init() {}

  /// All that is there, by name.
  /// - Throws: `ZONE_NOT_FOUND` for a zone that the reader does not have.
  package func items(in place: Place, _ transaction: any ReadTransaction) throws -> [Item] {
    _ = try checkedPrefix(of: place, transaction)
    return try transaction.entities(.sealedKey, owner: place.owner).map { entity in
      let stored: Stored = try entity.decoded()
      return Item(
        name: String(entity.key.dropFirst(place.owner.count + 1)), value: stored.value, added: stored.added)
    }
  }

  /// Adds what has a name that is free; all that is there now is answered.
  /// - Throws: `ACCESS_DENIED` for names that are not the caller's to add in somebody else's zone.
  /// - Parameter quotas: How much a database may hold, for keys that a zone's owner adds.
  /// - Parameter account: Whose device adds.
  package func add(
    _ items: [Item], to place: Place, in transaction: any WriteTransaction, quotas: Quotas = Quotas(),
    account: AccountID? = nil, random: inout some RandomNumberGenerator
  ) throws -> [Item] {
    let prefix = try checkedPrefix(of: place, transaction)
    var room = KeyRoom(
      try transaction.entities(.sealedKey, owner: place.owner), ownerLength: place.owner.utf8.count, prefix: prefix)
    var addedBytes: Int64 = 0
    for item in items {
      try Limits.check(item.value.utf8.count, atMost: Limits.keyItemBytesMax, "bytes of a key's text")
      try Limits.check(item.name.utf8.count, atMost: Limits.keyItemNameLengthMax, "characters of a key's name")
      guard !item.name.isEmpty, item.name.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
        throw ServiceError.badRequest("a key's name is empty or has a character that is not printable ASCII")
      }
      guard item.name.hasPrefix(prefix) else {
        throw ServiceError(.accessDenied, "only the owner of a zone may add keys to it")
      }
      let key = "\(place.owner)\n\(item.name)"
      if try transaction.entity(.sealedKey, key: key) != nil { continue }
      let stored = Stored(value: item.value, added: item.added)
      let entity = try Entity(.sealedKey, key: key, owner: place.owner, encoding: stored)
      try room.take(item.name, bytes: entity.value.count)
      try transaction.put(entity)
      addedBytes += entity.countedBytes
    }
    // What participants add has its own room, and takes none of the owner's.
    if case .zone(_, let database, let reader) = place, reader == database.owner, addedBytes > 0 {
      var row = try transaction.openDatabase(database, of: account) { RandomText.incarnation(using: &random) }
      row.keyBytes += addedBytes
      let used = row.usedBytes + row.keyBytes
      if let limit = quotas.limit(of: database), used > limit {
        throw ServiceError(.quotaExceeded, "\(Reason.quotaExceeded): \(used) bytes needed, \(limit) allowed")
      }
      try transaction.put(row)
      if let account { try count(addedBytes, of: account, atMost: quotas.limit(of: database), in: transaction) }
    }
    return try self.items(in: place, transaction)
  }

  /// Counts what an account's devices keep in zones, in all containers together: keys need no data beside them, so the
  /// quota of each database would bound nothing.
  private func count(
    _ bytes: Int64, of account: AccountID, atMost limit: Int64?, in transaction: any WriteTransaction
  ) throws {
    let key = Self.countKey(account)
    let known = try transaction.entity(.setting, key: key).flatMap { Int64(String(decoding: $0.value, as: UTF8.self)) }
    let used = (known ?? 0) + bytes
    if let limit, used > limit {
      throw ServiceError(
        .quotaExceeded, "\(Reason.quotaExceeded): \(used) bytes of keys in all containers, \(limit) allowed")
    }
    try transaction.put(Entity(.setting, key: key, value: Array(String(used).utf8)))
  }

  /// After all keys of an account's zones are gone.
  package func forgetCount(of account: AccountID, in transaction: any WriteTransaction) throws {
    try transaction.removeEntity(.setting, key: Self.countKey(account))
  }

  private static func countKey(_ account: AccountID) -> String { "keys.bytes/\(account)" }

  /// Counts keys of an owner that went.
  private func uncount(_ gone: [Entity], in key: DatabaseKey, _ transaction: any WriteTransaction) throws {
    let bytes = gone.reduce(0) { $0 + $1.countedBytes }
    guard bytes > 0, var database = try transaction.database(key) else { return }
    // Those that came before keys were counted are not in it.
    database.keyBytes = max(0, database.keyBytes - bytes)
    try transaction.put(database)
  }

  /// What the server sees of a key's succession: whom the new key is sealed to.
  private struct Succession: Decodable {
    var grants: [String: String]
  }

  /// Refuses keys of an account that none of its devices could ever open: with the older ones replaced, nobody would have
  /// a key to write with.
  /// - Throws: `BAD_REQUEST`.
  package func checkSuccessions(
    among items: [Item], of account: AccountID, in transaction: any ReadTransaction
  ) throws {
    for item in items where item.name.hasPrefix("after/") {
      let succession = try? JSONDecoder().decode(Succession.self, from: Data(item.value.utf8))
      let recipients = Set(succession?.grants.keys.map { DeviceID($0) } ?? [])
      let devices = recipients.isEmpty ? [] : try Accounts().devices(of: account, in: transaction)
      guard devices.contains(where: { recipients.contains($0.id) }) else {
        throw ServiceError.badRequest("no device of the account could open the new key")
      }
    }
  }

  package func removeAll(of place: Place, in transaction: any WriteTransaction) throws {
    let gone = try transaction.entities(.sealedKey, owner: place.owner)
    for entity in gone { try transaction.removeEntity(.sealedKey, key: entity.key) }
    if case .zone(_, let database, _) = place {
      try uncount(gone.filter { !$0.isOfParticipant(place.owner) }, in: database, transaction)
    }
  }

  /// Removes what lies in a zone's list by and for somebody who has no part in the zone any more: later keys are not for
  /// them.
  package func removeParticipant(
    _ user: UserName, of zone: ZoneName, in database: DatabaseKey, _ transaction: any WriteTransaction
  ) throws {
    let owner = Place.zone(zone, database, reader: user).owner
    for entity in try transaction.entities(.sealedKey, owner: owner) {
      let name = entity.key.dropFirst(owner.count + 1)
      guard name.hasPrefix("participant/\(user)/") || name.hasPrefix("handover/\(user)/") else { continue }
      try transaction.removeEntity(.sealedKey, key: entity.key)
      if !entity.isOfParticipant(owner) { try uncount([entity], in: database, transaction) }
    }
  }

  /// Removes the keys of a database's zones.
  /// - Returns: The zones that had some.
  package func removeZones(of database: DatabaseKey, in transaction: any WriteTransaction) throws -> [ZoneName] {
    let names = try transaction.liveZones(of: database).map(\.name)
    return try ([.default] + names.filter { $0 != .default }).filter { zone in
      let place = Place.zone(zone, database, reader: database.owner ?? "")
      let hasKeys = try !transaction.entities(.sealedKey, owner: place.owner).isEmpty
      try removeAll(of: place, in: transaction)
      return hasKeys
    }
  }

  /// What the names begin with that the caller may add.
  private func checkedPrefix(of place: Place, _ transaction: any ReadTransaction) throws -> String {
    guard case .zone(let zone, let database, let reader) = place else { return "" }
    if reader == database.owner {
      // The default zone has no row before its first record.
      if zone == .default { return "" }
      guard let row = try transaction.zone(zone, in: database) else {
        throw ServiceError(.zoneNotFound, Reason.zoneNotFound)
      }
      // An app is to learn why the zone is gone also where this is the first to be asked.
      if row.isDeleted { throw ServiceError(.zoneNotFound, row.deletionReason.text) }
      return ""
    } else if let shared = try transaction.sharedZone(zone, in: database, for: reader), !shared.isDeleted {
      return "participant/\(reader)/"
    }
    throw ServiceError(.zoneNotFound, Reason.zoneNotFound)
  }
}

extension Entity {
  /// What a text that devices keep takes.
  fileprivate var countedBytes: Int64 { Int64(key.utf8.count + value.count) }

  fileprivate func isOfParticipant(_ placeOwner: String) -> Bool {
    key.dropFirst(placeOwner.count + 1).hasPrefix("participant/")
  }
}

/// How much of a place is taken: by its owner, by its participants together, and by the one who adds. The owner's keys
/// and the participants' have room of their own, so nobody can keep an owner from adding a key.
private struct KeyRoom {
  private struct Part {
    var count = 0
    var bytes = 0

    mutating func add(_ bytes: Int) {
      count += 1
      self.bytes += bytes
    }
  }

  private let prefix: String
  private var (owners, participants, own) = (Part(), Part(), Part())

  /// - Parameter prefix: What the names begin with that the caller may add; empty for the owner.
  init(_ entities: [Entity], ownerLength: Int, prefix: String) {
    self.prefix = prefix
    for entity in entities {
      note(Substring(entity.key.utf8.dropFirst(ownerLength + 1)), bytes: entity.value.count)
    }
  }

  private mutating func note(_ name: Substring, bytes: Int) {
    let bytes = bytes + name.utf8.count
    if name.hasPrefix("participant/") { participants.add(bytes) } else { owners.add(bytes) }
    if !prefix.isEmpty, name.hasPrefix(prefix) { own.add(bytes) }
  }

  mutating func take(_ name: String, bytes: Int) throws {
    note(name[...], bytes: bytes)
    for part in [owners, participants] {
      try Limits.check(part.count, atMost: Limits.keyItemsMax, "keys of an account or a zone")
      try Limits.check(part.bytes, atMost: Limits.keyListBytesMax, "bytes of the keys of an account or a zone")
    }
    try Limits.check(own.count, atMost: Limits.keyItemsPerParticipantMax, "keys of one participant")
    try Limits.check(own.bytes, atMost: Limits.keyBytesPerParticipantMax, "bytes of the keys of one participant")
  }
}

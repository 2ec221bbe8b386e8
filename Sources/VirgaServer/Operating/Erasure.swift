package import VirgaModel

/// Erases people from a store: what they own, what they made elsewhere, and what others' records say of them.
package struct Erasure {
  /// What is erased: all that belongs to these names.
  package struct Person: Hashable, Sendable {
    /// The person's users, one for each container.
    package var users: Set<UserName>
    package var account: AccountID?
    package var devices: Set<DeviceID>

    package init(users: Set<UserName>, account: AccountID?, devices: Set<DeviceID>) {
      self.users = users
      self.account = account
      self.devices = devices
    }

    package var names: [String] {
      (users.map(\.rawValue) + devices.map(\.rawValue) + (account.map { [$0.rawValue] } ?? [])).sorted()
    }
  }

  /// What those are called who are erased.
  static let nobody: UserName = "_erased"
  private static let unfinished = "erasure.unfinished"

  private let names: ErasedNames
  private let transaction: any WriteTransaction
  /// Others' zones that records were taken out of.
  private var changedZones: Set<ZoneAddress> = []

  /// Erases a person's rows. The files of their assets, and the bytes that they leave in the store's files, go after
  /// that; until `finish` the store remembers that this is to be done.
  /// - Returns: How many assets nobody uses any more.
  package static func erase(
    _ person: Person, in transaction: any WriteTransaction, random: inout some RandomNumberGenerator
  ) throws -> Int {
    try transaction.put(Entity(.setting, key: unfinished, value: []))
    var erasure = Erasure(names: ErasedNames(person.names), transaction: transaction)
    try erasure.eraseDatabases(&random)
    try erasure.renewSharedFeeds(&random)
    try erasure.eraseEntities()
    return try erasure.dropAssets()
  }

  /// Whether an erasure was cut off before its end.
  package static func isUnfinished(in transaction: any ReadTransaction) throws -> Bool {
    try transaction.entity(.setting, key: unfinished) != nil
  }

  package static func noteFinished(in transaction: any WriteTransaction) throws {
    try transaction.removeEntity(.setting, key: unfinished)
  }

  private init(names: ErasedNames, transaction: any WriteTransaction) {
    self.names = names
    self.transaction = transaction
  }

  private mutating func eraseDatabases(_ random: inout some RandomNumberGenerator) throws {
    // What anybody's deleted zones left is due to go, and may name the person.
    while try transaction.clearRemovedRecords(limit: .max, bytes: .max) {}
    for var database in try transaction.databases() {
      if let owner = database.key.owner, names.contains(owner.rawValue) {
        try transaction.removeDatabase(database.key)
        continue
      }
      for zone in try transaction.allZones(of: database.key, after: .min) {
        // Keys of indexes hold values, and names of who made a record. A query makes an index again.
        for index in try transaction.indexes(of: zone) { try transaction.removeIndex(index, of: zone) }
        try erase(in: zone, of: &database, &random)
      }
    }
    while try transaction.clearRemovedIndexes(limit: Limits.entriesPerIndexStepMax) {}
  }

  /// What they made in a zone of others. A record that somebody else goes on with stays, as nobody's.
  private mutating func erase(
    in zone: ZoneRow, of database: inout DatabaseRow, _ random: inout some RandomNumberGenerator
  ) throws {
    var (addedBytes, isAnyGone) = (Int64(0), false)
    try transaction.forEachRecord(of: zone) { record in
      if names.contains(record.created.user.rawValue), names.contains(record.modified.user.rawValue) {
        isAnyGone = true
        if !record.isDeleted { addedBytes -= try record.bytes() }
        try transaction.forget(record.name, in: zone)
      } else if let changed = names.taken(outOf: record) {
        if !record.isDeleted { addedBytes += changed.jsonBytes - record.jsonBytes }
        try transaction.rewrite(changed, in: zone)
      }
    }
    try transaction.forEachReplacedVersion(of: zone) { version, replacedBy in
      if names.contains(version.modified.user.rawValue) {
        try transaction.forgetVersion(replacedBy: replacedBy, in: zone)
      } else if let changed = names.taken(outOf: version) {
        try transaction.rewriteVersion(changed, replacedBy: replacedBy, in: zone)
      }
    }
    guard isAnyGone || addedBytes != 0 else { return }
    var zone = zone
    zone.usedBytes += addedBytes
    if !zone.isDeleted { database.usedBytes += addedBytes }
    if isAnyGone {
      // Tokens that were given before would not tell of the records that went; that the zone changed is to be told.
      database.sequence += 1
      zone.incarnation = RandomText.incarnation(using: &random)
      zone.sequence += 1
      zone.databaseSequence = database.sequence
      changedZones.insert(ZoneAddress(zone.name, in: database.key))
    }
    try transaction.put(database)
    try transaction.put(&zone)
  }

  /// Others who see a zone that changed or is gone begin their feed of shared zones from nothing.
  private func renewSharedFeeds(_ random: inout some RandomNumberGenerator) throws {
    var feeds: Set<String> = []
    try transaction.forEachEntity(.sharedZone) { entity in
      let parts = entity.owner.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 3, let environment = Environment(rawValue: parts[1]) else {
        throw StoreError.damaged("shared zone \(entity.key) cannot be read")
      }
      let zone = try SharedZone(
        entity, for: UserName(parts[2]), container: ContainerID(parts[0]), environment: environment)
      let isGone = zone.database.owner.map { names.contains($0.rawValue) } ?? false
      if isGone || changedZones.contains(ZoneAddress(zone.name, in: zone.database)) { feeds.insert(entity.owner) }
    }
    for key in feeds.sorted() {
      guard let text = try transaction.entity(.sharedFeed, key: key)?.value else { continue }
      var feed = try SharedFeed(text, key: key, databaseIncarnation: 0) { 0 }
      feed.renew(RandomText.incarnation(using: &random))
      try transaction.put(feed.entity)
    }
  }

  /// Accounts, devices, tokens, subscriptions, receipts, and what waits to be delivered: all that names the person.
  private func eraseEntities() throws {
    for kind in Entity.Kind.allCases {
      try transaction.forEachEntity(kind) { entity in
        let isGone =
          names.areNamed(in: entity.key) || names.areNamed(in: entity.owner) || names.areNamed(in: entity.value)
        if kind == .pushToken {
          let waiting = try transaction.notifications(for: entity.key, limit: .max)
          let gone = waiting.filter { isGone || names.areNamed(in: $0.payload) }
          try transaction.removeNotifications(gone.map(\.id), of: entity.key)
        }
        if isGone { try transaction.removeEntity(kind, key: entity.key) }
      }
    }
  }

  private func dropAssets() throws -> Int {
    var count = 0
    while true {
      let assets = try transaction.unreferencedAssets(before: Timestamp(milliseconds: .max), limit: 1_000)
      if assets.isEmpty { return count }
      for asset in assets { try transaction.removeAsset(asset.checksum) }
      count += assets.count
    }
  }
}

/// The names of somebody who is erased, and where they stand.
struct ErasedNames {
  private let names: [(text: String, bytes: [UInt8])]

  init(_ names: [String]) { self.names = names.sorted().map { ($0, Array($0.utf8)) } }

  func contains(_ name: String) -> Bool { names.contains { $0.text.hasSameBytes(as: name) } }

  func areNamed(in text: String) -> Bool { areNamed(in: Array(text.utf8)) }

  func areNamed(in bytes: [UInt8]) -> Bool { names.contains { bytes.firstRange(of: $0.bytes, from: 0) != nil } }

  /// Whether a version is by one of them, or mentions one.
  func mark(_ record: StoredRecord) -> Bool { taken(outOf: record) != nil }

  /// The version without the names; `nil` if it has none.
  func taken(outOf record: StoredRecord) -> StoredRecord? {
    var changed = record
    for stamp in [\StoredRecord.created, \.modified] {
      if contains(changed[keyPath: stamp].user.rawValue) { changed[keyPath: stamp].user = Erasure.nobody }
      if contains(changed[keyPath: stamp].device) { changed[keyPath: stamp].device = Erasure.nobody.rawValue }
    }
    // A name is ASCII, so text and bytes are one.
    for name in names {
      changed.fieldsJSON.replace(name.bytes, by: Array(Erasure.nobody.rawValue.utf8))
      changed.unknownMembers.replace(name.bytes, by: Array(Erasure.nobody.rawValue.utf8))
    }
    return changed == record ? nil : changed
  }
}

extension [UInt8] {
  fileprivate func firstRange(of other: [UInt8], from start: Int) -> Range<Int>? {
    guard let first = other.first, count - start >= other.count else { return nil }
    var position = start
    while position <= count - other.count {
      guard let next = self[position...(count - other.count)].firstIndex(of: first) else { return nil }
      if self[next..<next + other.count].elementsEqual(other) { return next..<next + other.count }
      position = next + 1
    }
    return nil
  }

  fileprivate mutating func replace(_ old: [UInt8], by new: [UInt8]) {
    var position = 0
    while let range = firstRange(of: old, from: position) {
      replaceSubrange(range, with: new)
      position = range.lowerBound + new.count
    }
  }
}

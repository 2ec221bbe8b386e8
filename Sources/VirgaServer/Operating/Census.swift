package import VirgaModel

/// Who is in a store: what a person's names are made from.
package struct Census: Hashable, Sendable {
  package var containers: [ContainerID]
  /// The devices of each account.
  package var accounts: [AccountID: Set<DeviceID>]

  package init(of transaction: any ReadTransaction) throws {
    var found = Set(try transaction.databases().map(\.key.container))
    for kind in [.subscription, .pushToken] as [Entity.Kind] {
      try transaction.forEachEntity(kind) { entity in
        let name = entity.owner.prefix { $0 != "/" }
        if !name.isEmpty, name.endIndex != entity.owner.endIndex { found.insert(ContainerID(String(name))) }
      }
    }
    containers = found.sorted()
    var accounts: [AccountID: Set<DeviceID>] = [:]
    try transaction.forEachEntity(.account) { accounts[AccountID($0.key)] = [] }
    try transaction.forEachEntity(.device) { accounts[AccountID($0.owner), default: []].insert(DeviceID($0.key)) }
    self.accounts = accounts
  }
}

extension ReadTransaction {
  /// Goes through all entities of a kind, by key, a few at a time. `body` may remove the one that it is given.
  func forEachEntity(_ kind: Entity.Kind, _ body: (Entity) throws -> Void) throws {
    var last = ""
    while true {
      let entities = try allEntities(kind, after: last, limit: 256)
      guard let end = entities.last else { return }
      for entity in entities { try body(entity) }
      last = end.key
    }
  }

  /// Goes through all records of a zone, tombstones too, a few at a time. `body` may change the one that it is given.
  func forEachRecord(of zone: ZoneRow, _ body: (StoredRecord) throws -> Void) throws {
    var position = Int64.min
    while true {
      var records: [StoredRecord] = []
      try changes(in: zone, after: position, limit: 256) { record in
        records.append(record)
        return true
      }
      guard let end = records.last else { return }
      for record in records { try body(record) }
      position = end.sequence
    }
  }

  /// The same for the versions that were replaced, each with the number of what replaced it.
  func forEachReplacedVersion(of zone: ZoneRow, _ body: (StoredRecord, Int64) throws -> Void) throws {
    var position = Int64.min
    while true {
      var versions: [(StoredRecord, Int64)] = []
      try replacedVersions(in: zone, after: position) { version, replacedBy in
        versions.append((version, replacedBy))
        return versions.count < 256
      }
      guard let end = versions.last else { return }
      for (version, replacedBy) in versions { try body(version, replacedBy) }
      position = end.1
    }
  }

  /// Whether a store knows somebody by a user's record name: as the owner of a database, as who made or changed a record,
  /// by a record of their own, in a share, or by what is listed under them. It may be a user whose account is gone.
  package func knows(user: UserName) throws -> Bool {
    // What the erased are called is nobody's name.
    guard user != Erasure.nobody else { return false }
    let databases = try databases()
    if databases.contains(where: { $0.key.owner == user }) { return true }
    let names = ErasedNames([user.rawValue])
    do {
      for kind in Entity.Kind.allCases {
        try forEachEntity(kind) { if $0.owner.hasSuffix("/\(user)") { throw FoundSomebody() } }
      }
      for database in databases {
        for zone in try allZones(of: database.key) {
          try forEachRecord(of: zone) {
            if $0.name.rawValue == user.rawValue || names.mark($0) { throw FoundSomebody() }
          }
          try forEachReplacedVersion(of: zone) { version, _ in if names.mark(version) { throw FoundSomebody() } }
        }
      }
    } catch is FoundSomebody {
      return true
    }
    return false
  }
}

/// Ends a search.
private struct FoundSomebody: Error {}

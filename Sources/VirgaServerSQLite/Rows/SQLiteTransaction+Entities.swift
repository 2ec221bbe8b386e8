import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func entity(_ kind: Entity.Kind, key: String) throws -> Entity? {
    let statement = try statement("SELECT owner, value FROM entity WHERE kind = ? AND key = ?")
    try statement.bind(1, kind.rawValue)
    try statement.bind(2, key)
    return try statement.first { Entity(kind, key: key, owner: $0.text(0), value: $0.blob(1)) }
  }

  func entity<Value: Sendable>(
    _ kind: Entity.Kind, key: String, as read: ([UInt8]) throws -> Value
  ) throws -> Value? {
    // The schema is read by every save.
    let isCached = isWriter && kind == .recordType
    if isCached, let known = cache.recordTypes[key] as? Value { return known }
    let value = try entity(kind, key: key).map { try read($0.value) }
    if isCached, let value {
      cache.makeRoom()
      cache.recordTypes[key] = value
    }
    return value
  }

  func entities(_ kind: Entity.Kind, owner: String, from key: String) throws -> [Entity] {
    let statement = try statement(
      "SELECT key, value FROM entity WHERE kind = ? AND owner = ? AND owner <> '' AND key >= ? ORDER BY key")
    try statement.bind(1, kind.rawValue)
    try statement.bind(2, owner)
    try statement.bind(3, key)
    var entities: [Entity] = []
    try statement.forEach { row in
      entities.append(Entity(kind, key: row.text(0), owner: owner, value: row.blob(1)))
      return true
    }
    return entities
  }

  func entities<Value: Sendable>(
    _ kind: Entity.Kind, owner: String, as read: ([Entity]) throws -> Value
  ) throws -> Value {
    guard isWriter, EntityLists.kinds.contains(kind) else { return try read(entities(kind, owner: owner)) }
    let key = EntityLists.Key(kind, owner)
    if let known = cache.lists[key] as? Value { return known }
    let entities = try entities(kind, owner: owner)
    let value = try read(entities)
    cache.lists.remember(value, of: entities, for: key)
    return value
  }

  /// Before an entity changes: what was read of its list is no longer so.
  private func forgetList(_ kind: Entity.Kind, key: String, newOwner: String? = nil) throws {
    guard EntityLists.kinds.contains(kind), !cache.lists.isEmpty else { return }
    if let newOwner { cache.lists.forget(EntityLists.Key(kind, newOwner)) }
    if let old = try entity(kind, key: key) { cache.lists.forget(EntityLists.Key(kind, old.owner)) }
  }

  func allEntities(_ kind: Entity.Kind, after key: String, limit: Int) throws -> [Entity] {
    let statement = try statement(
      "SELECT key, owner, value FROM entity WHERE kind = ? AND key > ? ORDER BY key LIMIT ?")
    try statement.bind(1, kind.rawValue)
    try statement.bind(2, key)
    try statement.bind(3, Int64(max(0, limit)))
    var entities: [Entity] = []
    try statement.forEach { row in
      entities.append(Entity(kind, key: row.text(0), owner: row.text(1), value: row.blob(2)))
      return true
    }
    return entities
  }

  func put(_ entity: Entity) throws {
    try forgetList(entity.kind, key: entity.key, newOwner: entity.owner)
    let statement = try statement(
      """
      INSERT INTO entity (kind, key, owner, value) VALUES (?, ?, ?, ?)
      ON CONFLICT (kind, key) DO UPDATE SET owner = excluded.owner, value = excluded.value
      """)
    try statement.bind(1, entity.kind.rawValue)
    try statement.bind(2, entity.key)
    try statement.bind(3, entity.owner)
    try statement.bind(4, entity.value)
    try statement.run()
    if entity.kind == .recordType { cache.recordTypes[entity.key] = nil }
  }

  func removeEntity(_ kind: Entity.Kind, key: String) throws {
    try forgetList(kind, key: key)
    let statement = try statement("DELETE FROM entity WHERE kind = ? AND key = ?")
    try statement.bind(1, kind.rawValue)
    try statement.bind(2, key)
    try statement.run()
    if kind == .recordType { cache.recordTypes[key] = nil }
  }
}

// MARK: - Assets

extension SQLiteTransaction {
  func asset(_ checksum: String) throws -> AssetRow? {
    let statement = try statement("SELECT checksum, size, uploaded_at FROM asset WHERE checksum = ?")
    try statement.bind(1, checksum)
    return try statement.first(AssetRow.init)
  }

  func assets(after checksum: String, limit: Int) throws -> [AssetRow] {
    let statement = try statement(
      "SELECT checksum, size, uploaded_at FROM asset WHERE checksum > ? ORDER BY checksum LIMIT ?")
    try statement.bind(1, checksum)
    try statement.bind(2, Int64(max(0, limit)))
    var assets: [AssetRow] = []
    try statement.forEach { row in
      assets.append(AssetRow(row))
      return true
    }
    return assets
  }

  func unreferencedAssets(before moment: Timestamp, limit: Int) throws -> [AssetRow] {
    let statement = try statement(
      """
      SELECT checksum, size, uploaded_at FROM asset
      WHERE uploaded_at < ? AND NOT EXISTS (SELECT 1 FROM claim WHERE claim.checksum = asset.checksum)
      ORDER BY checksum LIMIT ?
      """)
    try statement.bind(1, moment.milliseconds)
    try statement.bind(2, Int64(max(0, limit)))
    var assets: [AssetRow] = []
    try statement.forEach { row in
      assets.append(AssetRow(row))
      return true
    }
    return assets
  }

  func put(_ asset: AssetRow) throws {
    let statement = try statement("INSERT OR REPLACE INTO asset (checksum, size, uploaded_at) VALUES (?, ?, ?)")
    try statement.bind(1, asset.checksum)
    try statement.bind(2, asset.size)
    try statement.bind(3, asset.uploaded.milliseconds)
    try statement.run()
  }

  func removeAsset(_ checksum: String) throws {
    let statement = try statement("DELETE FROM asset WHERE checksum = ?")
    try statement.bind(1, checksum)
    try statement.run()
  }
}

extension AssetRow {
  fileprivate init(_ row: borrowing Row) {
    self.init(checksum: row.text(0), size: row.int64(1), uploaded: Timestamp(milliseconds: row.int64(2)))
  }
}

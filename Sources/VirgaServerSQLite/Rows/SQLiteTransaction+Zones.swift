import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func database(_ key: DatabaseKey) throws -> DatabaseRow? {
    if isWriter, let row = cache.databases[key] { return row }
    let statement = try statement(
      "SELECT incarnation, sequence, used_bytes FROM database WHERE container = ? AND environment = ? AND owner = ?")
    try statement.bind(key, from: 1)
    let row = try statement.first { row in
      var found = DatabaseRow(key: key, incarnation: UInt64(bitPattern: row.int64(0)), sequence: row.int64(1))
      found.usedBytes = row.int64(2)
      return found
    }
    if isWriter, let row { cache.databases.remember(row, for: key) }
    return row
  }

  func databases() throws -> [DatabaseRow] {
    try writeChangedRows()
    let statement = try statement(
      """
      SELECT container, environment, owner, incarnation, sequence, used_bytes FROM database
      ORDER BY container, environment, owner
      """)
    var rows: [DatabaseRow] = []
    try statement.forEach { row in
      var found = DatabaseRow(
        key: try DatabaseKey(row), incarnation: UInt64(bitPattern: row.int64(3)), sequence: row.int64(4))
      found.usedBytes = row.int64(5)
      rows.append(found)
      return true
    }
    return rows
  }

  func put(_ database: DatabaseRow) throws {
    if cache.databases[database.key] != nil {
      cache.databases.change(database, for: database.key)
    } else {
      try write(database)
      cache.databases.remember(database, for: database.key)
    }
  }

  private func write(_ database: DatabaseRow) throws {
    let statement = try statement(
      """
      INSERT INTO database (container, environment, owner, incarnation, sequence, used_bytes)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (container, environment, owner)
      DO UPDATE SET incarnation = excluded.incarnation, sequence = excluded.sequence,
        used_bytes = excluded.used_bytes
      """)
    try statement.bind(database.key, from: 1)
    try statement.bind(4, Int64(bitPattern: database.incarnation))
    try statement.bind(5, database.sequence)
    try statement.bind(6, database.usedBytes)
    try statement.run()
  }

  /// Brings the file's rows to what the jobs made of them, so that a statement over many of them sees that.
  func writeChangedRows() throws {
    for row in cache.databases.unwritten.values { try write(row) }
    for row in cache.zones.unwritten.values { try update(row) }
  }

  func zone(_ name: ZoneName, in database: DatabaseKey) throws -> ZoneRow? {
    if isWriter, let row = cache.zones[ZoneKey(name, in: database)] { return row }
    let statement = try statement(
      """
      SELECT z.id, z.name, z.incarnation, z.sequence, z.floor, z.database_sequence, z.deleted, z.deletion_reason,
        z.sharing, z.used_bytes, z.deletion_sequence
      FROM database d JOIN zone z ON z.database = d.id
      WHERE d.container = ? AND d.environment = ? AND d.owner = ? AND z.name = ?
      """)
    try statement.bind(database, from: 1)
    try statement.bind(4, name.rawValue)
    let row = try statement.first { ZoneRow($0, in: database) }
    if isWriter, let row { cache.zones.remember(row, for: ZoneKey(name, in: database)) }
    return row
  }

  func zones(in database: DatabaseKey, after position: Int64, limit: Int) throws -> [ZoneRow] {
    try writeChangedRows()
    let statement = try statement(
      """
      SELECT z.id, z.name, z.incarnation, z.sequence, z.floor, z.database_sequence, z.deleted, z.deletion_reason,
        z.sharing, z.used_bytes, z.deletion_sequence
      FROM database d JOIN zone z ON z.database = d.id
      WHERE d.container = ? AND d.environment = ? AND d.owner = ? AND z.database_sequence > ?
      ORDER BY z.database_sequence, z.id LIMIT ?
      """)
    try statement.bind(database, from: 1)
    try statement.bind(4, position)
    try statement.bind(5, Int64(max(0, limit)))
    var rows: [ZoneRow] = []
    try statement.forEach { row in
      rows.append(ZoneRow(row, in: database))
      return true
    }
    return rows
  }

  func put(_ zone: inout ZoneRow) throws {
    let key = ZoneKey(zone.name, in: zone.database)
    if zone.id != 0, cache.zones[key] != nil {
      cache.zones.change(zone, for: key)
      return
    }
    if zone.id == 0 { try insert(&zone) } else { try update(zone) }
    cache.zones.remember(zone, for: key)
  }

  private func insert(_ zone: inout ZoneRow) throws {
    let statement = try statement(
      """
      INSERT INTO zone (
        database, name, incarnation, sequence, floor, database_sequence, deleted, deletion_reason, sharing, used_bytes,
        deletion_sequence)
      SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM database WHERE container = ? AND environment = ? AND owner = ?
      """)
    try statement.bind(1, zone.name.rawValue)
    try statement.bindCounters(of: zone, from: 2)
    try statement.bind(zone.database, from: 11)
    try statement.run()
    guard connection.changedRowCount == 1 else {
      throw StoreError.other("the database of a zone was not put before it")
    }
    zone.id = connection.lastInsertedID
  }

  private func update(_ zone: ZoneRow) throws {
    let statement = try statement(
      """
      UPDATE zone SET incarnation = ?, sequence = ?, floor = ?, database_sequence = ?, deleted = ?, deletion_reason = ?,
        sharing = ?, used_bytes = ?, deletion_sequence = ?
      WHERE id = ?
      """)
    try statement.bindCounters(of: zone, from: 1)
    try statement.bind(10, zone.id)
    try statement.run()
    guard connection.changedRowCount == 1 else { throw StoreError.other("no zone has the number \(zone.id)") }
  }

  func removeRecords(of zone: ZoneRow) throws {
    for sql: StaticString in [
      "DELETE FROM record WHERE zone = ?", "DELETE FROM version WHERE zone = ?",
      "DELETE FROM reference WHERE zone = ?", "DELETE FROM claim WHERE zone = ?",
    ] {
      let statement = try statement(sql)
      try statement.bind(1, zone.id)
      try statement.run()
    }
    try removeIndexes(of: zone)
  }
}

extension DatabaseKey {
  /// Reads the first three columns.
  init(_ row: borrowing Row) throws {
    guard let environment = Environment(rawValue: row.text(1)) else {
      throw StoreError.damaged("a database of an unknown environment")
    }
    let owner = row.text(2)
    self.init(
      container: ContainerID(row.text(0)), environment: environment, owner: owner.isEmpty ? nil : UserName(owner))
  }
}

extension ZoneRow {
  fileprivate init(_ row: borrowing Row, in database: DatabaseKey) {
    self.init(
      id: row.int64(0), database: database, name: ZoneName(row.text(1)), incarnation: UInt64(bitPattern: row.int64(2)))
    sequence = row.int64(3)
    floor = row.int64(4)
    databaseSequence = row.int64(5)
    isDeleted = row.bool(6)
    deletionReason = row.optionalText(7).flatMap(ZoneDeletionReason.init(rawValue:))
    sharing = ZoneSharing(rawValue: Int(row.int64(8))) ?? .none
    usedBytes = row.int64(9)
    deletionSequence = row.int64(10)
  }
}

extension Statement {
  fileprivate func bind(_ key: DatabaseKey, from index: Int) throws(SQLiteError) {
    try bind(index, key.container.rawValue)
    try bind(index + 1, key.environment.rawValue)
    try bind(index + 2, key.owner?.rawValue ?? "")
  }

  fileprivate func bindCounters(of zone: ZoneRow, from index: Int) throws(SQLiteError) {
    try bind(index, Int64(bitPattern: zone.incarnation))
    try bind(index + 1, zone.sequence)
    try bind(index + 2, zone.floor)
    try bind(index + 3, zone.databaseSequence)
    try bind(index + 4, Int64(zone.isDeleted ? 1 : 0))
    try bind(index + 5, zone.deletionReason?.rawValue)
    try bind(index + 6, Int64(zone.sharing.rawValue))
    try bind(index + 7, zone.usedBytes)
    try bind(index + 8, zone.deletionSequence)
  }
}

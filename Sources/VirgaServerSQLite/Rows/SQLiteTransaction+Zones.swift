import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func database(_ key: DatabaseKey) throws -> DatabaseRow? {
    if isWriter, let row = cache.databases[key] { return row }
    guard let (row, tally) = try readDatabase(key) else { return nil }
    if isWriter {
      cache.databases.remember(row, for: key)
      if cache.tallies[key] == nil { cache.tallies.remember(tally, for: key) }
    }
    return row
  }

  private func readDatabase(_ key: DatabaseKey) throws -> (DatabaseRow, DatabaseTally)? {
    let statement = try statement(
      """
      SELECT incarnation, sequence, used_bytes, key_bytes, zone_count, past_zone_count, history_bytes, tombstone_count,
        removed_bytes
      FROM database WHERE container = ? AND environment = ? AND owner = ?
      """)
    try statement.bind(key, from: 1)
    return try statement.first { row in
      var found = DatabaseRow(key: key, incarnation: UInt64(bitPattern: row.int64(0)), sequence: row.int64(1))
      found.usedBytes = row.int64(2)
      found.keyBytes = row.int64(3)
      var tally = DatabaseTally()
      tally.zones = row.int(4)
      tally.pastZones = row.int(5)
      tally.historyBytes = row.int64(6)
      tally.tombstones = row.int(7)
      tally.removedBytes = row.int64(8)
      return (found, tally)
    }
  }

  func tally(of database: DatabaseKey) throws -> DatabaseTally {
    if isWriter, let tally = cache.tallies[database] { return tally }
    let tally = try readDatabase(database)?.1 ?? DatabaseTally()
    if isWriter { cache.tallies.remember(tally, for: database) }
    return tally
  }

  func change(_ tally: DatabaseTally, of database: DatabaseKey) throws {
    if try tally != self.tally(of: database) { cache.tallies.change(tally, for: database) }
  }

  func databases() throws -> [DatabaseRow] {
    try writeChangedRows()
    let statement = try statement(
      """
      SELECT container, environment, owner, incarnation, sequence, used_bytes, key_bytes FROM database
      ORDER BY container, environment, owner
      """)
    var rows: [DatabaseRow] = []
    try statement.forEach { row in
      var found = DatabaseRow(
        key: try DatabaseKey(row), incarnation: UInt64(bitPattern: row.int64(3)), sequence: row.int64(4))
      found.usedBytes = row.int64(5)
      found.keyBytes = row.int64(6)
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
      INSERT INTO database (
        container, environment, owner, incarnation, sequence, used_bytes, key_bytes, zone_count, past_zone_count,
        history_bytes, tombstone_count, removed_bytes)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (container, environment, owner)
      DO UPDATE SET incarnation = excluded.incarnation, sequence = excluded.sequence,
        used_bytes = excluded.used_bytes, key_bytes = excluded.key_bytes, zone_count = excluded.zone_count,
        past_zone_count = excluded.past_zone_count, history_bytes = excluded.history_bytes,
        tombstone_count = excluded.tombstone_count, removed_bytes = excluded.removed_bytes
      """)
    try statement.bind(database.key, from: 1)
    try statement.bind(4, Int64(bitPattern: database.incarnation))
    try statement.bind(5, database.sequence)
    try statement.bind(6, database.usedBytes)
    try statement.bind(7, database.keyBytes)
    try statement.bind(try tally(of: database.key), from: 8)
    try statement.run()
  }

  private func write(_ tally: DatabaseTally, of database: DatabaseKey) throws {
    let statement = try statement(
      """
      UPDATE database SET zone_count = ?, past_zone_count = ?, history_bytes = ?, tombstone_count = ?, removed_bytes = ?
      WHERE container = ? AND environment = ? AND owner = ?
      """)
    try statement.bind(tally, from: 1)
    try statement.bind(database, from: 6)
    try statement.run()
  }

  /// Brings the file's rows to what the jobs made of them, so that a statement over many of them sees that.
  func writeChangedRows() throws {
    for row in cache.databases.unwritten.values { try write(row) }
    for (key, tally) in cache.tallies.unwritten where cache.databases.unwritten[key] == nil {
      try write(tally, of: key)
    }
    for row in cache.zones.unwritten.values { try update(row) }
  }

  func zone(_ name: ZoneName, in database: DatabaseKey) throws -> ZoneRow? {
    if isWriter, let row = cache.zones[ZoneAddress(name, in: database)] { return row }
    if let zoneOfRead, zoneOfRead.name == name, zoneOfRead.database == database { return zoneOfRead }
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
    if isWriter, let row { cache.zones.remember(row, for: ZoneAddress(name, in: database)) }
    if !isWriter { zoneOfRead = row }
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
    let key = ZoneAddress(zone.name, in: zone.database)
    if zone.id != 0, let old = cache.zones[key] {
      try count(zone, replacing: old)
      cache.zones.change(zone, for: key)
      return
    }
    if zone.id == 0 {
      try insert(&zone)
      try count(zone, replacing: nil)
    } else {
      try count(zone, replacing: try self.zone(zone.name, in: zone.database))
      try update(zone)
    }
    cache.zones.remember(zone, for: key)
  }

  private func count(_ zone: ZoneRow, replacing old: ZoneRow?) throws {
    guard old?.isDeleted != zone.isDeleted else { return }
    var tally = try tally(of: zone.database)
    tally.note(zone, replacing: old)
    try change(tally, of: zone.database)
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
    lowWaterMark = row.int64(4)
    databaseSequence = row.int64(5)
    isDeleted = row.bool(6)
    deletionReason = row.optionalText(7).flatMap(ZoneDeletionReason.init(rawValue:))
    sharing = ZoneSharing(rawValue: Int(row.int64(8))) ?? .none
    usedBytes = row.int64(9)
    deletionSequence = row.int64(10)
  }
}

extension Statement {
  fileprivate func bind(_ tally: DatabaseTally, from index: Int) throws(SQLiteError) {
    try bind(index, Int64(tally.zones))
    try bind(index + 1, Int64(tally.pastZones))
    try bind(index + 2, tally.historyBytes)
    try bind(index + 3, Int64(tally.tombstones))
    try bind(index + 4, tally.removedBytes)
  }

  func bind(_ key: DatabaseKey, from index: Int) throws(SQLiteError) {
    try bind(index, key.container.rawValue)
    try bind(index + 1, key.environment.rawValue)
    try bind(index + 2, key.owner?.rawValue ?? "")
  }

  fileprivate func bindCounters(of zone: ZoneRow, from index: Int) throws(SQLiteError) {
    try bind(index, Int64(bitPattern: zone.incarnation))
    try bind(index + 1, zone.sequence)
    try bind(index + 2, zone.lowWaterMark)
    try bind(index + 3, zone.databaseSequence)
    try bind(index + 4, Int64(zone.isDeleted ? 1 : 0))
    try bind(index + 5, zone.deletionReason?.rawValue)
    try bind(index + 6, Int64(zone.sharing.rawValue))
    try bind(index + 7, zone.usedBytes)
    try bind(index + 8, zone.deletionSequence)
  }
}

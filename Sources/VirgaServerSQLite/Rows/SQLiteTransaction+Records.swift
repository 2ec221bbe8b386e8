import VirgaModel
import VirgaSQLite
import VirgaServer

// All queries for records name the same columns in the same order; `storedRecord` reads them.

extension SQLiteTransaction {
  func record(_ name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    let statement = try statement(
      """
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM record WHERE zone = ? AND name = ?
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, name.rawValue)
    return try statement.first(storedRecord)
  }

  func changes(in zone: ZoneRow, after position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws {
    let statement = try statement(
      """
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM record WHERE zone = ? AND sequence > ? ORDER BY sequence LIMIT ?
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, position)
    try statement.bind(3, Int64(max(0, limit)))
    try statement.forEach { try body(try storedRecord($0)) }
  }

  func changes(in zone: ZoneRow, before position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws {
    let statement = try statement(
      """
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM record WHERE zone = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, position)
    try statement.bind(3, Int64(max(0, limit)))
    try statement.forEach { try body(try storedRecord($0)) }
  }

  func version(_ sequence: Int64, of name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    let statement = try statement(
      """
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM record WHERE zone = ?1 AND name = ?2 AND sequence = ?3
      UNION ALL
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        0, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM version WHERE zone = ?1 AND name = ?2 AND sequence = ?3
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, name.rawValue)
    try statement.bind(3, sequence)
    return try statement.first(storedRecord)
  }

  func versions(of name: RecordName, in zone: ZoneRow) throws -> [StoredRecord] {
    let statement = try statement(
      """
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        0, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM version WHERE zone = ? AND name = ? ORDER BY sequence DESC
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, name.rawValue)
    var versions: [StoredRecord] = []
    try statement.forEach { row in
      versions.append(try storedRecord(row))
      return true
    }
    return versions
  }

  func storedRecord(_ row: borrowing Row) throws -> StoredRecord {
    var record = StoredRecord(
      name: RecordName(row.text(0)), type: RecordType(try word(row.int64(2))), sequence: row.int64(1),
      created: try stamp(row, from: 3), modified: try stamp(row, from: 6), fieldsJSON: row.blob(16))
    record.isDeleted = row.bool(9)
    record.hasAssets = row.bool(10)
    record.hasReferences = row.bool(11)
    record.parent = row.optionalText(12).map(Reference.init(column:))
    record.share = row.optionalText(13).map(Reference.init(column:))
    record.shortGUID = row.optionalText(14)
    record.unknownMembers = row.blob(15)
    return record
  }

  private func stamp(_ row: borrowing Row, from column: Int) throws -> RecordStamp {
    RecordStamp(
      time: Timestamp(milliseconds: row.int64(column)), user: UserName(try word(row.int64(column + 1))),
      device: try word(row.int64(column + 2)))
  }

  // MARK: Writing

  func put(_ record: StoredRecord, in zone: ZoneRow, replacing previous: StoredRecord?, keepsVersion: Bool) throws {
    if record.isDeleted || previous?.isDeleted == true {
      var tally = try tally(of: zone.database)
      tally.note(record, replacing: previous)
      try change(tally, of: zone.database)
    }
    if let previous {
      if keepsVersion && !previous.isDeleted {
        try keepVersion(previous, in: zone, replacedBy: record)
      } else if previous.hasAssets {
        try endClaims(zone: zone.id, sequence: previous.sequence)
      }
      if previous.hasReferences { try removeReferences(of: record.name, in: zone) }
      try update(record, in: zone, replacing: previous)
    } else {
      try insert(record, in: zone)
    }
    if !record.isDeleted { try putReferences(of: record, in: zone) }
    try updateIndexes(from: previous, to: record, in: zone)
    try putClaims(of: record, in: zone)
  }

  private func insert(_ record: StoredRecord, in zone: ZoneRow) throws {
    let statement = try statement(
      """
      INSERT INTO record (
        sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields, zone, name)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    try bind(record, to: statement)
    try statement.bind(17, zone.id)
    try statement.bind(18, record.name.rawValue)
    do { try statement.run() } catch  where error.condition == .constraint {
      guard try self.record(record.name, in: zone) == nil else { throw RecordExists() }
      throw error
    }
  }

  private func update(_ record: StoredRecord, in zone: ZoneRow, replacing previous: StoredRecord) throws {
    let statement = try statement(
      """
      UPDATE record SET
        sequence = ?, type = ?, created_at = ?, created_by = ?, created_on = ?,
        modified_at = ?, modified_by = ?, modified_on = ?,
        deleted = ?, has_assets = ?, has_references = ?, parent = ?, share = ?, short_guid = ?, unknown = ?, fields = ?
      WHERE zone = ? AND name = ? AND sequence = ?
      """)
    try bind(record, to: statement)
    try statement.bind(17, zone.id)
    try statement.bind(18, record.name.rawValue)
    try statement.bind(19, previous.sequence)
    try statement.run()
    guard connection.changedRowCount == 1 else {
      throw StoreError.other("the record replaced is not the newest version")
    }
  }

  private func bind(_ record: StoredRecord, to statement: Statement) throws {
    try statement.bind(1, record.sequence)
    try statement.bind(2, try number(of: record.type.rawValue))
    try bind(record.created, to: statement, from: 3)
    try bind(record.modified, to: statement, from: 6)
    try statement.bind(9, Int64(record.isDeleted ? 1 : 0))
    try statement.bind(10, Int64(record.assetChecksums.isEmpty ? 0 : 1))
    try statement.bind(11, Int64(record.references.isEmpty || record.isDeleted ? 0 : 1))
    try statement.bind(12, record.parent?.column)
    try statement.bind(13, record.share?.column)
    try statement.bind(14, record.shortGUID)
    if record.unknownMembers.isEmpty {
      try statement.bindNull(15)
    } else {
      try statement.bind(15, record.unknownMembers)
    }
    try statement.bind(16, record.fieldsJSON)
  }

  private func bind(_ stamp: RecordStamp, to statement: Statement, from index: Int) throws {
    try statement.bind(index, stamp.time.milliseconds)
    try statement.bind(index + 1, try number(of: stamp.user.rawValue))
    try statement.bind(index + 2, try number(of: stamp.device))
  }

  private func keepVersion(_ record: StoredRecord, in zone: ZoneRow, replacedBy next: StoredRecord) throws {
    let counted = try countedBytes(of: record, in: zone, replacedBy: next)
    let statement = try statement(
      """
      INSERT INTO version (
        zone, name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        has_assets, has_references, replaced_at, counted_bytes, parent, share, short_guid, unknown, fields)
      SELECT zone, name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        has_assets, has_references, ?, ?, parent, share, short_guid, unknown, fields
      FROM record WHERE zone = ? AND name = ?
      """)
    try statement.bind(1, next.modified.time.milliseconds)
    try statement.bind(2, counted)
    try statement.bind(3, zone.id)
    try statement.bind(4, record.name.rawValue)
    try statement.run()
    let dropped = try dropSurplusVersions(of: record.name, in: zone)
    var tally = try tally(of: zone.database)
    tally.historyBytes += counted - dropped
    try change(tally, of: zone.database)
  }

  /// What a version takes once it is replaced: assets that the next one has too are counted there.
  private func countedBytes(
    of record: StoredRecord, in zone: ZoneRow, replacedBy next: StoredRecord
  ) throws -> Int64 {
    var bytes = Int64(record.fieldsJSON.count + record.unknownMembers.count)
    guard record.hasAssets else { return bytes }
    let statement = try statement(
      "SELECT c.checksum, a.size FROM claim c JOIN asset a USING (checksum) WHERE c.zone = ? AND c.sequence = ?")
    try statement.bind(1, zone.id)
    try statement.bind(2, record.sequence)
    try statement.forEach { row in
      if !next.assetChecksums.contains(row.text(0)) { bytes += row.int64(1) }
      return true
    }
    return bytes
  }

  /// - Returns: What had been counted for them.
  private func dropSurplusVersions(of name: RecordName, in zone: ZoneRow) throws -> Int64 {
    let statement = try statement(
      """
      DELETE FROM version WHERE zone = ?1 AND name = ?2 AND sequence <= (
        SELECT sequence FROM version WHERE zone = ?1 AND name = ?2 ORDER BY sequence DESC LIMIT 1 OFFSET ?3
      ) RETURNING zone, sequence, has_assets, counted_bytes
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, name.rawValue)
    try statement.bind(3, Int64(Limits.versionsPerRecordMax))
    return try endClaims(of: statement).bytesByZone[zone.id] ?? 0
  }

  func dropTombstones(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> [Int64] {
    let statement = try statement(
      """
      DELETE FROM record WHERE id IN (
        SELECT id FROM record WHERE zone = ? AND deleted = 1 AND modified_at < ? ORDER BY modified_at, id LIMIT ?
      ) RETURNING sequence
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, moment.milliseconds)
    try statement.bind(3, Int64(max(0, limit)))
    var dropped: [Int64] = []
    try statement.forEach { row in
      dropped.append(row.int64(0))
      return true
    }
    var tally = try tally(of: zone.database)
    tally.tombstones -= dropped.count
    try change(tally, of: zone.database)
    return dropped.sorted()
  }

  func dropVersions(before moment: Timestamp, limit: Int) throws -> Int {
    let statement = try statement(
      """
      DELETE FROM version WHERE id IN (
        SELECT id FROM version WHERE replaced_at < ? AND zone NOT IN (SELECT id FROM removed_zone)
        ORDER BY replaced_at, id LIMIT ?
      ) RETURNING zone, sequence, has_assets, counted_bytes
      """)
    try statement.bind(1, moment.milliseconds)
    try statement.bind(2, Int64(max(0, limit)))
    let (count, bytesByZone) = try endClaims(of: statement)
    for (zone, bytes) in bytesByZone {
      guard let database = try database(ofZone: zone) else { continue }
      var tally = try tally(of: database)
      tally.historyBytes -= bytes
      try change(tally, of: database)
    }
    return count
  }

  private func database(ofZone id: Int64) throws -> DatabaseKey? {
    let statement = try statement(
      "SELECT d.container, d.environment, d.owner FROM zone z JOIN database d ON d.id = z.database WHERE z.id = ?")
    try statement.bind(1, id)
    return try statement.first { try DatabaseKey($0) }
  }

  /// Runs a deletion of versions and ends their claims; answers how many there were, and what was counted for them.
  private func endClaims(of deletion: Statement) throws -> (count: Int, bytesByZone: [Int64: Int64]) {
    var dropped: [(zone: Int64, sequence: Int64)] = []
    var count = 0
    var bytesByZone: [Int64: Int64] = [:]
    try deletion.forEach { row in
      count += 1
      bytesByZone[row.int64(0), default: 0] += row.int64(3)
      if row.bool(2) { dropped.append((row.int64(0), row.int64(1))) }
      return true
    }
    for version in dropped { try endClaims(zone: version.zone, sequence: version.sequence) }
    return (count, bytesByZone)
  }
}

extension Reference {
  /// How a reference stands in one column: name, action and, if it names a zone, zone and owner, a line each. None of
  /// them can hold a line break.
  fileprivate var column: String {
    let parts = [recordName.rawValue, action.rawValue] + (zone.map { [$0.name.rawValue, $0.owner.rawValue] } ?? [])
    return parts.joined(separator: "\n")
  }

  fileprivate init(column: String) {
    let parts = column.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    self.init(
      recordName: RecordName(parts[0]), action: parts.count > 1 ? Action(rawValue: parts[1]) ?? .none : .none,
      zone: parts.count > 3 ? ZoneID(ZoneName(parts[2]), owner: UserName(parts[3])) : nil)
  }
}

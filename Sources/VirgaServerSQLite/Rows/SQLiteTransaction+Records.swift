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
      } else {
        try bridge(previous, in: zone, replacedBy: record)
        if previous.hasAssets { try endAssetReferences(zone: zone.id, sequence: previous.sequence) }
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

  func bind(_ stamp: RecordStamp, to statement: Statement, from index: Int) throws {
    try statement.bind(index, stamp.time.milliseconds)
    try statement.bind(index + 1, try number(of: stamp.user.rawValue))
    try statement.bind(index + 2, try number(of: stamp.device))
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
    var bytes: Int64 = 0
    for sequence in dropped { bytes += try dropHistory(before: sequence, in: zone, keeping: -1) }
    var tally = try tally(of: zone.database)
    tally.tombstones -= dropped.count
    tally.historyBytes -= bytes
    try change(tally, of: zone.database)
    return dropped.sorted()
  }
}

extension Reference {
  /// How a reference stands in one column: name, action and, if it names a zone, zone and owner, a line each. None of
  /// them can hold a line break.
  var column: String {
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

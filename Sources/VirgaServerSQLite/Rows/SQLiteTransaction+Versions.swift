import VirgaModel
import VirgaSQLite
import VirgaServer

// Versions are keyed by the sequence of what replaced them, so saves only append. A record's history is a chain that
// begins with the sequence of its newest version; where a version was not kept, a gap leads on to the one before.

extension SQLiteTransaction {
  func version(_ sequence: Int64, of name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    let statement = try statement(
      """
      WITH RECURSIVE chain (replaced_by, sequence, number) AS (
        SELECT v.replaced_by, v.sequence, 1 - v.gap FROM record r
        JOIN version v ON v.zone = r.zone AND v.replaced_by = r.sequence
        WHERE r.zone = ?1 AND r.name = ?2 AND r.sequence > ?3
        UNION ALL
        SELECT v.replaced_by, v.sequence, c.number + 1 - v.gap FROM chain c
        JOIN version v ON v.zone = ?1 AND v.replaced_by = c.sequence
        WHERE c.number < ?4 AND c.sequence > ?3)
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM record WHERE zone = ?1 AND name = ?2 AND sequence = ?3
      UNION ALL
      SELECT v.name, v.sequence, v.type, v.created_at, v.created_by, v.created_on,
        v.modified_at, v.modified_by, v.modified_on, 0, v.has_assets, v.has_references,
        v.parent, v.share, v.short_guid, v.unknown, v.fields
      FROM chain c JOIN version v ON v.zone = ?1 AND v.replaced_by = c.replaced_by
      WHERE c.sequence = ?3 AND v.gap = 0
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, name.rawValue)
    try statement.bind(3, sequence)
    try statement.bind(4, Int64(Limits.versionsPerRecordMax))
    return try statement.first(storedRecord)
  }

  func versions(of name: RecordName, in zone: ZoneRow) throws -> [StoredRecord] {
    let statement = try statement(
      """
      WITH RECURSIVE chain (replaced_by, sequence, number) AS (
        SELECT v.replaced_by, v.sequence, 1 - v.gap FROM record r
        JOIN version v ON v.zone = r.zone AND v.replaced_by = r.sequence
        WHERE r.zone = ?1 AND r.name = ?2
        UNION ALL
        SELECT v.replaced_by, v.sequence, c.number + 1 - v.gap FROM chain c
        JOIN version v ON v.zone = ?1 AND v.replaced_by = c.sequence
        WHERE c.number < ?3)
      SELECT v.name, v.sequence, v.type, v.created_at, v.created_by, v.created_on,
        v.modified_at, v.modified_by, v.modified_on, 0, v.has_assets, v.has_references,
        v.parent, v.share, v.short_guid, v.unknown, v.fields
      FROM chain c JOIN version v ON v.zone = ?1 AND v.replaced_by = c.replaced_by
      WHERE v.gap = 0 ORDER BY v.sequence DESC
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, name.rawValue)
    try statement.bind(3, Int64(Limits.versionsPerRecordMax))
    var versions: [StoredRecord] = []
    try statement.forEach { row in
      versions.append(try storedRecord(row))
      return true
    }
    return versions
  }

  func replacedVersions(
    in zone: ZoneRow, after position: Int64, _ body: (StoredRecord, Int64) throws -> Bool
  ) throws {
    let statement = try statement(
      """
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        0, has_assets, has_references, parent, share, short_guid, unknown, fields, replaced_by
      FROM version WHERE zone = ? AND replaced_by > ? AND gap = 0 ORDER BY replaced_by
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, position)
    try statement.forEach { try body(try storedRecord($0), $0.int64(17)) }
  }

  func forgetVersion(replacedBy: Int64, in zone: ZoneRow) throws {
    let known = try statement(
      "SELECT sequence, has_assets, counted_bytes FROM version WHERE zone = ? AND replaced_by = ? AND gap = 0")
    try known.bind(1, zone.id)
    try known.bind(2, replacedBy)
    let found = try known.first { ($0.int64(0), $0.bool(1), $0.int64(2)) }
    guard let (sequence, hasAssets, bytes) = found else { return }
    let statement = try statement(
      """
      UPDATE version SET gap = 1, counted_bytes = 0, type = 0, created_at = 0, created_by = 0, created_on = 0,
        modified_at = 0, modified_by = 0, modified_on = 0, has_assets = 0, has_references = 0, parent = NULL,
        share = NULL, short_guid = NULL, unknown = NULL, fields = x''
      WHERE zone = ? AND replaced_by = ?
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, replacedBy)
    try statement.run()
    if hasAssets { try endAssetReferences(zone: zone.id, sequence: sequence) }
    var tally = try tally(of: zone.database)
    tally.historyBytes -= bytes
    try change(tally, of: zone.database)
  }

  func rewriteVersion(_ record: StoredRecord, replacedBy: Int64, in zone: ZoneRow) throws {
    let statement = try statement(
      """
      UPDATE version SET type = ?, created_at = ?, created_by = ?, created_on = ?, modified_at = ?, modified_by = ?,
        modified_on = ?, parent = ?, share = ?, short_guid = ?, unknown = ?, fields = ?
      WHERE zone = ? AND replaced_by = ? AND sequence = ?
      """)
    try bindContent(of: record, to: statement)
    try statement.bind(13, zone.id)
    try statement.bind(14, replacedBy)
    try statement.bind(15, record.sequence)
    try statement.run()
    guard connection.changedRowCount == 1 else {
      throw StoreError.other("the version rewritten is not in the history")
    }
  }

  func rewrite(_ record: StoredRecord, in zone: ZoneRow) throws {
    let hasIndexes = try !indexes(of: zone).isEmpty
    precondition(!hasIndexes, "a zone whose records are rewritten has no indexes")
    let statement = try statement(
      """
      UPDATE record SET type = ?, created_at = ?, created_by = ?, created_on = ?, modified_at = ?, modified_by = ?,
        modified_on = ?, parent = ?, share = ?, short_guid = ?, unknown = ?, fields = ?
      WHERE zone = ? AND name = ? AND sequence = ?
      """)
    try bindContent(of: record, to: statement)
    try statement.bind(13, zone.id)
    try statement.bind(14, record.name.rawValue)
    try statement.bind(15, record.sequence)
    try statement.run()
    guard connection.changedRowCount == 1 else {
      throw StoreError.other("the record rewritten is not the newest version")
    }
  }

  /// What a version says, from the first parameter on.
  private func bindContent(of record: StoredRecord, to statement: Statement) throws {
    try statement.bind(1, try number(of: record.type.rawValue))
    try bind(record.created, to: statement, from: 2)
    try bind(record.modified, to: statement, from: 5)
    try statement.bind(8, record.parent?.column)
    try statement.bind(9, record.share?.column)
    try statement.bind(10, record.shortGUID)
    if record.unknownMembers.isEmpty {
      try statement.bindNull(11)
    } else {
      try statement.bind(11, record.unknownMembers)
    }
    try statement.bind(12, record.fieldsJSON)
  }

  func forget(_ name: RecordName, in zone: ZoneRow) throws {
    guard let record = try record(name, in: zone) else { return }
    let hasIndexes = try !indexes(of: zone).isEmpty
    precondition(!hasIndexes, "a zone whose records are forgotten has no indexes")
    let bytes = try dropHistory(before: record.sequence, in: zone, keeping: -1)
    if record.hasAssets { try endAssetReferences(zone: zone.id, sequence: record.sequence) }
    if record.hasReferences { try removeReferences(of: name, in: zone) }
    let statement = try statement("DELETE FROM record WHERE zone = ? AND name = ?")
    try statement.bind(1, zone.id)
    try statement.bind(2, name.rawValue)
    try statement.run()
    var tally = try tally(of: zone.database)
    tally.historyBytes -= bytes
    if record.isDeleted { tally.tombstones -= 1 }
    try change(tally, of: zone.database)
  }

  func keepVersion(_ record: StoredRecord, in zone: ZoneRow, replacedBy next: StoredRecord) throws {
    let counted = try countedBytes(of: record, in: zone, replacedBy: next)
    let statement = try statement(
      """
      INSERT INTO version (
        zone, replaced_by, sequence, gap, replaced_at, counted_bytes, name, type, created_at, created_by, created_on,
        modified_at, modified_by, modified_on, has_assets, has_references, parent, share, short_guid, unknown, fields)
      VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, next.sequence)
    try statement.bind(3, record.sequence)
    try statement.bind(4, next.modified.time.milliseconds)
    try statement.bind(5, counted)
    try statement.bind(6, record.name.rawValue)
    try statement.bind(7, try number(of: record.type.rawValue))
    try bind(record.created, to: statement, from: 8)
    try bind(record.modified, to: statement, from: 11)
    try statement.bind(14, Int64(record.hasAssets ? 1 : 0))
    try statement.bind(15, Int64(record.hasReferences ? 1 : 0))
    try statement.bind(16, record.parent?.column)
    try statement.bind(17, record.share?.column)
    try statement.bind(18, record.shortGUID)
    if record.unknownMembers.isEmpty {
      try statement.bindNull(19)
    } else {
      try statement.bind(19, record.unknownMembers)
    }
    try statement.bind(20, record.fieldsJSON)
    try statement.run()
    var tally = try tally(of: zone.database)
    tally.historyBytes += counted
    if next.trimsHistory(replacing: record) {
      tally.historyBytes -= try dropHistory(before: next.sequence, in: zone, keeping: Limits.versionsPerRecordMax)
    }
    try change(tally, of: zone.database)
  }

  /// Holds a history together over a version that is not kept.
  func bridge(_ record: StoredRecord, in zone: ZoneRow, replacedBy next: StoredRecord) throws {
    let statement = try statement(
      """
      INSERT INTO version (
        zone, replaced_by, sequence, gap, replaced_at, counted_bytes, name, type, created_at, created_by, created_on,
        modified_at, modified_by, modified_on, has_assets, has_references, fields)
      SELECT zone, ?3, iif(gap, sequence, ?2), 1, ?4, 0, name, 0, 0, 0, 0, 0, 0, 0, 0, 0, x''
      FROM version WHERE zone = ?1 AND replaced_by = ?2
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, record.sequence)
    try statement.bind(3, next.sequence)
    try statement.bind(4, next.modified.time.milliseconds)
    try statement.run()
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

  /// Drops the history of the record whose newest version has that sequence, but for its newest versions.
  /// - Parameter count: How many stay; −1 drops gaps too.
  /// - Returns: What had been counted for them.
  func dropHistory(before sequence: Int64, in zone: ZoneRow, keeping count: Int) throws -> Int64 {
    let statement = try statement(
      """
      WITH RECURSIVE chain (replaced_by, sequence, number) AS (
        SELECT replaced_by, sequence, 1 - gap FROM version WHERE zone = ?1 AND replaced_by = ?2
        UNION ALL
        SELECT v.replaced_by, v.sequence, c.number + 1 - v.gap FROM chain c
        JOIN version v ON v.zone = ?1 AND v.replaced_by = c.sequence)
      DELETE FROM version WHERE zone = ?1 AND replaced_by IN (SELECT replaced_by FROM chain WHERE number > ?3)
      RETURNING sequence, has_assets, counted_bytes, gap
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, sequence)
    try statement.bind(3, Int64(count))
    return try endAssetReferences(of: statement, in: zone).bytes
  }

  func dropVersions(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> Int {
    let statement = try statement(
      """
      DELETE FROM version WHERE zone = ?1 AND replaced_by < (
        SELECT coalesce(min(CASE WHEN replaced_at >= ?2 THEN replaced_by END), max(replaced_by) + 1)
        FROM (
          SELECT replaced_by, replaced_at FROM version WHERE zone = ?1 AND gap = 0 ORDER BY replaced_by LIMIT ?3))
      RETURNING sequence, has_assets, counted_bytes, gap
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, moment.milliseconds)
    try statement.bind(3, Int64(max(0, limit)))
    let (count, bytes) = try endAssetReferences(of: statement, in: zone)
    // Gaps that led to what is gone.
    let gaps = try self.statement(
      """
      DELETE FROM version WHERE zone = ?1 AND gap = 1 AND replaced_at < ?2 AND replaced_by < coalesce(
        (SELECT min(replaced_by) FROM version WHERE zone = ?1 AND gap = 0), 9223372036854775807)
      """)
    try gaps.bind(1, zone.id)
    try gaps.bind(2, moment.milliseconds)
    try gaps.run()
    var tally = try tally(of: zone.database)
    tally.historyBytes -= bytes
    try change(tally, of: zone.database)
    return count
  }

  /// Runs a deletion of versions and ends their claims; answers how many there were, and what was counted for them.
  private func endAssetReferences(of deletion: Statement, in zone: ZoneRow) throws -> (count: Int, bytes: Int64) {
    var ended: [Int64] = []
    var (count, bytes) = (0, Int64(0))
    try deletion.forEach { row in
      if row.bool(1) { ended.append(row.int64(0)) }
      bytes += row.int64(2)
      if !row.bool(3) { count += 1 }
      return true
    }
    for sequence in ended { try endAssetReferences(zone: zone.id, sequence: sequence) }
    return (count, bytes)
  }
}

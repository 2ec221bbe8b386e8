import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func indexes(of zone: ZoneRow) throws -> [RecordIndex] {
    if isWriter, let known = cache.indexes[zone.id] { return known }
    let statement = try statement(
      "SELECT id, type, definition, maker, filled_to IS NULL FROM record_index WHERE zone = ? ORDER BY id")
    try statement.bind(1, zone.id)
    var indexes: [RecordIndex] = []
    try statement.forEach { row in
      // One of an older format is as good as none.
      if let definition = IndexDefinition(RecordType(row.text(1)), text: row.text(2)) {
        indexes.append(
          RecordIndex(id: row.int64(0), definition: definition, maker: row.text(3), isReady: row.bool(4)))
      }
      return true
    }
    if isWriter {
      cache.makeRoom()
      cache.indexes[zone.id] = indexes
    }
    return indexes
  }

  func countEntries(of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, limit: Int) throws -> Int {
    let statement = try statement(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM index_entry WHERE record_index = ? AND key >= ? AND key < ? LIMIT ?
      )
      """)
    try statement.bind(1, index.id)
    try statement.bind(2, range.lower)
    try statement.bind(3, range.upper)
    try statement.bind(4, Int64(max(0, limit)))
    return try statement.first { $0.int(0) } ?? 0
  }

  func entries(
    of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, after position: IndexEntry?,
    _ body: (IndexEntry, StoredRecord) throws -> Bool
  ) throws {
    let start = max(IndexEntry(key: range.lower, name: ""), position ?? IndexEntry(key: [], name: ""))
    // CROSS JOIN fixes the order of the loops: the index leads, and gives the order.
    let statement = try statement(
      """
      SELECT r.name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields, e.key
      FROM index_entry e CROSS JOIN record r ON r.zone = ?1 AND r.name = e.name
      WHERE e.record_index = ?2 AND (e.key, e.name) > (?3, ?4) AND e.key < ?5
      ORDER BY e.key, e.name
      """)
    try statement.bind(1, zone.id)
    try statement.bind(2, index.id)
    try statement.bind(3, start.key)
    try statement.bind(4, start.name.rawValue)
    try statement.bind(5, range.upper)
    try statement.forEach { row in
      let record = try storedRecord(row)
      return try body(IndexEntry(key: row.blob(17), name: record.name), record)
    }
  }

  func beginIndex(_ definition: IndexDefinition, of zone: ZoneRow, for maker: String) throws -> RecordIndex {
    let known = try indexes(of: zone)
    let insert = try statement(
      "INSERT INTO record_index (zone, type, definition, maker, filled_to) VALUES (?, ?, ?, ?, '')")
    try insert.bind(1, zone.id)
    try insert.bind(2, definition.recordType.rawValue)
    try insert.bind(3, definition.text)
    try insert.bind(4, maker)
    try insert.run()
    let index = RecordIndex(id: connection.lastInsertedID, definition: definition, maker: maker, isReady: false)
    cache.indexes[zone.id] = known + [index]
    return index
  }

  /// Records are entered in the order of their names, and the index remembers the last one. What `put` has entered
  /// meanwhile of a later record is there already.
  func fillIndex(
    _ index: RecordIndex, of zone: ZoneRow, portion: IndexPortion
  ) throws -> (index: RecordIndex, records: Int) {
    let filled = try statement("SELECT filled_to FROM record_index WHERE id = ?")
    try filled.bind(1, index.id)
    var index = index
    guard let start = try filled.first({ $0.optionalText(0) }) ?? nil else {
      index.isReady = true
      return (index, 0)
    }
    let (last, count) = try enterRecords(into: index, from: zone, after: start, portion)
    let note = try statement("UPDATE record_index SET filled_to = ? WHERE id = ?")
    try note.bind(1, last)
    try note.bind(2, index.id)
    try note.run()
    index.isReady = last == nil
    cache.indexes[zone.id] = nil
    return (index, count)
  }

  /// - Returns: The last record's name, `nil` after the last of all, and how many were looked at.
  private func enterRecords(
    into index: RecordIndex, from zone: ZoneRow, after start: String, _ portion: IndexPortion
  ) throws -> (last: String?, count: Int) {
    let records = try statement(
      """
      SELECT name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        deleted, has_assets, has_references, parent, share, short_guid, unknown, fields
      FROM record WHERE zone = ? AND name > ? ORDER BY name
      """)
    try records.bind(1, zone.id)
    try records.bind(2, start)
    let type = try number(of: index.definition.recordType.rawValue)
    var batch = IndexBatch()
    var (last, count, entryCount, byteCount) = (start, 0, 0, 0)
    var isAtEnd = true
    try records.forEach { row in
      if count >= portion.records || entryCount >= portion.entries || byteCount >= portion.bytes {
        isAtEnd = false
        return false
      }
      count += 1
      last = row.text(0)
      guard row.int64(2) == type, !row.bool(9) else { return true }
      let record = try storedRecord(row)
      byteCount += record.fieldsJSON.count
      for key in try IndexDefinition.keys(of: record, in: [index.definition])[0] {
        entryCount += 1
        batch.append(IndexEntry(key: key, name: record.name))
        if batch.isFull { for entry in batch.takeAll() { try insert(entry, into: index.id) } }
      }
      return true
    }
    for entry in batch.takeAll() { try insert(entry, into: index.id) }
    return (isAtEnd ? nil : last, count)
  }

  func removeIndex(_ index: RecordIndex, of zone: ZoneRow) throws {
    let statement = try statement("UPDATE record_index SET zone = 0, definition = 'removed ' || id WHERE id = ?")
    try statement.bind(1, index.id)
    try statement.run()
    cache.indexes[zone.id] = nil
  }

  func removeIndexes(of zone: ZoneRow) throws {
    let statement = try statement("UPDATE record_index SET zone = 0, definition = 'removed ' || id WHERE zone = ?")
    try statement.bind(1, zone.id)
    try statement.run()
    cache.indexes[zone.id] = nil
  }

  /// No zone has the number 0; indexes that were taken away have it until their entries are gone. One without entries
  /// counts as an entry.
  func clearRemovedIndexes(limit: Int) throws -> Bool {
    var left = max(1, limit)
    var isDone = true
    while left > 0, let index = try oldestRemovedIndex() {
      isDone = false
      let count = try removeEntries(of: index, limit: left)
      if count < left {
        let row = try statement("DELETE FROM record_index WHERE id = ?")
        try row.bind(1, index)
        try row.run()
      }
      left -= max(1, count)
    }
    return !isDone
  }

  private func oldestRemovedIndex() throws -> Int64? {
    try statement("SELECT id FROM record_index WHERE zone = 0 ORDER BY id LIMIT 1").first { $0.int64(0) }
  }

  private func removeEntries(of index: Int64, limit: Int) throws -> Int {
    let entries = try statement(
      """
      DELETE FROM index_entry WHERE record_index = ?1 AND (key, name) IN (
        SELECT key, name FROM index_entry WHERE record_index = ?1 ORDER BY key, name LIMIT ?2)
      """)
    try entries.bind(1, index)
    try entries.bind(2, Int64(limit))
    try entries.run()
    return connection.changedRowCount
  }

  func updateIndexes(from previous: StoredRecord?, to record: StoredRecord, in zone: ZoneRow) throws {
    let indexes = try indexes(of: zone)
    guard !indexes.isEmpty else { return }
    let definitions = indexes.map(\.definition)
    let before = try previous.map { try IndexDefinition.keys(of: $0, in: definitions) } ?? definitions.map { _ in [] }
    let after = try IndexDefinition.keys(of: record, in: definitions)
    for position in indexes.indices where before[position] != after[position] {
      try replace(before[position], by: after[position], of: record.name, in: indexes[position].id)
    }
  }

  /// Writes what differs between a record's keys before and after. Both ascend, and there may be tens of thousands.
  private func replace(_ old: [[UInt8]], by new: [[UInt8]], of name: RecordName, in index: Int64) throws {
    var (o, n) = (0, 0)
    while o < old.count || n < new.count {
      if o < old.count && n < new.count && old[o] == new[n] {
        o += 1
        n += 1
      } else if n == new.count || o < old.count && old[o].lexicographicallyPrecedes(new[n]) {
        try remove(old[o], name, from: index)
        o += 1
      } else {
        try insert(IndexEntry(key: new[n], name: name), into: index)
        n += 1
      }
    }
  }

  private func insert(_ entry: IndexEntry, into index: Int64) throws {
    let statement = try statement("INSERT OR IGNORE INTO index_entry (record_index, key, name) VALUES (?, ?, ?)")
    try statement.bind(1, index)
    try statement.bind(2, entry.key)
    try statement.bind(3, entry.name.rawValue)
    try statement.run()
  }

  private func remove(_ key: [UInt8], _ name: RecordName, from index: Int64) throws {
    let statement = try statement("DELETE FROM index_entry WHERE record_index = ? AND key = ? AND name = ?")
    try statement.bind(1, index)
    try statement.bind(2, key)
    try statement.bind(3, name.rawValue)
    try statement.run()
  }
}

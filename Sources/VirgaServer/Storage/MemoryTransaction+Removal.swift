import VirgaModel

extension MemoryTransaction {
  func removeRecords(of zone: inout ZoneRow) throws {
    let known = try contents(zone)
    let (old, row, tables) = (known.contents, known.row, tables)
    let number = tables.lastZoneID + 1
    let bytes = zone.usedBytes
    tables.lastZoneID = number
    tables.zones[row.id] = nil
    tables.zones[number] = known
    tables.removed.append(RemovedRecords(old, in: row.database, bytes: bytes))
    known.contents = MemoryRecords()
    known.row.id = number
    known.row.usedBytes = 0
    let database = tables.databases[row.database]
    // The entry of the former number no longer counts.
    database?.log.noteStale()
    if let database { touchedDatabases.append(database) }
    database?.log.add(number, at: row.databaseSequence)
    undo.append {
      database?.log.remove(number, at: row.databaseSequence)
      known.contents = old
      known.row = row
      tables.removed.removeLast()
      tables.zones[number] = nil
      tables.zones[row.id] = known
      tables.lastZoneID = number - 1
    }
    count(in: row.database) { $0.removedBytes += bytes }
    zone.id = number
    zone.usedBytes = 0
  }

  func removeDatabase(_ key: DatabaseKey) throws {
    guard let database = tables.databases[key] else { return }
    let tables = tables
    for zone in database.zones.values.sorted(by: { $0.row.id < $1.row.id }) {
      var row = zone.row
      try removeRecords(of: &row)
      tables.zones[row.id] = nil
      undo.append { [row] in tables.zones[row.id] = zone }
    }
    while try clearRemovedRecords(limit: .max, bytes: .max) {}
    tables.databases[key] = nil
    undo.append { tables.databases[key] = database }
  }

  func clearRemovedRecords(limit: Int, bytes: Int) throws -> Bool {
    guard let oldest = tables.removed.first else { return false }
    let tables = tables
    var names = oldest.names ?? Array(Set(oldest.contents.records.keys).union(oldest.contents.versions.keys)).sorted()
    var (count, size) = (0, 0)
    while count < max(1, limit), size < max(1, bytes), let name = names.popLast() {
      count += 1
      size += clear(name, of: oldest)
    }
    let former = oldest.names
    oldest.names = names
    undo.append { oldest.names = former }
    if names.isEmpty {
      tables.removed.removeFirst()
      undo.append { tables.removed.insert(oldest, at: 0) }
      self.count(in: oldest.database) { $0.removedBytes -= oldest.bytes }
    }
    return true
  }

  /// - Returns: What the record took.
  private func clear(_ name: RecordName, of removed: RemovedRecords) -> Int {
    let record = removed.contents.records.removeValue(forKey: name)
    let versions = removed.contents.versions.removeValue(forKey: name) ?? []
    let sequences = versions.map(\.record.sequence) + (record.map { [$0.sequence] } ?? [])
    var claims: [Int64: Set<String>] = [:]
    for sequence in sequences { claims[sequence] = removed.contents.claims.removeValue(forKey: sequence) }
    undo.append {
      removed.contents.records[name] = record
      removed.contents.versions[name] = versions.isEmpty ? nil : versions
      removed.contents.claims.merge(claims) { $1 }
    }
    for checksums in claims.values { countAssetReferences(checksums, by: -1) }
    count(in: removed.database) { tally in
      if record?.isDeleted == true { tally.tombstones -= 1 }
      tally.historyBytes -= versions.reduce(0) { $0 + $1.countedBytes }
    }
    return Int(record?.jsonBytes ?? 0) + versions.reduce(0) { $0 + Int($1.record.jsonBytes) }
  }
}

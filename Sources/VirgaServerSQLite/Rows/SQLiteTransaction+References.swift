import VirgaModel
import VirgaServer

// References belong to the newest version of a record, claims to each version that is kept.

extension SQLiteTransaction {
  func references(to target: RecordName, kind: StoredReference.Kind, in zone: ZoneRow, limit: Int) throws
    -> [RecordName]
  {
    let statement = try statement(
      "SELECT source FROM reference WHERE zone = ? AND target = ? AND kind = ? ORDER BY source LIMIT ?")
    try statement.bind(1, zone.id)
    try statement.bind(2, target.rawValue)
    try statement.bind(3, Int64(kind.rawValue))
    try statement.bind(4, Int64(max(0, limit)))
    var sources: [RecordName] = []
    try statement.forEach { row in
      sources.append(RecordName(row.text(0)))
      return true
    }
    return sources
  }

  func putReferences(of record: StoredRecord, in zone: ZoneRow) throws {
    for reference in record.references {
      let statement = try statement(
        "INSERT OR IGNORE INTO reference (zone, target, kind, source) VALUES (?, ?, ?, ?)")
      try statement.bind(1, zone.id)
      try statement.bind(2, reference.target.rawValue)
      try statement.bind(3, Int64(reference.kind.rawValue))
      try statement.bind(4, record.name.rawValue)
      try statement.run()
    }
  }

  func removeReferences(of source: RecordName, in zone: ZoneRow) throws {
    let statement = try statement("DELETE FROM reference WHERE zone = ? AND source = ?")
    try statement.bind(1, zone.id)
    try statement.bind(2, source.rawValue)
    try statement.run()
  }

  func putClaims(of record: StoredRecord, in zone: ZoneRow) throws {
    for checksum in record.assetChecksums {
      let statement = try statement("INSERT OR IGNORE INTO claim (checksum, zone, sequence) VALUES (?, ?, ?)")
      try statement.bind(1, checksum)
      try statement.bind(2, zone.id)
      try statement.bind(3, record.sequence)
      try statement.run()
    }
  }

  func endAssetReferences(zone: Int64, sequence: Int64) throws {
    let statement = try statement("DELETE FROM claim WHERE zone = ? AND sequence = ?")
    try statement.bind(1, zone)
    try statement.bind(2, sequence)
    try statement.run()
  }
}

import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  /// The rows keep the number that the zone had, so however many they are, none is written here. The zone's new number is
  /// the greatest of all, and so is each that comes later: none is given twice.
  func removeRecords(of zone: inout ZoneRow) throws {
    let key = ZoneAddress(zone.name, in: zone.database)
    guard var known = try self.zone(zone.name, in: zone.database), known.id == zone.id else {
      throw StoreError.other("no zone has the number \(zone.id)")
    }
    try removeIndexes(of: zone)
    var tally = try tally(of: zone.database)
    tally.removedBytes += zone.usedBytes
    try change(tally, of: zone.database)
    let removed = try statement(
      "INSERT INTO removed_zone (id, database, bytes) SELECT id, database, ? FROM zone WHERE id = ?")
    try removed.bind(1, zone.usedBytes)
    try removed.bind(2, zone.id)
    try removed.run()
    let number = try statement(
      "UPDATE zone SET id = 1 + (SELECT max(id) FROM zone) WHERE id = ? RETURNING id")
    try number.bind(1, zone.id)
    guard let id = try number.first({ $0.int64(0) }) else {
      throw StoreError.other("no zone has the number \(zone.id)")
    }
    (known.id, known.usedBytes) = (id, 0)
    cache.zones.change(known, for: key)
    (zone.id, zone.usedBytes) = (id, 0)
  }

  func removeDatabase(_ key: DatabaseKey) throws {
    for var zone in try zones(in: key, after: .min, limit: .max) {
      try removeRecords(of: &zone)
      cache.zones.forget(ZoneAddress(zone.name, in: key))
    }
    while try clearRemovedRecords(limit: .max, bytes: .max) {}
    let zones = try statement(
      """
      DELETE FROM zone WHERE database IN (
        SELECT id FROM database WHERE container = ? AND environment = ? AND owner = ?)
      """)
    try zones.bind(key, from: 1)
    try zones.run()
    let database = try statement("DELETE FROM database WHERE container = ? AND environment = ? AND owner = ?")
    try database.bind(key, from: 1)
    try database.run()
    cache.databases.forget(key)
    cache.tallies.forget(key)
  }

  func clearRemovedRecords(limit: Int, bytes: Int) throws -> Bool {
    let oldest = try statement(
      """
      SELECT d.container, d.environment, d.owner, z.id, z.bytes
      FROM removed_zone z JOIN database d ON d.id = z.database ORDER BY z.id LIMIT 1
      """)
    guard let found = try oldest.first({ (database: try DatabaseKey($0), zone: $0.int64(3), bytes: $0.int64(4)) })
    else { return false }
    var tally = try tally(of: found.database)
    var rest = (rows: max(1, limit), bytes: max(1, bytes))
    try clearRecords(of: found.zone, &rest, &tally)
    try clearVersions(of: found.zone, &rest, &tally)
    for sql: StaticString in [
      """
      DELETE FROM reference WHERE (zone, target, kind, source) IN (
        SELECT zone, target, kind, source FROM reference WHERE zone = ? LIMIT ?)
      """,
      """
      DELETE FROM claim WHERE (checksum, zone, sequence) IN (
        SELECT checksum, zone, sequence FROM claim WHERE zone = ? LIMIT ?)
      """,
    ] where rest.rows > 0 {
      let statement = try statement(sql)
      try statement.bind(1, found.zone)
      try statement.bind(2, Int64(rest.rows))
      try statement.run()
      rest.rows -= connection.changedRowCount
    }
    if rest.rows > 0 && rest.bytes > 0 {
      tally.removedBytes -= found.bytes
      let row = try statement("DELETE FROM removed_zone WHERE id = ?")
      try row.bind(1, found.zone)
      try row.run()
    }
    try change(tally, of: found.database)
    return true
  }

  private typealias Rest = (rows: Int, bytes: Int)

  private func clearRecords(of zone: Int64, _ rest: inout Rest, _ tally: inout DatabaseTally) throws {
    let next = try statement(
      """
      SELECT length(fields) + coalesce(length(unknown), 0), deleted FROM record WHERE zone = ? ORDER BY sequence LIMIT ?
      """)
    let count = try portion(of: zone, next, &rest) { if $0.bool(1) { tally.tombstones -= 1 } }
    guard count > 0 else { return }
    let deletion = try statement(
      "DELETE FROM record WHERE id IN (SELECT id FROM record WHERE zone = ? ORDER BY sequence LIMIT ?)")
    try deletion.bind(1, zone)
    try deletion.bind(2, Int64(count))
    try deletion.run()
  }

  private func clearVersions(of zone: Int64, _ rest: inout Rest, _ tally: inout DatabaseTally) throws {
    let next = try statement(
      """
      SELECT length(fields) + coalesce(length(unknown), 0), counted_bytes FROM version
      WHERE zone = ? ORDER BY replaced_by LIMIT ?
      """)
    let count = try portion(of: zone, next, &rest) { tally.historyBytes -= $0.int64(1) }
    guard count > 0 else { return }
    let deletion = try statement(
      """
      DELETE FROM version WHERE zone = ?1 AND replaced_by IN (
        SELECT replaced_by FROM version WHERE zone = ?1 ORDER BY replaced_by LIMIT ?2)
      """)
    try deletion.bind(1, zone)
    try deletion.bind(2, Int64(count))
    try deletion.run()
  }

  /// How many of the rows that are next go now. Their sizes are the first column.
  private func portion(
    of zone: Int64, _ next: Statement, _ rest: inout Rest, _ count: (borrowing Row) -> Void
  ) throws -> Int {
    guard rest.rows > 0, rest.bytes > 0 else { return 0 }
    var going = 0
    try next.bind(1, zone)
    try next.bind(2, Int64(rest.rows))
    try next.forEach { row in
      going += 1
      rest.bytes -= row.int(0)
      count(row)
      return rest.bytes > 0
    }
    rest.rows -= going
    return going
  }
}

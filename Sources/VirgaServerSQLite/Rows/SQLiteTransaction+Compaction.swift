import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func zonesToCompact(tombstonesBefore: Timestamp, versionsBefore: Timestamp) throws -> [ZoneAddress] {
    try writeChangedRows()
    let statement = try statement(
      """
      SELECT d.container, d.environment, d.owner, z.name FROM zone z JOIN database d ON d.id = z.database
      WHERE z.sharing <> 0 OR EXISTS (
        SELECT 1 FROM record r WHERE r.zone = z.id AND r.deleted = 1 AND r.modified_at < ?)
        OR (SELECT replaced_at FROM version v WHERE v.zone = z.id ORDER BY v.replaced_by LIMIT 1) < ?
      ORDER BY z.id
      """)
    try statement.bind(1, tombstonesBefore.milliseconds)
    try statement.bind(2, versionsBefore.milliseconds)
    var keys: [ZoneAddress] = []
    try statement.forEach { row in
      keys.append(ZoneAddress(ZoneName(row.text(3)), in: try DatabaseKey(row)))
      return true
    }
    return keys
  }

  /// Pages that stay free for what comes next: so many, or one in ten if that is more.
  private static let freePagesMin = 1_024
  private static let bytesPerPage = 4_096

  func releaseSpace(bytes: Int) throws -> Bool {
    func number(_ sql: StaticString) throws -> Int { try statement(sql).first { $0.int(0) } ?? 0 }
    // Of a file that was not brought to this form nothing can be given back.
    guard try number("PRAGMA auto_vacuum") == 2 else { return false }
    let kept = max(Self.freePagesMin, try number("PRAGMA page_count") / 10)
    let surplus = try number("PRAGMA freelist_count") - kept
    guard surplus > 0 else { return false }
    let pages = min(surplus, max(1, bytes / Self.bytesPerPage))
    // A pragma takes no parameter; the number is ours.
    try connection.execute("PRAGMA incremental_vacuum(\(pages))")
    return surplus > pages
  }
}

import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func zonesToCompact(before moment: Timestamp) throws -> [ZoneKey] {
    try writeChangedRows()
    let statement = try statement(
      """
      SELECT d.container, d.environment, d.owner, z.name FROM zone z JOIN database d ON d.id = z.database
      WHERE z.sharing <> 0 OR EXISTS (
        SELECT 1 FROM record r WHERE r.zone = z.id AND r.deleted = 1 AND r.modified_at < ?)
      ORDER BY z.id
      """)
    try statement.bind(1, moment.milliseconds)
    var keys: [ZoneKey] = []
    try statement.forEach { row in
      keys.append(ZoneKey(ZoneName(row.text(3)), in: try DatabaseKey(row)))
      return true
    }
    return keys
  }
}

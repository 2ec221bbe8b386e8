import VirgaSQLite

/// What fills a store: counts and bytes for each user, zone and type, and what else there is.
///
/// The database's pages are shared out: each table's, its indexes' included, in proportion to the length of what its
/// rows hold. So the parts add up to the files' sizes.
package struct StoreReport: Hashable, Sendable, Codable {
  package struct Line: Hashable, Sendable, Codable {
    package var container: String
    package var environment: String
    /// Empty for the public database.
    package var user: String
    package var zone: String
    package var type: String
    package var records = 0
    package var tombstones = 0
    package var versions = 0
    /// Bytes of records, tombstones and versions in the database.
    package var recordBytes: Int64 = 0
    package var assets = 0
    /// Bytes in files. What several records use counts for the first of them.
    package var assetBytes: Int64 = 0
  }

  package var lines: [Line]
  /// Accounts, subscriptions, schemas, notifications and the like.
  package var otherBytes: Int64
  /// Pages that nothing uses now.
  package var freeBytes: Int64
  package var unclaimedAssets: Int
  package var unclaimedAssetBytes: Int64
  package var databaseBytes: Int64
  package var assetBytes: Int64

  /// Reads the store in a folder, which a server may be using.
  package init(folder: String) throws {
    self = try StoppedStore.reading(folder) { connection in
      try connection.transaction(.deferred) { try StoreReport(connection) }
    }
  }

  private init(_ connection: Connection) throws {
    let sizes = try Self.sizes(connection)
    var lines: [[String]: Line] = [:]
    func change(_ row: borrowing Row, _ body: (inout Line) -> Void) {
      let key = (0..<5).map { row.text($0) }
      var line =
        lines[key] ?? Line(container: key[0], environment: key[1], user: key[2], zone: key[3], type: key[4])
      body(&line)
      lines[key] = line
    }

    let recordTotal = try connection.first("SELECT coalesce(sum(\(Self.length)), 0) FROM record r") { $0.int64(0) } ?? 0
    let recordPages = sizes["record", default: 0] + sizes["reference", default: 0]
    _ = try connection.query(
      """
      SELECT d.container, d.environment, d.owner, z.name, w.text, sum(r.deleted = 0), sum(r.deleted), sum(\(Self.length))
      FROM record r JOIN zone z ON z.id = r.zone JOIN database d ON d.id = z.database JOIN word w ON w.id = r.type
      GROUP BY r.zone, r.type
      """
    ) { row in
      change(row) {
        $0.records = row.int(5)
        $0.tombstones = row.int(6)
        $0.recordBytes += Self.share(row.int64(7), of: recordTotal, pages: recordPages)
      }
    }
    let versionTotal =
      try connection.first("SELECT coalesce(sum(\(Self.length)), 0) FROM version r WHERE gap = 0") { $0.int64(0) } ?? 0
    _ = try connection.query(
      """
      SELECT d.container, d.environment, d.owner, z.name, w.text, count(*), sum(\(Self.length))
      FROM version r JOIN zone z ON z.id = r.zone JOIN database d ON d.id = z.database JOIN word w ON w.id = r.type
      WHERE r.gap = 0 GROUP BY r.zone, r.type
      """
    ) { row in
      change(row) {
        $0.versions = row.int(5)
        $0.recordBytes += Self.share(row.int64(6), of: versionTotal, pages: sizes["version", default: 0])
      }
    }
    _ = try connection.query(
      """
      SELECT d.container, d.environment, d.owner, z.name, w.text, count(*), sum(first.size)
      FROM (SELECT a.checksum, a.size, min(c.zone) AS zone,
              (SELECT min(sequence) FROM claim c2 WHERE c2.checksum = a.checksum AND c2.zone = min(c.zone)) AS sequence
            FROM asset a JOIN claim c ON c.checksum = a.checksum AND c.zone IN (SELECT id FROM zone)
            GROUP BY a.checksum) first
      JOIN zone z ON z.id = first.zone JOIN database d ON d.id = z.database
      JOIN word w ON w.id = coalesce(
        (SELECT type FROM record r WHERE r.zone = first.zone AND r.sequence = first.sequence),
        (SELECT type FROM version v WHERE v.zone = first.zone AND v.sequence = first.sequence))
      GROUP BY first.zone, w.id
      """
    ) { row in
      change(row) {
        $0.assets = row.int(5)
        $0.assetBytes = row.int64(6)
      }
    }
    self.lines = lines.values.sorted {
      ($0.container, $0.environment, $0.user, $0.zone, $0.type)
        < ($1.container, $1.environment, $1.user, $1.zone, $1.type)
    }
    let pageSize = try connection.first("PRAGMA page_size") { $0.int64(0) } ?? 0
    let pageCount = try connection.first("PRAGMA page_count") { $0.int64(0) } ?? 0
    let freeCount = try connection.first("PRAGMA freelist_count") { $0.int64(0) } ?? 0
    databaseBytes = pageSize * pageCount
    freeBytes = pageSize * freeCount
    otherBytes = databaseBytes - freeBytes - self.lines.reduce(0) { $0 + $1.recordBytes }
    assetBytes = try connection.first("SELECT coalesce(sum(size), 0) FROM asset") { $0.int64(0) } ?? 0
    let claimed = self.lines.reduce(Int64(0)) { $0 + $1.assetBytes }
    unclaimedAssetBytes = assetBytes - claimed
    let assetCount = try connection.first("SELECT count(*) FROM asset") { $0.int(0) } ?? 0
    unclaimedAssets = assetCount - self.lines.reduce(0) { $0 + $1.assets }
  }

  /// What a row of records or versions holds, in bytes; the numbers of a row take about 60.
  private static let length = "60 + 2 * length(r.name) + length(r.fields) + coalesce(length(r.unknown), 0)"

  private static func share(_ bytes: Int64, of total: Int64, pages: Int64) -> Int64 {
    total == 0 ? 0 : Int64(Double(pages) * Double(bytes) / Double(total))
  }

  /// Bytes of pages by table, its indexes' included.
  private static func sizes(_ connection: Connection) throws -> [String: Int64] {
    var sizes: [String: Int64] = [:]
    _ = try connection.query(
      """
      SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
      WHERE d.aggregate = TRUE GROUP BY s.tbl_name
      """
    ) { sizes[$0.text(0)] = $0.int64(1) }
    return sizes
  }
}

import VirgaServer

extension SQLiteTransaction {
  /// Bytes of pages, each table's with those of its indexes.
  func space() throws -> StoreSpace {
    func number(_ sql: StaticString) throws -> Int64 { try statement(sql).first { $0.int64(0) } ?? 0 }
    let tables = try statement(
      """
      SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
      WHERE d.aggregate = TRUE GROUP BY s.tbl_name
      """)
    var sizes: [String: Int64] = [:]
    try tables.forEach { row in
      sizes[row.text(0)] = row.int64(1)
      return true
    }
    let pageSize = try number("PRAGMA page_size")
    let total = try pageSize * number("PRAGMA page_count")
    let free = try pageSize * number("PRAGMA freelist_count")
    let records = sizes["record", default: 0] + sizes["reference", default: 0]
    let versions = sizes["version", default: 0]
    return StoreSpace(
      recordBytes: records, versionBytes: versions, otherBytes: total - free - records - versions, freeBytes: free)
  }
}

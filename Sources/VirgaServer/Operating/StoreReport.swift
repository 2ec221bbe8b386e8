import VirgaModel

/// What fills a store: counts and bytes for each user, zone and type, and what else there is.
///
/// What the store's files take is shared out among records and versions in proportion to the length of what each holds.
/// So the parts add up to the files' sizes.
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

  package var lines: [Line] = []
  /// Accounts, subscriptions, schemas, notifications and the like.
  package var otherBytes: Int64
  /// Pages that nothing uses now.
  package var freeBytes: Int64
  package var unreferencedAssets = 0
  package var unclaimedAssetBytes: Int64 = 0
  package var databaseBytes: Int64
  package var assetBytes: Int64 = 0

  /// A line before what the files take is shared out.
  private struct Part {
    var line: Line
    var recordWeight: Int64 = 0
    var versionWeight: Int64 = 0
  }

  package init(of transaction: any ReadTransaction) throws {
    let space = try transaction.space()
    otherBytes = space.otherBytes
    freeBytes = space.freeBytes
    databaseBytes = space.recordBytes + space.versionBytes + space.otherBytes + space.freeBytes
    var parts: [Part] = []
    var counted: Set<String> = []
    for database in try transaction.databases() {
      for zone in try transaction.allZones(of: database.key, after: .min) {
        parts += try Self.parts(of: zone, in: transaction, counted: &counted)
      }
    }
    let recordWeight = parts.reduce(0) { $0 + $1.recordWeight }
    let versionWeight = parts.reduce(0) { $0 + $1.versionWeight }
    lines = parts.map { part in
      var line = part.line
      line.recordBytes =
        Self.share(part.recordWeight, of: recordWeight, bytes: space.recordBytes)
        + Self.share(part.versionWeight, of: versionWeight, bytes: space.versionBytes)
      return line
    }.sorted {
      ($0.container, $0.environment, $0.user, $0.zone, $0.type)
        < ($1.container, $1.environment, $1.user, $1.zone, $1.type)
    }
    // What rounding leaves, and empty tables.
    otherBytes = databaseBytes - freeBytes - lines.reduce(0) { $0 + $1.recordBytes }
    try countAssets(in: transaction, claimed: counted.count)
  }

  private static func parts(
    of zone: ZoneRow, in transaction: any ReadTransaction, counted: inout Set<String>
  ) throws -> [Part] {
    var parts: [RecordType: Part] = [:]
    func change(_ record: StoredRecord, _ body: (inout Part) -> Void) throws {
      let key = zone.database
      var part =
        parts[record.type]
        ?? Part(
          line: Line(
            container: key.container.rawValue, environment: key.environment.rawValue, user: key.owner?.rawValue ?? "",
            zone: zone.name.rawValue, type: record.type.rawValue))
      body(&part)
      if record.hasAssets {
        for checksum in try record.plainFields().claims(parent: record.parent).assetChecksums
        where counted.insert(checksum).inserted {
          part.line.assets += 1
          part.line.assetBytes += try transaction.asset(checksum)?.size ?? 0
        }
      }
      parts[record.type] = part
    }
    try transaction.forEachRecord(of: zone) { record in
      try change(record) { part in
        if record.isDeleted { part.line.tombstones += 1 } else { part.line.records += 1 }
        part.recordWeight += record.weight
      }
    }
    try transaction.forEachReplacedVersion(of: zone) { version, _ in
      try change(version) { part in
        part.line.versions += 1
        part.versionWeight += version.weight
      }
    }
    return parts.values.sorted { $0.line.type < $1.line.type }
  }

  private mutating func countAssets(in transaction: any ReadTransaction, claimed: Int) throws {
    var (last, count) = ("", 0)
    while true {
      let assets = try transaction.assets(after: last, limit: 256)
      guard let end = assets.last else { break }
      count += assets.count
      assetBytes += assets.reduce(0) { $0 + $1.size }
      last = end.checksum
    }
    unreferencedAssets = count - claimed
    unclaimedAssetBytes = assetBytes - lines.reduce(0) { $0 + $1.assetBytes }
  }

  private static func share(_ weight: Int64, of total: Int64, bytes: Int64) -> Int64 {
    total == 0 ? 0 : Int64(Double(bytes) * Double(weight) / Double(total))
  }
}

extension StoredRecord {
  /// About what the version takes in a store, in bytes: what it holds, its name in a row and an index, and its numbers.
  var weight: Int64 { 60 + 2 * Int64(name.rawValue.utf8.count) + jsonBytes }
}

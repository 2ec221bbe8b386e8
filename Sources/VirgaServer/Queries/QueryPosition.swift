import VirgaModel
import VirgaWire

/// A record's place in the order of a query: the values of its sorts, then zone and name.
struct QueryPosition: Hashable, Comparable {
  var key: [UInt8]
  var zone: ZoneID
  var name: RecordName

  static func < (left: QueryPosition, right: QueryPosition) -> Bool {
    if left.key != right.key { return left.key.lexicographicallyPrecedes(right.key) }
    return (left.zone, left.name) < (right.zone, right.name)
  }
}

extension RecordsQueryRequest {
  /// All of the request that decides what it finds.
  var sought: [UInt8] {
    TokenCipher.joined([
      zone?.name.rawValue ?? "", zone?.owner?.rawValue ?? "",
      zone == nil && isZoneWide ? "wide" : "",
    ]) + query.json
  }
}

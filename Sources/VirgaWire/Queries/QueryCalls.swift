public import VirgaModel

/// `records/query`; the answer is a `RecordsReply`.
public struct RecordsQueryRequest: Hashable, Sendable {
  public var query: Query
  /// Where to look; `nil` is the default zone, or all zones of the database if the request is zone-wide.
  public var zone: ZoneSelector?
  public var isZoneWide: Bool
  public var resultsLimit: Int?
  /// Where the page before ended, from its answer.
  public var continuationMarker: String?
  public var desiredKeys: [FieldName]?
  public var numbersAsStrings: Bool

  public init(_ query: Query, zone: ZoneSelector? = nil, zoneWide isZoneWide: Bool = false) {
    self.query = query
    self.zone = zone
    self.isZoneWide = isZoneWide
    numbersAsStrings = false
  }
}

// Limits of queries; all are choices of this service.
extension Limits {
  /// Filters and sorts of one query together.
  public static let queryPartsMax = 64
  /// Values in the lists of a query's filters together.
  public static let queryValuesMax = 5_000
  /// Reads that one page of a query may make beyond the records that it gives; the page then ends early, with a marker.
  public static let recordsReadPerQueryPageMax = 10_000
  /// Bytes of a record that count as another read.
  public static let bytesPerQueryRead = 16 << 10
  /// Entries of an index up to which a query rather reads all of them and sorts than walks in the order of its sort.
  public static let recordsGatheredPerQueryMax = 2_000
  /// Records that a query reads at most when nothing but reading all of them gives its order (by distance).
  public static let recordsSortedPerQueryMax = 100_000
  /// Changes that a zone has seen up to which a query reads its records without an index.
  public static let recordsScannedPerZoneMax = 200
  /// Indexes of one zone; the oldest goes when another is made.
  public static let indexesPerZoneMax = 64
}

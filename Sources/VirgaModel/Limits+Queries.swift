// Limits of queries; all are choices of this service.
extension Limits {
  /// Filters and sorts of one query together.
  public static let queryPartsMax = 64
  /// Values in the lists of a query's filters together.
  public static let queryValuesMax = 5_000
  /// Reads that one page of a query may make beyond the records that it gives; the page then ends early, with a marker.
  public static let recordsReadPerQueryPageMax = 10_000
  /// Reads of what a participant does not see after which a request for changes gives no further zone.
  public static let hiddenReadsPerRequestMax = 20_000
  /// Reads of what a user does not see, in the zones of others and the public database: at once, and for each second
  /// after.
  public static let hiddenReadsPerUserMax = 500_000
  /// What of that comes back with each second.
  public static let hiddenReadsPerUserAndSecond = 20_000
  /// Bytes of a record that count as another read.
  public static let bytesPerQueryRead = 16 << 10
  /// Entries of an index up to which a query rather reads all of them and sorts than walks in the order of its sort.
  public static let recordsGatheredPerQueryMax = 2_000
  /// Records that a query reads at most when nothing but reading all of them gives its order (by distance).
  public static let recordsSortedPerQueryMax = 100_000
  /// Changes that a zone has seen up to which a query reads its records without an index.
  public static let recordsScannedPerZoneMax = 200
  /// Indexes of one zone; the oldest of whoever has the most goes when another is made.
  public static let indexesPerZoneMax = 64
  /// Indexes of one zone that the queries of one user made, where the zone is not theirs; their oldest goes.
  public static let indexesPerVisitorMax = 16
  /// What a step of filling an index takes, so that a save never waits long for one: records, entries, bytes of records.
  public static let recordsPerIndexStepMax = 256
  /// Entries that one step of filling an index writes.
  public static let entriesPerIndexStepMax = 2_000
  /// Bytes of records that one step of filling an index reads.
  public static let bytesPerIndexStepMax = 1 << 20
  /// Records that are looked at to fill indexes for one user and of one zone: at once, and for each second after.
  public static let indexedRecordsPerUserMax = 1_000_000
  /// Records a second that are looked at to fill indexes for one user.
  public static let indexedRecordsPerUserAndSecond = 200
  /// Records of one zone that are looked at at once to fill indexes.
  public static let indexedRecordsPerZoneMax = 4_000_000
  /// Records a second of one zone that are looked at to fill indexes.
  public static let indexedRecordsPerZoneAndSecond = 400
}

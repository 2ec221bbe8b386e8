/// The limits of the service, each with its unit and source. They are checked once, where data enter.
public enum Limits {
  /// Operations, or names, in one request of our own clients; native clients may send as many.
  public static let operationsPerRequestMax = 400
  /// The same of all others (Web Services Reference).
  public static let operationsPerWebRequestMax = 200
  /// Records in one page of an answer (Web Services Reference).
  public static let recordsPerPageMax = 200
  /// Records in one page for a client that sends `X-Virga-Page`; a first sync then needs fewer requests.
  public static let recordsPerLargePageMax = 2_000
  /// Bytes of records after which a page of a change feed ends early, with `moreComing`.
  public static let pageBytesMax = 4 << 20
  /// Bytes of records in one answer that has no pages; a request for more fails as a whole, and its client divides it.
  public static let answerBytesMax = 32 << 20
  /// Changes that are read for one page, when most are of record types that were not asked for.
  public static let changesReadPerPageMax = 10_000
  /// What a record is reckoned to take in a page besides its fields, in bytes.
  public static let recordOverheadBytes = 256
  /// Upload tokens in one request (Web Services Reference).
  public static let uploadTokensPerRequestMax = 200
  /// Bytes of a record without its assets (Web Services Reference: 1 MB), measured as the stored JSON.
  public static let recordBytesMax = 1 << 20
  /// Bytes of one request's body. Native clients send at most 2 MB; escapes and Base64 may double that.
  public static let requestBytesMax = 8 << 20
  /// Bytes of one asset. The reference says 50 MB; a server of one's own may take more.
  public static let assetBytesMax = 4 << 30
  /// Characters of a record's, zone's, type's or field's name (CloudKit headers), counted as UTF-16 code units.
  public static let nameLengthMax = 255
  /// Fields of one record.
  public static let fieldsPerRecordMax = 1_000
  /// Elements of one list field.
  public static let listElementsMax = 50_000
  /// Participants of one share, the owner among them (Apple's documentation of sharing).
  public static let participantsPerShareMax = 100
  /// References with `deleteSelf` to one record (Web Services Reference).
  public static let deleteSelfReferencesMax = 750
  /// Records deleted because one of them was, in one request.
  public static let cascadedDeletionsMax = 50_000
  /// Records looked at for the deletions of one request whose refusals depend on each other.
  public static let deletionsJudgedMax = 4 * cascadedDeletionsMax
  /// Records that enter or leave a share together; the views of its participants begin anew beyond that, and a record
  /// with more below it does not move.
  public static let shareNotesMax = 50_000
  /// Fields of one record type in a schema.
  public static let fieldsPerRecordTypeMax = 2_000
  /// Levels of arrays and objects in one JSON text.
  public static let jsonDepthMax = 64
  /// Zones of one database; no number of Apple's is known. And names that it has for zones, those that were deleted
  /// among them: their numbers are remembered.
  public static let zonesPerDatabaseMax = 10_000
  /// Names that a database remembers of zones, deleted ones included.
  public static let zoneNamesPerDatabaseMax = 100_000
  /// What a tombstone is reckoned to take, in bytes, where there is a quota.
  public static let tombstoneBytes: Int64 = 256
  /// When those come again whose new records wait until deleted zones are cleared away.
  public static let removalRetrySeconds = 5
  /// Notifications that one call makes for one user; a fetch finds what more would have told of.
  public static let notificationsPerCallMax = 1_000
  /// Subscriptions of one user in one database.
  public static let subscriptionsPerDatabaseMax = 1_000
  /// Their bytes together, and how many of them may be in the shared database, where each save of an owner reads those of
  /// every participant.
  public static let subscriptionBytesPerDatabaseMax = 1 << 20
  /// Subscriptions of one user in the shared database.
  public static let subscriptionsPerSharedDatabaseMax = 100
  /// Queries of one user that watch one record type of one database, and their bytes: what everybody's saves of that type
  /// have to look at.
  public static let watchedQueriesPerTypeMax = 100
  /// Bytes of watched queries for one record type.
  public static let watchedQueryBytesPerTypeMax = 32 << 10
  /// Notifications that wait for one push token before the oldest is dropped: a fetch finds what they told of.
  public static let notificationsPerTokenMax = 100
  /// Bytes of one notification (APNs); what does not fit is left out.
  public static let notificationBytesMax = 4_096
  /// Fields whose values come with a notification, and characters of each (Apple's developer forum).
  public static let notificationFieldsMax = 3
  /// Characters of a field's value in a notification.
  public static let notificationFieldLengthMax = 100
  /// Bytes of a subscription's query, which every save of its record type reads.
  public static let subscriptionQueryBytesMax = 16 << 10
  /// Bytes of a subscription's `notificationInfo` as JSON, and events that it names.
  public static let notificationInfoBytesMax = 16 << 10
  /// Events that a subscription names.
  public static let subscriptionEventsMax = 3
  /// Push tokens of one user in one container: a household with many devices and tabs. Each costs a row in every save
  /// that is told. Beyond that the oldest is dropped, first of those that nobody waits at.
  public static let pushTokensPerUserMax = 1_000
  /// Push tokens of one client and device that nobody waits at, as each start of a program leaves one.
  public static let idlePushTokensPerClientMax = 4
  /// Replaced versions kept of each record, and for how long.
  public static let versionsPerRecordMax = 10
  /// How long versions of a record are kept.
  public static let versionAge: Duration = .seconds(30 * 86_400)
  /// How long a tombstone is kept; a change token older than the oldest one dropped has expired.
  public static let tombstoneAge: Duration = .seconds(180 * 86_400)
  /// How long an upload URL, an upload receipt and a download URL are valid (upload: Web Services Reference).
  public static let uploadURLAge: Duration = .seconds(15 * 60)
  /// How long a receipt for an uploaded asset counts.
  public static let receiptAge: Duration = .seconds(24 * 3_600)
  /// How long the address of an asset's bytes counts.
  public static let downloadURLAge: Duration = .seconds(6 * 3_600)
  /// How long bytes are kept that no record claims; longer than a receipt is valid.
  public static let unreferencedAssetAge: Duration = .seconds(48 * 3_600)
  /// Uploads of a user that no record claims so far, on a server with quotas.
  public static let unreferencedUploadsMax = 1_000
  /// How long a device's session and a web-auth token are valid (web tokens: two weeks, Web Services Reference).
  public static let sessionAge: Duration = .seconds(24 * 3_600)
  /// How long a web token counts.
  public static let webTokenAge: Duration = .seconds(14 * 86_400)
}

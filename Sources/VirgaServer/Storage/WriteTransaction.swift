public import VirgaModel

/// Reads and writes. What a transaction wrote it also reads.
public protocol WriteTransaction: ReadTransaction {
  /// Runs a part of the body: if it throws, what it wrote is undone, and the body may go on. Parts may lie in each other.
  func attempt<Value>(_ part: () throws -> Value) throws -> Value

  func put(_ database: DatabaseRow) throws
  /// Inserts a row whose id is 0, giving it one, or replaces the row of that id. The row of its database comes first.
  func put(_ zone: inout ZoneRow) throws
  /// Takes all records, versions, references and indexes of a zone away: nobody sees them any more. Their rows, and the
  /// claims of assets, stay until `clearRemovedRecords`; they count with the tally so long, and what the live records take
  /// as its `removedBytes`. The zone's row stays as it is but for its number, which is a new one, and its `usedBytes`.
  func removeRecords(of zone: inout ZoneRow) throws
  /// Removes rows of records that were taken away with their zones, at most `limit`, of which those before the last take
  /// less than `bytes`.
  /// - Returns: Whether there may be more.
  func clearRemovedRecords(limit: Int, bytes: Int) throws -> Bool

  /// Makes `record` the newest version. `previous` is what `record(_:in:)` returned in this transaction; with
  /// `keepsVersion` a live previous version goes into the history, of which the newest
  /// `Limits.versionsPerRecordMax` are shown; what is beyond is dropped if `StoredRecord.trimsHistory`. Claims and references are kept up by the store: claims belong to a version and end when it leaves the history, references belong to the newest version.
  /// - Throws: `RecordExists` if `previous` is `nil` and there is one.
  func put(_ record: StoredRecord, in zone: ZoneRow, replacing previous: StoredRecord?, keepsVersion: Bool) throws
  /// Makes an index of the zone's records without entries, which `fillIndex` makes ready. `put` keeps it up from now on.
  /// - Precondition: The zone has none of this definition.
  func beginIndex(_ definition: IndexDefinition, of zone: ZoneRow, for maker: String) throws -> RecordIndex
  /// Enters more of the zone's records into an index that is not ready.
  /// - Returns: The index as it is now, and how many records were looked at.
  func fillIndex(_ index: RecordIndex, of zone: ZoneRow, portion: IndexPortion) throws
    -> (index: RecordIndex, records: Int)
  /// Takes an index away. Its entries may stay until `clearRemovedIndexes`.
  func removeIndex(_ index: RecordIndex, of zone: ZoneRow) throws
  /// Removes entries of indexes that were taken away, at most `limit`.
  /// - Returns: Whether there may be more.
  func clearRemovedIndexes(limit: Int) throws -> Bool

  /// Removes a database with its zones and all that they hold, at once, and what `clearRemovedRecords` would remove.
  func removeDatabase(_ key: DatabaseKey) throws
  /// Removes a record and its history, as if it had never been. No reader is told. The zone has no indexes.
  func forget(_ name: RecordName, in zone: ZoneRow) throws
  /// Removes the version that the change `replacedBy` replaced. What came before it stays in the record's history.
  func forgetVersion(replacedBy: Int64, in zone: ZoneRow) throws
  /// Changes what the newest version of a record says, whose number, claims and references stay. The zone has no
  /// indexes.
  func rewrite(_ record: StoredRecord, in zone: ZoneRow) throws
  /// The same for a replaced version.
  func rewriteVersion(_ record: StoredRecord, replacedBy: Int64, in zone: ZoneRow) throws

  /// Drops the oldest tombstones whose deletion (`modified`) is older than `moment`, at most `limit`, each with what is
  /// kept of its record's versions; answers their sequences.
  func dropTombstones(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> [Int64]
  /// Drops the oldest versions of a zone, by the order in which they were replaced, up to the first that was replaced at
  /// `moment` or later, at most `limit`; answers how many there were.
  func dropVersions(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> Int

  /// Gives space that nothing uses back to the disk, about `bytes` at most.
  /// - Returns: Whether there is more to give.
  func releaseSpace(bytes: Int) throws -> Bool

  func put(_ entity: Entity) throws
  func removeEntity(_ kind: Entity.Kind, key: String) throws

  func put(_ asset: AssetRow) throws
  func removeAsset(_ checksum: String) throws
  /// Adds a notification, replacing one that waits with the same token and coalescing key, and drops the oldest of
  /// the token beyond `Limits.notificationsPerTokenMax`.
  /// - Returns: Its number, which is greater than every earlier one of the store.
  @discardableResult func append(_ notification: NotificationRow) throws -> Int64
  /// Removes those of a token's notifications that have these numbers; a later one that took the place of one stays.
  func removeNotifications(_ ids: [Int64], of pushToken: String) throws
}

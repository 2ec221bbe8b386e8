public import VirgaModel

/// Where the rows lie. A store knows rows, not rules; two exist (memory, SQLite), and one contract suite runs on both.
public protocol Store: AnyObject, Sendable {
  /// Runs `body` on a consistent snapshot, beside other reads and writes; `completion` is called on any thread.
  func read<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void)

  /// Runs `body` alone, after all writes that came before. If it throws, its writes are undone; otherwise `completion`
  /// is called once they are durable. Several bodies may share one commit. `body` has no effect but its writes, since
  /// it may run again.
  func write<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void)
}

/// How long the body of a read or a write takes.
public enum BodySize: Sendable {
  /// No longer than a change of thread or two, if what it needs is in memory. A store may run it and its completion on the
  /// calling thread, which then waits for the disk.
  case small
  /// The calling thread never waits.
  case any
}

extension Store {
  public func read<Value: Sendable>(
    _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    read(size: .any, body, completion: completion)
  }

  public func write<Value: Sendable>(
    _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    write(size: .any, body, completion: completion)
  }
}

/// What can go wrong below the rules.
public enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No space is left; the write was undone.
  case full(String)
  /// The disk failed to read, write or keep something; the write was undone.
  case diskFailed(String)
  /// The file is damaged or cannot be read.
  case damaged(String)
  /// The data were written by a newer version; the numbers are those of the layout.
  case newerVersion(found: Int, known: Int)
  /// Another process uses the data.
  case inUse(String)
  /// The place for the data cannot be written.
  case unwritable(String)
  /// Too much waits already; trying again later helps.
  case busy(String)
  case closed
  case other(String)

  public var description: String {
    switch self {
    case .full(let text), .diskFailed(let text), .damaged(let text), .inUse(let text), .unwritable(let text),
      .busy(let text), .other(let text):
      text
    case .newerVersion(let found, let known):
      "a newer version wrote the data (layout \(found), this version knows \(known))"
    case .closed: "the store is closed"
    }
  }
}

/// A record was to be put as new, and there is a version of it, maybe a deleted one.
public struct RecordExists: Error, CustomStringConvertible {
  public init() {}

  public var description: String { "the record is there already" }
}

/// Reads of one snapshot. Every verb may throw; once it does the body should let the error through, and the caller of
/// the store is given a `StoreError`.
public protocol ReadTransaction: AnyObject {
  func database(_ key: DatabaseKey) throws -> DatabaseRow?
  /// What the store counts of a database; nothing of one that has no row.
  func tally(of database: DatabaseKey) throws -> DatabaseTally
  /// All databases, in any total order that stays the same: for housekeeping and after a restore.
  func databases() throws -> [DatabaseRow]
  /// The zone's row, also when the zone is deleted.
  func zone(_ name: ZoneName, in database: DatabaseKey) throws -> ZoneRow?
  /// Rows whose `databaseSequence` is greater than `position`, deleted ones too, in the order of that number.
  func zones(in database: DatabaseKey, after position: Int64, limit: Int) throws -> [ZoneRow]
  /// The zones of all databases of which something is shared, or that hold something old: a tombstone, or as their first
  /// one a replaced version. In any total order that stays the same.
  func zonesToCompact(tombstonesBefore: Timestamp, versionsBefore: Timestamp) throws -> [ZoneKey]

  /// The newest version of a record, which may be a tombstone.
  func record(_ name: RecordName, in zone: ZoneRow) throws -> StoredRecord?
  /// Calls `body` with the newest version of each record whose sequence is greater than `position`, oldest change
  /// first, tombstones too, until `body` answers false or `limit` were given. `body` does not write.
  func changes(in zone: ZoneRow, after position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws
  /// The same from newest to oldest, for sequences less than `position`.
  func changes(in zone: ZoneRow, before position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws
  /// A version of the record by its sequence: the newest or one that is still kept.
  func version(_ sequence: Int64, of name: RecordName, in zone: ZoneRow) throws -> StoredRecord?
  /// The replaced versions that are still kept, newest first, at most `Limits.versionsPerRecordMax`.
  func versions(of name: RecordName, in zone: ZoneRow) throws -> [StoredRecord]
  /// Calls `body` with all replaced versions that a zone holds, those beyond the limit of a record too, in the order of
  /// the changes that replaced them and with the number of each, after `position`, until `body` answers false. `body`
  /// does not write.
  func replacedVersions(in zone: ZoneRow, after position: Int64, _ body: (StoredRecord, Int64) throws -> Bool) throws
  /// The live records with an indexed reference of that kind to `target`, by name, at most `limit`.
  func references(to target: RecordName, kind: StoredReference.Kind, in zone: ZoneRow, limit: Int) throws
    -> [RecordName]

  /// The indexes of a zone's records, in the order in which they were made. A store keeps them up with every `put` by
  /// itself, as `IndexDefinition.keys` says.
  func indexes(of zone: ZoneRow) throws -> [RecordIndex]
  /// How many entries lie in a range; counting ends at `limit`.
  func countEntries(of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, limit: Int) throws -> Int
  /// Calls `body` with the entries in a range that come after `position`, each with its record, in the order of key and
  /// name, until `body` answers false. `body` may read, but does not write.
  func entries(
    of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, after position: IndexEntry?,
    _ body: (IndexEntry, StoredRecord) throws -> Bool) throws

  func entity(_ kind: Entity.Kind, key: String) throws -> Entity?
  /// What `read` makes of an entity's value; a store may remember that until the entity changes, so `read` depends on
  /// nothing else.
  func entity<Value: Sendable>(_ kind: Entity.Kind, key: String, as read: ([UInt8]) throws -> Value) throws -> Value?
  /// The entities of a kind with that owner whose keys are not before `key`, by key; none for an empty owner.
  func entities(_ kind: Entity.Kind, owner: String, from key: String) throws -> [Entity]
  /// What `read` makes of all entities of a kind with that owner, by key; a store may remember that until one of them
  /// changes, so `read` depends on nothing else.
  func entities<Value: Sendable>(
    _ kind: Entity.Kind, owner: String, as read: ([Entity]) throws -> Value
  ) throws -> Value

  /// Entities of a kind, whoever owns them, whose keys come after `key`, by key.
  func allEntities(_ kind: Entity.Kind, after key: String, limit: Int) throws -> [Entity]

  func asset(_ checksum: String) throws -> AssetRow?
  /// All assets, by checksum.
  func assets(after checksum: String, limit: Int) throws -> [AssetRow]
  /// Assets that no version claims and that arrived before `moment`, by checksum.
  func unclaimedAssets(before moment: Timestamp, limit: Int) throws -> [AssetRow]
  /// What the store's files take.
  func space() throws -> StoreSpace
  /// The oldest notifications that wait for a token.
  func notifications(for pushToken: String, limit: Int) throws -> [NotificationRow]
}

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

extension ReadTransaction {
  public func entity<Value: Sendable>(
    _ kind: Entity.Kind, key: String, as read: ([UInt8]) throws -> Value
  ) throws -> Value? {
    try entity(kind, key: key).map { try read($0.value) }
  }

  public func entities<Value: Sendable>(
    _ kind: Entity.Kind, owner: String, as read: ([Entity]) throws -> Value
  ) throws -> Value {
    try read(entities(kind, owner: owner))
  }

  /// The same as `changes(in:after:limit:_:)`, asked for in portions of what a reader needs, so that no store reads much
  /// that nobody takes.
  func changes(
    in zone: ZoneRow, after position: Int64, limit: Int, portion: Int, _ body: (StoredRecord) throws -> Bool
  ) throws {
    var (position, left) = (position, limit)
    while left > 0 {
      let asked = min(portion, left)
      var (given, goesOn) = (0, true)
      try changes(in: zone, after: position, limit: asked) { record in
        given += 1
        position = record.sequence
        goesOn = try body(record)
        return goesOn
      }
      guard goesOn, given == asked else { return }
      left -= given
    }
  }

  /// All entities of a kind with that owner, by key; none for an empty owner.
  public func entities(_ kind: Entity.Kind, owner: String) throws -> [Entity] {
    try entities(kind, owner: owner, from: "")
  }
}

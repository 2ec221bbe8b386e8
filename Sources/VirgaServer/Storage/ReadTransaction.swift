public import VirgaModel

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
  func zonesToCompact(tombstonesBefore: Timestamp, versionsBefore: Timestamp) throws -> [ZoneAddress]

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
  func unreferencedAssets(before moment: Timestamp, limit: Int) throws -> [AssetRow]
  /// What the store's files take.
  func space() throws -> StoreSpace
  /// The oldest notifications that wait for a token.
  func notifications(for pushToken: String, limit: Int) throws -> [NotificationRow]
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

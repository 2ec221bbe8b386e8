import VirgaModel

/// The rows of a memory store. Not safe to share: the store's lock guards it.
final class MemoryTables {
  var databases: [DatabaseKey: MemoryDatabase] = [:]
  var zones: [Int64: MemoryZone] = [:]
  var lastZoneID: Int64 = 0
  var lastIndexID: Int64 = 0
  /// What went with its zone and is yet to be cleared, the oldest first.
  var removed: [RemovedRecords] = []
  var entities: [Entity.Kind: [EntityText: Entity]] = [:]
  /// The keys of the entities that an owner has.
  var owned: [Entity.Kind: [EntityText: Set<EntityText>]] = [:]
  var assets: [String: AssetRow] = [:]
  /// How many versions claim the bytes of a digest.
  var assetReferenceCounts: [String: Int] = [:]
  /// By push token, oldest first.
  var notifications: [String: [NotificationRow]] = [:]
  var lastNotificationID: Int64 = 0
}

/// A key or an owner of entities. Names are part of them, and names compare by their bytes.
struct EntityText: Hashable, Comparable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: EntityText, right: EntityText) -> Bool { left.text.hasSameBytes(as: right.text) }
  func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
  static func < (left: EntityText, right: EntityText) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

final class MemoryDatabase {
  var row: DatabaseRow
  var tally = DatabaseTally()
  var zones: [ZoneName: MemoryZone] = [:]
  var log = SequenceLog<Int64>()

  init(_ row: DatabaseRow) { self.row = row }
}

final class MemoryZone {
  var row: ZoneRow
  var contents = MemoryRecords()

  init(_ row: ZoneRow) { self.row = row }
}

/// What a zone held that was taken away.
final class RemovedRecords {
  let database: DatabaseKey
  let bytes: Int64
  var contents: MemoryRecords
  /// The records that are left, once the clearing has begun.
  var names: [RecordName]?

  init(_ contents: MemoryRecords, in database: DatabaseKey, bytes: Int64) {
    (self.database, self.bytes, self.contents) = (database, bytes, contents)
  }
}

/// What a zone holds.
struct MemoryRecords {
  struct Version {
    var record: StoredRecord
    var replaced: Timestamp
    /// The sequence of what replaced it.
    var replacedBy: Int64
    /// What was counted for it.
    var countedBytes: Int64
  }

  struct Source: Hashable {
    var name: RecordName
    var kind: StoredReference.Kind
  }

  var records: [RecordName: StoredRecord] = [:]
  var log = SequenceLog<RecordName>()
  /// Replaced versions, newest first.
  var versions: [RecordName: [Version]] = [:]
  /// The digests that a version claims, by its sequence.
  var claims: [Int64: Set<String>] = [:]
  /// The indexed references of a record, and the same by their target.
  var references: [RecordName: Set<StoredReference>] = [:]
  var sources: [RecordName: Set<Source>] = [:]
  var indexes: [MemoryIndex] = []

  /// Entries of the log that still tell of a record's newest version.
  func isCurrent(_ sequence: Int64, _ name: RecordName) -> Bool { records[name]?.sequence == sequence }
}

public import VirgaModel

/// Which database a row lies in: the public one of a container and environment, or a user's private one.
///
/// The shared database holds nothing: it is a view of other users' private databases.
public struct DatabaseKey: Hashable, Sendable {
  public var container: ContainerID
  public var environment: Environment
  /// `nil` for the public database.
  public var owner: UserName?

  public init(container: ContainerID, environment: Environment, owner: UserName?) {
    self.container = container
    self.environment = environment
    self.owner = owner
  }
}

/// A database: its change feed lists zones.
public struct DatabaseRow: Hashable, Sendable {
  public var key: DatabaseKey
  /// Binds change tokens to this feed.
  public var incarnation: UInt64
  /// The last number that the feed gave.
  public var sequence: Int64
  /// What its live records and their assets take; see `Quotas`.
  public var usedBytes: Int64 = 0
  /// What the owner's devices keep for each other beside its zones.
  public var keyBytes: Int64 = 0

  public init(key: DatabaseKey, incarnation: UInt64, sequence: Int64 = 0) {
    self.key = key
    self.incarnation = incarnation
    self.sequence = sequence
  }
}

/// What a database holds besides live records, as its store counts it.
public struct DatabaseTally: Hashable, Sendable {
  /// Zones that live and zones that were deleted, the default zone left out.
  public var zones = 0
  public var pastZones = 0
  /// What replaced versions take: their fields, and assets that the version after them does not have.
  public var historyBytes: Int64 = 0
  public var tombstones = 0
  /// What live records and their assets took that went with their zones and still lie in the store.
  public var removedBytes: Int64 = 0

  public init() {}

  /// Counts a zone's row. `old` is the row before; a new one has none.
  package mutating func note(_ zone: ZoneRow, replacing old: ZoneRow?) {
    guard zone.name != .default else { return }
    if let old {
      if old.isDeleted { pastZones -= 1 } else { zones -= 1 }
    }
    if zone.isDeleted { pastZones += 1 } else { zones += 1 }
  }

  /// Counts a tombstone that came or went.
  package mutating func note(_ record: StoredRecord, replacing old: StoredRecord?) {
    if old?.isDeleted == true { tombstones -= 1 }
    if record.isDeleted { tombstones += 1 }
  }
}

/// Which zone a row is.
public struct ZoneAddress: Hashable, Sendable {
  public var database: DatabaseKey
  public var name: ZoneName

  public init(_ name: ZoneName, in database: DatabaseKey) {
    self.name = name
    self.database = database
  }
}

/// A zone: its change feed lists records. A deleted zone keeps its row, so that its numbers are never given twice.
public struct ZoneRow: Hashable, Sendable {
  /// Given by the store when the row is first put; 0 before.
  public var id: Int64
  public var database: DatabaseKey
  public var name: ZoneName
  /// Drawn anew when a deleted zone is created again; binds change tokens to this life of the zone.
  public var incarnation: UInt64
  /// The last number given to a change in this zone.
  public var sequence: Int64
  /// Tokens at an earlier position than this have expired: tombstones up to here were dropped.
  public var lowWaterMark: Int64
  /// The number of the zone's last change in its database's feed.
  public var databaseSequence: Int64
  public var isDeleted: Bool
  /// Why the zone was last deleted; it stays when the zone is created again, for readers who have yet to be told.
  public var deletionReason: ZoneDeletionReason?
  /// The number of its last deletion in its database's feed; 0 if it never was.
  public var deletionSequence: Int64 = 0
  /// Whether the rules have to ask for shares.
  public var sharing: ZoneSharing = .none
  /// What its live records and their assets take.
  public var usedBytes: Int64 = 0

  public init(id: Int64 = 0, database: DatabaseKey, name: ZoneName, incarnation: UInt64) {
    self.id = id
    self.database = database
    self.name = name
    self.incarnation = incarnation
    sequence = 0
    lowWaterMark = 0
    databaseSequence = 0
    isDeleted = false
  }

  /// Notes that the zone was deleted, as the change of that number in its database's feed.
  package mutating func noteDeletion(_ reason: ZoneDeletionReason, at number: Int64) {
    isDeleted = true
    deletionReason = reason
    deletionSequence = number
    databaseSequence = number
  }
}

/// What of a zone its owner shares.
public enum ZoneSharing: Int, Hashable, Sendable { case none = 0, hierarchies = 1, wholeZone = 2 }

/// A record as it is stored: one version, live or a tombstone.
public struct StoredRecord: Hashable, Sendable {
  public var name: RecordName
  public var type: RecordType
  /// The number of the change that made this version; unique in the zone.
  public var sequence: Int64
  public var created: RecordStamp
  public var modified: RecordStamp
  public var isDeleted: Bool
  public var parent: Reference?
  public var share: Reference?
  public var shortGUID: String?
  /// The fields as they travel: see `RecordEnvelope.fieldsJSON`. `{}` for a tombstone.
  public var fieldsJSON: [UInt8]
  public var unknownMembers: [UInt8]
  /// Digests of the assets that this version claims. Given to `put`; on reading only `hasAssets` is filled.
  public var assetChecksums: [String]
  /// Targets in the same zone whose deletion concerns this record: `deleteSelf`, `validate`, and its parent. Given to
  /// `put`; on reading only `hasReferences` is filled.
  public var references: [StoredReference]
  public var hasAssets: Bool
  public var hasReferences: Bool

  public init(
    name: RecordName, type: RecordType, sequence: Int64, created: RecordStamp, modified: RecordStamp,
    fieldsJSON: [UInt8]
  ) {
    self.name = name
    self.type = type
    self.sequence = sequence
    self.created = created
    self.modified = modified
    self.fieldsJSON = fieldsJSON
    isDeleted = false
    unknownMembers = []
    assetChecksums = []
    references = []
    hasAssets = false
    hasReferences = false
  }

  /// Whether a store takes what is beyond the limit out of a record's history when this version comes: one time in eight,
  /// as its number has it, so that most saves only append; always where files hang on it.
  package func trimsHistory(replacing previous: StoredRecord) -> Bool {
    previous.hasAssets || !assetChecksums.isEmpty
      || (UInt64(bitPattern: sequence) &* 0x9e37_79b9_7f4a_7c15) >> 61 == 0
  }

  /// What is kept of the record for readers once it is deleted.
  func tombstone(sequence: Int64, modified: RecordStamp) -> StoredRecord {
    var tombstone = StoredRecord(
      name: name, type: type, sequence: sequence, created: created, modified: modified, fieldsJSON: Array("{}".utf8))
    tombstone.isDeleted = true
    return tombstone
  }
}

/// A reference that the store indexes by its target.
public struct StoredReference: Hashable, Sendable {
  public enum Kind: Int, Hashable, Sendable { case deleteSelf = 1, validate = 2, parent = 3 }
  public var target: RecordName
  public var kind: Kind
  public init(target: RecordName, kind: Kind) {
    self.target = target
    self.kind = kind
  }
}

/// Small things that are read by key or by owner: accounts, devices, credentials, subscriptions, schema, settings.
/// The core encodes their values; a store only keeps them.
public struct Entity: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case account, device, apiToken, webToken, serverKey, invitation, subscription, receipt, pushToken, recordType,
      setting, shareAddress, sharedZone, sharedFeed, watch, sealedKey, upload
    case visibilityChange = "shareNote"
  }

  public var kind: Kind
  public var key: String
  /// What the entity is listed under; empty if it is not listed.
  public var owner: String
  public var value: [UInt8]

  public init(_ kind: Kind, key: String, owner: String = "", value: [UInt8]) {
    self.kind = kind
    self.key = key
    self.owner = owner
    self.value = value
  }
}

/// Bytes that were uploaded, by their digest. They are kept while a version of a record claims them.
public struct AssetRow: Hashable, Sendable {
  public var checksum: String
  public var size: Int64
  /// When the bytes last arrived; an asset without a claim is collected some time after.
  public var uploaded: Timestamp
  public init(checksum: String, size: Int64, uploaded: Timestamp) {
    self.checksum = checksum
    self.size = size
    self.uploaded = uploaded
  }
}

/// What the files of a store take, without those of assets.
public struct StoreSpace: Hashable, Sendable {
  /// Newest versions, with what finds them.
  public var recordBytes: Int64
  /// Replaced versions.
  public var versionBytes: Int64
  /// Accounts, subscriptions, schemas, notifications and the like.
  public var otherBytes: Int64
  /// What nothing uses now.
  public var freeBytes: Int64

  public init(recordBytes: Int64, versionBytes: Int64, otherBytes: Int64, freeBytes: Int64) {
    self.recordBytes = recordBytes
    self.versionBytes = versionBytes
    self.otherBytes = otherBytes
    self.freeBytes = freeBytes
  }
}

/// A notification that waits to be delivered: a row of the outbox.
public struct NotificationRow: Hashable, Sendable {
  /// Given by the store, ascending; 0 before.
  public var id: Int64
  /// The queue it waits in.
  public var pushToken: String
  /// A later notification with the same key replaces an earlier one that still waits in the same queue.
  public var coalescingKey: String
  public var payload: [UInt8]
  public init(id: Int64 = 0, pushToken: String, coalescingKey: String, payload: [UInt8]) {
    self.id = id
    self.pushToken = pushToken
    self.coalescingKey = coalescingKey
    self.payload = payload
  }
}

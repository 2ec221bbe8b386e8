public import VirgaModel

/// A record as a server sends it. All is typed but the fields, which stay the JSON object that they are stored as: a
/// feed or a lookup then copies bytes instead of decoding and encoding them.
public struct RecordEnvelope: Hashable, Sendable {
  public var id: RecordID
  public var type: RecordType
  public var tag: ChangeTag
  public var created: RecordStamp
  public var modified: RecordStamp
  public var parent: Reference?
  public var share: Reference?
  public var shortGUID: String?
  /// Of a share's record alone.
  public var shareDetails: ShareDetails?
  /// A JSON object, names in the order of their bytes, each `{"value":…,"type":"…"}`; null fields are left out.
  public var fieldsJSON: [UInt8]
  /// Members that this version does not know, as JSON `"key":value,…`.
  public var unknownMembers: [UInt8]

  public init(
    id: RecordID, type: RecordType, tag: ChangeTag, created: RecordStamp, modified: RecordStamp, fieldsJSON: [UInt8]
  ) {
    self.id = id
    self.type = type
    self.tag = tag
    self.created = created
    self.modified = modified
    self.fieldsJSON = fieldsJSON
    unknownMembers = []
  }
}

/// One record of an answer.
public enum RecordResult: Hashable, Sendable {
  case record(RecordEnvelope)
  /// A deletion. The zone is given in feeds; the type is sent to clients that ask for our extensions.
  case deleted(RecordName, zone: ZoneID?, type: RecordType?)
  case failure(RecordFailure)
}

/// Why one record of a request was not saved, deleted or found.
public struct RecordFailure: Hashable, Sendable {
  public var name: RecordName
  public var error: ServiceError
  /// With a conflict: the record as it stands.
  public var serverRecord: RecordEnvelope?
  /// With a conflict, for clients that ask for our extensions: the record as it stood at the tag that the client sent, if
  /// that version is still kept.
  public var ancestorRecord: RecordEnvelope?

  public init(_ name: RecordName, _ error: ServiceError) {
    self.name = name
    self.error = error
  }
}

/// What a request says of one field.
public struct FieldChange: Hashable, Sendable {
  public var name: FieldName
  /// The new value; `nil` clears the field.
  public var field: Field?
  /// Whether the request stated the type. An unstated type may be coerced to the schema's where nothing is lost.
  public var isTagged: Bool

  public init(_ name: FieldName, _ field: Field?, isTagged: Bool = true) {
    self.name = name
    self.field = field
    self.isTagged = isTagged
  }
}

/// What a request says of a record's parent.
public enum ParentChange: Hashable, Sendable {
  case unchanged, cleared
  case set(Reference)

  public var isSet: Bool { if case .set = self { true } else { false } }
}

/// A record in a request: what to change.
public struct RecordChange: Hashable, Sendable {
  /// `nil` lets the server choose; only for `create`.
  public var name: RecordName?
  public var type: RecordType?
  public var tag: ChangeTag?
  public var fields: [FieldChange]
  public var parent: ParentChange
  public var createShortGUID: Bool
  /// What the request says of a share.
  public var shareChange = ShareChange()
  /// The share that a root record names as its own.
  public var share: Reference?
  /// A zone stated with the record; must be that of the request.
  public var zone: ZoneSelector?
  public var unknownMembers: [UInt8]

  public init(name: RecordName?, type: RecordType? = nil, tag: ChangeTag? = nil, fields: [FieldChange] = []) {
    self.name = name
    self.type = type
    self.tag = tag
    self.fields = fields
    parent = .unchanged
    createShortGUID = false
    unknownMembers = []
  }
}

/// One operation of `records/modify`.
public struct RecordOperation: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case create, update, forceUpdate, replace, forceReplace, delete, forceDelete

    public var isDelete: Bool { self == .delete || self == .forceDelete }
    /// Whether fields that are not given become null.
    public var replaces: Bool { self == .replace || self == .forceReplace || self == .create }
    /// Whether the record's change tag counts.
    public var comparesTag: Bool { self == .update || self == .replace || self == .delete }
    public var mayCreate: Bool { self == .create || self == .forceUpdate || self == .forceReplace }
  }

  public var kind: Kind
  public var record: RecordChange
  public var desiredKeys: [FieldName]?
  /// What made the operation's record unreadable, such as a value that contradicts its type: this operation fails
  /// with it, and the others do not.
  public var fault: ServiceError?

  public init(_ kind: Kind, _ record: RecordChange) {
    self.kind = kind
    self.record = record
  }
}

public struct RecordsModifyRequest: Hashable, Sendable {
  public var operations: [RecordOperation]
  public var zone: ZoneSelector
  /// Whether all is done or nothing, as far as the request says. Custom zones alone can be asked for it.
  public var atomic: Bool?
  public var desiredKeys: [FieldName]?
  public var numbersAsStrings: Bool

  public init(operations: [RecordOperation], zone: ZoneSelector = ZoneSelector(), atomic: Bool? = nil) {
    self.operations = operations
    self.zone = zone
    self.atomic = atomic
    numbersAsStrings = false
  }

  /// Whether all is done or nothing in a custom zone: the protocol's default is yes.
  public var isAtomic: Bool { atomic ?? true }
}

public struct RecordsLookupRequest: Hashable, Sendable {
  public struct Item: Hashable, Sendable {
    public var name: RecordName
    public var desiredKeys: [FieldName]?
    public init(_ name: RecordName, desiredKeys: [FieldName]? = nil) {
      self.name = name
      self.desiredKeys = desiredKeys
    }
  }

  public var records: [Item]
  public var zone: ZoneSelector
  public var desiredKeys: [FieldName]?
  public var numbersAsStrings: Bool

  public init(records: [Item], zone: ZoneSelector = ZoneSelector()) {
    self.records = records
    self.zone = zone
    numbersAsStrings = false
  }
}

public struct RecordsReply: Hashable, Sendable {
  /// One for each operation or name asked for, in their order.
  public var records: [RecordResult]
  /// The zone's token after the call, if the request asked for it with `getCurrentSyncToken`.
  public var syncToken: String?
  /// Where a query's next page begins; `nil` on the last one.
  public var continuationMarker: String?
  public init(records: [RecordResult], syncToken: String? = nil, continuationMarker: String? = nil) {
    self.records = records
    self.syncToken = syncToken
    self.continuationMarker = continuationMarker
  }
}

/// Asks for what changed in one zone: an entry of `changes/zone`, or the older `records/changes`.
public struct ZoneChangesRequest: Hashable, Sendable {
  public var zone: ZoneSelector
  public var syncToken: String?
  public var resultsLimit: Int?
  public var desiredKeys: [FieldName]?
  public var desiredRecordTypes: [RecordType]?
  public var isReversed: Bool
  public var numbersAsStrings: Bool

  public init(zone: ZoneSelector, syncToken: String? = nil, resultsLimit: Int? = nil) {
    self.zone = zone
    self.syncToken = syncToken
    self.resultsLimit = resultsLimit
    isReversed = false
    numbersAsStrings = false
  }
}

public struct ZoneChangesPage: Hashable, Sendable {
  public var zone: ZoneID
  public var records: [RecordResult]
  public var syncToken: String
  public var moreComing: Bool
  public init(zone: ZoneID, records: [RecordResult], syncToken: String, moreComing: Bool) {
    self.zone = zone
    self.records = records
    self.syncToken = syncToken
    self.moreComing = moreComing
  }
}

public enum ZoneChangesResult: Hashable, Sendable {
  case page(ZoneChangesPage)
  case failure(ZoneSelector, ServiceError)
}

public import VirgaModel

/// A zone as a request names it: the owner may be left out, and then is the caller.
public struct ZoneSelector: Hashable, Sendable {
  public var name: ZoneName
  public var owner: UserName?

  public init(_ name: ZoneName = .default, owner: UserName? = nil) {
    self.name = name
    self.owner = owner
  }

  public init(_ id: ZoneID) {
    name = id.name
    owner = id.owner == .defaultOwner ? nil : id.owner
  }
}

/// A zone as the service describes it.
public struct ZoneEnvelope: Hashable, Sendable {
  public var id: ZoneID
  /// Where a reader would start that needs no history; absent for the default zone, which has no feed.
  public var syncToken: String?
  /// Whether batches in the zone are atomic; sent to clients that ask for our extensions.
  public var isAtomic: Bool
  public var isDeleted: Bool
  /// Why the zone is gone; sent to clients that ask for our extensions.
  public var deletionReason: ZoneDeletionReason?

  public init(id: ZoneID, syncToken: String?, isAtomic: Bool, isDeleted: Bool = false) {
    self.id = id
    self.syncToken = syncToken
    self.isAtomic = isAtomic
    self.isDeleted = isDeleted
  }
}

/// One zone of an answer.
public enum ZoneResult: Hashable, Sendable {
  case zone(ZoneEnvelope)
  case failure(ZoneSelector, ServiceError)
}

public struct ZonesLookupRequest: Hashable, Sendable {
  public var zones: [ZoneSelector]
  public init(zones: [ZoneSelector]) { self.zones = zones }
}

public struct ZonesModifyRequest: Hashable, Sendable {
  public struct Operation: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable { case create, delete }
    public var kind: Kind
    public var zone: ZoneSelector
    public init(_ kind: Kind, _ zone: ZoneSelector) {
      self.kind = kind
      self.zone = zone
    }
  }

  public var operations: [Operation]
  public init(operations: [Operation]) { self.operations = operations }
}

/// Asks for the zones that changed: `changes/database`, and with other key names the older `zones/changes`.
public struct DatabaseChangesRequest: Hashable, Sendable {
  public var syncToken: String?
  public var resultsLimit: Int?
  public init(syncToken: String? = nil, resultsLimit: Int? = nil) {
    self.syncToken = syncToken
    self.resultsLimit = resultsLimit
  }
}

public struct DatabaseChangesReply: Hashable, Sendable {
  public var zones: [ZoneResult]
  public var syncToken: String
  public var moreComing: Bool
  public init(zones: [ZoneResult], syncToken: String, moreComing: Bool) {
    self.zones = zones
    self.syncToken = syncToken
    self.moreComing = moreComing
  }
}

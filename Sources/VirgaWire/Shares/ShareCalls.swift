public import VirgaModel

/// What a request says of a share besides its fields.
public struct ShareChange: Hashable, Sendable {
  /// The record that is shared with all that reaches it by `parent`; `nil` for a zone's share.
  public struct Root: Hashable, Sendable {
    public var name: RecordName
    public var tag: ChangeTag?
    public init(_ name: RecordName, tag: ChangeTag? = nil) {
      self.name = name
      self.tag = tag
    }
  }

  public var root: Root?
  /// `nil` leaves it as it is.
  public var publicPermission: SharePermission?
  /// All participants but the owner, who is always kept; `nil` leaves them as they are.
  public var participants: [ShareParticipant]?

  public init(
    root: Root? = nil, publicPermission: SharePermission? = nil, participants: [ShareParticipant]? = nil
  ) {
    self.root = root
    self.publicPermission = publicPermission
    self.participants = participants
  }

  var isEmpty: Bool { root == nil && publicPermission == nil && participants == nil }
}

/// A share by the short text in its address.
public struct ShortGUID: Hashable, Sendable {
  public var value: String
  public var shouldFetchRootRecord: Bool
  public var rootRecordDesiredKeys: [FieldName]?

  public init(_ value: String, shouldFetchRootRecord: Bool = true, rootRecordDesiredKeys: [FieldName]? = nil) {
    self.value = value
    self.shouldFetchRootRecord = shouldFetchRootRecord
    self.rootRecordDesiredKeys = rootRecordDesiredKeys
  }
}

/// The body of `records/resolve` and `records/accept`.
public struct ShortGUIDsRequest: Hashable, Sendable {
  public var shortGUIDs: [ShortGUID]
  public init(shortGUIDs: [ShortGUID]) { self.shortGUIDs = shortGUIDs }
}

/// What the holder of a share's address learns of it.
public struct ShareMetadata: Hashable, Sendable {
  public var shortGUID: ShortGUID
  public var container: ContainerID
  public var environment: Environment
  /// Where the caller finds the records: `private` for the owner, `shared` for all others.
  public var scope: DatabaseScope
  public var zone: ZoneID
  /// Absent for a zone's share.
  public var rootRecordName: RecordName?
  public var rootRecord: RecordEnvelope?
  public var share: RecordEnvelope
  public var ownerIdentity: UserIdentity
  public var participantRole: ShareParticipant.Role
  public var participantStatus: ShareParticipant.AcceptanceStatus
  public var participantPermission: SharePermission
  /// The share's address.
  public var webpageURL: String?

  public init(
    shortGUID: ShortGUID, container: ContainerID, environment: Environment, scope: DatabaseScope, zone: ZoneID,
    share: RecordEnvelope, ownerIdentity: UserIdentity, participant: ShareParticipant
  ) {
    self.shortGUID = shortGUID
    self.container = container
    self.environment = environment
    self.scope = scope
    self.zone = zone
    self.share = share
    self.ownerIdentity = ownerIdentity
    participantRole = participant.role
    participantStatus = participant.acceptanceStatus
    participantPermission = participant.permission
  }
}

/// One share of an answer.
public enum ShareResult: Hashable, Sendable {
  case metadata(ShareMetadata)
  case failure(ShortGUID, ServiceError)
}

/// The path of a share's address: `/share/{container}/{environment}/{shortGUID}` below the server's own.
///
/// It names the container, so that a program that is given the address knows where to resolve it.
public struct SharePath: Hashable, Sendable {
  public var container: ContainerID
  public var environment: Environment
  public var shortGUID: String

  public init(container: ContainerID, environment: Environment, shortGUID: String) {
    self.container = container
    self.environment = environment
    self.shortGUID = shortGUID
  }

  public var path: String {
    "/share/\(container.rawValue.percentEncodedPathSegment)/\(environment.rawValue)/"
      + shortGUID.percentEncodedPathSegment
  }
}

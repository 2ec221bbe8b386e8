/// What a participant of a share may do.
public enum SharePermission: String, Hashable, Sendable, Codable {
  case none = "NONE"
  case readOnly = "READ_ONLY"
  case readWrite = "READ_WRITE"
  case unknown = "UNKNOWN"

  /// Whether somebody with it may read.
  public var allowsReading: Bool { self == .readOnly || self == .readWrite }
}

/// What somebody is found by. Accounts here have no e-mail address and no telephone number, so only the user record's
/// name finds anybody; the others are kept as text, to show whom an invitation was meant for.
public enum UserLookupInfo: Hashable, Sendable {
  case userRecordName(UserName)
  case emailAddress(String)
  case phoneNumber(String)
}

/// A user as others see them.
public struct UserIdentity: Hashable, Sendable {
  /// The user's name in the container; `nil` for somebody who is only known by how they are looked up.
  public var userRecordName: UserName?
  /// What the user was looked up by.
  public var lookupInfo: UserLookupInfo?
  /// The name's parts as a JSON object, as the client stated them; empty for none.
  public var nameComponents: [UInt8]

  /// Makes a user as others see them.
  public init(userRecordName: UserName? = nil, lookupInfo: UserLookupInfo? = nil, nameComponents: [UInt8] = []) {
    self.userRecordName = userRecordName
    self.lookupInfo = lookupInfo
    self.nameComponents = nameComponents
  }
}

/// Somebody who was invited to a share, joined it, or owns it.
public struct ShareParticipant: Hashable, Sendable {
  /// What somebody is in a share.
  public enum Role: String, Hashable, Sendable, Codable {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    /// Invited by name.
    case privateUser = "USER"
    /// Joined by the share's address, with what everybody may do.
    case publicUser = "PUBLIC_USER"
    case unknown = "UNKNOWN"
  }

  /// Whether somebody has accepted.
  public enum AcceptanceStatus: String, Hashable, Sendable, Codable {
    case invited = "INVITED"
    case accepted = "ACCEPTED"
    case removed = "REMOVED"
    case unknown = "UNKNOWN"
  }

  /// Given by the server.
  public var id: String?
  /// Who it is.
  public var identity: UserIdentity
  /// What they are in the share.
  public var role: Role
  /// What they may do.
  public var permission: SharePermission
  /// Whether they have accepted.
  public var acceptanceStatus: AcceptanceStatus

  /// Makes a participant.
  public init(
    id: String? = nil, identity: UserIdentity, role: Role = .privateUser, permission: SharePermission,
    acceptanceStatus: AcceptanceStatus = .invited
  ) {
    self.id = id
    self.identity = identity
    self.role = role
    self.permission = permission
    self.acceptanceStatus = acceptanceStatus
  }
}

/// What a share's record says besides its fields, as one user sees it.
public struct ShareDetails: Hashable, Sendable {
  /// What whoever knows the share's address may do; `none` is for those invited alone.
  public var publicPermission: SharePermission
  /// Everybody in the share, as far as the reader may see them.
  public var participants: [ShareParticipant]
  /// Which of the participants the reader is.
  public var currentUserIndex: Int?

  /// Makes the terms of a share.
  public init(
    publicPermission: SharePermission = .none, participants: [ShareParticipant], currentUserIndex: Int? = nil
  ) {
    self.publicPermission = publicPermission
    self.participants = participants
    self.currentUserIndex = currentUserIndex
  }

  /// The one who shares.
  public var owner: ShareParticipant? { participants.first { $0.role == .owner } }
  /// The one who asks, if they are in the share.
  public var currentUserParticipant: ShareParticipant? { currentUserIndex.map { participants[$0] } }
}

extension RecordName {
  /// The share of a whole zone has this name, and no other record may take it.
  public static let zoneShare: RecordName = "cloudkit.zoneshare"
}

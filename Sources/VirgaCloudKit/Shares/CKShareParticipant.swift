public import Foundation
import Synchronization
import VirgaModel

extension CKShare {
  /// Whether somebody who was invited has joined.
  public enum ParticipantAcceptanceStatus: Int, Sendable {
    /// The service has not said it.
    case unknown = 0
    /// They are invited.
    case pending = 1
    /// They have joined.
    case accepted = 2
    /// They have left, or were put out.
    case removed = 3
  }

  /// What a participant may do.
  public enum ParticipantPermission: Int, Sendable {
    /// The service has not said it.
    case unknown = 0
    /// They may do nothing.
    case none = 1
    /// They may read.
    case readOnly = 2
    /// They may read and write.
    case readWrite = 3
  }

  /// What a participant is to a share.
  public enum ParticipantRole: Int, Sendable {
    /// The service has not said it.
    case unknown = 0
    /// They share what is theirs.
    case owner = 1
    /// May invite others and change what they may do.
    case administrator = 2
    /// Invited by name.
    case privateUser = 3
    /// Joined by the share's address.
    case publicUser = 4
  }

  /// The older form of `ParticipantRole`.
  public enum ParticipantType: Int, Sendable {
    /// The service has not said it.
    case unknown = 0
    /// They share what is theirs.
    case owner = 1
    /// They were invited by name.
    case privateUser = 3
    /// They came by the address.
    case publicUser = 4
  }
}

/// Older names.
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// The older name of `CKShare.ParticipantType`.
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
/// The older name of `CKShare.ParticipantPermission`.
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// The older name of `CKShare.ParticipantRole`.
public typealias CKShare_Participant_Role = CKShare.ParticipantRole

/// Somebody who was invited to a share, joined it, or owns it.
///
/// The object is shared by reference: what is set on one of a share's participants is saved with the share. On Linux an
/// archive can only name classes at the top level, so `CKShare.Participant` is another name for this class.
public final class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// Names a participant within a share.
  public typealias ID = String
  /// Whether somebody has accepted.
  public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
  /// What somebody may do.
  public typealias Permission = CKShare.ParticipantPermission
  /// What somebody is in a share.
  public typealias Role = CKShare.ParticipantRole
  /// What somebody is in a share, in its older form.
  public typealias ParticipantType = CKShare.ParticipantType

  private let state: Mutex<ShareParticipant>
  /// Stands for the identifier until the service has given one.
  private let localID: String

  init(_ model: ShareParticipant) {
    state = Mutex(model)
    localID = model.id ?? UUID().uuidString
  }

  var model: ShareParticipant {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// Names the participant within the share. Before the first save it is one of this device's own.
  public var participantID: ID { model.id ?? localID }
  /// Who the participant is, as far as the service says.
  public var userIdentity: CKUserIdentity { CKUserIdentity(model.identity) }
  /// Whether the participant has accepted. Only the service changes it.
  public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus { .init(model.acceptanceStatus) }

  /// What the participant may do. Setting it takes effect when the share is saved.
  public var permission: CKShare.ParticipantPermission {
    get { .init(model.permission) }
    set { state.withLock { $0.permission = newValue.model } }
  }

  /// What the participant is in the share. Setting it takes effect when the share is saved.
  public var role: CKShare.ParticipantRole {
    get { .init(model.role) }
    set { state.withLock { $0.role = newValue.model } }
  }

  /// The older form of `role`.
  public var type: CKShare.ParticipantType {
    get { CKShare.ParticipantType(rawValue: role.rawValue) ?? .unknown }
    set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
  }

  /// Always nil: the protocol does not say it.
  public var dateAddedToShare: Date? { nil }
  /// Always false: the protocol has no requests for access.
  public var isApprovedRequester: Bool { false }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    guard let archived = coder.archived(ArchivedParticipant.self) else { return nil }
    self.init(archived.model)
  }

  public func encode(with coder: NSCoder) { coder.archive(ArchivedParticipant(model)) }

  public func copy(with zone: NSZone? = nil) -> Any {
    var copy = model
    copy.id = participantID
    return CKShareParticipant(copy)
  }
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? CKShareParticipant)?.participantID == participantID
  }
  public override var hash: Int { participantID.hashValue }
  public override var description: String { "<CKShareParticipant \(role) \(userIdentity)>" }
}

/// How a participant is archived. Members may be added, none may change its meaning.
struct ArchivedParticipant: Codable {
  var id: String?
  var identity: ArchivedIdentity
  var role: ShareParticipant.Role
  var permission: SharePermission
  var acceptanceStatus: ShareParticipant.AcceptanceStatus

  init(_ model: ShareParticipant) {
    id = model.id
    identity = ArchivedIdentity(model.identity)
    role = model.role
    permission = model.permission
    acceptanceStatus = model.acceptanceStatus
  }

  var model: ShareParticipant {
    ShareParticipant(
      id: id, identity: identity.model, role: role, permission: permission, acceptanceStatus: acceptanceStatus)
  }
}

// MARK: The protocol's words

extension CKShare.ParticipantPermission {
  init(_ model: SharePermission) {
    switch model {
    case .none: self = .none
    case .readOnly: self = .readOnly
    case .readWrite: self = .readWrite
    case .unknown: self = .unknown
    }
  }

  var model: SharePermission {
    switch self {
    case .none: .none
    case .readOnly: .readOnly
    case .readWrite: .readWrite
    case .unknown: .unknown
    }
  }
}

extension CKShare.ParticipantRole {
  init(_ model: ShareParticipant.Role) {
    switch model {
    case .owner: self = .owner
    case .administrator: self = .administrator
    case .privateUser: self = .privateUser
    case .publicUser: self = .publicUser
    case .unknown: self = .unknown
    }
  }

  var model: ShareParticipant.Role {
    switch self {
    case .owner: .owner
    case .administrator: .administrator
    case .privateUser: .privateUser
    case .publicUser: .publicUser
    case .unknown: .unknown
    }
  }
}

extension CKShare.ParticipantAcceptanceStatus {
  init(_ model: ShareParticipant.AcceptanceStatus) {
    switch model {
    case .invited: self = .pending
    case .accepted: self = .accepted
    case .removed: self = .removed
    case .unknown: self = .unknown
    }
  }
}

public import Foundation
import Synchronization

/// What a person may choose about a share. Linux has no sheet that offers it; the values are kept for apps that have one of
/// their own.
public final class CKAllowedSharingOptions: NSObject, NSSecureCoding, NSCopying, Sendable {
  private struct Values: Codable, Hashable {
    var permission: UInt
    var access: UInt
    var invitations = true
  }

  private let values: Mutex<Values>

  /// Makes options that leave so much to the user.
  public init(
    allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
    allowedParticipantAccessOptions: CKSharingParticipantAccessOption
  ) {
    values = Mutex(
      Values(
        permission: allowedParticipantPermissionOptions.rawValue, access: allowedParticipantAccessOptions.rawValue))
  }

  private init(_ values: Values) { self.values = Mutex(values) }

  /// Everything.
  public class var standard: CKAllowedSharingOptions {
    CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
  }

  /// What participants may be allowed to do.
  public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
    get { CKSharingParticipantPermissionOption(rawValue: values.withLock { $0.permission }) }
    set { values.withLock { $0.permission = newValue.rawValue } }
  }

  /// Who may be let in.
  public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
    get { CKSharingParticipantAccessOption(rawValue: values.withLock { $0.access }) }
    set { values.withLock { $0.access = newValue.rawValue } }
  }

  /// Whether participants may let others in. True by default.
  public var allowsParticipantsToInviteOthers: Bool {
    get { values.withLock { $0.invitations } }
    set { values.withLock { $0.invitations = newValue } }
  }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    guard let values = coder.archived(Values.self) else { return nil }
    self.init(values)
  }

  public func encode(with coder: NSCoder) { coder.archive(values.withLock { $0 }) }

  public func copy(with zone: NSZone? = nil) -> Any { CKAllowedSharingOptions(values.withLock { $0 }) }
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKAllowedSharingOptions else { return false }
    return other.values.withLock { $0 } == values.withLock { $0 }
  }
  public override var hash: Int { values.withLock { $0.hashValue } }
}

/// What participants may be allowed to do.
public struct CKSharingParticipantPermissionOption: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1)
  public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 2)
  /// Both.
  public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// Who may be let in.
public struct CKSharingParticipantAccessOption: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1)
  public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 2)
  /// Both.
  public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// How an item is shared through the system's sharing sheet, which Linux does not have.
@available(*, unavailable, message: "CoreTransferable does not exist on Linux. Make a CKShare and pass its url on.")
public struct CKShareTransferRepresentation<Item> {
  /// What is shared.
  public struct ExportedShare {
    /// A share that exists already.
    public static func existing(
      _ share: CKShare, container: CKContainer, allowedSharingOptions: CKAllowedSharingOptions = .standard
    ) -> ExportedShare { ExportedShare() }

    /// A share that is made once its address is needed.
    public static func prepareShare(
      container: CKContainer, allowedSharingOptions: CKAllowedSharingOptions = .standard,
      preparationHandler: @escaping @Sendable () async throws -> CKShare
    ) -> ExportedShare { ExportedShare() }
  }

  /// Says how an item is shared.
  public init(exporter: @escaping @Sendable (Item) throws -> ExportedShare) {}
}

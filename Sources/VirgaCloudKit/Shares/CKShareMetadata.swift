public import Foundation
import VirgaModel
import VirgaWire

/// What the holder of a share's address learns of it.
///
/// On Linux an archive can only name classes at the top level, so `CKShare.Metadata` is another name for this class.
public final class CKShareMetadata: NSObject, NSSecureCoding, NSCopying, Sendable {
  private struct Summary: Codable, Sendable {
    var container: ContainerID
    var shortGUID: String
    var root: RecordID?
    var owner: ArchivedIdentity
    var role: ShareParticipant.Role
    var status: ShareParticipant.AcceptanceStatus
    var permission: SharePermission
    /// The zone that the share is in, and what opens its encrypted values if the address said it.
    var zone: ZoneID?
    var secret: String?
  }

  private let summary: Summary
  /// The share itself, with its participants as far as the user may see them.
  public let share: CKShare
  /// The root record, if it was asked for; nil for a zone's share.
  public let rootRecord: CKRecord?

  /// - Parameter container: The one that the share is in.
  /// - Throws: `internalError` if the share's record cannot be read.
  /// - Parameter url: The address that led to the share, if one did.
  init(_ model: ShareMetadata, in container: CKContainer, at url: URL?) throws {
    let database = model.scope == .private ? container.privateCloudDatabase : container.sharedCloudDatabase
    guard let share = try database.record(from: model.share) as? CKShare else {
      throw CKError.unexpected("records/resolve")
    }
    self.share = share
    rootRecord = try model.rootRecord.map { try database.record(from: $0) }
    summary = Summary(
      container: model.container, shortGUID: model.shortGUID.value,
      root: model.rootRecordName.map { RecordID($0, in: database.local(model.zone)) },
      owner: ArchivedIdentity(model.ownerIdentity), role: model.participantRole, status: model.participantStatus,
      permission: model.participantPermission, zone: model.zone, secret: url?.fragment)
  }

  /// What opens the encrypted values of the share's zone, and whose zone it is.
  var secret: (fragment: String, zone: ZoneID)? {
    guard let secret = summary.secret, let zone = summary.zone else { return nil }
    return (secret, zone)
  }

  var container: ContainerID { summary.container }
  var shortGUID: String { summary.shortGUID }

  public var containerIdentifier: String { summary.container.rawValue }
  /// nil for a zone's share.
  public var hierarchicalRootRecordID: CKRecord.ID? { summary.root.map { CKRecord.ID($0) } }
  /// The older form of `hierarchicalRootRecordID`: the share's own for a zone's share.
  public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }
  /// Who shares.
  public var ownerIdentity: CKUserIdentity { CKUserIdentity(summary.owner.model) }
  /// What the user is, or would be, in the share.
  public var participantRole: CKShare.ParticipantRole { .init(summary.role) }
  /// Whether the user has accepted.
  public var participantStatus: CKShare.ParticipantAcceptanceStatus { .init(summary.status) }
  /// What the user may do with what is shared.
  public var participantPermission: CKShare.ParticipantPermission { .init(summary.permission) }
  /// The older form of `participantRole`.
  public var participantType: CKShare.ParticipantType { .init(rawValue: participantRole.rawValue) ?? .unknown }

  public static var supportsSecureCoding: Bool { true }

  public init?(coder: NSCoder) {
    guard let summary = coder.archived(Summary.self), coder.containsValue(forKey: "share"),
      let share = coder.decodeObject(of: CKShare.self, forKey: "share")
    else { return nil }
    self.summary = summary
    self.share = share
    rootRecord =
      coder.containsValue(forKey: "root") ? coder.decodeObject(of: CKRecord.self, forKey: "root") : nil
  }

  public func encode(with coder: NSCoder) {
    coder.archive(summary)
    coder.encode(share, forKey: "share")
    if let rootRecord { coder.encode(rootRecord, forKey: "root") }
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKShareMetadata else { return false }
    return other.shortGUID == shortGUID && other.container == container
  }
  public override var hash: Int { shortGUID.hashValue }
  public override var description: String { "<CKShareMetadata \(shortGUID) in \(containerIdentifier)>" }
}

public import Foundation
package import VirgaModel

/// A zone's name and whose database it lies in.
///
/// On Linux an archive can only name classes at the top level, so `CKRecordZone.ID` is another name for this class.
public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// The zone that every database has. It is not atomic and has no change feed.
  public static let `default` = CKRecordZoneID(ZoneID(.default, owner: .defaultOwner))
  /// The name of the zone that every database has.
  public static let defaultZoneName: String = ZoneName.default.rawValue

  package let model: ZoneID

  /// - Parameter ownerName: The user record name of whoever owns the zone; for one's own zones it is
  ///   `CKCurrentUserDefaultName`.
  public convenience init(
    zoneName: String = CKRecordZone.ID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
  ) {
    self.init(ZoneID(ZoneName(zoneName), owner: UserName(ownerName)))
  }

  /// Apple has retired this form, in which nil stands for the user.
  @_disfavoredOverload
  public convenience init(
    zoneName: String = CKRecordZone.ID.defaultZoneName, ownerName: String? = CKOwnerDefaultName
  ) {
    self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
  }

  package init(_ model: ZoneID) { self.model = model }

  /// The zone's name: 1...255 characters, none of them a control character, and the first no underscore.
  public var zoneName: String { model.name.rawValue }
  /// The user record name of the zone's owner; `CKCurrentUserDefaultName` for one's own zones.
  public var ownerName: String { model.owner.rawValue }

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    guard let model = coder.archived(ZoneID.self) ?? ZoneID(appleArchive: coder) else { return nil }
    self.model = model
  }
  public func encode(with coder: NSCoder) { coder.archive(model) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKRecordZoneID)?.model == model }
  public override var hash: Int { model.hashValue }
  public override var description: String { "<CKRecordZoneID \(model.name) of \(model.owner)>" }
}

/// The owner name of one's own zones.
public let CKCurrentUserDefaultName: String = UserName.defaultOwner.rawValue
/// The older name of `CKCurrentUserDefaultName`.
public let CKOwnerDefaultName: String = UserName.defaultOwner.rawValue

public import Foundation
import Synchronization
import VirgaModel

/// A part of a database that is created, deleted and shared as a whole, and whose changes can be followed.
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
  public typealias ID = CKRecordZoneID

  /// What a zone can do; known only of zones that came from the service.
  public struct Capabilities: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let fetchChanges = Capabilities(rawValue: 1)
    public static let atomic = Capabilities(rawValue: 2)
    public static let sharing = Capabilities(rawValue: 4)
    public static let zoneWideSharing = Capabilities(rawValue: 8)
  }

  /// How far the keys of encrypted values reach; fixed when a zone is created.
  public enum EncryptionScope: Int, Sendable {
    case perRecord = 0
    case perZone = 1
  }

  public let zoneID: ID
  public let capabilities: Capabilities
  /// The share of the whole zone, if there is one.
  public let share: CKRecord.Reference?
  private let scope: Mutex<EncryptionScope>

  public class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

  public convenience init(zoneName: String) { self.init(zoneID: ID(zoneName: zoneName)) }

  public convenience init(zoneID: ID) { self.init(zoneID, capabilities: [], share: nil) }

  package init(
    _ zoneID: ID, capabilities: Capabilities, share: CKRecord.Reference?, encryptionScope: EncryptionScope = .perRecord
  ) {
    self.zoneID = zoneID
    self.capabilities = capabilities
    self.share = share
    scope = Mutex(encryptionScope)
  }

  public var encryptionScope: EncryptionScope {
    get { scope.withLock { $0 } }
    set { scope.withLock { $0 = newValue } }
  }

  private struct Archived: Codable {
    var zoneID: ZoneID
    var capabilities: UInt
    var share: RecordID?
    var encryptionScope: Int?
  }

  public static var supportsSecureCoding: Bool { true }
  public convenience init?(coder: NSCoder) {
    guard let archived = coder.archived(Archived.self) else {
      // One of Apple's: what it can do and who shares it, only the service here can say.
      guard let zoneID = coder.appleObject(CKRecordZoneID.self, "ZoneID") else { return nil }
      self.init(zoneID: zoneID)
      return
    }
    self.init(
      ID(archived.zoneID), capabilities: Capabilities(rawValue: archived.capabilities),
      share: archived.share.map { CKRecord.Reference(recordID: CKRecord.ID($0), action: .none) },
      encryptionScope: archived.encryptionScope.flatMap(EncryptionScope.init(rawValue:)) ?? .perRecord)
  }
  public func encode(with coder: NSCoder) {
    coder.archive(
      Archived(
        zoneID: zoneID.model, capabilities: capabilities.rawValue, share: share?.recordID.model,
        encryptionScope: encryptionScope.rawValue))
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    CKRecordZone(zoneID, capabilities: capabilities, share: share, encryptionScope: encryptionScope)
  }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKRecordZone)?.zoneID == zoneID }
  public override var hash: Int { zoneID.hash }
  public override var description: String { "<CKRecordZone \(zoneID.zoneName)>" }
}

public import Foundation
import Synchronization
import VirgaModel

/// A part of a database that is created, deleted and shared as a whole, and whose changes can be followed.
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// A zone's name and owner.
  public typealias ID = CKRecordZoneID

  /// What a zone can do; known only of zones that came from the service.
  public struct Capabilities: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Its changes can be followed with a token.
    public static let fetchChanges = Capabilities(rawValue: 1)
    /// Its records can be saved all or not at all.
    public static let atomic = Capabilities(rawValue: 2)
    /// Hierarchies of its records can be shared.
    public static let sharing = Capabilities(rawValue: 4)
    /// It can be shared as a whole.
    public static let zoneWideSharing = Capabilities(rawValue: 8)
  }

  /// How far the keys of encrypted values reach; fixed when a zone is created.
  public enum EncryptionScope: Int, Sendable {
    /// Each record has keys of its own. Here it means the same as `perZone`.
    case perRecord = 0
    /// All records of the zone share their keys.
    case perZone = 1
  }

  /// The zone's name and owner.
  public let zoneID: ID
  /// What the zone can do; empty for a zone that was made here.
  public let capabilities: Capabilities
  /// The share of the whole zone, if there is one.
  public let share: CKRecord.Reference?
  private let scope: Mutex<EncryptionScope>

  /// The zone that every database has. It is not atomic, has no change feed, and cannot be shared.
  public class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

  /// Makes a zone of the user's own. It is there once it is saved.
  public convenience init(zoneName: String) { self.init(zoneID: ID(zoneName: zoneName)) }

  /// Makes a zone of that identifier. Only zones of the user's own can be saved.
  public convenience init(zoneID: ID) { self.init(zoneID, capabilities: [], share: nil) }

  package init(
    _ zoneID: ID, capabilities: Capabilities, share: CKRecord.Reference?, encryptionScope: EncryptionScope = .perRecord
  ) {
    self.zoneID = zoneID
    self.capabilities = capabilities
    self.share = share
    scope = Mutex(encryptionScope)
  }

  /// How far the keys of encrypted values reach. Setting it counts only before the zone is saved.
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

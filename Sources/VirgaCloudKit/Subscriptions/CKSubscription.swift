public import Foundation
import Synchronization
import VirgaPredicates

/// A standing wish to be told of changes. Make one of the subclasses.
public class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Unchecked because the class is not final: what can change is in the mutex, a query's predicate is immutable.
  /// Names a subscription.
  public typealias ID = String
  /// How pushes look.
  public typealias NotificationInfo = CKNotificationInfo

  /// What a subscription watches.
  public enum SubscriptionType: Int, Sendable {
    /// Records that match a query: a `CKQuerySubscription`.
    case query = 1
    /// One zone: a `CKRecordZoneSubscription`.
    case recordZone = 2
    /// All zones of a database: a `CKDatabaseSubscription`.
    case database = 3
  }

  /// What may be set after the subscription was made.
  struct Settings: Sendable {
    var notificationInfo: CKNotificationInfo?
    var recordType: CKRecord.RecordType?
    var zoneID: CKRecordZone.ID?
  }

  /// Names the subscription among those that the user has in the database.
  public let subscriptionID: ID
  /// What the subscription watches; tells the subclass.
  public let subscriptionType: SubscriptionType
  let settings: Mutex<Settings>

  init(_ subscriptionID: ID, _ subscriptionType: SubscriptionType, _ settings: Settings) {
    self.subscriptionID = subscriptionID
    self.subscriptionType = subscriptionType
    self.settings = Mutex(settings)
  }

  /// How its pushes look; they are sent only if something is set here.
  public var notificationInfo: NotificationInfo? {
    get { settings.withLock { $0.notificationInfo } }
    set { settings.withLock { $0.notificationInfo = newValue } }
  }

  // MARK: Archives and copies

  private struct Archived: Codable {
    var id: String
    var type: Int
    var recordType: String?
    var zone: [String]?
  }

  public class var supportsSecureCoding: Bool { true }

  public required init?(coder: NSCoder) {
    guard let archived = coder.archived(Archived.self),
      let type = SubscriptionType(rawValue: archived.type), Self.accepts(type)
    else { return nil }
    subscriptionID = archived.id
    subscriptionType = type
    var settings = Settings()
    settings.recordType = archived.recordType
    if let zone = archived.zone, zone.count == 2 {
      settings.zoneID = CKRecordZone.ID(zoneName: zone[0], ownerName: zone[1])
    }
    if coder.containsValue(forKey: "info") {
      settings.notificationInfo = coder.decodeObject(of: CKNotificationInfo.self, forKey: "info")
    }
    self.settings = Mutex(settings)
  }

  public func encode(with coder: NSCoder) {
    let settings = settings.withLock { $0 }
    coder.archive(
      Archived(
        id: subscriptionID, type: subscriptionType.rawValue, recordType: settings.recordType,
        zone: settings.zoneID.map { [$0.zoneName, $0.ownerName] }))
    if let info = settings.notificationInfo { coder.encode(info, forKey: "info") }
  }

  class func accepts(_ type: SubscriptionType) -> Bool { false }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKSubscription, other.subscriptionType == subscriptionType else { return false }
    return other.subscriptionID == subscriptionID
  }
  public override var hash: Int { subscriptionID.hashValue }
  public override var description: String { "<\(type(of: self)) \(subscriptionID)>" }
}

/// Tells of changes in any zone of the private or shared database.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
  /// Watches all zones of the database in which it is saved.
  public convenience init(subscriptionID: CKSubscription.ID) {
    self.init(subscriptionID, .database, Settings())
  }

  /// With an identifier of its own each time. Apple has retired this form: a subscription that is saved at each launch needs
  /// the same one.
  public convenience init() { self.init(subscriptionID: UUID().uuidString) }

  /// Only changes of this record type count; nil for all.
  public var recordType: CKRecord.RecordType? {
    get { settings.withLock { $0.recordType } }
    set { settings.withLock { $0.recordType = newValue } }
  }

  override class func accepts(_ type: SubscriptionType) -> Bool { type == .database }

  public override func copy(with zone: NSZone? = nil) -> Any {
    CKDatabaseSubscription(subscriptionID, .database, settings.withLock { $0 })
  }
}

/// Tells of changes in one custom zone.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
  /// Watches one zone.
  public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
    self.init(subscriptionID, .recordZone, Settings(zoneID: zoneID))
  }

  /// With an identifier of its own each time. Apple has retired this form.
  public convenience init(zoneID: CKRecordZone.ID) { self.init(zoneID: zoneID, subscriptionID: UUID().uuidString) }

  /// The zone that is watched. It must be one of the app's own; the default zone has no feed.
  public var zoneID: CKRecordZone.ID { settings.withLock { $0.zoneID } ?? .default }

  /// Only changes of this record type count; nil for all.
  public var recordType: CKRecord.RecordType? {
    get { settings.withLock { $0.recordType } }
    set { settings.withLock { $0.recordType = newValue } }
  }

  override class func accepts(_ type: SubscriptionType) -> Bool { type == .recordZone }

  public override func copy(with zone: NSZone? = nil) -> Any {
    CKRecordZoneSubscription(subscriptionID, .recordZone, settings.withLock { $0 })
  }
}

/// Tells when records that match a predicate are created, updated or deleted.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
  /// Which changes bring a push.
  public struct Options: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// A record that matches was created, or came to match.
    public static let firesOnRecordCreation = Options(rawValue: 1)
    /// A record that matches was changed.
    public static let firesOnRecordUpdate = Options(rawValue: 2)
    /// A record that matched was deleted, or ceased to match.
    public static let firesOnRecordDeletion = Options(rawValue: 4)
    /// The subscription ends itself with its first push.
    public static let firesOnce = Options(rawValue: 8)
  }

  /// What records must match.
  public let predicate: NSPredicate
  /// Which changes bring a push.
  public let querySubscriptionOptions: Options

  /// Watches the records that match a predicate.
  /// - Parameter subscriptionID: Names it. Saving one with the same name again succeeds.
  public init(
    recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
    options querySubscriptionOptions: Options = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
  ) {
    self.predicate = predicate
    self.querySubscriptionOptions = querySubscriptionOptions
    super.init(subscriptionID, .query, Settings(recordType: recordType))
  }

  /// With an identifier of its own each time. Apple has retired this form.
  public convenience init(
    recordType: CKRecord.RecordType, predicate: NSPredicate,
    options querySubscriptionOptions: Options = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
  ) {
    self.init(
      recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString,
      options: querySubscriptionOptions)
  }

  /// The type of the records that are watched.
  public var recordType: CKRecord.RecordType? { settings.withLock { $0.recordType } }

  /// Only records of this zone count; nil for all.
  public var zoneID: CKRecordZone.ID? {
    get { settings.withLock { $0.zoneID } }
    set { settings.withLock { $0.zoneID = newValue } }
  }

  public required init?(coder: NSCoder) {
    guard coder.containsValue(forKey: "predicate"), coder.containsValue(forKey: "options"),
      let format = coder.decodeObject(of: NSString.self, forKey: "predicate"),
      let predicate = NSPredicate.predicate(archivedFormat: String(format))
    else { return nil }
    self.predicate = predicate
    querySubscriptionOptions = Options(rawValue: UInt(bitPattern: coder.decodeInteger(forKey: "options")))
    super.init(coder: coder)
  }

  public override func encode(with coder: NSCoder) {
    super.encode(with: coder)
    if let format = predicate.archivedFormat { coder.encode(format as NSString, forKey: "predicate") }
    coder.encode(Int(bitPattern: querySubscriptionOptions.rawValue), forKey: "options")
  }

  override class func accepts(_ type: SubscriptionType) -> Bool { type == .query }

  public override func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKQuerySubscription(
      recordType: recordType ?? "", predicate: predicate, subscriptionID: subscriptionID,
      options: querySubscriptionOptions)
    copy.zoneID = zoneID
    copy.notificationInfo = notificationInfo
    return copy
  }
}

public import Foundation
import VirgaModel
import VirgaWire

/// A push that tells of changes. Pushes may be merged or lost: take one as a reason to fetch, not as the change itself.
public class CKNotification: NSObject, CKNotificationFromPush, @unchecked Sendable {
  // Unchecked because the class is not final; everything in it is immutable but `fields` of the query subclass, which
  // holds plain values of a property list.
  /// Names a push.
  public typealias ID = CKNotificationID

  /// Which kind of subscription a push is from.
  public enum NotificationType: Int, Sendable {
    /// Records that match a query changed: a `CKQueryNotification`.
    case query = 1
    /// A zone changed: a `CKRecordZoneNotification`.
    case recordZone = 2
    /// Pushes were marked as read on another device. The service sends none.
    case readNotification = 3
    /// Some zone of a database changed: a `CKDatabaseNotification`.
    case database = 4
  }

  /// Which kind of subscription the push is from; tells the subclass.
  public let notificationType: NotificationType
  /// Names this push; nil if the service gave it no name.
  public let notificationID: ID?
  /// The container in which something changed.
  public let containerIdentifier: String?
  /// The subscription that the push is for.
  public let subscriptionID: CKSubscription.ID?
  /// The user whose subscription it is.
  public let subscriptionOwnerUserRecordID: CKRecord.ID?
  /// Whether parts were left out to fit a push; fetch to have them.
  public let isPruned: Bool
  /// The text to show.
  public let alertBody: String?
  /// The key of the app's text to show instead of `alertBody`.
  public let alertLocalizationKey: String?
  /// What fills the placeholders of that text, in order.
  public let alertLocalizationArgs: [String]?
  /// The key of the app's text for the button that opens it.
  public let alertActionLocalizationKey: String?
  /// The name of the picture to show while the app starts. Kept, and of no use on Linux.
  public let alertLaunchImage: String?
  /// The title to show.
  public let title: String?
  /// The key of the app's title to show instead of `title`.
  public let titleLocalizationKey: String?
  /// What fills the placeholders of that title, in order.
  public let titleLocalizationArgs: [String]?
  /// The line to show below the title.
  public let subtitle: String?
  /// The key of the app's subtitle to show instead of `subtitle`.
  public let subtitleLocalizationKey: String?
  /// What fills the placeholders of that subtitle, in order.
  public let subtitleLocalizationArgs: [String]?
  /// The number for the app's icon; nil leaves it as it is.
  public let badge: NSNumber?
  /// The name of the sound to play.
  public let soundName: String?
  /// The group of actions that the push offers.
  public let category: String?
  let content: Content

  /// The part of the payload that depends on the type of the notification.
  struct Content {
    var recordID: CKRecord.ID?
    var zoneID: CKRecordZone.ID?
    var scope: CKDatabase.Scope
    var reason: CKQueryNotification.Reason
    var fields: [String: Any]?
  }

  init(_ payload: Payload) {
    notificationType = payload.type
    notificationID = payload.ck["nid"].flatMap { $0 as? String }.map(ID.init)
    containerIdentifier = payload.ck["cid"] as? String
    subscriptionID = payload.body["sid"] as? String
    subscriptionOwnerUserRecordID = (payload.ck["ckuserid"] as? String).map { CKRecord.ID(recordName: $0) }
    isPruned = payload.ck["p"] != nil
    let alert = payload.alert
    alertBody = alert["body"] as? String
    alertLocalizationKey = alert["loc-key"] as? String
    alertLocalizationArgs = alert["loc-args"] as? [String]
    alertActionLocalizationKey = alert["action-loc-key"] as? String
    alertLaunchImage = alert["launch-image"] as? String
    title = alert["title"] as? String
    titleLocalizationKey = alert["title-loc-key"] as? String
    titleLocalizationArgs = alert["title-loc-args"] as? [String]
    subtitle = alert["subtitle"] as? String
    subtitleLocalizationKey = alert["subtitle-loc-key"] as? String
    subtitleLocalizationArgs = alert["subtitle-loc-args"] as? [String]
    badge = payload.aps["badge"] as? NSNumber ?? (payload.aps["badge"] as? Int).map { NSNumber(value: $0) }
    soundName = payload.aps["sound"] as? String
    category = payload.aps["category"] as? String
    content = payload.content
  }
}

/// What lets `CKNotification(fromRemoteNotificationDictionary:)` make an object of a subclass: an initialiser of a class
/// cannot in Swift, one in an extension of a protocol can.
public protocol CKNotificationFromPush {}

extension CKNotificationFromPush {
  /// Reads the dictionary of a push and makes a notification of the subclass for its type.
  /// - Returns: nil if the push is not CloudKit's, or not of the subclass that was asked for.
  public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
    guard let payload = Payload(notificationDictionary) else { return nil }
    let notification: CKNotification =
      switch payload.type {
      case .query: CKQueryNotification(payload)
      case .recordZone: CKRecordZoneNotification(payload)
      case .database: CKDatabaseNotification(payload)
      case .readNotification: CKNotification(payload)
      }
    guard let notification = notification as? Self else { return nil }
    self = notification
  }
}

/// A push as a dictionary: `aps` for how it looks, `ck` for what it tells (web services reference, push payload).
struct Payload {
  var type: CKNotification.NotificationType
  var aps: [AnyHashable: Any]
  var ck: [AnyHashable: Any]
  var body: [AnyHashable: Any]
  private var scope = DatabaseScope.private
  private var reason = PushReason.updated

  /// - Returns: nil for a dictionary that is no push of CloudKit's, and for one whose database or reason has a number that
  ///   nobody knows here: an app would be told of something else.
  init?(_ dictionary: [AnyHashable: Any]) {
    guard let ck = dictionary["ck"] as? [AnyHashable: Any] else { return nil }
    let kinds: [(String, CKNotification.NotificationType)] = [
      ("qry", .query), ("fet", .recordZone), ("met", .database),
    ]
    for (key, type) in kinds {
      guard let body = ck[key] as? [AnyHashable: Any] else { continue }
      self.type = type
      self.ck = ck
      self.body = body
      aps = dictionary["aps"] as? [AnyHashable: Any] ?? [:]
      // What was left out of a push that grew too large is not there at all.
      if let number = body["dbs"] {
        guard let scope = (number as? Int).flatMap(DatabaseScope.init(pushNumber:)) else { return nil }
        self.scope = scope
      }
      if let number = body["fo"] {
        guard let reason = (number as? Int).flatMap(PushReason.init(pushNumber:)) else { return nil }
        self.reason = reason
      }
      return
    }
    return nil
  }

  var alert: [AnyHashable: Any] {
    if let text = aps["alert"] as? String { return ["body": text] }
    return aps["alert"] as? [AnyHashable: Any] ?? [:]
  }

  var content: CKNotification.Content {
    let zoneID = (body["zid"] as? String).map { name in
      // One's own zones are named with the placeholder, others' with their owner.
      let owner = scope == .shared ? body["zoid"] as? String : nil
      return CKRecordZone.ID(zoneName: name, ownerName: owner ?? CKCurrentUserDefaultName)
    }
    return CKNotification.Content(
      recordID: (body["rid"] as? String).map { CKRecord.ID(recordName: $0, zoneID: zoneID ?? .default) },
      zoneID: zoneID, scope: CKDatabase.Scope(scope), reason: CKQueryNotification.Reason(reason),
      fields: (body["af"] as? [AnyHashable: Any]).map { fields in
        Dictionary(uniqueKeysWithValues: fields.compactMap { key, value in (key as? String).map { ($0, value) } })
      })
  }
}

/// The identifier of one notification.
///
/// On Linux an archive can only name classes at the top level, so `CKNotification.ID` is another name for this class.
public final class CKNotificationID: NSObject, NSSecureCoding, NSCopying, Sendable {
  private let text: String

  init(_ text: String) { self.text = text }

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    guard let text = coder.archived(String.self) else { return nil }
    self.text = text
  }
  public func encode(with coder: NSCoder) { coder.archive(text) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.text == text }
  public override var hash: Int { text.hashValue }
}

/// Tells that records of a query subscription changed.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
  /// What happened to the record.
  public enum Reason: Int, Sendable {
    /// The record is new, or came to match.
    case recordCreated = 1
    /// The record was changed.
    case recordUpdated = 2
    /// The record was deleted, or ceased to match.
    case recordDeleted = 3

    init(_ reason: PushReason) {
      switch reason {
      case .created: self = .recordCreated
      case .updated: self = .recordUpdated
      case .deleted: self = .recordDeleted
      }
    }
  }

  /// What happened to the record.
  public var queryNotificationReason: Reason { content.reason }
  /// The values that the subscription asked for with `desiredKeys`.
  public var recordFields: [String: Any]? { content.fields }
  /// The record that changed; nil if it was left out to fit the push.
  public var recordID: CKRecord.ID? { content.recordID }
  /// The database that the record is in.
  public var databaseScope: CKDatabase.Scope { content.scope }
}

/// Tells that a zone's records changed.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
  /// The zone that changed; nil if it was left out to fit the push.
  public var recordZoneID: CKRecordZone.ID? { content.zoneID }
  /// The database that the zone is in.
  public var databaseScope: CKDatabase.Scope { content.scope }
}

/// Tells that some zone of a database changed.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
  /// The database in which a zone changed.
  public var databaseScope: CKDatabase.Scope { content.scope }
}

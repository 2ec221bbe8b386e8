public import VirgaModel

/// A standing wish to be told of changes.
public struct Subscription: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    /// Changes of one custom zone.
    case zone(ZoneSelector)
    /// Changes of any zone of the database.
    case database
    /// Changes of records that match a query, which is kept as its JSON object.
    case query(json: [UInt8], zone: ZoneSelector?)
  }

  public var id: SubscriptionID
  public var kind: Kind
  public var firesOn: [String]
  public var firesOnce: Bool
  public var notificationInfo: NotificationInfo
  /// Of a zone's or a database's: only changes of records of this type count. An extension of ours.
  public var recordType: RecordType?

  public init(id: SubscriptionID, kind: Kind) {
    self.id = id
    self.kind = kind
    firesOn = []
    firesOnce = false
    notificationInfo = NotificationInfo()
  }
}

/// How a notification is to look; all empty and `shouldSendContentAvailable` makes a silent push.
public struct NotificationInfo: Hashable, Sendable, Codable {
  public var alertBody: String?
  public var alertLocalizationKey: String?
  public var alertLocalizationArgs: [String]?
  public var alertActionLocalizationKey: String?
  public var alertLaunchImage: String?
  public var soundName: String?
  public var title: String?
  public var titleLocalizationKey: String?
  public var titleLocalizationArgs: [String]?
  public var subtitle: String?
  public var subtitleLocalizationKey: String?
  public var subtitleLocalizationArgs: [String]?
  public var category: String?
  public var collapseIDKey: String?
  public var additionalFields: [String]?
  public var shouldBadge = false
  public var shouldSendContentAvailable = false
  public var shouldSendMutableContent = false
  public init() {}
}

public struct SubscriptionsModifyRequest: Hashable, Sendable {
  public struct Operation: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable { case create, update, delete }
    public var kind: Kind
    /// For `delete` only the identifier counts.
    public var subscription: Subscription
    /// Set when the subscription could not be read; this operation fails with it.
    public var fault: ServiceError?
    public init(_ kind: Kind, _ subscription: Subscription) {
      self.kind = kind
      self.subscription = subscription
    }
  }

  public var operations: [Operation]
  public init(operations: [Operation]) { self.operations = operations }
}

public struct SubscriptionsLookupRequest: Hashable, Sendable {
  public var ids: [SubscriptionID]
  public init(ids: [SubscriptionID]) { self.ids = ids }
}

public enum SubscriptionResult: Hashable, Sendable {
  case subscription(Subscription)
  case deleted(SubscriptionID)
  case failure(SubscriptionID, ServiceError)
}

/// `tokens/create` and `tokens/register`: a queue of notifications for one client.
public struct PushTokenRequest: Hashable, Sendable {
  /// `development` or `production`, as sent; kept and given back. `tokens/register` may leave it as it is.
  public var apnsEnvironment: String?
  /// Only for `tokens/register`.
  public var apnsToken: String?
  /// The logical client, whose own changes are not notified to it.
  public var clientID: String?
  public init(apnsEnvironment: String?, apnsToken: String? = nil, clientID: String? = nil) {
    self.apnsEnvironment = apnsEnvironment
    self.apnsToken = apnsToken
    self.clientID = clientID
  }
}

public struct PushTokenReply: Hashable, Sendable {
  public var apnsEnvironment: String
  /// Base64.
  public var apnsToken: String
  /// The absolute URL to poll.
  public var webcourierURL: String
  public init(apnsEnvironment: String, apnsToken: String, webcourierURL: String) {
    self.apnsEnvironment = apnsEnvironment
    self.apnsToken = apnsToken
    self.webcourierURL = webcourierURL
  }
}

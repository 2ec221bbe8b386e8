public import VirgaModel
public import VirgaWire

/// What a call did to queues of notifications. It is handed to the clients that wait at them once its writes are durable.
public struct Wakes: Sendable {
  /// What was put into queues, as the store keeps it.
  public private(set) var notifications: [NotificationRow] = []
  /// The tokens whose queues ended.
  public private(set) var ended: [String] = []

  public init() {}

  mutating func add(_ notification: NotificationRow) { notifications.append(notification) }

  mutating func end(_ pushToken: String) { ended.append(pushToken) }

  /// All push tokens that have news.
  package var tokens: Set<String> { Set(notifications.map(\.pushToken) + ended) }
}

/// All that a call depends on besides the store: the core has no clock and no dice of its own.
public struct CallContext: Sendable {
  public var endpoint: Endpoint
  public var principal: Principal
  public var now: Timestamp
  /// Feeds identifiers and incarnations; seeded by the shell.
  public var random: any RandomNumberGenerator & Sendable
  public var urls: any URLMaker
  /// Seals the values of encrypted fields; without it they are stored as they are.
  public var cipher: (any FieldCipher)?
  /// Seals what tokens say, so that clients neither read nor make them; without it they are plain. The same bytes are
  /// always sealed alike.
  public var tokenCipher: (any FieldCipher)?
  /// The logical client (`clientId`), which is not told of its own changes.
  public var clientID: String?
  /// Whether the client asked for our extensions (`X-Virga-Extensions: 1`).
  public var wantsExtensions: Bool
  /// Whether the client asked for the zone's token with `getCurrentSyncToken`.
  public var wantsSyncToken: Bool
  /// The most records that a page may hold for this client.
  public var recordsPerPageMax: Int
  /// The most operations, or names, that a request of this client may hold.
  public var operationsPerRequestMax = Limits.operationsPerRequestMax
  /// What clients that wait are to be handed once the transaction has committed.
  public var wakes = Wakes()
  /// Whether a client waits at a push token, or did a moment ago.
  public var isAwaited: @Sendable (_ pushToken: String) -> Bool = { _ in false }
  /// Reads that the call made for what the caller does not see. No page ends because of them, so whoever has calls
  /// performed bounds them by time.
  package var hiddenReads = 0

  public init(
    endpoint: Endpoint, principal: Principal, now: Timestamp, random: any RandomNumberGenerator & Sendable,
    urls: any URLMaker
  ) {
    self.endpoint = endpoint
    self.principal = principal
    self.now = now
    self.random = random
    self.urls = urls
    wantsExtensions = false
    wantsSyncToken = false
    recordsPerPageMax = Limits.recordsPerPageMax
  }

  /// Whose zones are meant that the call names without their owner.
  package var zoneOwner: UserName { endpoint.scope == .public ? .defaultOwner : principal.user ?? .defaultOwner }
}

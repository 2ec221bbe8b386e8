import FoundationEssentials
import VirgaModel
import VirgaWire

/// A push as it is delivered: `qry` for a subscription to a query, `fet` for one to a zone, `met` for a database's.
struct NotificationPayload {
  /// Names the notification.
  var id = ""
  private var aps: [UInt8]
  private let container: ContainerID
  private let user: UserName
  private let zone: ZoneID
  private let scope: DatabaseScope
  private let subscription: SubscriptionID
  private let kind: StaticString
  private var event: RecordEvent?
  private var fields: [(name: String, value: FieldValue)] = []

  init(
    _ subscription: StoredSubscription, container: ContainerID, user: UserName, zone: ZoneID, scope: DatabaseScope
  ) {
    aps = subscription.aps
    self.container = container
    self.user = user
    self.zone = zone
    self.scope = scope
    self.subscription = subscription.id
    kind =
      switch subscription.watched {
      case .query: "qry"
      case .zone: "fet"
      case .database: "met"
      }
  }

  /// Tells of one record: its name, what happened, and the values that the subscription asks for.
  mutating func add(_ event: RecordEvent, of subscription: StoredSubscription, seal: StoredFieldCipher) throws {
    self.event = event
    guard case .query(let query) = subscription.watched, query.carriesFields else { return }
    var info = try subscription.notificationInfo()
    let names = info.additionalFields ?? []
    let record = event.record
    let wanted = Set((names + info.argumentNames).map { FieldName($0) })
    let json = try seal.open(record)
    let found = try record.reading(json) { try Fields(json: $0, only: wanted) }
    // A push passes through hands that the values of encrypted fields are not for.
    let values = QuerySubject(id: RecordID(record.name, in: zone), fields: found)
    for name in names {
      guard let value = values.value(of: .field(FieldName(name)))?.notified else { continue }
      fields.append((name, value))
    }
    info.fillArguments { values.value(of: .field(FieldName($0)))?.notifiedText ?? "" }
    aps = info.apsJSON
  }

  /// The payload within its limit. What does not fit goes in the order that the service is known for: the container,
  /// the record, the reason, its values, and last how the push looks; `p` says that something is missing.
  var json: [UInt8] {
    for omitted in 0...Self.partsCount {
      let json = json(omitting: omitted)
      if json.count <= Limits.notificationBytesMax || omitted == Self.partsCount { return json }
    }
    return json(omitting: Self.partsCount)
  }

  private static let partsCount = 5

  private func json(omitting omitted: Int) -> [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    writer.key("aps")
    writer.raw(omitted < 5 ? aps : NotificationInfo().apsJSON)
    writer.key("ck")
    writer.beginObject()
    if omitted < 1 { writer.member("cid", container.rawValue) }
    writer.member("nid", id)
    writer.member("ce", 2)
    writer.member("ckuserid", user.rawValue)
    if omitted > 0 { writer.member("p", 1) }
    writer.key(kind)
    writer.beginObject()
    writer.member("sid", subscription.rawValue)
    if let event, omitted < 2 { writer.member("rid", event.record.name.rawValue) }
    writer.member("zid", zone.name.rawValue)
    writer.member("zoid", zone.owner.answered)
    writer.member("dbs", Int64(scope.pushNumber))
    if let event, omitted < 3 { writer.member("fo", Int64(event.reason.pushNumber)) }
    if !fields.isEmpty, omitted < 4 {
      writer.key("af")
      writer.beginObject()
      for (name, value) in fields {
        writer.key(name)
        writer.notifiedValue(value)
      }
      writer.endObject()
    }
    writer.endObject()
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }
}

extension JSONWriter {
  fileprivate mutating func notifiedValue(_ value: FieldValue) {
    switch value {
    case .int64(let number): int(number)
    case .double(let number): double(number)
    case .timestamp(let time): int(time.milliseconds)
    default: string(value.notifiedText ?? "")
    }
  }
}

extension FieldValue {
  /// The value as a push carries it; `nil` for what is too large for one.
  fileprivate var notified: FieldValue? {
    switch self {
    case .string(let text): .string(String(text.prefix(Limits.notificationFieldLengthMax)))
    case .reference(let target): .string(target.recordName.rawValue)
    case .int64, .double, .timestamp: self
    default: nil
    }
  }

  /// The value within a text.
  fileprivate var notifiedText: String? {
    switch self {
    case .string(let text): String(text.prefix(Limits.notificationFieldLengthMax))
    case .int64(let number): String(number)
    case .double(let number): String(number)
    case .timestamp(let time): Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000).ISO8601Format()
    case .reference(let target): target.recordName.rawValue
    default: nil
    }
  }
}

extension NotificationInfo {
  /// The fields whose values stand in the texts.
  var argumentNames: [String] {
    (alertLocalizationArgs ?? []) + (titleLocalizationArgs ?? []) + (subtitleLocalizationArgs ?? [])
  }

  /// Puts values in the place of the fields' names.
  mutating func fillArguments(_ value: (String) -> String) {
    alertLocalizationArgs = alertLocalizationArgs.map { $0.map(value) }
    titleLocalizationArgs = titleLocalizationArgs.map { $0.map(value) }
    subtitleLocalizationArgs = subtitleLocalizationArgs.map { $0.map(value) }
  }

  /// The `aps` part of a push.
  var apsJSON: [UInt8] {
    var writer = JSONWriter(capacity: 64)
    writer.beginObject()
    if hasAlert {
      writer.key("alert")
      writeAlert(into: &writer)
    }
    if shouldBadge { writer.member("badge", 1) }
    writer.member("sound", ifPresent: soundName)
    writer.member("category", ifPresent: category)
    if shouldSendContentAvailable || !hasAlert && !shouldBadge && soundName == nil {
      writer.member("content-available", 1)
    }
    if shouldSendMutableContent { writer.member("mutable-content", 1) }
    writer.endObject()
    return writer.bytes
  }

  private var hasAlert: Bool {
    alertBody != nil || alertLocalizationKey != nil || title != nil || titleLocalizationKey != nil || subtitle != nil
      || subtitleLocalizationKey != nil
  }

  private func writeAlert(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("title", ifPresent: title)
    writer.member("title-loc-key", ifPresent: titleLocalizationKey)
    writer.member("title-loc-args", ifPresent: titleLocalizationArgs)
    writer.member("subtitle", ifPresent: subtitle)
    writer.member("subtitle-loc-key", ifPresent: subtitleLocalizationKey)
    writer.member("subtitle-loc-args", ifPresent: subtitleLocalizationArgs)
    writer.member("body", ifPresent: alertBody)
    writer.member("loc-key", ifPresent: alertLocalizationKey)
    writer.member("loc-args", ifPresent: alertLocalizationArgs)
    writer.member("action-loc-key", ifPresent: alertActionLocalizationKey)
    writer.member("launch-image", ifPresent: alertLaunchImage)
    writer.endObject()
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ name: StaticString, ifPresent texts: [String]?) {
    guard let texts else { return }
    key(name)
    array(texts) { $0.string($1) }
  }
}

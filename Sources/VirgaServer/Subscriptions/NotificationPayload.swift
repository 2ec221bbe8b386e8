import VirgaModel
import VirgaWire

extension NotificationInfo {
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

extension StoredSubscription {
  /// The push that tells of a change in a zone: `fet` for a zone's subscription, `met` for a database's.
  func payload(container: ContainerID, user: UserName, zone: ZoneID, scope: DatabaseScope, notification: String)
    -> [UInt8]
  {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.key("aps")
    writer.raw(aps)
    writer.key("ck")
    writer.beginObject()
    writer.member("cid", container.rawValue)
    writer.member("nid", notification)
    writer.member("ce", 2)
    writer.member("ckuserid", user.rawValue)
    switch watched {
    case .zone: writer.key("fet")
    case .database: writer.key("met")
    }
    writer.beginObject()
    writer.member("sid", id.rawValue)
    writer.member("zid", zone.name.rawValue)
    writer.member("zoid", zone.owner.rawValue)
    writer.member("dbs", Int64(scope.rawValue))
    writer.endObject()
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }
}

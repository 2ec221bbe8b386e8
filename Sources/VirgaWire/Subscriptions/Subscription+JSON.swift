import VirgaModel

extension Subscription {
  /// Reads a subscription's dictionary, also one that names nothing but itself.
  /// - Throws: a mismatch when its parts do not make a subscription; `requiresKind` asks for all of them.
  init(reading reader: inout JSONReader, requiresKind: Bool) throws(WireError) {
    var parts = SubscriptionParts()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try !reader.readNull() { try parts.read(key, &reader) }
    }
    let kind = try parts.kind(reader)
    guard kind != nil || !requiresKind else { throw reader.mismatch("the subscriptionType query, zone or database") }
    self.init(id: parts.id, kind: kind ?? .database)
    firesOn = parts.firesOn
    firesOnce = parts.firesOnce
    notificationInfo = parts.info
    recordType = parts.recordType
  }

  /// - Parameter extensions: Whether the reader knows keys of ours.
  /// - Parameter owner: Whose a zone without an owner is, in an answer; `nil` for a request.
  func write(into writer: inout JSONWriter, extensions: Bool, owner: UserName? = nil) {
    func write(_ zone: ZoneSelector, into writer: inout JSONWriter) {
      writer.key("zoneID")
      if let owner { zone.id(of: owner).writeWhole(into: &writer) } else { zone.write(into: &writer) }
    }
    writer.beginObject()
    writer.member("subscriptionID", id.rawValue)
    switch kind {
    case .zone(let zone):
      writer.member("subscriptionType", "zone")
      write(zone, into: &writer)
    case .database:
      writer.member("subscriptionType", "zone")
      writer.member("zoneWide", true)
    case .query(let json, let zone):
      writer.member("subscriptionType", "query")
      writer.key("query")
      writer.raw(json)
      if let zone {
        write(zone, into: &writer)
      } else {
        writer.member("zoneWide", true)
      }
    }
    if extensions { writer.member("recordType", ifPresent: recordType?.rawValue) }
    if !firesOn.isEmpty {
      writer.key("firesOn")
      writer.array(firesOn) { $0.string($1) }
    }
    if firesOnce { writer.member("firesOnce", true) }
    if notificationInfo != NotificationInfo() {
      writer.key("notificationInfo")
      notificationInfo.write(into: &writer)
    }
    writer.endObject()
  }
}

private struct SubscriptionParts {
  var id: SubscriptionID = ""
  var type: String?
  var query: [UInt8]?
  var zone: ZoneSelector?
  var isZoneWide = false
  var firesOn: [String] = []
  var firesOnce = false
  var info = NotificationInfo()
  var recordType: RecordType?

  mutating func read(_ key: String, _ reader: inout JSONReader) throws(WireError) {
    switch key {
    case "subscriptionID": id = SubscriptionID(try reader.readString())
    case "subscriptionType": type = try reader.readString()
    case "query":
      guard reader.nextKind() == .object else { throw reader.mismatch("an object under the key query") }
      query = try reader.readRaw()
    case "zoneID": zone = try ZoneSelector(reading: &reader)
    case "zoneWide": isZoneWide = try reader.readBool()
    case "firesOn":
      firesOn = try reader.readArray { (r) throws(WireError) in
        let event = try r.readString()
        guard ["create", "update", "delete"].contains(event) else { throw r.mismatch("create, update or delete") }
        return event
      }
    case "firesOnce": firesOnce = try reader.readBool()
    case "recordType": recordType = RecordType(try reader.readString())
    case "notificationInfo": info = try NotificationInfo(reading: &reader)
    default: try reader.skipValue()
    }
  }

  func kind(_ reader: JSONReader) throws(WireError) -> Subscription.Kind? {
    // The reference writes the types in lower case, CloudKit JS declares them in upper case.
    switch type?.lowercased() {
    case nil: return nil
    case "database": return .database
    case "zone":
      if let zone { return .zone(zone) }
      guard isZoneWide else { throw reader.mismatch("the key zoneID in a zone subscription") }
      return .database
    case "query":
      guard let query else { throw reader.mismatch("the key query in a query subscription") }
      return .query(json: query, zone: zone)
    default: throw reader.mismatch("the subscriptionType query, zone or database")
    }
  }
}

extension NotificationInfo {
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    self.init()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      if let path = Self.texts[key] {
        self[keyPath: path] = try reader.readString()
      } else if let path = Self.lists[key] {
        self[keyPath: path] = try reader.readArray { (r) throws(WireError) in try r.readString() }
      } else {
        switch key {
        case "shouldBadge": shouldBadge = try reader.readBool()
        case "shouldSendContentAvailable": shouldSendContentAvailable = try reader.readBool()
        case "shouldSendMutableContent": shouldSendMutableContent = try reader.readBool()
        default: try reader.skipValue()
        }
      }
    }
  }

  private static var texts: [String: WritableKeyPath<NotificationInfo, String?>] {
    [
      "alertBody": \.alertBody, "alertLocalizationKey": \.alertLocalizationKey,
      "alertActionLocalizationKey": \.alertActionLocalizationKey, "alertLaunchImage": \.alertLaunchImage,
      "soundName": \.soundName, "title": \.title, "titleLocalizationKey": \.titleLocalizationKey,
      "subtitle": \.subtitle, "subtitleLocalizationKey": \.subtitleLocalizationKey, "category": \.category,
      "collapseIDKey": \.collapseIDKey,
    ]
  }

  private static var lists: [String: WritableKeyPath<NotificationInfo, [String]?>] {
    [
      "alertLocalizationArgs": \.alertLocalizationArgs, "titleLocalizationArgs": \.titleLocalizationArgs,
      "subtitleLocalizationArgs": \.subtitleLocalizationArgs, "additionalFields": \.additionalFields,
    ]
  }

  fileprivate func write(into writer: inout JSONWriter) {
    writer.beginObject()
    for (key, path) in Self.texts.sorted(by: { $0.key < $1.key }) {
      guard let text = self[keyPath: path] else { continue }
      writer.key(key)
      writer.string(text)
    }
    for (key, path) in Self.lists.sorted(by: { $0.key < $1.key }) {
      guard let list = self[keyPath: path] else { continue }
      writer.key(key)
      writer.array(list) { $0.string($1) }
    }
    if shouldBadge { writer.member("shouldBadge", true) }
    if shouldSendContentAvailable { writer.member("shouldSendContentAvailable", true) }
    if shouldSendMutableContent { writer.member("shouldSendMutableContent", true) }
    writer.endObject()
  }
}

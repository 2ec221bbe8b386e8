public import VirgaModel

extension Reply {
  /// The answer's body.
  /// - Parameter extensions: Whether the client asked for our extensions; strict clients refuse unknown keys.
  /// - Parameter uuid: The request's identifier, which errors of single items repeat.
  /// - Parameter owner: Whose zones are meant that the request named without their owner.
  public func encoded(extensions: Bool, uuid: String, owner: UserName = .defaultOwner) -> [UInt8] {
    var writer = JSONWriter(capacity: estimatedSize)
    write(into: &writer, ReplyStyle(extensions: extensions, uuid: uuid, owner: owner))
    return writer.bytes
  }

  private func write(into writer: inout JSONWriter, _ style: ReplyStyle) {
    switch self {
    case .records(let reply): reply.write(into: &writer, style)
    case .recordChanges(let page): page.write(into: &writer, withZone: false, style)
    case .databaseChanges(let reply): reply.write(into: &writer, tokenKey: "syncToken", zonesHaveTokens: false, style)
    case .zonesChanges(let reply): reply.write(into: &writer, tokenKey: "metaSyncToken", zonesHaveTokens: true, style)
    case .user(let name): Self.write(name, into: &writer)
    case .users(let users): writer.list("users", users) { $1.writeAsUser(into: &$0) }
    case .shares(let results): writer.list("results", results) { $1.write(into: &$0, style) }
    case .pushToken(let reply): reply.write(into: &writer)
    case .empty: writer.raw("{}".utf8)
    case .zoneChanges(let results): writer.list("zones", results) { $1.write(into: &$0, style) }
    case .zones(let results): writer.list("zones", results) { $1.write(into: &$0, style) }
    case .subscriptions(let results): writer.list("subscriptions", results) { $1.write(into: &$0, style) }
    case .uploadTokens(let tokens): writer.list("tokens", tokens) { $1.write(into: &$0) }
    case .assets(let assets): writer.list("assets", assets) { $1.write(into: &$0) }
    }
  }

  /// Some clients read the user at the top, others the first of a list.
  private static func write(_ user: UserName, into writer: inout JSONWriter) {
    func identity(_ writer: inout JSONWriter) {
      writer.member("userRecordName", user.rawValue)
      writer.key("nameComponents")
      writer.raw("{}".utf8)
      writer.key("lookupInfo")
      writer.raw("{}".utf8)
    }
    writer.beginObject()
    identity(&writer)
    writer.member("isDiscoverable", false)
    writer.key("users")
    writer.beginArray()
    writer.beginObject()
    identity(&writer)
    writer.endObject()
    writer.endArray()
    writer.endObject()
  }

  private var estimatedSize: Int {
    func size(_ records: [RecordResult]) -> Int {
      records.reduce(256) { sum, result in
        if case .record(let record) = result { sum + record.fieldsJSON.count + 512 } else { sum + 256 }
      }
    }
    return switch self {
    case .records(let reply): size(reply.records)
    case .recordChanges(let page): size(page.records)
    case .zoneChanges(let results):
      results.reduce(0) { sum, result in
        if case .page(let page) = result { sum + size(page.records) } else { sum + 256 }
      }
    default: 1_024
    }
  }

  /// Reads an answer that did not fail as a whole.
  /// - Parameter zone: Where records lie that do not say so themselves: the zone of the request.
  public init(
    decoding bytes: [UInt8], for operation: Operation, in zone: ZoneID = ZoneID(.default, owner: .defaultOwner)
  ) throws(WireError) {
    var reader = JSONReader(message: bytes)
    if reader.isAtEnd { reader = JSONReader(Array("{}".utf8)) }
    self = try Reply(reading: &reader, for: operation, in: zone)
    try reader.finish()
  }

  private init(reading reader: inout JSONReader, for operation: Operation, in zone: ZoneID) throws(WireError) {
    switch operation {
    case .recordsQuery, .recordsModify, .recordsLookup: self = .records(try RecordsReply(reading: &reader, in: zone))
    case .recordsChanges:
      guard case .page(let page) = try ZoneChangesResult(reading: &reader, in: zone) else {
        throw reader.mismatch("a page of records")
      }
      self = .recordChanges(page)
    case .changesZone:
      self = .zoneChanges(
        try reader.readList("zones") { (r) throws(WireError) in try ZoneChangesResult(reading: &r, in: zone) })
    case .zonesList, .zonesLookup, .zonesModify:
      self = .zones(try reader.readList("zones") { (r) throws(WireError) in try ZoneResult(reading: &r) })
    case .changesDatabase:
      self = .databaseChanges(try DatabaseChangesReply(reading: &reader, tokenKey: "syncToken"))
    case .zonesChanges:
      self = .zonesChanges(try DatabaseChangesReply(reading: &reader, tokenKey: "metaSyncToken"))
    case .subscriptionsList, .subscriptionsLookup, .subscriptionsModify:
      self = .subscriptions(
        try reader.readList("subscriptions") { (r) throws(WireError) in try SubscriptionResult(reading: &r) })
    case .usersCaller, .usersCurrent: self = .user(try reader.readUser())
    case .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupPhone, .usersLookupContacts:
      self = .users(try reader.readList("users") { (r) throws(WireError) in try UserIdentity(reading: &r) })
    case .recordsResolve, .recordsAccept:
      self = .shares(try reader.readList("results") { (r) throws(WireError) in try ShareResult(reading: &r) })
    case .assetsUpload:
      self = .uploadTokens(
        try reader.readList("tokens") { (r) throws(WireError) in try AssetUploadToken(reading: &r) })
    case .assetsRereference:
      self = .assets(try reader.readList("assets") { (r) throws(WireError) in try AssetValue(reading: &r) })
    case .tokensCreate: self = .pushToken(try PushTokenReply(reading: &reader))
    case .tokensRegister:
      try reader.skipValue()
      self = .empty
    }
  }
}

extension JSONWriter {
  /// Writes an object of one list.
  fileprivate mutating func list<Element>(
    _ name: StaticString, _ elements: [Element], _ write: (inout JSONWriter, Element) -> Void
  ) {
    beginObject()
    key(name)
    array(elements, write)
    endObject()
  }
}

extension JSONReader {
  /// Reads the list of that name in an object.
  fileprivate mutating func readList<Element>(
    _ name: String, _ element: (inout JSONReader) throws(WireError) -> Element
  ) throws(WireError) -> [Element] {
    var list: [Element]?
    try beginObject()
    while let key = try nextKey() {
      if key == name, nextKind() == .array { list = try readArray(element) } else { try skipValue() }
    }
    guard let list else { throw mismatch("the key \(name)") }
    return list
  }

  /// Reads the user of `users/caller`, from the top or from the list.
  fileprivate mutating func readUser() throws(WireError) -> UserName {
    var name: String?
    try beginObject()
    while let key = try nextKey() {
      if key == "userRecordName", nextKind() == .string {
        name = try readString()
      } else if key == "users", name == nil, nextKind() == .array {
        name = try readArray { (r) throws(WireError) in try r.readUser().rawValue }.first
      } else {
        try skipValue()
      }
    }
    guard let name else { throw mismatch("the key userRecordName") }
    return UserName(name)
  }
}

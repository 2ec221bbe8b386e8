public import VirgaModel

/// Asks for users: `users/discover` and the older `users/lookup/…`, whose bodies differ.
public struct UsersLookupRequest: Hashable, Sendable {
  public enum Kind: Hashable, Sendable { case discover, email, id, phone, contacts }

  public var kind: Kind
  /// Empty for `users/discover` by GET, which asks for all whom the caller knows.
  public var lookupInfos: [UserLookupInfo]

  public init(_ kind: Kind = .discover, lookupInfos: [UserLookupInfo]) {
    self.kind = kind
    self.lookupInfos = lookupInfos
  }

  public var operation: Operation {
    switch kind {
    case .discover: .usersDiscover
    case .email: .usersLookupEmail
    case .id: .usersLookupID
    case .phone: .usersLookupPhone
    case .contacts: .usersLookupContacts
    }
  }
}

extension UsersLookupRequest {
  init(reading reader: inout JSONReader, _ kind: Kind) throws(WireError) {
    self.init(kind, lookupInfos: [])
    var hasInfos = kind == .discover
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "lookupInfos", "users", "contacts":
        lookupInfos += try reader.readArray { (r) throws(WireError) in try UserLookupInfo.read(&r) }.compactMap(\.self)
        hasInfos = true
      default: try reader.skipValue()
      }
    }
    guard hasInfos else { throw reader.mismatch("the key users") }
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    switch kind {
    case .discover: writer.key("lookupInfos")
    case .email, .id, .phone: writer.key("users")
    case .contacts: writer.key("contacts")
    }
    writer.array(lookupInfos) { $1.write(into: &$0) }
    writer.endObject()
  }
}

extension UserIdentity {
  /// Writes the members of both dictionaries that clients read here, the identity's and the older user's.
  func writeAsUser(into writer: inout JSONWriter) {
    writer.beginObject()
    writeMembers(into: &writer)
    writer.key("firstName")
    writer.null()
    writer.key("lastName")
    writer.null()
    writer.endObject()
  }
}

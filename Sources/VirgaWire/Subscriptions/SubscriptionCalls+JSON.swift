import VirgaModel

extension SubscriptionsModifyRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(
      operations: try reader.readArray(in: "operations") { (r) throws(WireError) in try Operation(reading: &r) })
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("operations")
    writer.array(operations) { writer, operation in
      writer.beginObject()
      writer.member("operationType", operation.kind.rawValue)
      writer.key("subscription")
      if operation.kind == .delete {
        writer.subscriptionID(operation.subscription.id)
      } else {
        operation.subscription.write(into: &writer, extensions: true)
      }
      writer.endObject()
    }
    writer.endObject()
  }
}

extension SubscriptionsModifyRequest.Operation {
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    var kind: Kind?
    var subscription: JSONReader.Mark?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "operationType":
        kind = Kind(rawValue: try reader.readString())
        guard kind != nil else { throw reader.mismatch("the operationType create, update or delete") }
      case "subscription":
        // How much a subscription must say depends on the operation, whose type may follow.
        subscription = reader.mark
        try reader.skipValue()
      default: try reader.skipValue()
      }
    }
    guard let kind else { throw reader.mismatch("the key operationType") }
    guard let subscription else { throw reader.mismatch("the key subscription") }
    let end = reader.mark
    reader.rewind(to: subscription)
    do {
      self.init(kind, try Subscription(reading: &reader, requiresKind: kind != .delete))
    } catch  where error.kind == .mismatch {
      reader.rewind(to: subscription)
      self.init(kind, Subscription(id: try reader.readSubscriptionID() ?? "", kind: .database))
      fault = ServiceError(error)
    }
    reader.rewind(to: end)
  }
}

extension SubscriptionsLookupRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(ids: [])
    var hasSubscriptions = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      guard key == "subscriptions" else {
        try reader.skipValue()
        continue
      }
      hasSubscriptions = true
      ids = try reader.readArray { (r) throws(WireError) in
        if r.nextKind() == .string { return SubscriptionID(try r.readString()) }
        guard let id = try r.readSubscriptionID() else { throw r.mismatch("the key subscriptionID") }
        return id
      }
    }
    guard hasSubscriptions else { throw reader.mismatch("the key subscriptions") }
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("subscriptions")
    writer.array(ids) { $0.subscriptionID($1) }
    writer.endObject()
  }
}

extension JSONReader {
  /// Passes a subscription's dictionary and answers its identifier, if that can be read.
  fileprivate mutating func readSubscriptionID() throws(WireError) -> SubscriptionID? {
    var id: SubscriptionID?
    guard nextKind() == .object else {
      try skipValue()
      return nil
    }
    try beginObject()
    while let key = try nextKey() {
      if key == "subscriptionID", nextKind() == .string {
        id = SubscriptionID(try readString())
      } else {
        try skipValue()
      }
    }
    return id
  }
}

extension JSONWriter {
  fileprivate mutating func subscriptionID(_ id: SubscriptionID) {
    beginObject()
    member("subscriptionID", id.rawValue)
    endObject()
  }
}

extension SubscriptionResult {
  func write(into writer: inout JSONWriter, _ style: ReplyStyle) {
    switch self {
    case .subscription(let subscription):
      subscription.write(into: &writer, extensions: style.extensions, owner: style.owner)
    case .deleted(let id):
      writer.beginObject()
      writer.member("subscriptionID", id.rawValue)
      writer.member("deleted", true)
      writer.endObject()
    case .failure(let id, let error):
      writer.beginObject()
      writer.member("subscriptionID", id.rawValue)
      error.writeMembers(into: &writer, uuid: style.uuid)
      writer.endObject()
    }
  }

  init(reading reader: inout JSONReader) throws(WireError) {
    let start = reader.mark
    var id: SubscriptionID = ""
    var isDeleted = false
    var error = ServiceErrorParts()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "subscriptionID": id = SubscriptionID(try reader.readString())
      case "deleted": isDeleted = try reader.readBool()
      default: if try !error.read(key, &reader) { try reader.skipValue() }
      }
    }
    if let error = error.error {
      self = .failure(id, error)
    } else if isDeleted {
      self = .deleted(id)
    } else {
      let end = reader.mark
      reader.rewind(to: start)
      self = .subscription(try Subscription(reading: &reader, requiresKind: true))
      reader.rewind(to: end)
    }
  }
}

// MARK: Push tokens

extension PushTokenRequest {
  /// - Parameter isNew: Whether a queue is to be made; otherwise there is one, whose token is named and which has its
  ///   environment.
  init(reading reader: inout JSONReader, isNew: Bool) throws(WireError) {
    self.init(apnsEnvironment: nil)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "apnsEnvironment": apnsEnvironment = try reader.readString()
      case "apnsToken": apnsToken = try reader.readString()
      case "clientId": clientID = try reader.readString()
      default: try reader.skipValue()
      }
    }
    guard apnsEnvironment != nil || !isNew else { throw reader.mismatch("the key apnsEnvironment") }
    guard apnsToken != nil || isNew else { throw reader.mismatch("the key apnsToken") }
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("apnsEnvironment", ifPresent: apnsEnvironment)
    writer.member("apnsToken", ifPresent: apnsToken)
    writer.member("clientId", ifPresent: clientID)
    writer.endObject()
  }
}

extension PushTokenReply {
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("apnsEnvironment", apnsEnvironment)
    writer.member("apnsToken", apnsToken)
    writer.member("webcourierURL", webcourierURL)
    writer.endObject()
  }

  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(apnsEnvironment: "", apnsToken: "", webcourierURL: "")
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "apnsEnvironment": apnsEnvironment = try reader.readString()
      case "apnsToken": apnsToken = try reader.readString()
      case "webcourierURL": webcourierURL = try reader.readString()
      default: try reader.skipValue()
      }
    }
    guard !apnsToken.isEmpty, !webcourierURL.isEmpty else { throw reader.mismatch("apnsToken and webcourierURL") }
  }
}

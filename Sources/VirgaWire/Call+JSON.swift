import VirgaModel

extension Call {
  /// Reads a request's body; an empty one counts as `{}`.
  /// - Throws: `ServiceError` with the code `badRequest`, for what is not JSON, has another shape than the operation
  ///   asks for, or passes a limit on the number of its parts. What spoils a single operation of several is reported
  ///   with that operation instead.
  public init(decoding bytes: [UInt8], for operation: Operation) throws(ServiceError) {
    do {
      var reader = JSONReader(message: bytes)
      if reader.isAtEnd { reader = JSONReader(Array("{}".utf8)) }
      // A body may say little at great length: what is read of it stays in proportion.
      reader.elementsMax = Limits.listElementsMax
      self = try Call(reading: &reader, for: operation)
      try reader.finish()
    } catch {
      throw ServiceError(error)
    }
    try checkCount(atMost: Limits.operationsPerRequestMax)
  }

  private init(reading reader: inout JSONReader, for operation: Operation) throws(WireError) {
    switch operation {
    case .recordsQuery: self = .recordsQuery(try RecordsQueryRequest(reading: &reader))
    case .recordsModify: self = .recordsModify(try RecordsModifyRequest(reading: &reader))
    case .recordsLookup: self = .recordsLookup(try RecordsLookupRequest(reading: &reader))
    case .recordsChanges: self = .recordsChanges(try ZoneChangesRequest(reading: &reader))
    case .recordsResolve: self = .recordsResolve(try ShortGUIDsRequest(reading: &reader))
    case .recordsAccept: self = .recordsAccept(try ShortGUIDsRequest(reading: &reader))
    case .zonesLookup: self = .zonesLookup(try ZonesLookupRequest(reading: &reader))
    case .zonesModify: self = .zonesModify(try ZonesModifyRequest(reading: &reader))
    case .zonesChanges:
      self = .zonesChanges(try DatabaseChangesRequest(reading: &reader, tokenKey: "metaSyncToken"))
    case .changesDatabase:
      self = .changesDatabase(try DatabaseChangesRequest(reading: &reader, tokenKey: "syncToken"))
    case .changesZone: self = .changesZone(try ZoneChangesRequest.readAll(&reader))
    case .subscriptionsLookup: self = .subscriptionsLookup(try SubscriptionsLookupRequest(reading: &reader))
    case .subscriptionsModify: self = .subscriptionsModify(try SubscriptionsModifyRequest(reading: &reader))
    case .assetsUpload: self = .assetsUpload(try AssetsUploadRequest(reading: &reader))
    case .assetsRereference: self = .assetsRereference(try AssetsRereferenceRequest(reading: &reader))
    case .tokensCreate: self = .tokensCreate(try PushTokenRequest(reading: &reader, isNew: true))
    case .tokensRegister: self = .tokensRegister(try PushTokenRequest(reading: &reader, isNew: false))
    case .zonesList: self = try Self.reading(nothingOf: &reader, .zonesList)
    case .subscriptionsList: self = try Self.reading(nothingOf: &reader, .subscriptionsList)
    case .usersCaller: self = try Self.reading(nothingOf: &reader, .usersCaller)
    case .usersCurrent: self = try Self.reading(nothingOf: &reader, .usersCurrent)
    case .usersDiscover: self = .usersLookup(try UsersLookupRequest(reading: &reader, .discover))
    case .usersLookupEmail: self = .usersLookup(try UsersLookupRequest(reading: &reader, .email))
    case .usersLookupID: self = .usersLookup(try UsersLookupRequest(reading: &reader, .id))
    case .usersLookupPhone: self = .usersLookup(try UsersLookupRequest(reading: &reader, .phone))
    case .usersLookupContacts: self = .usersLookup(try UsersLookupRequest(reading: &reader, .contacts))
    }
  }

  /// Passes the body of a call without parameters, which must still be an object.
  private static func reading(nothingOf reader: inout JSONReader, _ call: Call) throws(WireError) -> Call {
    guard reader.nextKind() == .object else { throw reader.mismatch("an object") }
    try reader.skipValue()
    return call
  }

  /// - Parameter most: How many operations, or names, the caller may send in one request.
  /// - Throws: `limitExceeded`, saying what there are too many of.
  package func checkCount(atMost most: Int) throws(ServiceError) {
    let (what, observed, limit): (String, Int, Int)
    switch self {
    case .recordsQuery(let request):
      let count = request.query.filters.count + request.query.sorts.count
      (what, observed, limit) = ("filters and sorts", count, Limits.queryPartsMax)
    case .recordsModify(let request):
      (what, observed, limit) = ("operations", request.operations.count, most)
    case .recordsLookup(let request):
      (what, observed, limit) = ("records", request.records.count, most)
    case .recordsResolve(let request), .recordsAccept(let request):
      (what, observed, limit) = ("shortGUIDs", request.shortGUIDs.count, most)
    case .usersLookup(let request):
      (what, observed, limit) = ("lookupInfos", request.lookupInfos.count, most)
    case .zonesLookup(let request):
      (what, observed, limit) = ("zones", request.zones.count, most)
    case .zonesModify(let request):
      (what, observed, limit) = ("operations", request.operations.count, most)
    case .changesZone(let requests):
      (what, observed, limit) = ("zones", requests.count, most)
    case .subscriptionsLookup(let request):
      (what, observed, limit) = ("subscriptions", request.ids.count, most)
    case .subscriptionsModify(let request):
      (what, observed, limit) = ("operations", request.operations.count, most)
    case .assetsUpload(let request):
      (what, observed, limit) = ("tokens", request.items.count, Limits.uploadTokensPerRequestMax)
    case .assetsRereference(let request):
      (what, observed, limit) = ("assets", request.items.count, Limits.uploadTokensPerRequestMax)
    default: return
    }
    if observed > limit { throw .limitExceeded(what, observed: observed, limit: limit) }
  }

  /// The request's body, as a client sends it.
  /// - Precondition: All doubles are finite.
  public func encoded() -> [UInt8] {
    var writer = JSONWriter(capacity: 1_024)
    switch self {
    case .recordsQuery(let request): request.write(into: &writer)
    case .recordsModify(let request): request.write(into: &writer)
    case .recordsLookup(let request): request.write(into: &writer)
    case .recordsChanges(let request): request.write(into: &writer)
    case .recordsResolve(let request), .recordsAccept(let request): request.write(into: &writer)
    case .usersLookup(let request): request.write(into: &writer)
    case .zonesLookup(let request): request.write(into: &writer)
    case .zonesModify(let request): request.write(into: &writer)
    case .zonesChanges(let request): request.write(into: &writer, tokenKey: "metaSyncToken")
    case .changesDatabase(let request): request.write(into: &writer, tokenKey: "syncToken")
    case .changesZone(let requests):
      writer.beginObject()
      writer.key("zones")
      writer.array(requests) { $1.write(into: &$0) }
      writer.endObject()
    case .subscriptionsLookup(let request): request.write(into: &writer)
    case .subscriptionsModify(let request): request.write(into: &writer)
    case .assetsUpload(let request): request.write(into: &writer)
    case .assetsRereference(let request): request.write(into: &writer)
    case .tokensCreate(let request), .tokensRegister(let request): request.write(into: &writer)
    case .zonesList, .subscriptionsList, .usersCaller, .usersCurrent: writer.raw("{}".utf8)
    }
    return writer.bytes
  }
}

import VirgaModel

// MARK: Requests

extension ZonesLookupRequest {
  /// Reads `{"zones":…}`: a list or a single zone, each a dictionary, a wrapped one or a bare name.
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(
      zones: try reader.readMember("zones") { (reader) throws(WireError) in
        guard reader.nextKind() == .array else { return [try ZoneSelector(readingWrapped: &reader)] }
        return try reader.readArray { (r) throws(WireError) in try ZoneSelector(readingWrapped: &r) }
      })
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("zones")
    writer.array(zones) { $1.write(into: &$0) }
    writer.endObject()
  }
}

extension ZonesModifyRequest {
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
      writer.key("zone")
      writer.beginObject()
      writer.key("zoneID")
      operation.zone.write(into: &writer)
      writer.endObject()
      writer.endObject()
    }
    writer.endObject()
  }
}

extension ZonesModifyRequest.Operation {
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    var kind: Kind?
    var zone: ZoneSelector?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "operationType":
        kind = Kind(rawValue: try reader.readString())
        guard kind != nil else { throw reader.mismatch("the operationType create or delete") }
      case "zone": zone = try ZoneSelector(readingWrapped: &reader)
      default: try reader.skipValue()
      }
    }
    guard let kind else { throw reader.mismatch("the key operationType") }
    guard let zone else { throw reader.mismatch("the key zone") }
    self.init(kind, zone)
  }
}

extension DatabaseChangesRequest {
  /// - Parameter tokenKey: `syncToken` for `changes/database`, `metaSyncToken` for `zones/changes`.
  init(reading reader: inout JSONReader, tokenKey: String) throws(WireError) {
    self.init()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case tokenKey: syncToken = try reader.readString()
      case "resultsLimit": resultsLimit = try reader.readInt()
      default: try reader.skipMember(key, ofFeedWithToken: tokenKey)
      }
    }
  }

  func write(into writer: inout JSONWriter, tokenKey: StaticString) {
    writer.beginObject()
    writer.member(tokenKey, ifPresent: syncToken)
    if let resultsLimit { writer.member("resultsLimit", Int64(resultsLimit)) }
    writer.endObject()
  }
}

// MARK: Replies

extension ZoneResult {
  /// - Parameter withToken: Whether the zone's own token is written.
  func write(into writer: inout JSONWriter, withToken: Bool = true, _ style: ReplyStyle) {
    switch self {
    case .zone(let zone): zone.write(into: &writer, withToken: withToken, style)
    case .failure(let zone, let error): writer.failure(of: zone, error, style)
    }
  }

  init(reading reader: inout JSONReader) throws(WireError) {
    var zone = ZoneSelector()
    var syncToken: String?
    var isAtomic: Bool?
    var isDeleted = false
    var reason: ZoneDeletionReason?
    var error = ServiceErrorParts()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "zoneID": zone = try ZoneSelector(reading: &reader)
      case "syncToken": syncToken = try reader.readString()
      case "atomic": isAtomic = try reader.readBool()
      case "deleted": isDeleted = try reader.readBool()
      case "deletionReason": reason = ZoneDeletionReason(rawValue: try reader.readString())
      default: if try !error.read(key, &reader) { try reader.skipValue() }
      }
    }
    if let error = error.error {
      self = .failure(zone, error)
      return
    }
    // Only the default zone is not atomic.
    var envelope = ZoneEnvelope(
      id: zone.id, syncToken: syncToken, isAtomic: isAtomic ?? (zone.name != .default), isDeleted: isDeleted)
    envelope.deletionReason = reason
    self = .zone(envelope)
  }
}

extension ZoneEnvelope {
  fileprivate func write(into writer: inout JSONWriter, withToken: Bool, _ style: ReplyStyle) {
    writer.beginObject()
    writer.key("zoneID")
    id.writeWhole(into: &writer)
    if !isDeleted {
      if withToken { writer.member("syncToken", ifPresent: syncToken) }
      if style.extensions { writer.member("atomic", isAtomic) }
    }
    writer.member("deleted", isDeleted)
    if style.extensions { writer.member("deletionReason", ifPresent: deletionReason?.rawValue) }
    writer.endObject()
  }
}

extension DatabaseChangesReply {
  /// - Parameter zonesHaveTokens: False for `changes/database`, where a strict client (pyicloud) refuses the key.
  func write(
    into writer: inout JSONWriter, tokenKey: StaticString, zonesHaveTokens: Bool, _ style: ReplyStyle
  ) {
    writer.beginObject()
    writer.key("zones")
    writer.array(zones) { $1.write(into: &$0, withToken: zonesHaveTokens || style.extensions, style) }
    writer.member(tokenKey, syncToken)
    writer.member("moreComing", moreComing)
    writer.endObject()
  }

  init(reading reader: inout JSONReader, tokenKey: String) throws(WireError) {
    self.init(zones: [], syncToken: "", moreComing: false)
    var hasToken = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "zones": zones = try reader.readArray { (r) throws(WireError) in try ZoneResult(reading: &r) }
      case tokenKey:
        syncToken = try reader.readString()
        hasToken = true
      case "moreComing": moreComing = try reader.readBool()
      default: try reader.skipValue()
      }
    }
    guard hasToken else { throw reader.mismatch("the key \(tokenKey)") }
  }
}

import VirgaModel

extension ShortGUIDsRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(
      shortGUIDs: try reader.readArray(in: "shortGUIDs") { (r) throws(WireError) in try ShortGUID(reading: &r) })
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("shortGUIDs")
    writer.array(shortGUIDs) { $1.write(into: &$0) }
    writer.endObject()
  }
}

extension ShortGUID {
  /// Reads a dictionary or the bare text.
  init(reading reader: inout JSONReader) throws(WireError) {
    if reader.nextKind() == .string {
      self.init(try reader.readString())
      return
    }
    self.init("")
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "value": value = try reader.readString()
      case "shouldFetchRootRecord": shouldFetchRootRecord = try reader.readBool()
      case "rootRecordDesiredKeys": rootRecordDesiredKeys = try reader.readNames()
      default: try reader.skipValue()
      }
    }
    guard !value.isEmpty else { throw reader.mismatch("the key value of a shortGUID") }
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("value", value)
    writer.member("shouldFetchRootRecord", shouldFetchRootRecord)
    writer.member("rootRecordDesiredKeys", names: rootRecordDesiredKeys)
    writer.endObject()
  }
}

extension ShareResult {
  func write(into writer: inout JSONWriter, _ style: ReplyStyle) {
    switch self {
    case .metadata(let metadata): metadata.write(into: &writer)
    case .failure(let shortGUID, let error):
      writer.beginObject()
      writer.key("shortGUID")
      shortGUID.write(into: &writer)
      error.writeMembers(into: &writer, uuid: style.uuid)
      writer.endObject()
    }
  }

  init(reading reader: inout JSONReader) throws(WireError) {
    self = try ShareParts(reading: &reader).result(reader)
  }
}

extension ShareMetadata {
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("shortGUID")
    shortGUID.write(into: &writer)
    writer.member("containerIdentifier", container.rawValue)
    writer.member("environment", environment.rawValue)
    writer.member("databaseScope", scope.pathName.uppercased())
    writer.key("zoneID")
    zone.writeWhole(into: &writer)
    writer.key("share")
    share.write(into: &writer)
    writer.member("rootRecordName", ifPresent: rootRecordName?.rawValue)
    if let rootRecord {
      writer.key("rootRecord")
      rootRecord.write(into: &writer)
    }
    writer.key("ownerIdentity")
    ownerIdentity.write(into: &writer)
    writer.member("participantType", participantRole.rawValue)
    writer.member("participantStatus", participantStatus.rawValue)
    writer.member("participantPermission", participantPermission.rawValue)
    writer.member("webpageURL", ifPresent: webpageURL)
    writer.endObject()
  }
}

/// A share of an answer, as its keys come.
private struct ShareParts {
  var shortGUID: ShortGUID?
  var container: ContainerID = ""
  var environment = Environment.development
  var scope = DatabaseScope.shared
  var zone = ZoneID(.default, owner: .defaultOwner)
  var share: JSONReader.Mark?
  var root: JSONReader.Mark?
  var rootName: RecordName?
  var owner = UserIdentity()
  var participant = ShareParticipant(
    identity: UserIdentity(), role: .unknown, permission: .unknown, acceptanceStatus: .unknown)
  var webpageURL: String?
  var error = ServiceErrorParts()

  init(reading reader: inout JSONReader) throws(WireError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "shortGUID": shortGUID = try ShortGUID(reading: &reader)
      case "containerIdentifier": container = ContainerID(try reader.readString())
      case "environment": environment = Environment(rawValue: try reader.readString().lowercased()) ?? .development
      case "databaseScope": scope = DatabaseScope(pathName: try reader.readString().lowercased()) ?? .shared
      case "zoneID": zone = try ZoneSelector(reading: &reader).id
      case "share": share = try Self.pass(&reader)
      case "rootRecord": root = try Self.pass(&reader)
      case "rootRecordName": rootName = RecordName(try reader.readString())
      case "ownerIdentity": owner = try UserIdentity(reading: &reader)
      case "participantType":
        participant.role = ShareParticipant.Role(rawValue: try reader.readString()) ?? .unknown
      case "participantStatus":
        participant.acceptanceStatus =
          ShareParticipant.AcceptanceStatus(rawValue: try reader.readString()) ?? .unknown
      case "participantPermission":
        participant.permission = SharePermission(rawValue: try reader.readString()) ?? .unknown
      case "webpageURL": webpageURL = try reader.readString()
      default: if try !error.read(key, &reader) { try reader.skipValue() }
      }
    }
  }

  /// The records lie in the zone, which may follow them, so they are read on a second visit.
  private static func pass(_ reader: inout JSONReader) throws(WireError) -> JSONReader.Mark {
    let mark = reader.mark
    try reader.skipValue()
    return mark
  }

  func result(_ reader: JSONReader) throws(WireError) -> ShareResult {
    if let error = error.error { return .failure(shortGUID ?? ShortGUID(""), error) }
    guard let shortGUID else { throw reader.mismatch("the key shortGUID") }
    guard let share, let record = try record(at: share, reader) else { throw reader.mismatch("the key share") }
    var metadata = ShareMetadata(
      shortGUID: shortGUID, container: container, environment: environment, scope: scope, zone: zone, share: record,
      ownerIdentity: owner, participant: participant)
    metadata.rootRecordName = rootName
    metadata.rootRecord = if let root { try self.record(at: root, reader) } else { nil }
    metadata.webpageURL = webpageURL
    return .metadata(metadata)
  }

  private func record(at mark: JSONReader.Mark, _ reader: JSONReader) throws(WireError) -> RecordEnvelope? {
    var reader = reader
    reader.rewind(to: mark)
    if case .record(let record) = try RecordResult(reading: &reader, in: zone) { return record }
    return nil
  }
}

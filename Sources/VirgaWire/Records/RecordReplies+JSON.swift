public import VirgaModel

// MARK: Records

extension RecordEnvelope {
  func write(into writer: inout JSONWriter) {
    var known = KnownPieces()
    write(into: &writer, &known)
  }

  /// Writes the record. A page holds many, so it is put together from as few pieces as can be.
  /// - Parameter known: What records before this one were written with.
  func write(into writer: inout JSONWriter, _ known: inout KnownPieces) {
    writer.beginPieces()
    writer.piece(#"{"recordName":"#)
    writer.piece(quoting: id.name.rawValue)
    writer.piece(#","recordType":"#)
    writer.piece(quoting: type.rawValue)
    writer.piece(#","fields":"#)
    writer.piece(fieldsJSON)
    writer.piece(#","pluginFields":{},"recordChangeTag":"#)
    writer.piece(quoting: tag.rawValue)
    writer.piece(#","created":{"timestamp":"#)
    writer.piece(created.time.milliseconds)
    writer.piece(known.author(of: created))
    writer.piece(#","modified":{"timestamp":"#)
    writer.piece(modified.time.milliseconds)
    writer.piece(known.author(of: modified))
    writer.piece(#","deleted":false,"zoneID":"#)
    writer.piece(known.zone(id.zone))
    if let parent {
      writer.key("parent")
      parent.writeWithoutAction(into: &writer)
    }
    if let share {
      writer.key("share")
      share.writeWithoutAction(into: &writer)
    }
    writer.member("shortGUID", ifPresent: shortGUID)
    if let shareDetails { shareDetails.writeMembers(into: &writer) }
    if !unknownMembers.isEmpty { writer.raw(unknownMembers) }
    writer.endObject()
  }
}

/// What repeats from record to record in an answer, written once: the zone, and who saved on which device.
struct KnownPieces {
  private var zone: (id: ZoneID, json: [UInt8])?
  private var author: (user: UserName, device: String, json: [UInt8])?

  mutating func zone(_ id: ZoneID) -> [UInt8] {
    if let zone, zone.id == id { return zone.json }
    var writer = JSONWriter(capacity: 128)
    id.writeWhole(into: &writer)
    zone = (id, writer.bytes)
    return writer.bytes
  }

  /// What follows the time in a stamp, to its end.
  mutating func author(of stamp: RecordStamp) -> [UInt8] {
    if let author, author.user == stamp.user, author.device.hasSameBytes(as: stamp.device) { return author.json }
    var writer = JSONWriter(capacity: 128)
    writer.piece(#","userRecordName":"#)
    writer.piece(quoting: stamp.user.rawValue)
    writer.piece(#","deviceID":"#)
    writer.piece(quoting: stamp.device)
    writer.piece("}")
    author = (stamp.user, stamp.device, writer.bytes)
    return writer.bytes
  }
}

extension RecordStamp {
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    self.init(time: Timestamp(milliseconds: 0), user: "", device: "")
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "timestamp": time = Timestamp(milliseconds: try reader.readInt64())
      case "userRecordName": user = UserName(try reader.readString())
      case "deviceID": device = try reader.readString()
      default: try reader.skipValue()
      }
    }
  }
}

extension [RecordResult] {
  fileprivate func write(into writer: inout JSONWriter, _ style: ReplyStyle) {
    var known = KnownPieces()
    writer.array(self) { $1.write(into: &$0, style, &known) }
  }
}

extension RecordResult {
  fileprivate func write(into writer: inout JSONWriter, _ style: ReplyStyle, _ known: inout KnownPieces) {
    switch self {
    case .record(let record): record.write(into: &writer, &known)
    case .deleted(let name, let zone, let type):
      writer.beginObject()
      writer.member("recordName", name.rawValue)
      writer.member("deleted", true)
      if let zone {
        writer.key("zoneID")
        zone.writeWhole(into: &writer)
      }
      if style.extensions { writer.member("recordType", ifPresent: type?.rawValue) }
      writer.endObject()
    case .failure(let failure):
      writer.beginObject()
      writer.member("recordName", failure.name.rawValue)
      failure.error.writeMembers(into: &writer, uuid: style.uuid)
      if let record = failure.serverRecord {
        writer.key("serverRecord")
        record.write(into: &writer)
      }
      if style.extensions, let record = failure.ancestorRecord {
        writer.key("ancestorRecord")
        record.write(into: &writer)
      }
      writer.endObject()
    }
  }

  /// - Parameter zone: Where the record lies if it does not say so itself.
  init(reading reader: inout JSONReader, in zone: ZoneID) throws(WireError) {
    self = try RecordParts(reading: &reader).result(in: zone)
  }
}

/// A record of an answer, a tombstone or a failure, as its keys come.
private struct RecordParts {
  var record = RecordEnvelope(
    id: RecordID("", in: ZoneID(.default, owner: .defaultOwner)), type: "", tag: "", created: RecordStamp.unknown,
    modified: RecordStamp.unknown, fieldsJSON: Array("{}".utf8))
  var zone: ZoneID?
  var isDeleted = false
  var error = ServiceErrorParts()
  var server: RecordResult?
  var ancestor: RecordResult?
  var details = ShareDetails(participants: [])

  init(reading reader: inout JSONReader) throws(WireError) {
    var hasName = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordName":
        record.id.name = RecordName(try reader.readString())
        hasName = true
      case "recordType": record.type = RecordType(try reader.readString())
      case "fields": record.fieldsJSON = try Self.readFieldsJSON(&reader)
      case "recordChangeTag": record.tag = ChangeTag(try reader.readString())
      case "created": record.created = try RecordStamp(reading: &reader)
      case "modified": record.modified = try RecordStamp(reading: &reader)
      case "deleted": isDeleted = try reader.readBool()
      case "zoneID": zone = try ZoneSelector(reading: &reader).id
      case "parent": record.parent = try Reference(reading: &reader)
      case "share": record.share = try Reference(reading: &reader)
      case "shortGUID": record.shortGUID = try reader.readString()
      case "serverRecord": server = try RecordResult(reading: &reader, in: record.id.zone)
      case "ancestorRecord": ancestor = try RecordResult(reading: &reader, in: record.id.zone)
      default: try readOther(key, &reader)
      }
    }
    guard hasName else { throw reader.mismatch("the key recordName") }
  }

  private static func readFieldsJSON(_ reader: inout JSONReader) throws(WireError) -> [UInt8] {
    guard reader.nextKind() == .object else { throw reader.mismatch("an object of fields") }
    return try reader.readRaw()
  }

  private mutating func readOther(_ key: String, _ reader: inout JSONReader) throws(WireError) {
    if try error.read(key, &reader) { return }
    if try details.read(key, &reader) {
      record.shareDetails = details
      return
    }
    if RecordKey.all.contains(key) { return try reader.skipValue() }
    if !record.unknownMembers.isEmpty { record.unknownMembers.append(UInt8(ascii: ",")) }
    record.unknownMembers += try reader.readRawMember()
  }

  func result(in defaultZone: ZoneID) -> RecordResult {
    let zoneID = zone ?? defaultZone
    if let error = error.error {
      var failure = RecordFailure(record.id.name, error)
      if case .record(let record) = server { failure.serverRecord = record }
      if case .record(let record) = ancestor { failure.ancestorRecord = record }
      return .failure(failure)
    }
    if isDeleted {
      return .deleted(record.id.name, zone: zone, type: record.type.rawValue.isEmpty ? nil : record.type)
    }
    var record = record
    record.id.zone = zoneID
    return .record(record)
  }
}

extension RecordStamp {
  /// Stands where a server said nothing.
  fileprivate static let unknown = RecordStamp(time: Timestamp(milliseconds: 0), user: "", device: "")
}

extension Record {
  /// The record with its fields as values.
  /// - Throws: `WireError` when the fields are not what the protocol says.
  public init(_ envelope: RecordEnvelope) throws(WireError) {
    self.init(id: envelope.id, type: envelope.type, fields: try Fields(json: envelope.fieldsJSON))
    tag = envelope.tag
    created = envelope.created
    modified = envelope.modified
    parent = envelope.parent
    share = envelope.share
    shortGUID = envelope.shortGUID
    shareDetails = envelope.shareDetails
    unknownMembers = envelope.unknownMembers
  }
}

extension RecordsReply {
  func write(into writer: inout JSONWriter, _ style: ReplyStyle) {
    writer.beginObject()
    writer.key("records")
    records.write(into: &writer, style)
    writer.member("continuationMarker", ifPresent: continuationMarker)
    writer.member("syncToken", ifPresent: syncToken)
    writer.endObject()
  }

  init(reading reader: inout JSONReader, in zone: ZoneID) throws(WireError) {
    self.init(records: [])
    var hasRecords = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "records":
        records = try reader.readArray { (r) throws(WireError) in try RecordResult(reading: &r, in: zone) }
        hasRecords = true
      case "syncToken": syncToken = try reader.readString()
      case "continuationMarker": continuationMarker = try reader.readString()
      default: try reader.skipValue()
      }
    }
    guard hasRecords else { throw reader.mismatch("the key records") }
  }
}

// MARK: Feeds

extension ZoneChangesPage {
  /// Writes the page with its zone, as `changes/zone` has it, or without, as `records/changes` does.
  func write(into writer: inout JSONWriter, withZone: Bool, _ style: ReplyStyle) {
    writer.beginObject()
    if withZone {
      writer.key("zoneID")
      zone.writeWhole(into: &writer)
    }
    writer.key("records")
    records.write(into: &writer, style)
    writer.member("syncToken", syncToken)
    writer.member("moreComing", moreComing)
    writer.endObject()
  }
}

extension ZoneChangesResult {
  func write(into writer: inout JSONWriter, _ style: ReplyStyle) {
    switch self {
    case .page(let page): page.write(into: &writer, withZone: true, style)
    case .failure(let zone, let error): writer.failure(of: zone, error, style)
    }
  }

  /// - Parameter defaultZone: The zone of a page that does not name it.
  init(reading reader: inout JSONReader, in defaultZone: ZoneID) throws(WireError) {
    var zone: ZoneSelector?
    var records: JSONReader.Mark?
    var page = ZoneChangesPage(zone: defaultZone, records: [], syncToken: "", moreComing: false)
    var hasToken = false
    var error = ServiceErrorParts()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "zoneID":
        zone = try ZoneSelector(reading: &reader)
        page.zone = zone?.id ?? defaultZone
      case "records":
        // The zone may follow, and the records lie in it, so they are read on a second visit.
        records = reader.mark
        try reader.skipValue()
      case "syncToken":
        page.syncToken = try reader.readString()
        hasToken = true
      case "moreComing": page.moreComing = try reader.readBool()
      default: if try !error.read(key, &reader) { try reader.skipValue() }
      }
    }
    if let error = error.error {
      self = .failure(zone ?? ZoneSelector(defaultZone), error)
      return
    }
    guard hasToken else { throw reader.mismatch("the key syncToken") }
    if let records {
      let end = reader.mark
      reader.rewind(to: records)
      let zone = page.zone
      page.records = try reader.readArray { (r) throws(WireError) in try RecordResult(reading: &r, in: zone) }
      reader.rewind(to: end)
    }
    self = .page(page)
  }
}

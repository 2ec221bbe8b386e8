import VirgaModel

extension JSONReader {
  mutating func readNames<Name: Identifier>() throws(WireError) -> [Name] {
    try readArray { (reader) throws(WireError) in Name(rawValue: try reader.readString()) }
  }
}

extension JSONWriter {
  mutating func member(_ name: StaticString, names: [some Identifier]?) {
    guard let names else { return }
    key(name)
    array(names) { $0.string($1.rawValue) }
  }
}

// MARK: records/modify

extension RecordsModifyRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(operations: [])
    var hasOperations = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "operations":
        guard !hasOperations else { throw reader.mismatch("the key operations once") }
        operations = try Self.readOperations(&reader)
        hasOperations = true
      case "zoneID": zone = try ZoneSelector(reading: &reader)
      case "atomic": atomic = try reader.readBool()
      case "desiredKeys": desiredKeys = try reader.readNames()
      case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.readBool()
      default: try reader.skipValue()
      }
    }
    guard hasOperations else { throw reader.mismatch("the key operations") }
  }

  private static func readOperations(_ reader: inout JSONReader) throws(WireError) -> [RecordOperation] {
    var operations: [RecordOperation] = []
    try reader.beginArray()
    while try reader.nextElement() {
      // One too many says that there are too many; more of them are not worth reading.
      if operations.count > Limits.operationsPerRequestMax {
        try reader.skipValue()
      } else {
        operations.append(try RecordOperation(reading: &reader))
      }
    }
    return operations
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("zoneID")
    zone.write(into: &writer)
    if let atomic { writer.member("atomic", atomic) }
    writer.member("desiredKeys", names: desiredKeys)
    if numbersAsStrings { writer.member("numbersAsStrings", true) }
    writer.key("operations")
    writer.array(operations) { $1.write(into: &$0) }
    writer.endObject()
  }
}

extension RecordOperation {
  init(reading reader: inout JSONReader) throws(WireError) {
    var kind: Kind?
    var operationKeys: [FieldName]?
    var body: RecordBody?
    try reader.beginObject()
    while try reader.passKey() {
      if try reader.readNull() { continue }
      if reader.keyIs("operationType") {
        kind = Kind(rawValue: try reader.readString())
        guard kind != nil else { throw reader.mismatch("a known operationType") }
      } else if reader.keyIs("record") {
        body = try RecordBody(reading: &reader)
      } else if reader.keyIs("desiredKeys") {
        operationKeys = try reader.readNames()
      } else {
        try reader.skipValue()
      }
    }
    guard let kind else { throw reader.mismatch("the key operationType") }
    guard let body else { throw reader.mismatch("the key record") }
    self.init(kind, body.record)
    desiredKeys = operationKeys ?? body.desiredKeys
    fault = body.fault
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("operationType", kind.rawValue)
    writer.member("desiredKeys", names: desiredKeys)
    writer.key("record")
    record.write(into: &writer)
    writer.endObject()
  }
}

/// A record of a request, with what may stand in it though it belongs to the operation.
private struct RecordBody {
  var record = RecordChange(name: nil)
  var desiredKeys: [FieldName]?
  var fault: ServiceError?
  private var unknownKeys: Set<String> = []

  init(reading reader: inout JSONReader) throws(WireError) {
    try reader.beginObject()
    while try reader.passKey() {
      if try reader.readNull() {
        // A record without a parent is what this asks for; all else that is null is not said.
        if reader.keyIs("parent") { record.parent = .cleared }
        continue
      }
      // What nearly every record has comes first.
      if reader.keyIs("recordName") {
        record.name = RecordName(try reader.readString())
        continue
      } else if reader.keyIs("fields") {
        try readFields(&reader)
        continue
      }
      let key = reader.key
      switch key {
      case "recordType": record.type = RecordType(try reader.readString())
      case "recordChangeTag": record.tag = ChangeTag(try reader.readString())
      case "parent": record.parent = try ParentChange(reading: &reader)
      case "share": if case .set(let share) = try ParentChange(reading: &reader) { record.share = share }
      case "createShortGUID": record.createShortGUID = try reader.readBool()
      case "zoneID": record.zone = try ZoneSelector(reading: &reader)
      case "desiredKeys": desiredKeys = try reader.readNames()
      default: try readOther(key, &reader)
      }
    }
  }

  private mutating func readFields(_ reader: inout JSONReader) throws(WireError) {
    var seen = SeenNames()
    record.fields.reserveCapacity(8)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = FieldName(key)
      // One too many spoils the operation; more of them are not worth keeping.
      if record.fields.count > Limits.fieldsPerRecordMax {
        try reader.skipValue()
        continue
      }
      guard seen.isNew(name, after: record.fields) else { throw reader.mismatch("each field once, not \(key) twice") }
      record.fields.append(try readField(name, &reader))
    }
  }

  /// A value that contradicts its type spoils its operation, not the request.
  private mutating func readField(_ name: FieldName, _ reader: inout JSONReader) throws(WireError) -> FieldChange {
    let start = reader.mark
    do {
      let (field, isTagged) = try Field.read(&reader, unknownTags: .refused)
      return FieldChange(name, field, isTagged: isTagged || field == nil)
    } catch  where error.kind == .mismatch {
      reader.rewind(to: start)
      try reader.skipValue()
      if fault == nil {
        fault = .badRequest("Invalid value for field '\(name)', expected \(error.expected).")
      }
      return FieldChange(name, nil)
    }
  }

  private mutating func readOther(_ key: String, _ reader: inout JSONReader) throws(WireError) {
    if try record.shareChange.read(key, &reader) { return }
    if RecordKey.all.contains(key) { return try reader.skipValue() }
    guard unknownKeys.count < Limits.fieldsPerRecordMax, record.unknownMembers.count <= Limits.recordBytesMax else {
      fault =
        fault
        ?? .limitExceeded(
          "unknown members of record '\(record.name?.rawValue ?? "")'",
          observed: unknownKeys.count + 1, limit: Limits.fieldsPerRecordMax)
      return try reader.skipValue()
    }
    guard unknownKeys.insert(key).inserted else { throw reader.mismatch("each key once, not \(key) twice") }
    if !record.unknownMembers.isEmpty { record.unknownMembers.append(UInt8(ascii: ",")) }
    record.unknownMembers += try reader.readRawMember()
  }
}

/// The names of the fields of one record so far.
private struct SeenNames {
  /// Names in ascending order, as our own client sends them, cannot repeat.
  private var isAscending = true
  private var many: Set<FieldName> = []

  /// Fields that are still compared one by one.
  private static let fewFields = 16

  mutating func isNew(_ name: FieldName, after fields: [FieldChange]) -> Bool {
    guard let last = fields.last else { return true }
    if isAscending, last.name < name { return true }
    isAscending = false
    if fields.count < Self.fewFields { return !fields.contains { $0.name == name } }
    if many.isEmpty { many = Set(fields.map(\.name)) }
    return many.insert(name).inserted
  }
}

/// The keys of a record that have a meaning of their own, in a request or in an answer. Others are carried.
enum RecordKey {
  static let all: Set<String> = [
    "recordName", "recordType", "recordChangeTag", "fields", "pluginFields", "created", "modified", "deleted", "zoneID",
    "parent", "share", "shortGUID", "createShortGUID", "desiredKeys", "serverErrorCode", "reason", "uuid", "retryAfter",
    "redirectURL", "redirectUrl", "serverRecord", "ancestorRecord", "forRecord", "publicPermission", "participants",
    "owner", "currentUserParticipant",
  ]
}

extension ParentChange {
  /// An object without a record's name clears the parent.
  init(reading reader: inout JSONReader) throws(WireError) {
    let start = reader.mark
    var hasName = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if key == "recordName", try !reader.readNull() {
        hasName = true
        try reader.skipValue()
      } else if key != "recordName" {
        try reader.skipValue()
      }
    }
    guard hasName else {
      self = .cleared
      return
    }
    reader.rewind(to: start)
    self = .set(try Reference(reading: &reader))
  }
}

extension RecordChange {
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("recordName", ifPresent: name?.rawValue)
    writer.member("recordType", ifPresent: type?.rawValue)
    writer.member("recordChangeTag", ifPresent: tag?.rawValue)
    if !fields.isEmpty {
      writer.key("fields")
      writer.beginObject()
      for change in fields {
        writer.key(change.name.rawValue)
        if let field = change.field { field.write(into: &writer) } else { writer.raw(#"{"value":null}"#.utf8) }
      }
      writer.endObject()
    }
    switch parent {
    case .unchanged: break
    case .cleared:
      writer.key("parent")
      writer.raw("{}".utf8)
    case .set(let reference):
      writer.key("parent")
      reference.writeWithoutAction(into: &writer)
    }
    if let share {
      writer.key("share")
      share.writeWithoutAction(into: &writer)
    }
    if !shareChange.isEmpty { shareChange.writeMembers(into: &writer) }
    if createShortGUID { writer.member("createShortGUID", true) }
    if let zone {
      writer.key("zoneID")
      zone.write(into: &writer)
    }
    if !unknownMembers.isEmpty { writer.raw(unknownMembers) }
    writer.endObject()
  }
}

// MARK: records/lookup

extension RecordsLookupRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(records: [])
    var hasRecords = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "records":
        records = try reader.readArray { (r) throws(WireError) in try Item(reading: &r) }
        hasRecords = true
      case "zoneID": zone = try ZoneSelector(reading: &reader)
      case "desiredKeys": desiredKeys = try reader.readNames()
      case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.readBool()
      default: try reader.skipValue()
      }
    }
    guard hasRecords else { throw reader.mismatch("the key records") }
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("zoneID")
    zone.write(into: &writer)
    writer.member("desiredKeys", names: desiredKeys)
    if numbersAsStrings { writer.member("numbersAsStrings", true) }
    writer.key("records")
    writer.array(records) { writer, item in
      writer.beginObject()
      writer.member("recordName", item.name.rawValue)
      writer.member("desiredKeys", names: item.desiredKeys)
      writer.endObject()
    }
    writer.endObject()
  }
}

extension RecordsLookupRequest.Item {
  /// Reads a dictionary or a bare record name.
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    if reader.nextKind() == .string {
      self.init(RecordName(try reader.readString()))
      return
    }
    var name: RecordName?
    var keys: [FieldName]?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordName": name = RecordName(try reader.readString())
      case "desiredKeys": keys = try reader.readNames()
      default: try reader.skipValue()
      }
    }
    guard let name else { throw reader.mismatch("the key recordName") }
    self.init(name, desiredKeys: keys)
  }
}

// MARK: records/changes and changes/zone

extension JSONReader {
  /// Passes a member of a feed's request that is not known. A misspelt token would be ignored and the first page
  /// served for ever, so a key that looks like one is refused.
  mutating func skipMember(_ key: String, ofFeedWithToken tokenKey: String) throws(WireError) {
    if key != "getCurrentSyncToken", key.lowercased().contains("token") {
      throw mismatch("the token under the key \(tokenKey), not \(key)")
    }
    try skipValue()
  }
}

extension ZoneChangesRequest {
  /// Reads the body of `records/changes`.
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(zone: ZoneSelector())
    try read(&reader, requiresZone: false)
  }

  /// Reads the body of `changes/zone`: defaults for all zones, and what each zone says otherwise.
  static func readAll(_ reader: inout JSONReader) throws(WireError) -> [ZoneChangesRequest] {
    var defaults = ZoneChangesRequest(zone: ZoneSelector())
    var zones: JSONReader.Mark?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      if key == "zones" {
        // The defaults may follow the zones, so the zones are read on a second visit.
        zones = reader.mark
        try reader.skipValue()
      } else if try !defaults.readOption(key, &reader) {
        try reader.skipMember(key, ofFeedWithToken: "syncToken of each zone")
      }
    }
    guard let zones else { throw reader.mismatch("the key zones") }
    let end = reader.mark
    reader.rewind(to: zones)
    let requests = try reader.readArray { (r) throws(WireError) in
      var request = defaults
      try request.read(&r, requiresZone: true)
      return request
    }
    reader.rewind(to: end)
    return requests
  }

  private mutating func read(_ reader: inout JSONReader, requiresZone: Bool) throws(WireError) {
    var hasZone = !requiresZone
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "zoneID":
        zone = try ZoneSelector(reading: &reader)
        hasZone = true
      case "syncToken": syncToken = try reader.readString()
      default:
        if try !readOption(key, &reader) { try reader.skipMember(key, ofFeedWithToken: "syncToken") }
      }
    }
    guard hasZone else { throw reader.mismatch("the key zoneID") }
  }

  /// Reads what may be said for one zone or for all; answers whether the key was one of these.
  private mutating func readOption(_ key: String, _ reader: inout JSONReader) throws(WireError) -> Bool {
    switch key {
    case "resultsLimit": resultsLimit = try reader.readInt()
    case "desiredKeys": desiredKeys = try reader.readNames()
    case "desiredRecordTypes": desiredRecordTypes = try reader.readNames()
    case "reverse": isReversed = try reader.readBool()
    case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.readBool()
    default: return false
    }
    return true
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("zoneID")
    zone.write(into: &writer)
    writer.member("syncToken", ifPresent: syncToken)
    if let resultsLimit { writer.member("resultsLimit", Int64(resultsLimit)) }
    writer.member("desiredKeys", names: desiredKeys)
    writer.member("desiredRecordTypes", names: desiredRecordTypes)
    if isReversed { writer.member("reverse", true) }
    // Each of the two operations knows its own spelling.
    if numbersAsStrings {
      writer.member("numbersAsStrings", true)
      writer.member("numberAsStrings", true)
    }
    writer.endObject()
  }
}

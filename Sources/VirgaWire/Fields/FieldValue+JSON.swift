package import VirgaModel

// MARK: Reading

extension FieldValue {
  /// Reads a value of a stated type.
  /// - Throws: `WireError` of kind `mismatch` when the value has another form.
  init(reading reader: inout JSONReader, tag: FieldTag) throws(WireError) {
    switch tag {
    case .scalar(.string): self = .string(try reader.readString())
    case .scalar(.int64): self = .int64(try reader.readInteger())
    case .scalar(.double): self = .double(try reader.readFloat())
    case .scalar(.timestamp): self = .timestamp(try reader.readTimestamp())
    case .scalar(.bytes), .encryptedBytes: self = .bytes(try reader.readBytes())
    case .scalar(.reference): self = .reference(try Reference(reading: &reader))
    case .scalar(.asset): self = .asset(try AssetValue(reading: &reader))
    case .scalar(.location): self = .location(try Location(reading: &reader))
    case .list(.string): self = .stringList(try reader.readArray { (r) throws(WireError) in try r.readString() })
    case .list(.int64): self = .int64List(try reader.readArray { (r) throws(WireError) in try r.readInteger() })
    case .list(.double): self = .doubleList(try reader.readArray { (r) throws(WireError) in try r.readFloat() })
    case .list(.timestamp):
      self = .timestampList(try reader.readArray { (r) throws(WireError) in try r.readTimestamp() })
    case .list(.bytes): self = .bytesList(try reader.readArray { (r) throws(WireError) in try r.readBytes() })
    case .list(.reference):
      self = .referenceList(try reader.readArray { (r) throws(WireError) in try Reference(reading: &r) })
    case .list(.asset):
      self = .assetList(try reader.readArray { (r) throws(WireError) in try AssetValue(reading: &r) })
    case .list(.location):
      self = .locationList(try reader.readArray { (r) throws(WireError) in try Location(reading: &r) })
    case .boolean: self = .int64(try reader.readInteger())
    case .anyList: self = try Self.readUntaggedList(&reader)
    case .unknownList:
      try reader.beginArray()
      guard try !reader.nextElement() else { throw reader.mismatch("no element in a list of unknown type") }
      self = .emptyList
    }
  }

  /// Reads a value whose type nobody stated, from its form.
  init(readingUntagged reader: inout JSONReader) throws(WireError) {
    switch reader.nextKind() {
    case .string: self = .string(try reader.readString())
    case .bool: self = .int64(try reader.readInteger())
    case .number:
      let mark = reader.mark
      do {
        self = .int64(try reader.readInt64())
      } catch  where error.kind == .mismatch {
        reader.rewind(to: mark)
        self = .double(try reader.readDouble())
      }
    case .object: self = try Self.readUntaggedObject(&reader)
    case .array: self = try Self.readUntaggedList(&reader)
    case .null, .nothing: throw reader.mismatch("a value")
    }
  }

  private static func readUntaggedObject(_ reader: inout JSONReader) throws(WireError) -> FieldValue {
    let start = reader.mark
    var tag: FieldTag?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch key {
      case "latitude": tag = .scalar(.location)
      case "recordName": tag = .scalar(.reference)
      case "fileChecksum", "receipt": tag = .scalar(.asset)
      default: break
      }
      try reader.skipValue()
    }
    guard let tag else { throw reader.mismatch("a location, a reference or an asset") }
    reader.rewind(to: start)
    return try FieldValue(reading: &reader, tag: tag)
  }

  private static func readUntaggedList(_ reader: inout JSONReader) throws(WireError) -> FieldValue {
    let start = reader.mark
    try reader.beginArray()
    guard try reader.nextElement() else { return .emptyList }
    let first = try FieldValue(readingUntagged: &reader)
    reader.rewind(to: start)
    switch first {
    case .string: return try FieldValue(reading: &reader, tag: .list(.string))
    case .double: return try FieldValue(reading: &reader, tag: .list(.double))
    case .reference: return try FieldValue(reading: &reader, tag: .list(.reference))
    case .asset: return try FieldValue(reading: &reader, tag: .list(.asset))
    case .location: return try FieldValue(reading: &reader, tag: .list(.location))
    case .int64:
      do {
        return try FieldValue(reading: &reader, tag: .list(.int64))
      } catch  where error.kind == .mismatch {
        // A later element may have a fraction: then all are doubles.
        reader.rewind(to: start)
        return try FieldValue(reading: &reader, tag: .list(.double))
      }
    default: throw reader.mismatch("a list of values of one type")
    }
  }
}

extension JSONReader {
  /// An INT64: digits, the same digits as text, or a boolean.
  fileprivate mutating func readInteger() throws(WireError) -> Int64 {
    switch nextKind() {
    case .bool: return try readBool() ? 1 : 0
    case .string:
      let text = try readString()
      guard let number = Int64(decimal: text) else { throw mismatch("an integer of 64 bits") }
      return number
    default: return try readInt64()
    }
  }

  /// A DOUBLE: a number, or the same as text.
  fileprivate mutating func readFloat() throws(WireError) -> Double {
    guard nextKind() == .string else { return try readDouble() }
    guard let number = Double(decimal: try readString()) else { throw mismatch("a number") }
    return number
  }

  /// Whole milliseconds; a fraction is refused rather than rounded.
  fileprivate mutating func readTimestamp() throws(WireError) -> Timestamp {
    Timestamp(milliseconds: try readInt64())
  }

  fileprivate mutating func readBytes() throws(WireError) -> [UInt8] {
    guard let bytes = Base64.decode(try readString()) else { throw mismatch("Base64") }
    return bytes
  }
}

extension Int64 {
  /// Reads a number as JSON would write it.
  init?(decimal text: String) {
    // No space may lead, though one may in a JSON text.
    guard let first = text.utf8.first, first > 0x20 else { return nil }
    var reader = JSONReader(Array(text.utf8))
    guard let number = try? reader.readInt64(), reader.offset == reader.bytes.count else { return nil }
    self = number
  }
}

extension Double {
  /// Reads a number as JSON would write it.
  init?(decimal text: String) {
    guard let first = text.utf8.first, first > 0x20 else { return nil }
    var reader = JSONReader(Array(text.utf8))
    guard let number = try? reader.readDouble(), reader.offset == reader.bytes.count else { return nil }
    self = number
  }
}

extension Reference {
  init(reading reader: inout JSONReader) throws(WireError) {
    var name: RecordName?
    var action = Action.none
    var zone: ZoneID?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordName": name = RecordName(try reader.readString())
      case "action":
        guard let known = Action(rawValue: try reader.readString()) else {
          throw reader.mismatch("NONE, DELETE_SELF or VALIDATE")
        }
        action = known
      case "zoneID": zone = try ZoneSelector(reading: &reader).id
      default: try reader.skipValue()
      }
    }
    guard let name else { throw reader.mismatch("the key recordName in a reference") }
    self.init(recordName: name, action: action, zone: zone)
  }
}

extension Location {
  init(reading reader: inout JSONReader) throws(WireError) {
    var latitude: Double?
    var longitude: Double?
    self.init(latitude: 0, longitude: 0)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "latitude": latitude = try reader.readDouble()
      case "longitude": longitude = try reader.readDouble()
      case "horizontalAccuracy": horizontalAccuracy = try reader.readDouble()
      case "verticalAccuracy": verticalAccuracy = try reader.readDouble()
      case "altitude": altitude = try reader.readDouble()
      case "speed": speed = try reader.readDouble()
      case "course": course = try reader.readDouble()
      case "timestamp": timestamp = try reader.readTimestamp()
      default: try reader.skipValue()
      }
    }
    guard let latitude, let longitude else { throw reader.mismatch("latitude and longitude in a location") }
    self.latitude = latitude
    self.longitude = longitude
  }
}

extension AssetValue {
  init(reading reader: inout JSONReader) throws(WireError) {
    var checksum: String?
    var size: Int64?
    self.init(fileChecksum: "", size: 0)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "fileChecksum": checksum = try reader.readString()
      case "size": size = try reader.readInteger()
      case "receipt": receipt = try reader.readString()
      case "referenceChecksum": referenceChecksum = try reader.readString()
      case "wrappingKey": wrappingKey = try reader.readString()
      case "downloadURL": downloadURL = try reader.readString()
      default: try reader.skipValue()
      }
    }
    guard let checksum, let size else { throw reader.mismatch("fileChecksum and size in an asset") }
    fileChecksum = checksum
    self.size = size
  }
}

// MARK: Writing

extension FieldValue {
  /// Writes the value without its tag.
  func write(into writer: inout JSONWriter) {
    switch self {
    case .string(let text): writer.string(text)
    case .int64(let number): writer.int(number)
    case .double(let number): writer.double(number)
    case .timestamp(let time): writer.int(time.milliseconds)
    case .bytes(let bytes): writer.base64(bytes)
    case .reference(let reference): reference.write(into: &writer)
    case .asset(let asset): asset.write(into: &writer)
    case .location(let location): location.write(into: &writer)
    case .stringList(let list): writer.array(list) { $0.string($1) }
    case .int64List(let list): writer.array(list) { $0.int($1) }
    case .doubleList(let list): writer.array(list) { $0.double($1) }
    case .timestampList(let list): writer.array(list) { $0.int($1.milliseconds) }
    case .bytesList(let list): writer.array(list) { $0.base64($1) }
    case .referenceList(let list): writer.array(list) { $1.write(into: &$0) }
    case .assetList(let list): writer.array(list) { $1.write(into: &$0) }
    case .locationList(let list): writer.array(list) { $1.write(into: &$0) }
    case .emptyList: writer.raw("[]".utf8)
    case .unknown(_, let json): writer.raw(json)
    }
  }
}

extension Reference {
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("recordName", recordName.rawValue)
    writer.member("action", action.rawValue)
    if let zone {
      writer.key("zoneID")
      zone.write(into: &writer)
    }
    writer.endObject()
  }

  /// Writes what `parent` and `share` hold, which have no action.
  func writeWithoutAction(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("recordName", recordName.rawValue)
    if let zone {
      writer.key("zoneID")
      zone.write(into: &writer)
    }
    writer.endObject()
  }
}

extension Location {
  func write(into writer: inout JSONWriter) {
    func member(_ name: StaticString, _ number: Double?) {
      guard let number else { return }
      writer.key(name)
      writer.double(number)
    }
    writer.beginObject()
    member("latitude", latitude)
    member("longitude", longitude)
    member("horizontalAccuracy", horizontalAccuracy)
    member("verticalAccuracy", verticalAccuracy)
    member("altitude", altitude)
    member("speed", speed)
    member("course", course)
    if let timestamp { writer.member("timestamp", timestamp.milliseconds) }
    writer.endObject()
  }
}

extension AssetValue {
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("fileChecksum", fileChecksum)
    writer.member("size", size)
    writer.member("referenceChecksum", ifPresent: referenceChecksum)
    writer.member("wrappingKey", ifPresent: wrappingKey)
    writer.member("receipt", ifPresent: receipt)
    writer.member("downloadURL", ifPresent: downloadURL)
    writer.endObject()
  }

  /// The asset as a record keeps it: what proves an upload and where to fetch the bytes do not last.
  package var stored: AssetValue {
    var copy = self
    copy.receipt = nil
    copy.downloadURL = nil
    return copy
  }
}

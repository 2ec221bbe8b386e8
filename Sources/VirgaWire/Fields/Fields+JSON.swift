public import VirgaModel

extension Field {
  /// Reads a field dictionary `{"value":…,"type":…,"isEncrypted":…}`; the field is `nil` if it holds no value.
  static func read(
    _ reader: inout JSONReader, unknownTags: UnknownTags
  ) throws(WireError) -> (field: Field?, isTagged: Bool) {
    if try reader.readNull() { return (nil, false) }
    var parts = FieldParts()
    var seen = SeenKeys()
    try reader.beginObject()
    while try reader.passKey() {
      let key = reader.fieldKey
      // A client reads what a service sends; of two meanings in a request neither is taken.
      if !seen.insert(key, reader.key), unknownTags == .refused {
        throw reader.mismatch("each key of the field once, not \(reader.key) twice")
      }
      switch key {
      case .value: try parts.readValue(&reader)
      case .type: parts.tag = try reader.readOptional { (r) throws(WireError) in try r.readString() }
      case .isEncrypted:
        parts.isEncrypted = try reader.readOptional { (r) throws(WireError) in try r.readBool() } ?? false
      case .other: try reader.skipValue()
      }
    }
    return (try parts.field(&reader, unknownTags: unknownTags), parts.tag != nil)
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("value")
    value.write(into: &writer)
    writer.member("type", wireTag)
    if isEncrypted { writer.member("isEncrypted", true) }
    writer.endObject()
  }

  /// The field's value as it travels, without looking into it: with its type, as a value of a type that nobody knows.
  package var uninterpreted: FieldValue {
    if case .unknown = value { return value }
    var writer = JSONWriter()
    value.write(into: &writer)
    return .unknown(tag: wireTag, json: writer.bytes)
  }

  private var wireTag: String {
    switch value {
    case .emptyList: "UNKNOWN_LIST"
    case .unknown(let tag, _): tag
    default: type?.wireTag ?? ""
    }
  }
}

/// A key of a field dictionary.
private enum FieldKey: UInt8 {
  case value = 1
  case type = 2
  case isEncrypted = 4
  case other = 0
}

extension JSONReader {
  /// The key of a field dictionary that was passed last.
  fileprivate var fieldKey: FieldKey {
    keyIs("value") ? .value : keyIs("type") ? .type : keyIs("isEncrypted") ? .isEncrypted : .other
  }
}

/// The keys of one field dictionary so far.
private struct SeenKeys {
  private var known: UInt8 = 0
  private var others: Set<String> = []

  /// Notes a key; answers whether it is new.
  /// - Parameter text: The key's text, where it is another than those that are known.
  mutating func insert(_ key: FieldKey, _ text: @autoclosure () -> String) -> Bool {
    if key == .other { return others.insert(text()).inserted }
    defer { known |= key.rawValue }
    return known & key.rawValue == 0
  }
}

/// The parts of a field dictionary, whatever order they come in.
private struct FieldParts {
  /// A value that is text; any other is where `value` points.
  var text: String?
  var value: JSONReader.Mark?
  var tag: String?
  var isEncrypted = false

  /// Reads the value if it is text. The type of any other may follow it, so that is read on a second visit.
  mutating func readValue(_ reader: inout JSONReader) throws(WireError) {
    (value, text) = (nil, nil)
    switch reader.nextKind() {
    case .null: try reader.skipValue()
    case .string: text = try reader.readString()
    default:
      value = reader.mark
      try reader.skipValue()
    }
  }

  func field(_ reader: inout JSONReader, unknownTags: UnknownTags) throws(WireError) -> Field? {
    guard text != nil || value != nil else { return nil }
    guard let tag else {
      if isEncrypted, unknownTags == .refused {
        throw reader.mismatch("a type next to isEncrypted, such as STRING or ENCRYPTED_BYTES")
      }
      return Field(try untagged(&reader), isEncrypted: isEncrypted)
    }
    guard let known = FieldTag(tag) else {
      guard unknownTags == .carried else { throw reader.mismatch("a known type, not \(tag)") }
      return Field(.unknown(tag: tag, json: try json(&reader)), isEncrypted: isEncrypted)
    }
    do {
      return Field(try tagged(known, &reader), isEncrypted: isEncrypted || known == .encryptedBytes)
    } catch  where error.kind == .mismatch {
      try checkElements(&reader)
      throw WireError(.mismatch, offset: error.offset, expected: "type \(tag)")
    }
  }

  private func tagged(_ tag: FieldTag, _ reader: inout JSONReader) throws(WireError) -> FieldValue {
    guard let text else { return try visit(&reader) { (r) throws(WireError) in try FieldValue(reading: &r, tag: tag) } }
    switch tag {
    case .scalar(.string): return .string(text)
    case .scalar(.bytes), .encryptedBytes:
      if let bytes = Base64.decode(text) { return .bytes(bytes) }
    case .scalar(.int64), .boolean:
      if let number = Int64(decimal: text) { return .int64(number) }
    case .scalar(.double):
      if let number = Double(decimal: text) { return .double(number) }
    default: break
    }
    throw reader.mismatch("another form")
  }

  private func untagged(_ reader: inout JSONReader) throws(WireError) -> FieldValue {
    if let text { return .string(text) }
    do {
      return try visit(&reader) { (r) throws(WireError) in try FieldValue(readingUntagged: &r) }
    } catch  where error.kind == .mismatch {
      try checkElements(&reader)
      throw error
    }
  }

  /// Says what is wrong with a list that cannot be read, if its elements are field dictionaries.
  private func checkElements(_ reader: inout JSONReader) throws(WireError) {
    guard let value else { return }
    reader.rewind(to: value)
    guard reader.nextKind() == .array else { return }
    try reader.beginArray()
    while try reader.nextElement() {
      guard reader.nextKind() == .object else {
        try reader.skipValue()
        continue
      }
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if key == "value" {
          throw reader.mismatch(
            #"bare values as elements of the list, not {"value": …}: give the type once for the whole list"#)
        }
        try reader.skipValue()
      }
    }
  }

  private func json(_ reader: inout JSONReader) throws(WireError) -> [UInt8] {
    if let text {
      var writer = JSONWriter()
      writer.string(text)
      return writer.bytes
    }
    return try visit(&reader) { (r) throws(WireError) in try r.readRaw() }
  }

  /// Goes back to the value, reads it, and returns to the end of the dictionary.
  private func visit<Value>(
    _ reader: inout JSONReader, _ read: (inout JSONReader) throws(WireError) -> Value
  ) throws(WireError) -> Value {
    let end = reader.mark
    if let value { reader.rewind(to: value) }
    let result = try read(&reader)
    reader.rewind(to: end)
    return result
  }
}

extension Fields {
  /// Reads a record's `fields`, as they are stored or as a server sends them. Types that this version does not know
  /// are carried; null fields are left out.
  public init(json: [UInt8]) throws(WireError) {
    var reader = JSONReader(json)
    try self.init(reading: &reader)
    try reader.finish()
  }

  /// Reads some of the fields; the others are passed over.
  package init(json: [UInt8], only names: Set<FieldName>) throws(WireError) {
    self.init()
    guard !names.isEmpty else { return }
    var reader = JSONReader(json)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = FieldName(key)
      if names.contains(name) {
        self[name] = try Field.read(&reader, unknownTags: .carried).field
      } else {
        try reader.skipValue()
      }
    }
  }

  init(reading reader: inout JSONReader) throws(WireError) {
    self.init()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = FieldName(key)
      guard self[name] == nil else { throw reader.mismatch("each field once, not \(key) twice") }
      self[name] = try Field.read(&reader, unknownTags: .carried).field
    }
  }

  /// The fields as a record's `fields` object.
  /// - Precondition: All doubles are finite.
  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 64 * count)
    write(into: &writer)
    return writer.bytes
  }

  /// The fields as a store keeps them: see `FieldPatch`.
  /// - Precondition: All doubles are finite.
  public var storedJSON: [UInt8] {
    var writer = JSONWriter(capacity: reduce(16) { $0 + $1.field.storedCapacity })
    writer.beginObject()
    for element in self { element.field.writeStored(element.name, into: &writer) }
    writer.endObject()
    return writer.bytes
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    for element in self {
      writer.key(element.name.rawValue)
      element.field.write(into: &writer)
    }
    writer.endObject()
  }
}

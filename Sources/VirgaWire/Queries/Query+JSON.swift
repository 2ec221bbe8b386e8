public import VirgaModel

extension RecordsQueryRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    var query: Query?
    self.init(Query(""))
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "query": query = try Query(reading: &reader)
      case "zoneID": zone = try ZoneSelector(reading: &reader)
      case "zoneWide": isZoneWide = try reader.readBool()
      case "resultsLimit": resultsLimit = try reader.readInt()
      case "continuationMarker": continuationMarker = try reader.readString()
      case "desiredKeys": desiredKeys = try reader.readNames()
      case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.readBool()
      default: try reader.skipValue()
      }
    }
    guard let query else { throw reader.mismatch("the key query") }
    self.query = query
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("query")
    query.write(into: &writer)
    if let zone {
      writer.key("zoneID")
      zone.write(into: &writer)
    }
    if isZoneWide { writer.member("zoneWide", true) }
    if let resultsLimit { writer.member("resultsLimit", Int64(resultsLimit)) }
    writer.member("continuationMarker", ifPresent: continuationMarker)
    writer.member("desiredKeys", names: desiredKeys)
    if numbersAsStrings { writer.member("numbersAsStrings", true) }
    writer.endObject()
  }
}

extension Query {
  /// Reads a `query` dictionary, as a subscription keeps it.
  /// - Throws: `WireError` for another shape and for a comparator that the service does not know.
  public init(json: [UInt8]) throws(WireError) {
    var reader = JSONReader(json)
    try self.init(reading: &reader)
    try reader.finish()
  }

  /// The `query` dictionary.
  /// - Precondition: All doubles are finite.
  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 256)
    write(into: &writer)
    return writer.bytes
  }

  init(reading reader: inout JSONReader) throws(WireError) {
    var type: RecordType?
    self.init("")
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordType": type = RecordType(try reader.readString())
      case "filterBy": filters = try reader.readOneOrMore { (r) throws(WireError) in try QueryFilter(reading: &r) }
      case "sortBy": sorts = try reader.readOneOrMore { (r) throws(WireError) in try QuerySort(reading: &r) }
      default: try reader.skipValue()
      }
    }
    guard let type else { throw reader.mismatch("the key recordType in a query") }
    recordType = type
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("recordType", recordType.rawValue)
    if !filters.isEmpty {
      writer.key("filterBy")
      writer.array(filters) { $1.write(into: &$0) }
    }
    if !sorts.isEmpty {
      writer.key("sortBy")
      writer.array(sorts) { $1.write(into: &$0) }
    }
    writer.endObject()
  }
}

extension QueryFilter {
  init(reading reader: inout JSONReader) throws(WireError) {
    var comparator: QueryComparator?
    var name = QueryFieldName()
    // The value's forms depend on the field, which may be named after it.
    var value: JSONReader.Mark?
    var distance: Double?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "comparator":
        let text = try reader.readString()
        comparator = QueryComparator(wireName: text)
        guard comparator != nil else {
          throw reader.mismatch("a known comparator, not \(text); filters can be joined only by AND")
        }
      case "fieldName", "systemFieldName": try name.read(key, &reader)
      case "fieldValue":
        value = reader.mark
        try reader.skipValue()
      case "distance": distance = try reader.readDouble()
      default: try reader.skipValue()
      }
    }
    guard let comparator else { throw reader.mismatch("the key comparator in a filter") }
    guard let value else { throw reader.mismatch("the key fieldValue in a filter") }
    let field = try name.field(&reader, comparator)
    let end = reader.mark
    reader.rewind(to: value)
    let (found, isTagged) = try Self.readValue(&reader, reference: name.referenceAlias)
    reader.rewind(to: end)
    self.init(field, comparator, found, distance: distance, isTagged: isTagged)
  }

  /// - Parameter alias: The friendly name of a system field that is a reference. Some clients write it as the key of the
  ///   record's name.
  private static func readValue(
    _ reader: inout JSONReader, reference alias: String?
  ) throws(WireError) -> (FieldValue, isTagged: Bool) {
    let start = reader.mark
    do throws(WireError) {
      let (field, isTagged) = try Field.read(&reader, unknownTags: .refused)
      guard let field else { throw reader.mismatch("a value to compare with") }
      return (field.value, isTagged)
    } catch  where error.kind == .mismatch && alias != nil {
      reader.rewind(to: start)
      guard let alias, let name = try reader.readName(inValueUnder: alias) else { throw error }
      return (.reference(Reference(recordName: RecordName(name))), true)
    }
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("comparator", comparator.rawValue)
    field.write(into: &writer)
    writer.key("fieldValue")
    if isTagged {
      Field(value).write(into: &writer)
    } else {
      writer.beginObject()
      writer.key("value")
      value.write(into: &writer)
      writer.endObject()
    }
    if let distance {
      writer.key("distance")
      writer.double(distance)
    }
    writer.endObject()
  }
}

extension QuerySort {
  init(reading reader: inout JSONReader) throws(WireError) {
    var name = QueryFieldName()
    var ascending = true
    var origin: Location?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "fieldName", "systemFieldName": try name.read(key, &reader)
      case "ascending": ascending = try reader.readBool()
      case "relativeLocation": origin = try Self.readOrigin(&reader)
      default: try reader.skipValue()
      }
    }
    self.init(try name.field(&reader, nil), ascending: ascending, origin: origin)
  }

  /// A field value, or the location itself.
  private static func readOrigin(_ reader: inout JSONReader) throws(WireError) -> Location {
    let start = reader.mark
    let field = try Field.read(&reader, unknownTags: .refused).field
    guard let field else {
      reader.rewind(to: start)
      return try Location(reading: &reader)
    }
    guard case .location(let place) = field.value else { throw reader.mismatch("a location in relativeLocation") }
    return place
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    field.write(into: &writer)
    writer.member("ascending", isAscending)
    if let origin {
      writer.key("relativeLocation")
      Field(.location(origin)).write(into: &writer)
    }
    writer.endObject()
  }
}

/// The field that a filter or a sort names, by either key.
private struct QueryFieldName {
  private var field: QueryField?
  /// The friendly name, if the field may be a system field that is a reference.
  private(set) var referenceAlias: String?

  mutating func read(_ key: String, _ reader: inout JSONReader) throws(WireError) {
    let name = try reader.readString()
    guard field == nil else { throw reader.mismatch("one field in a filter or a sort") }
    let friendly = SystemField(friendlyName: name)
    if key == "systemFieldName" {
      guard let system = friendly ?? SystemField(storedName: name) else {
        throw reader.mismatch("a known systemFieldName, not \(name)")
      }
      field = .system(system)
    } else {
      field = QueryField(name)
    }
    if case .system(let system) = field, system.type.scalar == .reference { referenceAlias = system.friendlyName }
    if let friendly, friendly.type.scalar == .reference { referenceAlias = name }
  }

  func field(_ reader: inout JSONReader, _ comparator: QueryComparator?) throws(WireError) -> QueryField {
    if let field { return field }
    if comparator?.operand == .words { return .anySearchable }
    throw reader.mismatch("the key fieldName or systemFieldName")
  }
}

extension QueryField {
  fileprivate func write(into writer: inout JSONWriter) {
    switch self {
    case .field(let name): writer.member("fieldName", name.rawValue)
    case .system(let field):
      if let name = field.friendlyName {
        writer.member("systemFieldName", name)
      } else {
        writer.member("fieldName", field.rawValue)
      }
    case .anySearchable: break
    }
  }
}

extension JSONReader {
  /// Reads an array, or one element that stands without it.
  fileprivate mutating func readOneOrMore<Element>(
    _ element: (inout JSONReader) throws(WireError) -> Element
  ) throws(WireError) -> [Element] {
    nextKind() == .array ? try readArray(element) : [try element(&self)]
  }

  /// The text in `{"value":{"key":"…"}}`; `nil` if it is not there.
  fileprivate mutating func readName(inValueUnder key: String) throws(WireError) -> String? {
    var name: String?
    try beginObject()
    while let member = try nextKey() {
      guard member == "value", nextKind() == .object else {
        try skipValue()
        continue
      }
      try beginObject()
      while let inner = try nextKey() {
        if inner == key, nextKind() == .string { name = try readString() } else { try skipValue() }
      }
    }
    return name
  }
}

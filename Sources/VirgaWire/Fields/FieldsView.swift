package import VirgaModel

/// How stored fields are to look in one answer. A store's JSON passes through it without becoming values.
package struct FieldsView {
  /// The fields to show; `nil` shows all.
  package var desiredKeys: Set<FieldName>?
  /// Whether INT64 and DOUBLE values, and those in lists, are written as text.
  package var numbersAsStrings: Bool
  /// Makes the URL of an asset from its checksum and size; `nil` leaves assets as they are.
  package var downloadURL: ((_ checksum: String, _ size: Int64) -> String)?

  package init(
    desiredKeys: [FieldName]? = nil, numbersAsStrings: Bool = false,
    downloadURL: ((_ checksum: String, _ size: Int64) -> String)? = nil
  ) {
    self.desiredKeys = desiredKeys.map(Set.init)
    self.numbersAsStrings = numbersAsStrings
    self.downloadURL = downloadURL
  }

  /// Whether `apply` would change nothing in fields without assets.
  package var isPlain: Bool { desiredKeys == nil && !numbersAsStrings }

  /// Rewrites a record's `fields` as the store keeps them.
  /// - Throws: `WireError` when the bytes are not such fields.
  package func apply(to json: [UInt8]) throws(WireError) -> [UInt8] {
    var reader = JSONReader(json)
    var writer = JSONWriter(capacity: json.count + 64)
    writer.beginObject()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if let desiredKeys, !desiredKeys.contains(FieldName(key)) {
        try reader.skipValue()
        continue
      }
      writer.key(key)
      try copyField(from: &reader, into: &writer)
    }
    writer.endObject()
    return writer.bytes
  }

  private func copyField(from reader: inout JSONReader, into writer: inout JSONWriter) throws(WireError) {
    let start = reader.mark
    let raw = try reader.readRaw()
    let end = reader.mark
    guard let tag = try Self.tag(ofFieldAt: start, in: reader), concerns(tag) else { return writer.raw(raw) }
    reader.rewind(to: start)
    if var field = try Field.read(&reader, unknownTags: .carried).field {
      field.value = shown(field.value)
      writeField(field, into: &writer)
    }
    reader.rewind(to: end)
  }

  private static func tag(ofFieldAt start: JSONReader.Mark, in reader: JSONReader) throws(WireError) -> FieldTag? {
    var reader = reader
    reader.rewind(to: start)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if key == "type" { return FieldTag(try reader.readString()) }
      try reader.skipValue()
    }
    return nil
  }

  private func concerns(_ tag: FieldTag) -> Bool {
    switch tag {
    case .scalar(.asset), .list(.asset): downloadURL != nil
    case .scalar(.int64), .scalar(.double), .list(.int64), .list(.double): numbersAsStrings
    default: false
    }
  }

  private func shown(_ value: FieldValue) -> FieldValue {
    switch value {
    case .asset(let asset): .asset(shown(asset))
    case .assetList(let assets): .assetList(assets.map(shown))
    default: value
    }
  }

  private func shown(_ asset: AssetValue) -> AssetValue {
    var copy = asset
    copy.downloadURL = downloadURL?(asset.fileChecksum, asset.size)
    return copy
  }

  private func writeField(_ field: Field, into writer: inout JSONWriter) {
    guard numbersAsStrings, let type = field.type, type.scalar == .int64 || type.scalar == .double else {
      return field.write(into: &writer)
    }
    writer.beginObject()
    writer.key("value")
    switch field.value {
    case .int64(let number): writer.string(String(number))
    case .double(let number): writer.string(number.description)
    case .int64List(let list): writer.array(list) { $0.string(String($1)) }
    case .doubleList(let list): writer.array(list) { $0.string($1.description) }
    default: field.value.write(into: &writer)
    }
    writer.member("type", type.wireTag)
    if field.isEncrypted { writer.member("isEncrypted", true) }
    writer.endObject()
  }
}

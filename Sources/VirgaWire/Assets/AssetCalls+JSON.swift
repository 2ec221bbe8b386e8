import VirgaModel

extension JSONReader {
  /// Reads an object of which a zone, the default one if it is left out, and a list count; the list must be there.
  fileprivate mutating func readList<Element>(
    in name: String, _ element: (inout JSONReader) throws(WireError) -> Element
  ) throws(WireError) -> (zone: ZoneSelector, elements: [Element]) {
    var zone = ZoneSelector()
    var elements: [Element]?
    try beginObject()
    while let key = try nextKey() {
      if try readNull() { continue }
      switch key {
      case "zoneID": zone = try ZoneSelector(reading: &self)
      case name: elements = try readArray(element)
      default: try skipValue()
      }
    }
    guard let elements else { throw mismatch("the key \(name)") }
    return (zone, elements)
  }
}

extension AssetsUploadRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    let (zone, items) = try reader.readList(in: "tokens") { (r) throws(WireError) in try Item(reading: &r) }
    self.init(zone: zone, items: items)
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("zoneID")
    zone.write(into: &writer)
    writer.key("tokens")
    writer.array(items) { writer, item in
      writer.beginObject()
      writer.member("recordName", ifPresent: item.recordName?.rawValue)
      writer.member("recordType", item.recordType.rawValue)
      writer.member("fieldName", item.fieldName.rawValue)
      writer.endObject()
    }
    writer.endObject()
  }
}

extension AssetsUploadRequest.Item {
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    var name: RecordName?
    var type: RecordType?
    var field: FieldName?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordName": name = RecordName(try reader.readString())
      case "recordType": type = RecordType(try reader.readString())
      case "fieldName": field = FieldName(try reader.readString())
      default: try reader.skipValue()
      }
    }
    guard let type else { throw reader.mismatch("the key recordType") }
    guard let field else { throw reader.mismatch("the key fieldName") }
    self.init(recordName: name, recordType: type, fieldName: field)
  }
}

extension AssetsRereferenceRequest {
  init(reading reader: inout JSONReader) throws(WireError) {
    let (zone, items) = try reader.readList(in: "assets") { (r) throws(WireError) in try Item(reading: &r) }
    self.init(zone: zone, items: items)
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("zoneID")
    zone.write(into: &writer)
    writer.key("assets")
    writer.array(items) { writer, item in
      writer.beginObject()
      writer.member("recordName", item.recordName.rawValue)
      writer.member("fieldName", item.fieldName.rawValue)
      writer.endObject()
    }
    writer.endObject()
  }
}

extension AssetsRereferenceRequest.Item {
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    var name: RecordName?
    var field: FieldName?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordName": name = RecordName(try reader.readString())
      case "fieldName": field = FieldName(try reader.readString())
      default: try reader.skipValue()
      }
    }
    guard let name else { throw reader.mismatch("the key recordName") }
    guard let field else { throw reader.mismatch("the key fieldName") }
    self.init(recordName: name, fieldName: field)
  }
}

extension AssetUploadToken {
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("recordName", recordName.rawValue)
    writer.member("fieldName", fieldName.rawValue)
    writer.member("url", url)
    writer.endObject()
  }

  init(reading reader: inout JSONReader) throws(WireError) {
    self.init(recordName: "", fieldName: "", url: "")
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordName": recordName = RecordName(try reader.readString())
      case "fieldName": fieldName = FieldName(try reader.readString())
      case "url": url = try reader.readString()
      default: try reader.skipValue()
      }
    }
    guard !url.isEmpty else { throw reader.mismatch("the key url") }
  }
}

extension AssetReceipt {
  /// The answer to an upload: `{"singleFile":{…}}`.
  public func encoded() -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("singleFile")
    writer.beginObject()
    writer.member("wrappingKey", wrappingKey)
    writer.member("fileChecksum", fileChecksum)
    writer.member("receipt", receipt)
    writer.member("referenceChecksum", referenceChecksum)
    writer.member("size", size)
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }

  public init(decoding bytes: [UInt8]) throws(WireError) {
    var reader = JSONReader(bytes)
    var asset: AssetValue?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if key == "singleFile" { asset = try AssetValue(reading: &reader) } else { try reader.skipValue() }
    }
    try reader.finish()
    guard let asset, let receipt = asset.receipt else { throw reader.mismatch("singleFile with a receipt") }
    self.init(
      fileChecksum: asset.fileChecksum, size: asset.size, receipt: receipt, wrappingKey: asset.wrappingKey ?? "",
      referenceChecksum: asset.referenceChecksum ?? "")
  }
}

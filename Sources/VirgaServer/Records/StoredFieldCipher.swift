import VirgaModel
import VirgaWire

/// Seals a record's encrypted fields on their way into the store and opens them on their way out.
///
/// Sealed fields are stored as a byte 1 and then the fields' JSON, in which each encrypted value is the Base64 of its
/// sealed JSON. Fields without encrypted values are stored as they travel, and so is each value that a device has
/// encrypted: the server's key would add nothing, and its loss would take something away.
struct StoredFieldCipher {
  static let mark: UInt8 = 1

  private let cipher: (any FieldCipher)?
  private let database: DatabaseKey
  private let zone: ZoneName

  init(_ database: DatabaseKey, _ zone: ZoneName, context: CallContext) {
    cipher = context.cipher
    self.database = database
    self.zone = zone
  }

  /// What the values of a record belong to.
  private func place(of record: RecordName) -> String {
    "\(database.container)\n\(database.environment)\n\(database.owner ?? "")\n\(zone)\n\(record)"
  }

  /// Whether stored fields have encrypted values: the JSON begins behind a mark then.
  static func isSealed(_ stored: [UInt8]) -> Bool { stored.first == mark }

  func seal(_ json: [UInt8], of record: RecordName) throws -> [UInt8] {
    guard let cipher else { return json }
    var sealsSome = false
    let sealed = try rewrite(json, of: record) { value, type, place in
      if Self.isSealedByDevice(value, type) { return value }
      sealsSome = true
      var writer = JSONWriter()
      writer.base64(cipher.seal(value, for: place))
      return writer.bytes
    }
    return sealsSome ? [Self.mark] + sealed : json
  }

  /// - Throws: `StoreError.damaged` when the values cannot be opened.
  func open(_ stored: [UInt8], of record: RecordName) throws -> [UInt8] {
    guard Self.isSealed(stored) else { return stored }
    let damage = StoreError.damaged("the encrypted fields of record '\(record)' do not open with this server's key")
    guard let cipher else { throw damage }
    return try rewrite(Array(stored.dropFirst()), of: record) { value, type, place in
      var reader = JSONReader(value)
      guard let sealed = [UInt8](base64: try reader.readString()) else { throw damage }
      if let plain = cipher.open(sealed, for: place) { return plain }
      // Asked second: what the server sealed may by chance begin like what a device did.
      if Self.isSealedByDevice(value, type) { return value }
      throw damage
    }
  }

  /// Whether the JSON of a value is one that a device encrypted.
  private static func isSealedByDevice(_ value: [UInt8], _ type: String) -> Bool {
    type == "ENCRYPTED_BYTES" && value.dropFirst().starts(with: SealedValueHead.base64Prefix.utf8)
  }

  /// Replaces the JSON of each encrypted value; the rest stays as it is.
  private func rewrite(
    _ json: [UInt8], of record: RecordName,
    _ replace: (_ value: [UInt8], _ type: String, _ place: [UInt8]) throws -> [UInt8]
  ) throws -> [UInt8] {
    let recordPlace = place(of: record)
    var reader = JSONReader(json)
    var writer = JSONWriter(capacity: json.count + 128)
    writer.beginObject()
    try reader.beginObject()
    while let name = try reader.nextKey() {
      writer.key(name)
      let raw = try reader.readRaw()
      guard let (value, type) = try Self.encryptedParts(of: raw) else {
        writer.raw(raw)
        continue
      }
      let place = Array("\(recordPlace)\n\(name)".utf8)
      writer.beginObject()
      writer.key("value")
      writer.raw(try replace(value, type, place))
      writer.member("type", type)
      writer.member("isEncrypted", true)
      writer.endObject()
    }
    writer.endObject()
    return writer.bytes
  }

  /// Value and type of an encrypted field; `nil` for any other.
  static func encryptedParts(of field: [UInt8]) throws -> (value: [UInt8], type: String)? {
    var reader = JSONReader(field)
    var value: [UInt8] = []
    var type = ""
    var isEncrypted = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch key {
      case "value": value = try reader.readRaw()
      case "type": type = try reader.readString()
      case "isEncrypted": isEncrypted = try reader.readBool()
      default: try reader.skipValue()
      }
    }
    return isEncrypted ? (value, type) : nil
  }
}

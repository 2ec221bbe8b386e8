import VirgaAuth
package import VirgaModel
import VirgaWire

/// A zone as keys and values are bound to it: the same for its owner and for those it is shared with. Whose zone it is
/// follows from the keys, which differ from owner to owner.
package struct ZonePlace: Hashable, Sendable {
  package var container: ContainerID
  package var environment: Environment
  package var zone: ZoneName

  package init(container: ContainerID, environment: Environment, zone: ZoneName) {
    self.container = container
    self.environment = environment
    self.zone = zone
  }

  var parts: [String] { [container.rawValue, environment.rawValue, zone.rawValue] }
}

/// The key that encrypts the values of one zone.
package struct ZoneKey: Hashable, Sendable {
  package let id: KeyID
  package let place: ZonePlace
  fileprivate let key: SecretKey

  fileprivate init(_ key: SecretKey, of place: ZonePlace) {
    self.key = key
    self.place = place
    id = key.id(for: "zone")
  }

  package static func random(for place: ZonePlace) -> ZoneKey { ZoneKey(.random(), of: place) }

  /// Encrypts a value; it opens as this field of this record in this zone, and nowhere else.
  package func seal(
    _ value: FieldValue, exactDates: [Double] = [], of field: FieldName, in record: RecordName
  ) -> [UInt8] {
    let head = SealedValueHead(type: Field(value).type, key: id).bytes
    return head + key.seal(SealedForm.bytes(of: value, exactDates), for: context(head, field, record))
  }

  package func open(_ sealed: [UInt8], of field: FieldName, in record: RecordName) -> FieldValue? {
    openField(sealed, of: field, in: record)?.value
  }

  /// - Parameter sealed: Head and all.
  /// - Returns: `nil` if it was not sealed with this key as this field of this record.
  package func openField(_ sealed: [UInt8], of field: FieldName, in record: RecordName) -> Field? {
    guard sealed.count >= SealedValueHead.byteCount else { return nil }
    let head = Array(sealed[..<SealedValueHead.byteCount])
    return key.open(Array(sealed[SealedValueHead.byteCount...]), for: context(head, field, record))
      .flatMap(SealedForm.field(of:))
  }

  private func context(_ head: [UInt8], _ field: FieldName, _ record: RecordName) -> [UInt8] {
    head + SignedText.text("virga value 1", place.parts + [record.rawValue, field.rawValue])
  }
}

/// The key that wraps the keys of one zone. It follows from the account's key, and is handed to those the zone is shared
/// with, who learn nothing of other zones by it.
package struct ZoneSecret: Hashable, Sendable {
  /// Its name: that of the account's key that it follows from, or one of its own where the zone was shared since.
  package let ownerKey: KeyID
  package let place: ZonePlace
  private let key: SecretKey

  package init(_ key: SecretKey, ownerKey: KeyID, place: ZonePlace) {
    self.key = key
    self.ownerKey = ownerKey
    self.place = place
  }

  package var bytes: [UInt8] { key.bytes }

  package func wrap(_ zoneKey: ZoneKey) -> [UInt8] {
    key.seal(zoneKey.key.bytes, for: SignedText.text("virga zone key 1", place.parts + [zoneKey.id.rawValue]))
  }

  package func unwrap(_ wrapped: [UInt8], id: KeyID) -> ZoneKey? {
    guard
      let bytes = key.open(wrapped, for: SignedText.text("virga zone key 1", place.parts + [id.rawValue])),
      let key = SecretKey(bytes)
    else { return nil }
    let zoneKey = ZoneKey(key, of: place)
    return zoneKey.id == id ? zoneKey : nil
  }

  /// A key between those who have the secret, for a purpose of its own.
  func derived(for purpose: String) -> SecretKey { key.derived(for: purpose) }

  // MARK: In a share's address

  /// What stands behind `#` in a share's address; browsers and clients do not send it to servers.
  package var fragment: String { "k=\(ownerKey).\(Base64.encodeForURL(key.bytes))" }

  package init?(fragment: String, place: ZonePlace) {
    guard fragment.hasPrefix("k=") else { return nil }
    let parts = fragment.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, KeyID(parts[0]).bytes != nil,
      let key = Base64.decodeFromURL(parts[1]).flatMap({ SecretKey($0) })
    else { return nil }
    self.init(key, ownerKey: KeyID(parts[0]), place: place)
  }
}

/// A value as it is inside a sealed one: a byte for its form, then text and bytes as they are, all else as JSON with its
/// type. Dates that are finer than milliseconds stand beside it, where older versions do not look.
private enum SealedForm {
  private static let json: UInt8 = 0
  private static let text: UInt8 = 1
  private static let raw: UInt8 = 2
  private static let fieldName: FieldName = "value"
  private static let datesName: FieldName = "dates"

  static func bytes(of value: FieldValue, _ exactDates: [Double]) -> [UInt8] {
    switch value {
    case .string(let string): return [text] + string.utf8
    case .bytes(let bytes): return [raw] + bytes
    default:
      var fields = Fields()
      fields[fieldName] = Field(value)
      if !exactDates.isEmpty { fields[datesName] = Field(.doubleList(exactDates)) }
      return [json] + fields.json
    }
  }

  static func field(of bytes: [UInt8]) -> Field? {
    let content = Array(bytes.dropFirst())
    switch bytes.first {
    case text: return String(validating: content, as: UTF8.self).map { Field(.string($0), isEncrypted: true) }
    case raw: return Field(.bytes(content), isEncrypted: true)
    case json:
      guard let fields = try? Fields(json: content), let value = fields[fieldName]?.value else { return nil }
      var field = Field(value, isEncrypted: true)
      if case .doubleList(let dates)? = fields[datesName]?.value { field.exactDates = dates }
      return field
    default: return nil
    }
  }
}

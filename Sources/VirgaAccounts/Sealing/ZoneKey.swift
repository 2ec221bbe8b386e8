import VirgaAuth
package import VirgaModel
import VirgaWire

/// The key that encrypts the values of one zone.
package struct ZoneKey: Hashable, Sendable {
  package let id: KeyID
  package let place: ZonePlace
  let key: SecretKey

  init(_ key: SecretKey, of place: ZonePlace) {
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

import VirgaModel

/// Values as bytes whose order is the order of the values.
///
/// No encoding of a value is the beginning of another's, so the encodings of several values can follow each other, and
/// all keys that begin with an encoding are those of its value. Changing this needs a new `IndexDefinition.format`.
enum IndexKey {
  private static let missing: UInt8 = 0x01
  private static let number: UInt8 = 0x10
  private static let timestamp: UInt8 = 0x12
  private static let text: UInt8 = 0x20
  private static let bytes: UInt8 = 0x21
  private static let reference: UInt8 = 0x22
  private static let location: UInt8 = 0x23

  /// A key that is greater than all others.
  static let end: [UInt8] = [0xff]

  /// A missing value, and one without an order, comes before all others.
  static func append(_ value: FieldValue?, to key: inout [UInt8]) {
    switch value {
    case .int64(let integer): append(integer, to: &key)
    case .double(let double):
      key.append(number)
      append(ordered(double), to: &key)
      key += [0x80, 0]
    case .timestamp(let time):
      key.append(timestamp)
      append(ordered(time.milliseconds), to: &key)
    case .string(let string):
      key.append(text)
      append(escaped: string.utf8, to: &key)
      key += [0, 0]
    case .bytes(let data):
      key.append(bytes)
      append(escaped: data, to: &key)
      key += [0, 0]
    case .reference(let target):
      key.append(reference)
      append(escaped: target.recordName.rawValue.utf8, to: &key)
      key += [0, 0]
    case .location(let place):
      key.append(location)
      append(ordered(place.latitude), to: &key)
      append(ordered(place.longitude), to: &key)
    default: key.append(missing)
    }
  }

  static func key(of value: FieldValue?) -> [UInt8] {
    var key: [UInt8] = []
    append(value, to: &key)
    return key
  }

  /// How the keys begin of all texts that begin with `prefix`.
  static func key(ofPrefix prefix: String) -> [UInt8] {
    var key = [text]
    append(escaped: prefix.utf8, to: &key)
    return key
  }

  /// How all keys of values begin that can be compared with this one.
  static func kind(of value: FieldValue) -> [UInt8] { Array(key(of: value).prefix(1)) }

  /// The least key that is greater than all that begin with `prefix`, which does not begin with 255.
  static func successor(of prefix: [UInt8]) -> [UInt8] {
    var key = prefix
    while let last = key.popLast() {
      if last < 0xff { return key + [last + 1] }
    }
    return end
  }

  // MARK: Parts

  /// Whole and fractional numbers share one order: first the nearest double, then what rounding to it left.
  private static func append(_ integer: Int64, to key: inout [UInt8]) {
    let rounded = Double(integer)
    let exact = Int64(exactly: rounded)
    let rest = exact.map { integer - $0 } ?? (integer - Int64.max) - 1
    key.append(number)
    append(ordered(rounded), to: &key)
    let word = UInt16(bitPattern: Int16(rest)) ^ 0x8000
    key += [UInt8(word >> 8), UInt8(truncatingIfNeeded: word)]
  }

  private static func ordered(_ integer: Int64) -> UInt64 { UInt64(bitPattern: integer) ^ 1 << 63 }

  private static func ordered(_ double: Double) -> UInt64 {
    // −0 equals 0.
    let bits = (double == 0 ? 0.0 : double).bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }

  static func append(_ word: UInt64, to key: inout [UInt8]) {
    for shift in stride(from: 56 as UInt64, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: word >> shift)) }
  }

  private static func append(escaped utf8: some Sequence<UInt8>, to key: inout [UInt8]) {
    for byte in utf8 {
      key.append(byte)
      if byte == 0 { key.append(0xff) }
    }
  }
}

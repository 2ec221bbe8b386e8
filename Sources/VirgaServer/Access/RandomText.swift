import VirgaModel

/// Texts that nobody can guess, from dice that are handed in.
package enum RandomText {
  static func incarnation(using random: inout some RandomNumberGenerator) -> UInt64 {
    UInt64.random(in: 1 ... .max, using: &random)
  }

  /// An upper-case UUID of version 4.
  package static func uuid(using random: inout some RandomNumberGenerator) -> String {
    let high = random.next() & 0xffff_ffff_ffff_0fff | 0x4000
    let low = random.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    return String(unsafeUninitializedCapacity: 36) { text in
      var place = 0
      for index in 0..<32 {
        if index == 8 || index == 12 || index == 16 || index == 20 {
          text[place] = UInt8(ascii: "-")
          place += 1
        }
        let word = index < 16 ? high : low
        let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15)) & 15)
        text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
        place += 1
      }
      return place
    }
  }

  /// 256 bits as lower-case hexadecimal digits, which are also valid Base64 and need no escape in a URL.
  static func secret(using random: inout some RandomNumberGenerator) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(64)
    for _ in 0..<32 { append(UInt8.random(in: .min ... .max, using: &random), to: &text, digits: lowerDigits) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether the text has the form of a `secret`.
  static func isSecret(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy(lowerDigits.contains)
  }

  private static func append(_ byte: UInt8, to text: inout [UInt8], digits: [UInt8]) {
    text.append(digits[Int(byte >> 4)])
    text.append(digits[Int(byte & 15)])
  }

  private static let lowerDigits = Array("0123456789abcdef".utf8)
}

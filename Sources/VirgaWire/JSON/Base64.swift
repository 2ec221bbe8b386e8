package import VirgaModel

/// Base64 of RFC 4648: written in the standard alphabet with padding, read in either alphabet, padded or not.
enum Base64 {
  static func encode(_ data: [UInt8]) -> String {
    var out: [UInt8] = []
    append(data, to: &out)
    return String(decoding: out, as: UTF8.self)
  }

  static func append(_ data: [UInt8], to out: inout [UInt8]) {
    out.reserveCapacity(out.count + (data.count + 2) / 3 * 4)
    var index = 0
    while index + 2 < data.count {
      let word = UInt32(data[index]) << 16 | UInt32(data[index + 1]) << 8 | UInt32(data[index + 2])
      out.append(digit(word >> 18))
      out.append(digit(word >> 12))
      out.append(digit(word >> 6))
      out.append(digit(word))
      index += 3
    }
    let rest = data.count - index
    guard rest > 0 else { return }
    let word = UInt32(data[index]) << 16 | (rest == 2 ? UInt32(data[index + 1]) << 8 : 0)
    out.append(digit(word >> 18))
    out.append(digit(word >> 12))
    out.append(rest == 2 ? digit(word >> 6) : UInt8(ascii: "="))
    out.append(UInt8(ascii: "="))
  }

  /// The bytes that `text` stands for; `nil` if it is not Base64.
  static func decode(_ text: String) -> [UInt8]? {
    var out: [UInt8] = []
    out.reserveCapacity(text.utf8.count / 4 * 3)
    var word: UInt32 = 0
    var digits = 0
    var padding = 0
    for byte in text.utf8 {
      if byte == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      let value = values[Int(byte)]
      guard value < 64, padding == 0 else { return nil }
      word = word << 6 | UInt32(value)
      digits += 1
      if digits == 4 {
        out.append(UInt8(truncatingIfNeeded: word >> 16))
        out.append(UInt8(truncatingIfNeeded: word >> 8))
        out.append(UInt8(truncatingIfNeeded: word))
        word = 0
        digits = 0
      }
    }
    guard digits != 1, padding == 0 || digits + padding == 4, padding == 0 || digits > 0 else { return nil }
    if digits >= 2 { out.append(UInt8(truncatingIfNeeded: word >> (digits == 2 ? 4 : 10))) }
    if digits == 3 { out.append(UInt8(truncatingIfNeeded: word >> 2)) }
    return out
  }

  @inline(__always)
  private static func digit(_ value: UInt32) -> UInt8 { alphabet[Int(value & 63)] }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The value of each byte as a digit; 255 for what is none.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
    values[Int(UInt8(ascii: "-"))] = 62
    values[Int(UInt8(ascii: "_"))] = 63
    return values
  }()
}

extension ChangeToken {
  /// The token as it travels.
  package var text: String { Base64.encode(bytes) }

  /// Reads what `text` wrote; `nil` for anything else.
  package init?(text: String) {
    guard let bytes = Base64.decode(text) else { return nil }
    self.init(bytes: bytes)
  }
}

extension [UInt8] {
  /// The bytes in Base64, as the protocol writes bytes.
  package var base64: String { Base64.encode(self) }

  /// Reads Base64 in either alphabet, padded or not; `nil` for other text.
  package init?(base64 text: String) {
    guard let bytes = Base64.decode(text) else { return nil }
    self = bytes
  }
}

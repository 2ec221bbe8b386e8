/// A key for encrypted values by its name: 32 lower-case hexadecimal digits, which follow from the key itself.
public struct KeyID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Bytes of an identifier.
  public static let byteCount = 16

  /// Names a key by those bytes.
  public init(bytes: some Sequence<UInt8>) {
    let digits = Array("0123456789abcdef".utf8)
    let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    self.init(rawValue: String(decoding: text, as: UTF8.self))
  }

  /// - Returns: `nil` if the name is not 32 lower-case hexadecimal digits.
  public var bytes: [UInt8]? {
    let digits = rawValue.utf8.compactMap { digit -> UInt8? in
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
      default: nil
      }
    }
    guard digits.count == Self.byteCount * 2, rawValue.utf8.count == digits.count else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

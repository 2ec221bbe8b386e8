import FoundationEssentials
import VirgaModel

/// The two forms in which an ECDSA signature of P-256 is written.
enum ECDSASignature {
  /// The DER form of r and s, 32 bytes each, side by side; `nil` if that is not what the bytes are.
  static func der(ofRaw bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count == 64 else { return nil }
    let content = integer(bytes[..<32]) + integer(bytes[32...])
    return [0x30, UInt8(content.count)] + content
  }

  private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(bytes.drop { $0 == 0 })
    // A number without digits is zero; one whose first bit is set would be negative.
    if (digits.first ?? 0x80) >= 0x80 { digits.insert(0, at: 0) }
    return [0x02, UInt8(digits.count)] + digits
  }
}

import FoundationEssentials

/// Base64 (RFC 4648): the standard alphabet with padding, and the form for URLs without.
package enum CanonicalBase64 {
  package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  /// `nil` unless the text is exactly what `encode` would write.
  package static func decode(_ text: String) -> [UInt8]? {
    guard let data = Data(base64Encoded: text) else { return nil }
    let bytes = Array(data)
    return encode(bytes) == text ? bytes : nil
  }

  /// With `-` and `_`, and without padding.
  package static func encodeForURL(_ bytes: [UInt8]) -> String {
    let text = encode(bytes).utf8.compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  package static func decodeFromURL(_ text: String) -> [UInt8]? {
    var standard = text.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
    guard let bytes = decode(String(decoding: standard, as: UTF8.self)), encodeForURL(bytes) == text else { return nil }
    return bytes
  }
}

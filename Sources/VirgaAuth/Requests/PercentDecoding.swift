import Glibc

extension Substring {
  /// The text with its escapes undone; `nil` if one is broken or the bytes are not UTF-8.
  package var percentDecoded: String? {
    var text = self
    // Each request has a dozen of these, and most have no escape.
    return text.withUTF8 { sent in
      guard let start = sent.baseAddress, memchr(start, 0x25, sent.count) != nil else {
        return String(decoding: sent, as: UTF8.self)
      }
      return Self.decoded(sent)
    }
  }

  private static func decoded(_ sent: UnsafeBufferPointer<UInt8>) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(sent.count)
    var rest = sent.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(Hex.digit), let low = rest.next().flatMap(Hex.digit) else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension String {
  package var percentDecoded: String? { self[...].percentDecoded }
}

extension StringProtocol {
  /// The text with its escapes undone; `nil` if one is broken or the bytes are not UTF-8.
  package var percentDecoded: String? {
    guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
    var bytes: [UInt8] = []
    var rest = Array(utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let escaped = Hex.decode(String(decoding: rest.prefix(2), as: UTF8.self)) else {
        return nil
      }
      bytes += escaped
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

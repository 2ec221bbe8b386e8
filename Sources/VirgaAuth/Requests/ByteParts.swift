import Glibc

extension Substring {
  /// The parts between the bytes `separator`, which is ASCII; empty ones too, so there is always one.
  package func parts(between separator: UInt8) -> [Substring] {
    var parts: [Substring] = []
    parts.reserveCapacity(8)
    var rest = self
    while let (part, next) = rest.divided(at: separator) {
      parts.append(part)
      rest = next
    }
    parts.append(rest)
    return parts
  }

  /// What is before the first byte `separator`, which is ASCII, and what is behind it; `nil` if there is none.
  ///
  /// By `memchr`: looking at characters, or at bytes through a view, would cost each request microseconds.
  package func divided(at separator: UInt8) -> (before: Substring, behind: Substring)? {
    var text = self
    let offset: Int? = text.withUTF8 { bytes in
      guard let start = bytes.baseAddress, let found = memchr(start, Int32(separator), bytes.count) else { return nil }
      return UnsafeRawPointer(found) - UnsafeRawPointer(start)
    }
    guard let offset else { return nil }
    let end = text.utf8.index(text.startIndex, offsetBy: offset)
    return (text[..<end], text[text.utf8.index(after: end)...])
  }
}

import Glibc

func firstLineFeed(in bytes: Span<UInt8>, from offset: Int) -> Int? {
  guard offset < bytes.count else { return nil }
  return bytes.withUnsafeBytes { buffer in
    guard let base = buffer.baseAddress, let found = memchr(base + offset, 0x0a, buffer.count - offset) else {
      return nil
    }
    return UnsafeRawPointer(found) - base
  }
}

/// Bytes that are known to be ASCII, as text.
func string(_ bytes: Span<UInt8>) -> String {
  bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
}

/// Bytes as text, `nil` unless they are valid UTF-8.
func validatedString(_ bytes: Span<UInt8>) -> String? {
  bytes.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
}

extension Span<UInt8> {
  func equals(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { expected in
      guard count == expected.count else { return false }
      for index in indices where self[index] != expected[index] { return false }
      return true
    }
  }

  /// Compares without regard to case with a text that has none but lower-case letters.
  func equalsLowercased(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { expected in
      guard count == expected.count else { return false }
      for index in indices where ByteClass.lowercased(self[index]) != expected[index] { return false }
      return true
    }
  }

  func allSatisfy(_ predicate: (UInt8) -> Bool) -> Bool {
    for index in indices where !predicate(self[index]) { return false }
    return true
  }

  /// The members of a list that commas separate, without the white space around them.
  func forEachListMember(_ body: (Span<UInt8>) -> Void) {
    var start = 0
    while start < count {
      var end = start
      while end < count, self[end] != 0x2c { end += 1 }
      let next = end + 1
      while start < end, ByteClass.isWhiteSpace(self[start]) { start += 1 }
      while end > start, ByteClass.isWhiteSpace(self[end - 1]) { end -= 1 }
      if start < end { body(extracting(start..<end)) }
      start = next
    }
  }
}

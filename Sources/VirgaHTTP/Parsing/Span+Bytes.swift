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

  /// Whether all bytes may stand in a field's value. Looks at eight at a time: values make up most of a head.
  var isFieldValue: Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var index = 0
    while index + 8 <= count {
      let word = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
      // A high bit is set where a byte is less than 0x20, and where it is 0x7f; bytes of other scripts are neither.
      let delete = word ^ ones &* 0x7f
      let suspects = ((word &- ones &* 0x20) & ~word | (delete &- ones) & ~delete) & highs
      if suspects != 0 {
        // It may be a tab, or a byte above a suspect.
        for place in index..<index + 8 where !ByteClass.isFieldValue(self[place]) { return false }
      }
      index += 8
    }
    while index < count {
      guard ByteClass.isFieldValue(self[index]) else { return false }
      index += 1
    }
    return true
  }

  @inline(__always)
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

import CLinux
import Glibc

// Looking into answers without making strings of them.
extension [UInt8] {
  /// Where the first such text begins.
  package func offset(of pattern: StaticString, from start: Int = 0) -> Int? {
    withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      let found = memmem(base + start, bytes.count - start, pattern.utf8Start, pattern.utf8CodeUnitCount)
      return found.map { UnsafeRawPointer($0) - base }
    }
  }

  /// How often the text is there.
  package func count(of pattern: StaticString) -> Int {
    var count = 0
    var start = 0
    while let found = offset(of: pattern, from: start) {
      count += 1
      start = found + pattern.utf8CodeUnitCount
    }
    return count
  }

  /// The decimal number behind the first such text.
  package func number(after pattern: StaticString, from start: Int = 0) -> Int? {
    guard var index = offset(of: pattern, from: start).map({ $0 + pattern.utf8CodeUnitCount }) else { return nil }
    let first = index
    var number = 0
    while index < count, (48...57).contains(self[index]) {
      number = number * 10 + Int(self[index] - 48)
      index += 1
    }
    return index > first ? number : nil
  }

  /// The text behind the first such text, up to the next quotation mark.
  package func text(after pattern: StaticString, from start: Int = 0) -> String? {
    guard let first = offset(of: pattern, from: start).map({ $0 + pattern.utf8CodeUnitCount }) else { return nil }
    return self[first...].firstIndex(of: UInt8(ascii: "\"")).map { String(decoding: self[first..<$0], as: UTF8.self) }
  }
}

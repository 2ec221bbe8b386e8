import Foundation

/// Bytes that are read once, from the beginning to the end: of a file, a piece at a time, or of an array.
struct ByteSource: ~Copyable {
  /// Closed at the end; negative for an array.
  private let file: Int32
  private let path: String
  private var buffer: [UInt8]
  /// What of the buffer is not read yet.
  private var rest: Range<Int>
  /// Bytes read before the buffer's first.
  private var passed = 0

  private static let pieceBytes = 64 * 1024

  init(reading path: String) throws(FileError) {
    file = try FileHandleOwned(reading: path).released()
    self.path = path
    buffer = [UInt8](repeating: 0, count: Self.pieceBytes)
    rest = 0..<0
  }

  init(_ bytes: [UInt8]) {
    file = -1
    path = ""
    buffer = bytes
    rest = 0..<bytes.count
  }

  deinit {
    if file >= 0 { close(file) }
  }

  /// How many bytes were read.
  var position: Int { passed + rest.lowerBound }

  /// The next byte, which stays unread; `nil` at the end.
  mutating func peek() throws(FileError) -> UInt8? {
    if rest.isEmpty, try !fill() { return nil }
    return buffer[rest.lowerBound]
  }

  mutating func next() throws(FileError) -> UInt8? {
    if rest.isEmpty, try !fill() { return nil }
    let byte = buffer[rest.lowerBound]
    rest = rest.lowerBound + 1..<rest.upperBound
    return byte
  }

  /// Reads on to the first byte that a string of JSON does not hold as it is: a quote, a backslash or a control character.
  /// - Parameter body: Gets the bytes before it, in pieces.
  mutating func readPlainText(_ body: (ArraySlice<UInt8>) -> Void) throws(FileError) {
    while true {
      if rest.isEmpty, try !fill() { return }
      let end = rest.lowerBound + Self.plainCount(buffer, rest)
      if end > rest.lowerBound { body(buffer[rest.lowerBound..<end]) }
      let isWhole = end < rest.upperBound
      rest = end..<rest.upperBound
      if isWhole { return }
    }
  }

  /// Passes over a value whose grammar is known to be whole, up to the comma or bracket behind it.
  mutating func skipValue() throws(FileError) {
    var depth = 0
    while let byte = try peek() {
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return }
        depth -= 1
      case UInt8(ascii: ","):
        if depth == 0 { return }
      case UInt8(ascii: "\""): try skipText()
      default: break
      }
      _ = try next()
    }
  }

  /// Goes on to the quote that ends a text.
  private mutating func skipText() throws(FileError) {
    _ = try next()
    while true {
      try readPlainText { _ in }
      guard let byte = try peek(), byte != UInt8(ascii: "\"") else { return }
      _ = try next()
      if byte == UInt8(ascii: "\\") { _ = try next() }
    }
  }

  private static func plainCount(_ buffer: [UInt8], _ range: Range<Int>) -> Int {
    buffer.withUnsafeBufferPointer { bytes in
      var index = range.lowerBound
      while index < range.upperBound {
        let byte = bytes[index]
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
        index += 1
      }
      return index - range.lowerBound
    }
  }

  private mutating func fill() throws(FileError) -> Bool {
    if file < 0 { return false }
    passed += rest.upperBound
    let count = try Self.read(file, into: &buffer, path)
    rest = 0..<count
    return count > 0
  }

  private static func read(_ file: Int32, into buffer: inout [UInt8], _ path: String) throws(FileError) -> Int {
    let result = buffer.withUnsafeMutableBytes { bytes in
      Result { () throws(FileError) in try FileHandleOwned.read(file, into: bytes, path: path) }
    }
    return try result.get()
  }
}

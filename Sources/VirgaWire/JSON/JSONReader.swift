import VirgaModel

/// Reads one JSON text from its bytes, each value when it is asked for; nothing is built that nobody wants.
///
/// The grammar is RFC 8259's, and stricter where texts could be understood in two ways: invalid UTF-8, lone
/// surrogates, control characters in strings and nesting past `Limits.jsonDepthMax` are refused.
///
/// An object is read with `beginObject`, then `nextKey` and the reading of one value until there is no key; an array
/// with `beginArray` and `nextElement` alike.
package struct JSONReader: Sendable {
  package let bytes: [UInt8]
  /// Elements that `readArray` takes of one array.
  package var elementsMax = Int.max
  /// The next byte to read.
  package private(set) var offset = 0
  /// Where the key that `nextKey` answered last begins, its quotation mark included.
  package private(set) var keyOffset = 0
  private var keyEnd = 0
  private var keyHasEscapes = false
  private var depth = 0
  private var isFirst = false
  private var hasWhitespace = false

  /// A place to come back to: the beginning or the end of a value.
  package struct Mark: Sendable {
    fileprivate var offset: Int
    fileprivate var depth: Int
  }

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// A reader of a text as it came over the network, where some clients put a byte order mark before it (RFC 8259,
  /// section 8.1, lets a reader pass over one).
  package init(message bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { offset = 3 }
  }

  // MARK: Objects and arrays

  package mutating func beginObject() throws(WireError) { try enter(UInt8(ascii: "{"), "an object") }

  package mutating func beginArray() throws(WireError) { try enter(UInt8(ascii: "["), "an array") }

  /// The next key of the object, or `nil` at its end.
  package mutating func nextKey() throws(WireError) -> String? {
    try passKey() ? key : nil
  }

  /// Passes to the value of the next key; answers false after the end of the object. For objects that come by the
  /// hundred and whose keys are known: `keyIs` compares one without making a text of it.
  package mutating func passKey() throws(WireError) -> Bool {
    guard try advance(closing: UInt8(ascii: "}"), "a comma or the end of the object") else { return false }
    keyOffset = offset
    guard peek() == UInt8(ascii: "\"") else { throw syntax("a key") }
    keyHasEscapes = try passString()
    keyEnd = offset - 1
    try passColon()
    return true
  }

  /// The key that was passed last.
  package var key: String {
    let range = (keyOffset + 1)..<keyEnd
    return keyHasEscapes ? unescaped(range) : text(range)
  }

  /// Whether the key that was passed last is this one.
  @inline(__always)
  package func keyIs(_ name: StaticString) -> Bool {
    if keyHasEscapes { return key == name.description }
    let count = keyEnd - keyOffset - 1
    guard count == name.utf8CodeUnitCount else { return false }
    return bytes.withUnsafeBytes { all in
      for index in 0..<count where all[keyOffset + 1 + index] != name.utf8Start[index] { return false }
      return true
    }
  }

  /// Whether the key that was passed last comes behind `name` in the order of bytes.
  func keyFollows(_ name: String) -> Bool { compareKey(with: name) > 0 }

  func keyPrecedes(_ name: String) -> Bool { compareKey(with: name) < 0 }

  private func compareKey(with name: String) -> Int {
    if keyHasEscapes { return key.utf8.lexicographicallyPrecedes(name.utf8) ? -1 : key.hasSameBytes(as: name) ? 0 : 1 }
    var name = name
    return name.withUTF8 { name in
      bytes.withUnsafeBytes { all in
        let key = UnsafeRawBufferPointer(rebasing: all[(keyOffset + 1)..<keyEnd])
        let name = UnsafeRawBufferPointer(name)
        let order = compareBytes(key, name)
        return order == 0 ? key.count - name.count : order
      }
    }
  }

  /// Whether the array has another element, which is to be read next.
  package mutating func nextElement() throws(WireError) -> Bool {
    try advance(closing: UInt8(ascii: "]"), "a comma or the end of the array")
  }

  /// Reads an array, each element with `element`.
  package mutating func readArray<Element>(
    _ element: (inout JSONReader) throws(WireError) -> Element
  ) throws(WireError) -> [Element] {
    try beginArray()
    var elements: [Element] = []
    while try nextElement() {
      guard elements.count < elementsMax else { throw mismatch("at most \(elementsMax) elements") }
      elements.append(try element(&self))
    }
    return elements
  }

  /// Reads an object of which one member counts and must be there; all others are passed over.
  package mutating func readMember<Value>(
    _ name: String, _ value: (inout JSONReader) throws(WireError) -> Value
  ) throws(WireError) -> Value {
    var found: Value?
    try beginObject()
    while let key = try nextKey() {
      if try readNull() { continue }
      if key == name { found = try value(&self) } else { try skipValue() }
    }
    guard let found else { throw mismatch("the key \(name)") }
    return found
  }

  /// Reads an object of which one list counts and must be there.
  package mutating func readArray<Element>(
    in name: String, _ element: (inout JSONReader) throws(WireError) -> Element
  ) throws(WireError) -> [Element] {
    try readMember(name) { (reader) throws(WireError) in try reader.readArray(element) }
  }

  private mutating func enter(_ bracket: UInt8, _ name: String) throws(WireError) {
    skipWhitespace()
    guard peek() == bracket else { throw mismatch(name) }
    guard depth < Limits.jsonDepthMax else { throw syntax("at most \(Limits.jsonDepthMax) levels") }
    offset += 1
    depth += 1
    isFirst = true
  }

  /// Passes to the next member; answers false after the closing bracket.
  private mutating func advance(closing bracket: UInt8, _ name: String) throws(WireError) -> Bool {
    skipWhitespace()
    let byte = peek()
    if byte == bracket {
      offset += 1
      depth -= 1
      isFirst = false
      return false
    }
    if isFirst {
      isFirst = false
      return true
    }
    guard byte == UInt8(ascii: ",") else { throw syntax(name) }
    offset += 1
    skipWhitespace()
    return true
  }

  private mutating func passColon() throws(WireError) {
    skipWhitespace()
    guard peek() == UInt8(ascii: ":") else { throw syntax("a colon") }
    offset += 1
  }

  // MARK: Scalars

  package mutating func readBool() throws(WireError) -> Bool {
    skipWhitespace()
    switch peek() {
    case UInt8(ascii: "t"):
      try pass("true")
      return true
    case UInt8(ascii: "f"):
      try pass("false")
      return false
    default: throw mismatch("true or false")
    }
  }

  /// Passes a `null` if the next value is one.
  package mutating func readNull() throws(WireError) -> Bool {
    skipWhitespace()
    guard peek() == UInt8(ascii: "n") else { return false }
    try pass("null")
    return true
  }

  /// Reads a value with `read`, or `nil` for a `null`.
  package mutating func readOptional<Value>(
    _ read: (inout JSONReader) throws(WireError) -> Value
  ) throws(WireError) -> Value? {
    try readNull() ? nil : try read(&self)
  }

  package mutating func readString() throws(WireError) -> String {
    skipWhitespace()
    guard peek() == UInt8(ascii: "\"") else { throw mismatch("a string") }
    let start = offset + 1
    let hasEscapes = try passString()
    let range = start..<(offset - 1)
    return hasEscapes ? unescaped(range) : text(range)
  }

  /// Reads a number without fraction and exponent, every digit of it.
  package mutating func readInt64() throws(WireError) -> Int64 {
    skipWhitespace()
    let start = offset
    guard isNumberNext, try passNumber(), let number = int64(start..<offset) else {
      throw WireError(.mismatch, offset: start, expected: "an integer of 64 bits")
    }
    return number
  }

  package mutating func readInt() throws(WireError) -> Int { Int(try readInt64()) }

  /// Reads any number that is finite as a double, rounded to nearest.
  package mutating func readDouble() throws(WireError) -> Double {
    skipWhitespace()
    let start = offset
    guard isNumberNext else { throw mismatch("a number") }
    _ = try passNumber()
    guard let number = double(start..<offset) else {
      throw WireError(.mismatch, offset: start, expected: "a number in the range of a double")
    }
    return number
  }

  // MARK: Whole values

  /// What the next value is, by its first byte.
  package enum Kind: Sendable { case object, array, string, number, bool, null, nothing }

  package mutating func nextKind() -> Kind {
    skipWhitespace()
    switch peek() {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
    case UInt8(ascii: "n"): return .null
    default: return isNumberNext ? .number : .nothing
    }
  }

  /// Passes a value, checking all of it.
  package mutating func skipValue() throws(WireError) {
    switch nextKind() {
    case .object:
      try beginObject()
      while try advance(closing: UInt8(ascii: "}"), "a comma or the end of the object") {
        guard peek() == UInt8(ascii: "\"") else { throw syntax("a key") }
        _ = try passString()
        try passColon()
        try skipValue()
      }
    case .array:
      try beginArray()
      while try nextElement() { try skipValue() }
    case .string: _ = try passString()
    case .number: _ = try passNumber()
    case .bool: _ = try readBool()
    case .null: _ = try readNull()
    case .nothing: throw syntax("a value")
    }
  }

  /// Passes a value, checking all of it, and answers its text without the spaces between its parts.
  package mutating func readRaw() throws(WireError) -> [UInt8] {
    skipWhitespace()
    return try readRaw(from: offset)
  }

  /// Passes a value that follows the key read last, and answers both as `"key":value` without spaces.
  package mutating func readRawMember() throws(WireError) -> [UInt8] { try readRaw(from: keyOffset) }

  private mutating func readRaw(from start: Int) throws(WireError) -> [UInt8] {
    hasWhitespace = false
    try skipValue()
    let slice = bytes[start..<offset]
    // A member's key was passed before, with any spaces around its colon.
    return hasWhitespace || bytes[start] == UInt8(ascii: "\"") ? compacted(slice) : Array(slice)
  }

  private func compacted(_ slice: ArraySlice<UInt8>) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(slice.count)
    var isInString = false
    var isEscaped = false
    for byte in slice {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
      } else {
        if Self.isWhitespace(byte) { continue }
        isInString = byte == UInt8(ascii: "\"")
      }
      out.append(byte)
    }
    return out
  }

  /// Checks that nothing follows the value that was read.
  package mutating func finish() throws(WireError) {
    skipWhitespace()
    guard offset == bytes.count else { throw syntax("the end of the text") }
  }

  /// Whether there is no byte more.
  package var isAtEnd: Bool { offset == bytes.count }

  /// The place before the value that is read next, or after the one read last.
  package var mark: Mark { Mark(offset: offset, depth: depth) }

  package mutating func rewind(to mark: Mark) {
    offset = mark.offset
    depth = mark.depth
    isFirst = false
  }

  package func mismatch(_ expected: String) -> WireError { WireError(.mismatch, offset: offset, expected: expected) }

  private func syntax(_ expected: String) -> WireError { WireError(.syntax, offset: offset, expected: expected) }

  // MARK: Bytes

  @inline(__always)
  private func peek() -> UInt8? { offset < bytes.count ? bytes[offset] : nil }

  @inline(__always)
  private static func isWhitespace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09
  }

  @inline(__always)
  private mutating func skipWhitespace() {
    while offset < bytes.count, Self.isWhitespace(bytes[offset]) {
      offset += 1
      hasWhitespace = true
    }
  }

  private mutating func pass(_ literal: StaticString) throws(WireError) {
    let matches = literal.withUTF8Buffer { bytes[offset...].starts(with: $0) }
    guard matches else { throw syntax("true, false or null") }
    offset += literal.utf8CodeUnitCount
  }

  // MARK: Strings

  /// Passes a string; answers whether it has escapes.
  private mutating func passString() throws(WireError) -> Bool {
    let count = bytes.count
    var hasEscapes = false
    var position = offset + 1
    while true {
      // Most bytes need no look but this one, and eight of them at a time.
      bytes.withUnsafeBytes { position += plainByteCount(UnsafeRawBufferPointer(rebasing: $0[position...])) }
      guard position < count else {
        offset = count
        throw syntax("the end of a string")
      }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        offset = position + 1
        return hasEscapes
      case UInt8(ascii: "\\"):
        offset = position
        hasEscapes = true
        position += try escapeLength()
      case 0..<0x20:
        offset = position
        throw syntax("no control character in a string")
      default:
        offset = position
        position += try scalarLength()
      }
    }
  }

  private func escapeLength() throws(WireError) -> Int {
    guard offset + 1 < bytes.count else { throw syntax("an escape") }
    switch bytes[offset + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return 2
    case UInt8(ascii: "u"):
      guard let unit = codeUnit(at: offset + 2) else { throw syntax("four hexadecimal digits") }
      switch unit {
      case 0xd800..<0xdc00:
        guard offset + 7 < bytes.count, bytes[offset + 6] == UInt8(ascii: "\\"), bytes[offset + 7] == UInt8(ascii: "u"),
          let low = codeUnit(at: offset + 8), (0xdc00..<0xe000).contains(low)
        else { throw syntax("the second half of a surrogate pair") }
        return 12
      case 0xdc00..<0xe000: throw syntax("no lone surrogate")
      default: return 6
      }
    default: throw syntax("an escape")
    }
  }

  private func codeUnit(at position: Int) -> UInt16? {
    guard position + 4 <= bytes.count else { return nil }
    var unit: UInt16 = 0
    for byte in bytes[position..<(position + 4)] {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    return unit
  }

  /// The length of the well-formed UTF-8 sequence at `offset` (table 3-7 of the Unicode Standard).
  private func scalarLength() throws(WireError) -> Int {
    let first = bytes[offset]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xbf
    switch first {
    case 0xc2...0xdf: length = 2
    case 0xe0...0xef:
      length = 3
      if first == 0xe0 { second = 0xa0...0xbf }
      if first == 0xed { second = 0x80...0x9f }
    case 0xf0...0xf4:
      length = 4
      if first == 0xf0 { second = 0x90...0xbf }
      if first == 0xf4 { second = 0x80...0x8f }
    default: throw syntax("valid UTF-8")
    }
    guard offset + length <= bytes.count, second.contains(bytes[offset + 1]),
      bytes[(offset + 2)..<(offset + length)].allSatisfy({ (0x80...0xbf).contains($0) })
    else { throw syntax("valid UTF-8") }
    return length
  }

  /// The range was passed, so it is valid UTF-8 without escapes.
  private func text(_ range: Range<Int>) -> String {
    bytes.withUnsafeBufferPointer { String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self) }
  }

  private func unescaped(_ range: Range<Int>) -> String {
    var out: [UInt8] = []
    out.reserveCapacity(range.count)
    var position = range.lowerBound
    while position < range.upperBound {
      let byte = bytes[position]
      guard byte == UInt8(ascii: "\\") else {
        out.append(byte)
        position += 1
        continue
      }
      let letter = bytes[position + 1]
      position += 2
      switch letter {
      case UInt8(ascii: "b"): out.append(0x08)
      case UInt8(ascii: "f"): out.append(0x0c)
      case UInt8(ascii: "n"): out.append(0x0a)
      case UInt8(ascii: "r"): out.append(0x0d)
      case UInt8(ascii: "t"): out.append(0x09)
      case UInt8(ascii: "u"):
        var units = [codeUnit(at: position) ?? 0]
        position += 4
        if (0xd800..<0xdc00).contains(units[0]) {
          units.append(codeUnit(at: position + 2) ?? 0)
          position += 6
        }
        out.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
      default: out.append(letter)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  // MARK: Numbers

  private var isNumberNext: Bool {
    guard let byte = peek() else { return false }
    return byte == UInt8(ascii: "-") || Self.isDigit(byte)
  }

  @inline(__always)
  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  /// Passes a number; answers whether it has neither fraction nor exponent.
  private mutating func passNumber() throws(WireError) -> Bool {
    var isInteger = true
    if peek() == UInt8(ascii: "-") { offset += 1 }
    if peek() == UInt8(ascii: "0") {
      offset += 1
      if let byte = peek(), Self.isDigit(byte) { throw syntax("no leading zero") }
    } else {
      try passDigits()
    }
    if peek() == UInt8(ascii: ".") {
      isInteger = false
      offset += 1
      try passDigits()
    }
    if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      offset += 1
      if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { offset += 1 }
      try passDigits()
    }
    return isInteger
  }

  private mutating func passDigits() throws(WireError) {
    guard let byte = peek(), Self.isDigit(byte) else { throw syntax("a digit") }
    while offset < bytes.count, Self.isDigit(bytes[offset]) { offset += 1 }
  }

  private func int64(_ range: Range<Int>) -> Int64? {
    var magnitude: UInt64 = 0
    let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
    for byte in bytes[range].dropFirst(isNegative ? 1 : 0) {
      let (tens, isTooLarge) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, overflows) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      if isTooLarge || overflows { return nil }
      magnitude = sum
    }
    if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
    return Int64(exactly: magnitude)
  }

  /// The powers of ten that a double holds exactly.
  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]

  private func double(_ range: Range<Int>) -> Double? {
    // Up to 15 digits are exact in a double, and so is a power of ten up to 22: then one rounding gives the nearest
    // double (W. D. Clinger, How to read floating point numbers accurately, 1990). The library does the rest.
    var digits: Int64 = 0
    var digitCount = 0
    var scale = 0
    var isFraction = false
    let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
    for byte in bytes[range].dropFirst(isNegative ? 1 : 0) {
      if byte == UInt8(ascii: ".") {
        isFraction = true
      } else if Self.isDigit(byte), digitCount < 15 {
        digits = digits * 10 + Int64(byte - UInt8(ascii: "0"))
        digitCount += digits == 0 ? 0 : 1
        scale += isFraction ? 1 : 0
      } else {
        guard let number = Double(text(range)), number.isFinite else { return nil }
        return number
      }
    }
    guard scale < Self.powersOfTen.count else { return Double(text(range)) }
    let magnitude = Double(digits) / Self.powersOfTen[scale]
    return isNegative ? -magnitude : magnitude
  }
}

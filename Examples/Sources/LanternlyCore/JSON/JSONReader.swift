/// Reads JSON a value at a time, in the memory that one value takes, however long the whole is.
///
/// Numbers keep their digits. A broken text (half of a surrogate pair, bytes that are not UTF-8) is a value that cannot be
/// read, and no error of the whole: the grammar around it is whole.
final class JSONReader {
  enum Failure: Error, Hashable, CustomStringConvertible {
    case file(FileError)
    /// The grammar is broken: counted from 1, the columns in bytes.
    case syntax(line: Int, column: Int)

    var description: String {
      switch self {
      case .file(let error): error.description
      case .syntax(let line, let column): "the JSON is broken in line \(line), column \(column)"
      }
    }
  }

  enum Kind { case object, array, text, number, word, end }

  /// Objects and arrays within each other.
  static let depthMax = 128

  // Unchecked, as a check for each byte costs more than the byte: nothing that runs while one of these is changed reaches back
  // into the reader.
  @exclusivity(unchecked) private var source: ByteSource
  @exclusivity(unchecked) private var line = 1
  @exclusivity(unchecked) private var lineStart = 0
  @exclusivity(unchecked) private var depth = 0
  @exclusivity(unchecked) private var text: [UInt8] = []

  init(reading path: String) throws(FileError) {
    source = try ByteSource(reading: path)
    try skipByteOrderMark()
  }

  init(_ bytes: [UInt8]) { source = ByteSource(bytes) }

  private func skipByteOrderMark() throws(FileError) {
    guard try source.peek() == 0xEF else { return }
    for _ in 0..<3 { _ = try source.next() }
    lineStart = 3
  }

  // MARK: Structure

  /// What comes next, without reading it.
  func kind() throws(Failure) -> Kind {
    switch try skipSpace() {
    case nil: return .end
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .text
    case UInt8(ascii: "-"), (UInt8(ascii: "0")...UInt8(ascii: "9"))?: return .number
    default: return .word
    }
  }

  /// Reads an object. `body` reads the value of each key; a key that is no text is given as `nil`.
  func object(_ body: (String?) throws -> Void) throws {
    try open(UInt8(ascii: "{"))
    defer { depth -= 1 }
    if try skipSpace() == UInt8(ascii: "}") { return try take(UInt8(ascii: "}")) }
    while true {
      guard try skipSpace() == UInt8(ascii: "\"") else { throw broken() }
      let key = try string(bytesMax: Self.keyBytesMax)
      try skipSpaceAndTake(UInt8(ascii: ":"))
      try body(key)
      if try !isFollowed(end: UInt8(ascii: "}")) { return }
    }
  }

  /// Reads an array. `body` reads each element.
  func array(_ body: () throws -> Void) throws {
    try open(UInt8(ascii: "["))
    defer { depth -= 1 }
    if try skipSpace() == UInt8(ascii: "]") { return try take(UInt8(ascii: "]")) }
    while true {
      try body()
      if try !isFollowed(end: UInt8(ascii: "]")) { return }
    }
  }

  /// Makes sure that nothing follows.
  func end() throws(Failure) {
    if try skipSpace() != nil { throw broken() }
  }

  private static let keyBytesMax = 64 * 1024

  private func open(_ byte: UInt8) throws(Failure) {
    try skipSpaceAndTake(byte)
    depth += 1
    if depth > Self.depthMax { throw broken() }
  }

  private func isFollowed(end: UInt8) throws(Failure) -> Bool {
    let byte = try skipSpace()
    guard byte == end || byte == UInt8(ascii: ",") else { throw broken() }
    _ = try next()
    return byte != end
  }

  // MARK: Values

  /// Reads a text.
  /// - Returns: `nil` if it is none, or longer than `bytesMax`.
  func string(bytesMax: Int = .max) throws(Failure) -> String? {
    try skipSpaceAndTake(UInt8(ascii: "\""))
    text.removeAll(keepingCapacity: true)
    var isText = true
    while true {
      try readPlain(bytesMax: bytesMax, &isText)
      switch try next() {
      case UInt8(ascii: "\""):
        return isText ? String(validating: text, as: UTF8.self) : nil
      case UInt8(ascii: "\\"):
        try escape(&isText)
        if text.count > bytesMax {
          isText = false
          text.removeAll(keepingCapacity: true)
        }
      default: throw broken()
      }
    }
  }

  private func readPlain(bytesMax: Int, _ isText: inout Bool) throws(Failure) {
    // The buffer is handed in and out, as a closure of the source may not reach into this object.
    var gathered = text
    text = []
    var isWhole = true
    do throws(FileError) {
      try source.readPlainText { piece in
        if gathered.count + piece.count > bytesMax { isWhole = false } else { gathered += piece }
      }
    } catch {
      throw .file(error)
    }
    if !isWhole { isText = false }
    text = gathered
  }

  private func escape(_ isText: inout Bool) throws(Failure) {
    switch try next() {
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "u"): try unicodeEscape(&isText)
    case let byte? where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"):
      text.append(byte)
    default: throw broken()
    }
  }

  private func unicodeEscape(_ isText: inout Bool) throws(Failure) {
    var unit = try hexUnit()
    while true {
      guard 0xD800...0xDFFF ~= unit else { return append(unit) }
      // The second half must follow the first one; whatever follows else is read on its own.
      let isFirst = unit < 0xDC00
      guard isFirst, try peek() == UInt8(ascii: "\\") else { return isText = false }
      _ = try next()
      guard try peek() == UInt8(ascii: "u") else {
        isText = false
        return try escape(&isText)
      }
      _ = try next()
      let second = try hexUnit()
      if 0xDC00...0xDFFF ~= second { return append(0x10000 + (unit - 0xD800) << 10 + (second - 0xDC00)) }
      isText = false
      unit = second
    }
  }

  private func append(_ scalar: UInt32) {
    if let scalar = Unicode.Scalar(scalar) { text += Array(String(Character(scalar)).utf8) }
  }

  private func hexUnit() throws(Failure) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = try next(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw broken()
      }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }

  /// Reads a number, as its digits stand there.
  func number() throws(Failure) -> String {
    _ = try skipSpace()
    text.removeAll(keepingCapacity: true)
    try takeIf { $0 == UInt8(ascii: "-") }
    if try takeIf({ $0 == UInt8(ascii: "0") }) == false { try digits() }
    if try takeIf({ $0 == UInt8(ascii: ".") }) { try digits() }
    if try takeIf({ $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }) {
      try takeIf { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
      try digits()
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads a whole number of 64 bits.
  func integer() throws(Failure) -> Int64 {
    let isNegative = try skipSpace() == UInt8(ascii: "-")
    if isNegative { _ = try next() }
    guard let first = try peek(), Self.isDigit(first) else { throw broken() }
    var value: Int64 = 0
    while let byte = try peek(), Self.isDigit(byte) {
      _ = try next()
      let digit = Int64(byte - UInt8(ascii: "0"))
      let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, isOver) = isNegative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
      if isTooLarge || isOver { throw broken() }
      value = sum
    }
    if let after = try peek(), [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(after) {
      throw broken()
    }
    return value
  }

  private func digits() throws(Failure) {
    guard try takeIf(Self.isDigit) else { throw broken() }
    while try takeIf(Self.isDigit) {}
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  @discardableResult
  private func takeIf(_ isWanted: (UInt8) -> Bool) throws(Failure) -> Bool {
    guard let byte = try peek(), isWanted(byte) else { return false }
    _ = try next()
    text.append(byte)
    return true
  }

  /// Reads `true`, `false` or `null`, which is `nil`.
  func word() throws(Failure) -> Bool? {
    _ = try skipSpace()
    text.removeAll(keepingCapacity: true)
    while try takeIf({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }) && text.count < 6 {}
    switch String(decoding: text, as: UTF8.self) {
    case "true": return true
    case "false": return false
    case "null": return nil
    default: throw broken()
    }
  }

  /// Reads a value and forgets it.
  func skip() throws {
    switch try kind() {
    case .object: try object { _ in try skip() }
    case .array: try array { try skip() }
    case .text: _ = try string(bytesMax: 0)
    case .number: _ = try number()
    case .word: _ = try word()
    case .end: throw broken()
    }
  }

  /// The same for a value that this program wrote itself: the grammar is not looked at.
  func skipTrusted() throws(Failure) {
    do throws(FileError) { try source.skipValue() } catch { throw .file(error) }
  }

  // MARK: Bytes

  private func peek() throws(Failure) -> UInt8? {
    do throws(FileError) { return try source.peek() } catch { throw .file(error) }
  }

  private func next() throws(Failure) -> UInt8? {
    do throws(FileError) { return try source.next() } catch { throw .file(error) }
  }

  /// The next byte that is no space, unread; `nil` at the end.
  private func skipSpace() throws(Failure) -> UInt8? {
    while let byte = try peek() {
      switch byte {
      case 0x20, 0x09, 0x0D: break
      case 0x0A:
        line += 1
        lineStart = source.position + 1
      default: return byte
      }
      _ = try next()
    }
    return nil
  }

  private func skipSpaceAndTake(_ byte: UInt8) throws(Failure) {
    guard try skipSpace() == byte else { throw broken() }
    _ = try next()
  }

  private func take(_ byte: UInt8) throws(Failure) {
    guard try next() == byte else { throw broken() }
  }

  func broken() -> Failure { .syntax(line: line, column: source.position - lineStart + 1) }
}

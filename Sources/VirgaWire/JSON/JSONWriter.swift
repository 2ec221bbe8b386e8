/// Writes one JSON text, without spaces, to the end of its bytes.
///
/// Commas come by themselves; brackets and keys must be balanced by the caller.
package struct JSONWriter: Sendable {
  package private(set) var bytes: [UInt8]
  private var needsComma = false

  package init(capacity: Int = 0) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  // MARK: Objects and arrays

  package mutating func beginObject() { open(UInt8(ascii: "{")) }

  package mutating func endObject() { close(UInt8(ascii: "}")) }

  package mutating func beginArray() { open(UInt8(ascii: "[")) }

  package mutating func endArray() { close(UInt8(ascii: "]")) }

  /// Writes a key that needs no escapes.
  package mutating func key(_ name: StaticString) {
    let needsComma = needsComma
    bytes.append(addingCapacity: name.utf8CodeUnitCount + 4) { out in
      if needsComma { out.append(UInt8(ascii: ",")) }
      out.append(UInt8(ascii: "\""))
      out.append(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
      out.append(UInt8(ascii: "\""))
      out.append(UInt8(ascii: ":"))
    }
    self.needsComma = false
  }

  package mutating func key(_ name: String) {
    separate()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  package mutating func array<Element>(_ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void)
  {
    beginArray()
    for element in elements { write(&self, element) }
    endArray()
  }

  // MARK: Values

  package mutating func string(_ text: String) {
    separate()
    quote(text)
  }

  package mutating func int(_ number: Int64) {
    separate()
    append(number)
  }

  /// Writes a double so that it reads back as the same and not as an integer.
  /// - Precondition: `number` is finite: JSON has no other numbers.
  package mutating func double(_ number: Double) {
    precondition(number.isFinite, "a number that is not finite cannot be written as JSON")
    separate()
    // The shortest text that reads back exactly; it always has a fraction or an exponent.
    bytes.append(contentsOf: number.description.utf8)
  }

  package mutating func bool(_ value: Bool) {
    separate()
    append(value ? "true" : "false")
  }

  package mutating func null() {
    separate()
    append("null")
  }

  package mutating func base64(_ data: [UInt8]) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    Base64.append(data, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Writes a value, or members `"key":value,…`, that are JSON already.
  package mutating func raw(_ json: some Collection<UInt8>) {
    separate()
    bytes.append(contentsOf: json)
  }

  // MARK: Pieces

  /// Writes a piece of JSON as it is: brackets, commas and keys are the caller's, and together they are one value or end with one.
  mutating func piece(_ json: StaticString) { append(json) }

  mutating func piece(_ json: [UInt8]) { bytes.append(contentsOf: json) }

  mutating func piece(quoting text: String) { quote(text) }

  mutating func piece(_ number: Int64) { append(number) }

  /// Says that pieces follow, as one value.
  mutating func beginPieces() { separate() }

  // MARK: Members

  package mutating func member(_ name: StaticString, _ text: String) {
    key(name)
    string(text)
  }

  package mutating func member(_ name: StaticString, ifPresent text: String?) {
    if let text { member(name, text) }
  }

  package mutating func member(_ name: StaticString, _ number: Int64) {
    key(name)
    int(number)
  }

  package mutating func member(_ name: StaticString, _ value: Bool) {
    key(name)
    bool(value)
  }

  // MARK: Bytes

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  @inline(__always)
  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func append(_ text: StaticString) {
    bytes.append(addingCapacity: text.utf8CodeUnitCount) { out in
      out.append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
  }

  private mutating func append(_ number: Int64) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var magnitude = number.magnitude
      var start = digits.count
      repeat {
        let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(remainder)
        magnitude = quotient
      } while magnitude > 0
      if number < 0 {
        start -= 1
        digits[start] = UInt8(ascii: "-")
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
    }
  }

  private mutating func quote(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      guard plainByteCount(UnsafeRawBufferPointer(utf8)) == utf8.count else { return appendEscaped(utf8) }
      bytes.append(addingCapacity: utf8.count + 2) { out in
        out.append(UInt8(ascii: "\""))
        out.append(utf8)
        out.append(UInt8(ascii: "\""))
      }
    }
  }

  private mutating func appendEscaped(_ utf8: UnsafeBufferPointer<UInt8>) {
    bytes.append(UInt8(ascii: "\""))
    var start = 0
    var position = 0
    while true {
      position += plainByteCount(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[position...]))
      guard position < utf8.count else { break }
      let byte = utf8[position]
      if byte < 0x80 {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<position]))
        escape(byte)
        start = position + 1
      }
      position += 1
    }
    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x0a: bytes.append(UInt8(ascii: "n"))
    case 0x0d: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case 0..<0x20:
      append("u00")
      let hex: StaticString = "0123456789abcdef"
      for digit in [byte >> 4, byte & 15] { hex.withUTF8Buffer { bytes.append($0[Int(digit)]) } }
    default: bytes.append(byte)
    }
  }
}

extension OutputSpan<UInt8> {
  /// Appends bytes for which room was made.
  @inline(__always)
  fileprivate mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let source = bytes.baseAddress else { return }
    withUnsafeMutableBufferPointer { buffer, count in
      precondition(buffer.count - count >= bytes.count)
      buffer.baseAddress?.advanced(by: count).update(from: source, count: bytes.count)
      count += bytes.count
    }
  }
}

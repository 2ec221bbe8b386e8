/// Writes JSON with a key on each line, as scripts and people read it, piece by piece into a buffer of bytes.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  private var depth: Int
  /// Whether the open object or array has a member already.
  private var hasMember = false

  /// - Parameter depth: How far what is written is indented.
  init(depth: Int = 0) { self.depth = depth }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Hands out what was written so far.
  mutating func take() -> [UInt8] {
    defer { bytes.removeAll(keepingCapacity: true) }
    return bytes
  }

  mutating func object(_ body: (inout JSONWriter) throws -> Void) rethrows { try enclose("{", "}", body) }

  /// An array; each element is written with `element`.
  mutating func array(_ body: (inout JSONWriter) throws -> Void) rethrows { try enclose("[", "]", body) }

  mutating func element(_ body: (inout JSONWriter) throws -> Void) rethrows {
    beginMember()
    try body(&self)
  }

  mutating func member(_ key: String, _ body: (inout JSONWriter) throws -> Void) rethrows {
    beginMember()
    string(key)
    bytes += Array(" : ".utf8)
    try body(&self)
  }

  mutating func member(_ key: String, _ value: String?) {
    if let value { member(key) { $0.string(value) } }
  }

  mutating func member(_ key: String, _ value: Int64?) {
    if let value { member(key) { $0.bytes += Array(String(value).utf8) } }
  }

  mutating func member(_ key: String, _ value: Bool) { member(key) { $0.bytes += Array("\(value)".utf8) } }

  mutating func member(_ key: String, _ value: Double?) {
    if let value, value.isFinite { member(key) { $0.bytes += Array(Self.digits(value).utf8) } }
  }

  mutating func member(_ key: String, _ values: [String]) {
    member(key) { writer in
      writer.array { writer in
        for value in values { writer.element { $0.string(value) } }
      }
    }
  }

  /// All digits that tell the number from any other, and no fraction of whole ones.
  static func digits(_ value: Double) -> String {
    if let whole = Int64(exactly: value), abs(whole) < 1 << 53 { return String(whole) }
    return "\(value)"
  }

  mutating func string(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x0A: bytes += Array(#"\n"#.utf8)
      case 0x0D: bytes += Array(#"\r"#.utf8)
      case 0x09: bytes += Array(#"\t"#.utf8)
      case 0x08: bytes += Array(#"\b"#.utf8)
      case 0x0C: bytes += Array(#"\f"#.utf8)
      case 0..<0x20: bytes += Array((byte < 0x10 ? #"\u000"# : #"\u00"#).utf8) + Array(String(byte, radix: 16).utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func enclose(
    _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ body: (inout JSONWriter) throws -> Void
  ) rethrows {
    let outer = hasMember
    bytes.append(UInt8(ascii: open))
    hasMember = false
    depth += 1
    try body(&self)
    depth -= 1
    // An empty one stands on three lines, as Foundation writes it.
    bytes.append(0x0A)
    if !hasMember { bytes.append(0x0A) }
    indent()
    bytes.append(UInt8(ascii: close))
    hasMember = outer
  }

  private mutating func beginMember() {
    if hasMember { bytes.append(UInt8(ascii: ",")) }
    hasMember = true
    bytes.append(0x0A)
    indent()
  }

  private mutating func indent() { bytes += repeatElement(0x20, count: 2 * depth) }
}

/// JSON as RFC 8259 has it, read without any of the code under test: member order is kept, numbers keep their digits, and
/// what strict readers refuse (a name twice in an object, bytes behind the end) is refused.
package enum PlainJSON: Hashable, Sendable {
  case null
  case flag(Bool)
  /// The number's text.
  case number(String)
  case text(String)
  case list([PlainJSON])
  case object([Member])

  package struct Member: Hashable, Sendable {
    package var name: String
    package var value: PlainJSON

    package init(name: String, value: PlainJSON) {
      self.name = name
      self.value = value
    }
  }

  package struct Malformed: Error, CustomStringConvertible {
    package var description: String
  }

  package init(_ bytes: [UInt8]) throws {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed(description: "not UTF-8") }
    var reader = Reader(scalars: Array(text.unicodeScalars))
    self = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.isAtEnd else { throw Malformed(description: "something follows the value at \(reader.position)") }
  }

  package init(_ text: String) throws { try self.init(Array(text.utf8)) }

  /// The member of that name; `nil` if this is no object or has none.
  package subscript(name: String) -> PlainJSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  package var elements: [PlainJSON] { if case .list(let elements) = self { elements } else { [] } }
  package var members: [Member] { if case .object(let members) = self { members } else { [] } }
  package var string: String? { if case .text(let text) = self { text } else { nil } }
  package var integer: Int64? { if case .number(let text) = self { Int64(text) } else { nil } }

  /// What JSON calls its kind.
  package var kind: String {
    switch self {
    case .null: "null"
    case .flag: "boolean"
    case .number: "number"
    case .text: "string"
    case .list: "array"
    case .object: "object"
    }
  }

  /// The value as JSON again.
  package var json: String {
    switch self {
    case .null: "null"
    case .flag(let flag): flag ? "true" : "false"
    case .number(let text): text
    case .text(let text): Self.quoted(text)
    case .list(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ":" + $0.value.json }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  private struct Reader {
    let scalars: [Unicode.Scalar]
    var position = 0

    init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

    var isAtEnd: Bool { position == scalars.count }
    var next: Unicode.Scalar? { isAtEnd ? nil : scalars[position] }

    mutating func skipSpace() {
      while let next, next == " " || next == "\t" || next == "\n" || next == "\r" { position += 1 }
    }

    mutating func pass(_ text: String) throws {
      for scalar in text.unicodeScalars {
        guard next == scalar else { throw Malformed(description: "expected '\(text)' at \(position)") }
        position += 1
      }
    }

    mutating func value(depth: Int) throws -> PlainJSON {
      guard depth < 200 else { throw Malformed(description: "too deep") }
      skipSpace()
      switch next {
      case "{": return .object(try object(depth: depth))
      case "[": return .list(try list(depth: depth))
      case "\"": return .text(try string())
      case "t":
        try pass("true")
        return .flag(true)
      case "f":
        try pass("false")
        return .flag(false)
      case "n":
        try pass("null")
        return .null
      default: return .number(try number())
      }
    }

    mutating func object(depth: Int) throws -> [Member] {
      try pass("{")
      var members: [Member] = []
      skipSpace()
      if next == "}" {
        position += 1
        return []
      }
      while true {
        skipSpace()
        let name = try string()
        skipSpace()
        try pass(":")
        guard !members.contains(where: { $0.name == name }) else {
          throw Malformed(description: "'\(name)' is there twice")
        }
        members.append(Member(name: name, value: try value(depth: depth + 1)))
        skipSpace()
        guard next == "," else { break }
        position += 1
      }
      try pass("}")
      return members
    }

    mutating func list(depth: Int) throws -> [PlainJSON] {
      try pass("[")
      var elements: [PlainJSON] = []
      skipSpace()
      if next == "]" {
        position += 1
        return []
      }
      while true {
        elements.append(try value(depth: depth + 1))
        skipSpace()
        guard next == "," else { break }
        position += 1
      }
      try pass("]")
      return elements
    }

    mutating func string() throws -> String {
      try pass("\"")
      var text = String.UnicodeScalarView()
      while let scalar = next {
        position += 1
        switch scalar {
        case "\"": return String(text)
        case "\\": text.append(try escaped())
        case "\u{0}"..<" ": throw Malformed(description: "a bare control character at \(position)")
        default: text.append(scalar)
        }
      }
      throw Malformed(description: "a string without an end")
    }

    mutating func escaped() throws -> Unicode.Scalar {
      guard let scalar = next else { throw Malformed(description: "an escape without an end") }
      position += 1
      switch scalar {
      case "\"", "\\", "/": return scalar
      case "b": return "\u{8}"
      case "f": return "\u{c}"
      case "n": return "\n"
      case "r": return "\r"
      case "t": return "\t"
      case "u":
        let unit = try hexDigits()
        guard (0xd800..<0xdc00).contains(unit) else {
          guard let found = Unicode.Scalar(unit) else { throw Malformed(description: "half a surrogate pair") }
          return found
        }
        try pass("\\u")
        let low = try hexDigits()
        guard (0xdc00..<0xe000).contains(low),
          let found = Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
        else { throw Malformed(description: "half a surrogate pair") }
        return found
      default: throw Malformed(description: "an unknown escape at \(position)")
      }
    }

    mutating func hexDigits() throws -> UInt32 {
      guard position + 4 <= scalars.count,
        let unit = UInt32(String(String.UnicodeScalarView(scalars[position..<position + 4])), radix: 16)
      else { throw Malformed(description: "four digits are missing at \(position)") }
      position += 4
      return unit
    }

    mutating func number() throws -> String {
      let start = position
      if next == "-" { position += 1 }
      let whole = try digits()
      guard whole == 1 || scalars[position - whole] != "0" else {
        throw Malformed(description: "a number begins with 0 at \(start)")
      }
      if next == "." {
        position += 1
        _ = try digits()
      }
      if next == "e" || next == "E" {
        position += 1
        if next == "+" || next == "-" { position += 1 }
        _ = try digits()
      }
      return String(String.UnicodeScalarView(scalars[start..<position]))
    }

    mutating func digits() throws -> Int {
      let start = position
      while let next, ("0"..."9").contains(next) { position += 1 }
      guard position > start else { throw Malformed(description: "no value at \(position)") }
      return position - start
    }
  }
}

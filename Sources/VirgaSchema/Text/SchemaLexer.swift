/// Splits a schema's text into words and signs, and leaves out comments.
///
/// What it cannot read it tells and passes over; where a name lacks its quotes it goes on as if they were there.
struct SchemaLexer {
  private let bytes: [UInt8]
  private var index = 0
  private var position = SchemaPosition(line: 1, column: 1)
  private(set) var diagnostics: [SchemaDiagnostic] = []

  init(_ text: String) {
    bytes = Array(text.utf8)
    // A byte order mark is no character of the text.
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { index = 3 }
  }

  /// All tokens, the last of which is the end.
  mutating func tokens() -> [SchemaToken] {
    var tokens: [SchemaToken] = []
    while let token = next() { tokens.append(token) }
    tokens.append(SchemaToken(.end, "", at: position))
    return tokens
  }

  private mutating func next() -> SchemaToken? {
    while index < bytes.count {
      let start = position
      switch bytes[index] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): advance()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"), UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
        skipLine()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): skipBlock(from: start)
      case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "<"),
        UInt8(ascii: ">"):
        let sign = Character(Unicode.Scalar(bytes[index]))
        advance()
        return SchemaToken(.sign(sign), String(sign), at: start)
      case UInt8(ascii: "\""):
        if let name = quotedName(from: start) { return name }
      case let byte where Self.isNamePart(byte): return word(from: start)
      default: refuseCharacter(at: start)
      }
    }
    return nil
  }

  private mutating func word(from start: SchemaPosition) -> SchemaToken {
    let first = index
    while let byte = peek(0), Self.isNamePart(byte) { advance() }
    let text = String(decoding: bytes[first..<index], as: UTF8.self)
    guard let objection = Self.objection(toPlain: text) else { return SchemaToken(.word, text, at: start) }
    report("Encountered: \"\(text)\": a name that \(objection) needs quotes: \"\(text)\"", at: start)
    return SchemaToken(.quoted, text, at: start)
  }

  /// Why a name has to stand in quotes; `nil` if it does not.
  static func objection(toPlain name: String) -> String? {
    guard let first = name.utf8.first else { return "is empty" }
    if first == UInt8(ascii: "_") { return "begins with an underscore" }
    if !isLetter(first) { return "does not begin with a letter" }
    if name.utf8.contains(UInt8(ascii: ".")) { return "has a dot" }
    return name.utf8.allSatisfy(isNamePart) ? nil : "has other characters than letters, digits and underscores"
  }

  private mutating func quotedName(from start: SchemaPosition) -> SchemaToken? {
    advance()
    let first = index
    while let byte = peek(0), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
      advance()
    }
    let text = String(decoding: bytes[first..<index], as: UTF8.self)
    guard peek(0) == UInt8(ascii: "\"") else {
      report("Encountered: \"\\\"\": the quoted name does not end on its line", at: start)
      return SchemaToken(.quoted, text, at: start)
    }
    advance()
    guard text.isEmpty else { return SchemaToken(.quoted, text, at: start) }
    report("Encountered: \"\\\"\\\"\": a name in quotes is not empty", at: start)
    return nil
  }

  private mutating func skipLine() {
    while let byte = peek(0), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { advance() }
  }

  private mutating func skipBlock(from start: SchemaPosition) {
    advance()
    advance()
    while let byte = peek(0) {
      advance()
      if byte == UInt8(ascii: "*"), peek(0) == UInt8(ascii: "/") {
        advance()
        return
      }
    }
    report("Encountered: \"/*\": the comment does not end", at: start)
  }

  private mutating func refuseCharacter(at start: SchemaPosition) {
    let first = index
    repeat { advance() } while peek(0).map { $0 & 0xc0 == 0x80 } ?? false
    let character = String(decoding: bytes[first..<index], as: UTF8.self)
    let code = character.unicodeScalars.first?.value ?? 0
    let shown = code < 0x20 || code == 0x7f ? "" : "\"\(character)\" "
    report("Encountered: \(shown)(\(code)): not a character of the language outside quotes and comments", at: start)
  }

  private mutating func report(_ text: String, at position: SchemaPosition) {
    diagnostics.append(SchemaDiagnostic(.lexical(text), at: position))
  }

  // MARK: Bytes

  private func peek(_ distance: Int) -> UInt8? {
    index + distance < bytes.count ? bytes[index + distance] : nil
  }

  /// Passes over a byte. A line ends with LF, CR or both; bytes that continue a character do not count.
  private mutating func advance() {
    let byte = bytes[index]
    index += 1
    if byte == UInt8(ascii: "\n") || (byte == UInt8(ascii: "\r") && peek(0) != UInt8(ascii: "\n")) {
      position = SchemaPosition(line: position.line + 1, column: 1)
    } else if byte & 0xc0 != 0x80 {
      position.column += 1
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// Dots and leading underscores are read as parts of a name, so that the error can speak of the whole.
  private static func isNamePart(_ byte: UInt8) -> Bool {
    isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: ".")
  }
}

/// Cuts a format into tokens, one at a time, so that a parser can go back to where it was.
struct FormatLexer {
  enum Token: Equatable {
    /// A name, or names joined by dots; reserved words among them.
    case name(String)
    /// A name after `#`, which is never a reserved word.
    case escapedName(String)
    /// A name with colons, such as `distanceToLocation:fromLocation:`.
    case function(String)
    case text(String)
    /// The digits as they stand.
    case number(String)
    /// `%K`, `%@` or the letter of a number, without its length.
    case placeholder(Character)
    case symbol(String)
    case end
  }

  let characters: [Character]
  let format: String
  private(set) var offset = 0
  /// Where the token that was read last began.
  private(set) var start = 0

  init(_ format: String) {
    self.format = format
    characters = Array(format)
  }

  func error(_ reason: String, at offset: Int) -> PredicateFormatError {
    PredicateFormatError(format: format, position: offset + 1, reason: reason)
  }

  mutating func next() throws(PredicateFormatError) -> Token {
    while let character = peek(), character.isWhitespace { offset += 1 }
    start = offset
    guard let character = peek() else { return .end }
    switch character {
    case "\"", "'": return .text(try readText(endingWith: character))
    case "%": return try readPlaceholder()
    case "#":
      offset += 1
      let name = readName()
      if name.isEmpty { throw error("# needs a name after it", at: start) }
      return .escapedName(name)
    case _ where Self.beginsName(character): return readNameOrFunction()
    case _ where character.isDigit: return .number(try readNumber())
    case "." where peek(1)?.isDigit == true: return .number(try readNumber())
    default: return .symbol(try readSymbol(character))
    }
  }

  private func peek(_ distance: Int = 0) -> Character? {
    offset + distance < characters.count ? characters[offset + distance] : nil
  }

  // MARK: Names

  static func isName(_ text: String) -> Bool {
    text.first.map(beginsName) ?? false && text.allSatisfy(isPartOfName)
  }

  private static func beginsName(_ character: Character) -> Bool { character.isLetter || character == "_" }
  private static func isPartOfName(_ character: Character) -> Bool { beginsName(character) || character.isDigit }

  private mutating func readName() -> String {
    let begin = offset
    if let character = peek(), Self.beginsName(character) {
      while let character = peek(), Self.isPartOfName(character) { offset += 1 }
    }
    return String(characters[begin..<offset])
  }

  private mutating func readNameOrFunction() -> Token {
    var name = readName()
    if peek() == ":" {
      while peek() == ":" {
        offset += 1
        name += ":" + readName()
      }
      return .function(name)
    }
    while peek() == ".", let following = peek(1), Self.beginsName(following) {
      offset += 1
      name += "." + readName()
    }
    return .name(name)
  }

  // MARK: Literals

  private mutating func readText(endingWith quote: Character) throws(PredicateFormatError) -> String {
    offset += 1
    var text = ""
    while let character = peek() {
      offset += 1
      if character == quote { return text }
      text.append(character == "\\" ? try readEscape() : character)
    }
    throw error("the text that begins here has no closing \(quote)", at: start)
  }

  /// A character that means nothing special after a backslash stands for itself, as in Foundation.
  private mutating func readEscape() throws(PredicateFormatError) -> Character {
    guard let character = peek() else { throw error("the text that begins here ends in a backslash", at: start) }
    offset += 1
    switch character {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "u":
      let digits = String(characters[offset..<min(offset + 4, characters.count)])
      guard digits.count == 4, let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
        throw error("\\u needs four hexadecimal digits of a character", at: offset - 2)
      }
      offset += 4
      return Character(scalar)
    default: return character
    }
  }

  private mutating func readNumber() throws(PredicateFormatError) -> String {
    let begin = offset
    if peek() == "0", let mark = peek(1), "xX".contains(mark) {
      offset += 2
      while let character = peek(), character.isASCII, character.isHexDigit { offset += 1 }
      return String(characters[begin..<offset])
    }
    while let character = peek(), character.isDigit || character == "." { offset += 1 }
    if let mark = peek(), "eE".contains(mark) {
      let sign = peek(1).map { "+-".contains($0) } ?? false
      if peek(sign ? 2 : 1)?.isDigit == true {
        offset += sign ? 2 : 1
        while let character = peek(), character.isDigit { offset += 1 }
      }
    }
    if let character = peek(), Self.beginsName(character) {
      throw error("a number cannot contain \"\(character)\"", at: offset)
    }
    return String(characters[begin..<offset])
  }

  private mutating func readPlaceholder() throws(PredicateFormatError) -> Token {
    offset += 1
    while let character = peek(), "lhqzjt".contains(character) { offset += 1 }
    guard let letter = peek() else { throw error("% needs a conversion after it, such as %@ or %K", at: start) }
    offset += 1
    let isLong = offset - start > 2
    switch letter {
    case "K" where !isLong, "@" where !isLong: return .placeholder(letter)
    case "d", "D", "i", "u", "U", "x", "X", "o", "O", "f", "F", "e", "E", "g", "G", "a", "A":
      return .placeholder(letter)
    case "s", "S", "c", "C":
      throw error("%\(letter) is not supported; pass a String for %@", at: start)
    default: throw error("%\(letter) is not a conversion; use %@, %K, %d, %ld or %f", at: start)
    }
  }

  private mutating func readSymbol(_ character: Character) throws(PredicateFormatError) -> String {
    if let second = peek(1) {
      let both = String([character, second])
      if ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "**", ":="].contains(both) {
        offset += 2
        return both
      }
    }
    guard "=<>!(){}[],.@$+-*/".contains(character) else {
      throw error("\"\(character)\" is not expected here", at: offset)
    }
    offset += 1
    return String(character)
  }
}

extension Character {
  fileprivate var isDigit: Bool { ("0"..."9").contains(self) }
}

// For the decomposition of the Unicode standard, which the standard library has but does not publish.
@_spi(_Unicode) import Swift

/// Cuts text into the words that a search compares. See `docs/decisions/queries.md`.
///
/// Words are runs of letters, marks and digits; in scripts written without spaces each character is one. Case and
/// accents do not count: text is decomposed, accents are dropped, and each character is raised and lowered, which
/// also makes one of σ and ς, and ss of ß.
public enum SearchTokens {
  /// Characters of a word that count; longer words are cut.
  public static let scalarsPerTokenMax = 64

  /// The words in their order, folded.
  public static func tokens(of text: String) -> [String] {
    var tokens: [String] = []
    var token = String.UnicodeScalarView()
    // Whether the character before stood alone: a mark then belongs to it.
    var followsLone = false
    func finish() {
      if !token.isEmpty { tokens.append(String(token)) }
      token = String.UnicodeScalarView()
    }
    for scalar in text._nfd {
      if isAccent(scalar) { continue }
      guard isPartOfWord(scalar) else {
        finish()
        followsLone = false
        continue
      }
      if followsLone && isMark(scalar) {
        tokens[tokens.count - 1].unicodeScalars.append(scalar)
        continue
      }
      followsLone = standsAlone(scalar)
      if followsLone {
        finish()
        tokens.append(String(scalar))
      } else if token.count < scalarsPerTokenMax {
        appendFolded(scalar, to: &token)
      }
    }
    finish()
    return tokens
  }

  private static func appendFolded(_ scalar: Unicode.Scalar, to token: inout String.UnicodeScalarView) {
    if scalar.isASCII {
      token.append(Unicode.Scalar((65...90).contains(scalar.value) ? scalar.value + 32 : scalar.value) ?? scalar)
      return
    }
    for upper in scalar.properties.uppercaseMapping.unicodeScalars {
      for lower in upper.properties.lowercaseMapping.unicodeScalars where !isAccent(lower) { token.append(lower) }
    }
  }

  /// Marks that sit above, below or on a letter, and the vowel points of Hebrew and Arabic. Marks of other scripts,
  /// such as Indic vowels and Japanese voicing, make another letter and stay.
  private static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x300 else { return false }
    let combining = scalar.properties.canonicalCombiningClass.rawValue
    return (10...35).contains(combining) || (200...240).contains(combining)
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }

  private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII {
      return (48...57).contains(scalar.value) || (97...122).contains(scalar.value | 0x20)
    }
    return switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
      true
    default: false
    }
  }

  /// Ideographs, kana, and the letters of Thai, Lao, Burmese and Khmer.
  private static func standsAlone(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0xe00 { return false }
    return switch scalar.value {
    case 0xe00...0xeff, 0x1000...0x109f, 0x1780...0x17ff, 0x3040...0x30ff, 0x31f0...0x31ff: true
    default: scalar.properties.isIdeographic
    }
  }
}

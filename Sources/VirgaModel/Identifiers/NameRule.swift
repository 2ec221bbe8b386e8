/// What a name chosen by a client may be.
///
/// CloudKit's reference asks for ASCII, its headers allow more. Virga takes the reference's side: two Unicode
/// spellings of one name can then never become two records. See `docs/decisions/names.md`.
public enum NameRule: Sendable {
  /// Record and zone names: 1...255 printable ASCII characters that do not begin with an underscore.
  case name
  /// Record types: an ASCII letter, then letters, digits, underscores and dots, 1...255 in all.
  case recordType
  /// Containers: an ASCII letter, then letters, digits, underscores, dots and hyphens, 1...255 in all.
  case container
  /// Field names: an ASCII letter, then letters, digits and underscores, 1...255 in all.
  case fieldName

  /// Says what is wrong with a name; `nil` when nothing is.
  public func objection(to text: String) -> String? {
    let utf8 = text.utf8
    guard let first = utf8.first else { return "is empty" }
    if utf8.count > Limits.nameLengthMax { return "is longer than \(Limits.nameLengthMax) characters" }
    switch self {
    case .name:
      if first == UInt8(ascii: "_") { return "begins with an underscore, which is reserved" }
      if !utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { return "has a character that is not printable ASCII" }
    case .recordType, .fieldName, .container:
      if !isLetter(first) { return "does not begin with an ASCII letter" }
      let allowed = utf8.allSatisfy {
        isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
          || ($0 == UInt8(ascii: ".") && self != .fieldName) || ($0 == UInt8(ascii: "-") && self == .container)
      }
      if !allowed {
        return self == .container
          ? "has a character other than ASCII letters, digits, '.', '_' and '-'"
          : "has a character that is not allowed there"
      }
    }
    return nil
  }

  private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}

extension NameRule {
  /// Whether a name that people give a device may hold the scalar. Such names are shown in terminals, so they hold nothing
  /// that could steer one.
  public static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
    default: true
    }
  }
}

/// What a name chosen by a client may be. See `docs/decisions/names.md`.
public enum NameRule: Sendable {
  /// Record and zone names: 1...255 UTF-16 code units without control characters that do not begin with an underscore.
  case name
  /// Names of subscriptions: as `name`, of printable ASCII.
  case plainName
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
    // Of a text that is not ASCII, `NSString` counts the units.
    if utf8.count > Limits.nameLengthMax, text.utf16.count > Limits.nameLengthMax {
      return "is longer than \(Limits.nameLengthMax) characters"
    }
    switch self {
    case .name:
      if first == UInt8(ascii: "_") { return "begins with an underscore, which is reserved" }
      // In UTF-8 the controls above ASCII are C2 80 to C2 9F.
      var last: UInt8 = 0
      for byte in utf8 {
        if byte < 0x20 || byte == 0x7f || last == 0xc2 && byte < 0xa0 { return "has a control character" }
        last = byte
      }
    case .plainName:
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

import Foundation

/// The terminal that a person reads, if standard output is one.
package struct Screen: Sendable {
  /// Columns; `nil` where nobody sits there, and lines may be as long as they are.
  package var width: Int?
  package var hasColour = false
  /// The command that shows long output a page at a time.
  package var pager: String?

  package init(width: Int? = nil, hasColour: Bool = false, pager: String? = nil) {
    self.width = width
    self.hasColour = hasColour
    self.pager = pager
  }

  /// The process's own.
  static func process(_ environment: [String: String]) -> Screen {
    guard isatty(STDOUT_FILENO) != 0 else { return Screen() }
    var size = winsize()
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let stated = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    let isDumb = ["", "dumb"].contains(environment["TERM"] ?? "")
    // https://no-color.org: any value but an empty one.
    let isPlain = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    let pager = environment["PAGER"].flatMap { $0.isEmpty || $0 == "cat" ? nil : $0 }
    return Screen(
      width: isKnown ? Int(size.ws_col) : stated ?? 80, hasColour: !isDumb && !isPlain, pager: isDumb ? nil : pager)
  }

  package enum Colour: Int, Sendable { case green = 32, yellow = 33, cyan = 36 }

  func painted(_ text: String, _ colour: Colour) -> String {
    hasColour && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// How many columns texts take in a terminal.
enum TextWidth {
  static func of(_ text: some StringProtocol) -> Int {
    if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text.utf8.count }
    return text.reduce(0) { $0 + of($1) }
  }

  /// A letter with its accents, or an emoji of several parts, takes the room of its first sign.
  static func of(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: return isWide(first.value) ? 2 : 1
    }
  }

  /// The beginning of a text that takes no more columns, with a sign where something is missing.
  static func cut(_ text: String, to width: Int) -> String {
    if of(text) <= width { return text }
    if width < 1 { return "" }
    var (kept, room) = ("", width - 1)
    for character in text {
      room -= of(character)
      if room < 0 { break }
      kept.append(character)
    }
    return kept + "…"
  }

  // Unicode's East Asian Width W and F, in blocks (EastAsianWidth.txt, Unicode 15).
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x23F0...0x23F0, 0x23F3...0x23F3,
    0x25FD...0x25FE, 0x2614...0x2615, 0x2648...0x2653, 0x267F...0x267F, 0x2693...0x2693, 0x26A1...0x26A1,
    0x26AA...0x26AB, 0x26BD...0x26BE, 0x26C4...0x26C5, 0x26CE...0x26CE, 0x26D4...0x26D4, 0x26EA...0x26EA,
    0x26F2...0x26F3, 0x26F5...0x26F5, 0x26FA...0x26FA, 0x26FD...0x26FD, 0x2705...0x2705, 0x270A...0x270B,
    0x2728...0x2728, 0x274C...0x274C, 0x274E...0x274E, 0x2753...0x2755, 0x2757...0x2757, 0x2795...0x2797,
    0x27B0...0x27B0, 0x27BF...0x27BF, 0x2B1B...0x2B1C, 0x2B50...0x2B50, 0x2B55...0x2B55, 0x2E80...0x303E,
    0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF,
    0x1AFF0...0x1B2FF, 0x1F004...0x1F004, 0x1F0CF...0x1F0CF, 0x1F18E...0x1F18E, 0x1F191...0x1F19A, 0x1F1E6...0x1F320,
    0x1F32D...0x1F335, 0x1F337...0x1F37C, 0x1F37E...0x1F393, 0x1F3A0...0x1F3CA, 0x1F3CF...0x1F3D3,
    0x1F3E0...0x1F3F0, 0x1F3F4...0x1F3F4, 0x1F3F8...0x1F43E, 0x1F440...0x1F440, 0x1F442...0x1F4FC,
    0x1F4FF...0x1F53D, 0x1F54B...0x1F54E, 0x1F550...0x1F567, 0x1F57A...0x1F57A, 0x1F595...0x1F596,
    0x1F5A4...0x1F5A4, 0x1F5FB...0x1F64F, 0x1F680...0x1F6C5, 0x1F6CC...0x1F6CC, 0x1F6D0...0x1F6D2,
    0x1F6D5...0x1F6D7, 0x1F6DC...0x1F6DF, 0x1F6EB...0x1F6EC, 0x1F6F4...0x1F6FC, 0x1F7E0...0x1F7EB,
    0x1F7F0...0x1F7F0, 0x1F90C...0x1F93A, 0x1F93C...0x1F945, 0x1F947...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x3FFFD,
  ]

  private static func isWide(_ scalar: UInt32) -> Bool {
    if scalar < 0x1100 { return false }
    var (low, high) = (0, wide.count)
    while low < high {
      let middle = (low + high) / 2
      if wide[middle].upperBound < scalar { low = middle + 1 } else { high = middle }
    }
    return low < wide.count && wide[low].contains(scalar)
  }
}

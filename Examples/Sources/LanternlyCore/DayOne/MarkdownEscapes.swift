/// Backslashes that Day One puts before punctuation.
package enum MarkdownEscapes {
  // Only signs whose escape changes nothing but looks: a backslash before `*`, `_`, `#`, a backtick or another
  // backslash keeps Markdown from reading them as markup, so it stays.
  private static let undone: Set<Character> = [".", "-", "[", "]", "(", ")", "!", "+", "/"]

  /// The text with such backslashes removed once; code is left as it is.
  package static func undone(_ text: String) -> String {
    guard text.contains("\\") else { return text }
    var blocks = CodeBlocks()
    return text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map(Substring.init)
      .map { blocks.isCode($0) ? String($0) : line($0) }
      .joined(separator: "\n")
  }

  private static func line(_ line: Substring) -> String {
    var result = ""
    var rest = line
    while let character = rest.first {
      if character == "`" {
        let span = codeSpan(rest)
        result += span
        rest = rest[span.endIndex...]
      } else if character == "\\", let next = rest.dropFirst().first {
        result += undone.contains(next) ? String(next) : "\\" + String(next)
        rest = rest.dropFirst(2)
      } else {
        result.append(character)
        rest = rest.dropFirst()
      }
    }
    return result
  }

  /// The span of code at the start of a line's rest; only the backticks if nothing closes it.
  private static func codeSpan(_ rest: Substring) -> Substring {
    let open = rest.prefix { $0 == "`" }
    var after = rest[open.endIndex...]
    while let tick = after.firstIndex(of: "`") {
      let run = after[tick...].prefix { $0 == "`" }
      if run.count == open.count { return rest[..<run.endIndex] }
      after = after[run.endIndex...]
    }
    return open
  }

  /// Follows fenced and indented code from line to line.
  private struct CodeBlocks {
    private var fence: Substring?
    private var isInList = false
    private var wasBlank = true
    private var wasIndentedCode = false

    mutating func isCode(_ line: Substring) -> Bool {
      let content = line.drop { $0 == " " }
      if let fence {
        if content.hasPrefix(fence) { self.fence = nil }
        return true
      }
      if content.hasPrefix("```") || content.hasPrefix("~~~") {
        fence = content.prefix(3)
        return true
      }
      return isIndentedCode(line)
    }

    private mutating func isIndentedCode(_ line: Substring) -> Bool {
      let isBlank = line.allSatisfy(\.isWhitespace)
      let isIndented = !isBlank && (line.hasPrefix("    ") || line.hasPrefix("\t"))
      if !isBlank && !isIndented { isInList = Self.isListMarker(line) || (isInList && line.hasPrefix(" ")) }
      let isCode = isIndented && !isInList && (wasBlank || wasIndentedCode)
      wasIndentedCode = isCode || (isBlank && wasIndentedCode)
      wasBlank = isBlank
      return isCode
    }

    private static func isListMarker(_ line: Substring) -> Bool {
      let content = line.drop { $0 == " " }
      if let first = content.first, "-*+".contains(first) { return content.dropFirst().hasPrefix(" ") }
      let digits = content.prefix { $0.isNumber }
      return !digits.isEmpty && content[digits.endIndex...].first.map { ".)\\".contains($0) } == true
    }
  }
}

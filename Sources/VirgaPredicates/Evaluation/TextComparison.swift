import Foundation

/// Compares texts as Foundation's predicates do, with what the options in brackets overlook.
struct TextComparison {
  private let options: Comparison.Options

  init(_ options: Comparison.Options) { self.options = options }

  func folded(_ text: String) -> String {
    var folding: String.CompareOptions = []
    if options.contains(.caseInsensitive) { folding.insert(.caseInsensitive) }
    if options.contains(.diacriticInsensitive) { folding.insert(.diacriticInsensitive) }
    if folding.isEmpty { return text }
    return text.folding(options: folding, locale: options.contains(.localeSensitive) ? .current : nil)
  }

  func holds(_ text: String, _ comparator: Comparison.Comparator, _ pattern: String) -> Bool {
    let text = folded(text)
    switch comparator {
    case .contains: return contains(Array(text.utf8), Array(folded(pattern).utf8))
    case .beginsWith: return text.utf8.starts(with: folded(pattern).utf8)
    case .endsWith: return text.utf8.reversed().starts(with: folded(pattern).utf8.reversed())
    case .like: return isLike(Array(text), Array(folded(pattern)))
    case .matches: return matches(text, pattern)
    default: return false
    }
  }

  /// A text contains the empty text, as every text begins with it.
  private func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    guard part.count <= text.count else { return false }
    return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
  }

  /// `*` stands for any number of characters, `?` for one.
  private func isLike(_ text: [Character], _ pattern: [Character]) -> Bool {
    var (place, index) = (0, 0)
    // Where the last star was, and how much of the text it stands for so far.
    var star: (index: Int, place: Int)?
    while place < text.count {
      if index < pattern.count, pattern[index] == "*" {
        star = (index, place)
        index += 1
      } else if index < pattern.count, pattern[index] == "?" || pattern[index] == text[place] {
        (place, index) = (place + 1, index + 1)
      } else if let last = star {
        star = (last.index, last.place + 1)
        (place, index) = (last.place + 1, last.index + 1)
      } else {
        return false
      }
    }
    return pattern[index...].allSatisfy { $0 == "*" }
  }

  /// A regular expression that the whole text meets; one that is none meets nothing.
  private func matches(_ text: String, _ pattern: String) -> Bool {
    let options: NSRegularExpression.Options = options.contains(.caseInsensitive) ? [.caseInsensitive] : []
    guard let expression = try? NSRegularExpression(pattern: "^(?:\(pattern))$", options: options) else { return false }
    return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
  }
}

import Foundation
import Testing

/// The text that a user reads is plain, and fits a terminal.
@Suite struct ProseTests {
  /// A line that is wider wraps in a terminal and in a difference.
  @Test func linesOfDocumentsAreAtMost120Wide() {
    #expect(SourceTree.documents.count > 10)
    for document in SourceTree.documents {
      for (number, line) in document.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
      where line.count > 120 {
        Issue.record("\(document.path):\(number + 1) is \(line.count) wide")
      }
    }
  }

  /// Words that a reader whose first language is not English stumbles over, each with what to write in its place.
  private static let stiff: [(words: String, plain: String)] = [
    ("whoever", "anybody who, those who"), ("anew", "again, from the beginning"), ("none is", "there is no"),
    ("told of", "told about"), ("ever so", "no matter how"), ("the business of", "say who does it"),
    ("by and by", "gradually"), ("is none of", "is not one of"),
    ("comes about", "happens"), ("takes no request", "refuses requests"),
  ]

  @Test func documentsUsePlainWords() {
    for document in SourceTree.documents { check(document.text, in: document.path) }
  }

  /// Messages and help are string literals.
  @Test func messagesUsePlainWords() {
    for file in ["Sources", "Examples/Sources"].flatMap({ SourceTree.files(below: $0) }) {
      for (line, text) in SourceTree.literals(of: file) { check(text, in: "\(file.path):\(line)") }
    }
  }

  private func check(_ text: String, in place: String) {
    // As words alone, so that "a new" and "none issued" pass, and a line's end is a space.
    let words = text.lowercased().split { !$0.isLetter }.joined(separator: " ")
    for (stiff, plain) in Self.stiff where " \(words) ".contains(" \(stiff) ") {
      Issue.record("\(place) says \"\(stiff)\"; plainer: \(plain)")
    }
  }
}

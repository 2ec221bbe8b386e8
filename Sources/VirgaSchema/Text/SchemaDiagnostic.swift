/// Where something begins in a text: lines and characters, both from 1.
package struct SchemaPosition: Hashable, Comparable, Sendable {
  package var line: Int
  package var column: Int

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }
}

/// One error in a schema's text.
package struct SchemaDiagnostic: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    /// Characters that are no part of the language.
    case lexical(String)
    /// A word or sign where others are expected. Each is as the grammar shows it: `"LIST"`, `<IDENTIFIER>`.
    case syntax(encountered: String, expected: [String], hint: String?)
    /// What can be read but is not allowed.
    case meaning(String)
  }

  package var position: SchemaPosition
  package var kind: Kind

  init(_ kind: Kind, at position: SchemaPosition) {
    self.kind = kind
    self.position = position
  }

  package var description: String { "\(position.line):\(position.column): \(message)" }

  /// The error as `cktool` words it, so that scripts which look for its shape find it; an error of meaning is one line.
  package var message: String {
    let place = "at line \(position.line), column \(position.column)"
    switch kind {
    case .lexical(let text): return "Lexical error \(place). \(text)"
    case .meaning(let text): return text
    case .syntax(let encountered, let expected, let hint):
      let heading = expected.count == 1 ? "Was expecting:" : "Was expecting one of:"
      let lines = expected.map { "\n    \($0) ..." }.joined()
      return "Encountered \(encountered) \(place).\n\(heading)\(lines)" + (hint.map { "\n\($0)" } ?? "")
    }
  }
}

/// Why a text is no schema: at least one error, by place.
package struct SchemaErrors: Error, Hashable, Sendable, CustomStringConvertible {
  package var diagnostics: [SchemaDiagnostic]

  package var description: String {
    diagnostics.map(\.description).joined(separator: "\n")
  }
}

/// What an operation on schemas found and did, as it travels from a server to the program.
package struct SchemaReport: Codable, Hashable, Sendable {
  /// An error in a text.
  package struct Problem: Codable, Hashable, Sendable {
    package var line: Int
    package var column: Int
    package var message: String
  }

  package struct Change: Codable, Hashable, Sendable {
    package var kind: String
    /// A role, `Type` or `Type.field`.
    package var subject: String
    package var text: String
    package var losesData: Bool

    init(_ change: SchemaChange) {
      kind = change.kind
      subject = change.subject
      text = change.text
      losesData = change.losesData
    }
  }

  package struct Refusal: Codable, Hashable, Sendable {
    package var kind: String
    package var subject: String
    package var reason: String
  }

  /// Why the text is no schema; nothing else was looked at then.
  package var problems: [Problem] = []
  package var changes: [Change] = []
  /// Why it cannot be done. Nothing was done then.
  package var refusals: [Refusal] = []
  /// Whether the changes were made.
  package var isApplied = false
  /// Whether the container has anything on the server; `nil` where that was not looked at.
  package var isContainerKnown: Bool?
  /// How many records changed or went.
  package var recordsChanged = 0

  package init(changes: [SchemaChange], refusals: [SchemaEvolution.Refusal]) {
    self.changes = changes.map(Change.init)
    self.refusals = refusals.map { Refusal(kind: $0.change.kind, subject: $0.change.subject, reason: $0.reason) }
  }

  package init(_ errors: SchemaErrors) {
    problems = errors.diagnostics.map {
      Problem(line: $0.position.line, column: $0.position.column, message: $0.message)
    }
  }

  /// Whether nothing stands against it.
  package var isValid: Bool { problems.isEmpty && refusals.isEmpty }
}

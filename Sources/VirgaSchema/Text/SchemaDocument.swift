/// A schema's text once it was read: what it says, and where.
package struct SchemaDocument: Sendable {
  package var schema: Schema
  private var positions: [SchemaPlace: SchemaPosition]

  /// Reads a text without asking whether what it says is allowed.
  /// - Throws: Every error that can be told apart, by place, at most `Limits.schemaDiagnosticsMax`.
  package init(_ text: String) throws(SchemaErrors) {
    var parser = SchemaParser(text)
    let (schema, positions) = try parser.parse()
    self.schema = schema
    self.positions = positions
  }

  /// What is said but not allowed, by place.
  package func problems() -> [SchemaDiagnostic] {
    schema.problems().map { problem in
      let position = positions[problem.place] ?? SchemaPosition(line: 1, column: 1)
      return SchemaDiagnostic(.meaning(problem.message), at: position)
    }.sorted { $0.position < $1.position }
  }
}

extension Schema {
  /// Reads and checks a schema's text.
  package init(_ text: String) throws(SchemaErrors) {
    let document = try SchemaDocument(text)
    let problems = document.problems()
    if !problems.isEmpty {
      throw SchemaErrors(diagnostics: Array(problems.prefix(SchemaParser.diagnosticsMax)))
    }
    self = document.schema
  }
}

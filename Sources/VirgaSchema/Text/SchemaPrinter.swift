import VirgaModel

extension Schema {
  /// The schema's text in the layout of exports, in the order in which the schema has its parts.
  ///
  /// What was read from such a text is printed byte for byte as it was, but for comments, line breaks at the end, and
  /// names that were quoted without need.
  package var text: String {
    var text = "DEFINE SCHEMA\n"
    for role in roles { text += "\n    CREATE ROLE \(quotedIfNeeded(role.rawValue));\n" }
    for type in recordTypes { text += "\n" + type.text }
    return text
  }
}

extension SchemaRecordType {
  /// The statement that defines the type, indented as in an export.
  package var text: String {
    let names = fields.map { quotedIfNeeded($0.name.rawValue) }
    let width = names.map(\.count).max() ?? 0
    var members = zip(names, fields).map { name, field in
      let padding = String(repeating: " ", count: width - name.count + 1)
      return name + padding + ([field.type.name] + field.indexes.words).joined(separator: " ")
    }
    members += grants.map { grant in
      "GRANT \(grant.rights.words.joined(separator: ", ")) TO \(quotedIfNeeded(grant.role.rawValue))"
    }
    let body = members.map { "        \($0)" }.joined(separator: ",\n")
    return "    RECORD TYPE \(quotedIfNeeded(name.rawValue)) (\n" + (body.isEmpty ? "" : body + "\n") + "    );\n"
  }
}

extension SchemaField {
  /// The field as a line of its record type's statement.
  package var text: String {
    ([quotedIfNeeded(name.rawValue), type.name] + indexes.words).joined(separator: " ")
  }
}

private func quotedIfNeeded(_ name: String) -> String {
  let isReserved = SchemaKeyword(rawValue: name.uppercased())?.needsQuotes ?? false
  return isReserved || SchemaLexer.objection(toPlain: name) != nil ? "\"\(name)\"" : name
}

import VirgaModel

/// Reads the schema language, a function for each rule of its grammar.
///
/// After an error it goes on at the next member or statement, so that a text with three mistakes is told of three.
struct SchemaParser {
  static let diagnosticsMax = Limits.schemaDiagnosticsMax

  private let tokens: [SchemaToken]
  private var index = 0
  private var schema = Schema()
  private var positions: [SchemaPlace: SchemaPosition] = [:]
  private var diagnostics: [SchemaDiagnostic]

  init(_ text: String) {
    var lexer = SchemaLexer(text)
    tokens = lexer.tokens()
    diagnostics = lexer.diagnostics
  }

  mutating func parse() throws(SchemaErrors) -> (Schema, [SchemaPlace: SchemaPosition]) {
    do throws(SchemaDiagnostic) {
      try take(.define)
      try take(.schema)
    } catch {
      report(error)
      skipToStatement()
    }
    while current.kind != .end, diagnostics.count < Self.diagnosticsMax { statement() }
    guard diagnostics.isEmpty else {
      // The lexer was through before the parser began. Sorting is stable.
      let sorted = diagnostics.sorted { $0.position < $1.position }
      throw SchemaErrors(diagnostics: Array(sorted.prefix(Self.diagnosticsMax)))
    }
    return (schema, positions)
  }

  // MARK: Statements

  private mutating func statement() {
    do throws(SchemaDiagnostic) {
      switch current.keyword {
      case .create: try role()
      case .record: try recordType()
      default: throw unexpected([SchemaKeyword.create.image, SchemaKeyword.record.image, SchemaToken.endImage])
      }
      try take(sign: ";")
    } catch {
      report(error)
      skipToStatement()
    }
  }

  private mutating func role() throws(SchemaDiagnostic) {
    try take(.create)
    try take(.role)
    positions[.role(schema.roles.count)] = current.position
    schema.roles.append(RoleName(try identifier()))
  }

  private mutating func recordType() throws(SchemaDiagnostic) {
    try take(.record)
    try take(.type)
    let index = schema.recordTypes.count
    positions[.recordType(index)] = current.position
    var type = SchemaRecordType(RecordType(try identifier()))
    try take(sign: "(")
    if !isAt(sign: ")") { try members(of: &type, at: index) }
    try take(sign: ")")
    schema.recordTypes.append(type)
  }

  private mutating func members(of type: inout SchemaRecordType, at index: Int) throws(SchemaDiagnostic) {
    var follow: [String] = []
    while true {
      do throws(SchemaDiagnostic) {
        follow = try member(of: &type, at: index) + [SchemaToken.image(of: ","), SchemaToken.image(of: ")")]
        if isAt(sign: ",") {
          self.index += 1
          continue
        }
        if isAt(sign: ")") { return }
        throw unexpected(follow)
      } catch {
        report(error)
        guard diagnostics.count < Self.diagnosticsMax, skipToMember() else { return }
      }
    }
  }

  /// Reads a field or a grant.
  /// - Returns: What might have gone on with it.
  private mutating func member(of type: inout SchemaRecordType, at index: Int) throws(SchemaDiagnostic) -> [String] {
    let position = current.position
    if current.keyword == .grant {
      let grant = try grant()
      positions[.grant(type: index, type.grants.count)] = position
      type.grants.append(grant)
      return []
    }
    let field = try field()
    positions[.field(type: index, type.fields.count)] = position
    type.fields.append(field)
    var missing = SchemaIndexes.words.filter { !field.indexes.contains($0.index) }.map { "\"\($0.word)\"" }
    if case .number(nil) = field.type.element, !field.type.isList, field.indexes.isEmpty {
      missing.insert(SchemaKeyword.preferred.image, at: 0)
    }
    return missing
  }

  // MARK: Fields

  private mutating func field() throws(SchemaDiagnostic) -> SchemaField {
    let name = try identifier(orElse: [SchemaKeyword.grant.image])
    let type = try dataType()
    var indexes: SchemaIndexes = []
    while let index = current.index {
      guard indexes.insert(index).inserted else {
        throw SchemaDiagnostic(.meaning("\(current.text) is given twice for field '\(name)'"), at: current.position)
      }
      self.index += 1
    }
    return SchemaField(FieldName(name), type, indexes)
  }

  private mutating func dataType() throws(SchemaDiagnostic) -> SchemaDataType {
    guard current.keyword == .list else { return SchemaDataType(try element(orElse: [.list])) }
    index += 1
    try take(sign: "<")
    let element = try element(orElse: [])
    try take(sign: ">")
    return SchemaDataType(element, isList: true)
  }

  private static let plainTypes: [SchemaKeyword: FieldType.Scalar] = [
    .asset: .asset, .reference: .reference, .bytes: .bytes, .double: .double, .int64: .int64, .location: .location,
    .string: .string, .timestamp: .timestamp,
  ]

  private mutating func element(orElse others: [SchemaKeyword]) throws(SchemaDiagnostic) -> SchemaDataType.Element {
    let encryptable: [SchemaKeyword] = [.bytes, .double, .int64, .location, .string, .timestamp]
    switch current.keyword {
    case .number:
      index += 1
      guard current.keyword == .preferred else { return .number(preferred: nil) }
      index += 1
      try take(.as)
      return .number(preferred: try numberKind())
    case .encrypted:
      index += 1
      guard let keyword = current.keyword, encryptable.contains(keyword), let scalar = Self.plainTypes[keyword] else {
        throw unexpected(encryptable.map(\.image))
      }
      index += 1
      return .scalar(scalar, isEncrypted: true)
    case let keyword?:
      if let scalar = Self.plainTypes[keyword] {
        index += 1
        return .scalar(scalar, isEncrypted: false)
      }
    case nil: break
    }
    let expected = encryptable + others + [.asset, .encrypted, .number, .reference]
    throw unexpected(expected.map(\.image).sorted(), hint: Self.hint(for: current.text))
  }

  /// What other languages call the types.
  private static func hint(for text: String) -> String? {
    let meant: [String: SchemaKeyword] = [
      "INT": .int64, "INTEGER": .int64, "LONG": .int64, "BOOL": .int64, "BOOLEAN": .int64, "FLOAT": .double,
      "DATE": .timestamp, "DATETIME": .timestamp, "TIME": .timestamp, "TEXT": .string, "VARCHAR": .string,
      "DATA": .bytes, "BLOB": .bytes, "FILE": .asset,
    ]
    return meant[text.uppercased()].map { "The type for this is \($0.rawValue)." }
  }

  private mutating func numberKind() throws(SchemaDiagnostic) -> SchemaDataType.NumberKind {
    switch current.keyword {
    case .int64:
      index += 1
      return .int64
    case .double:
      index += 1
      return .double
    default: throw unexpected([SchemaKeyword.double.image, SchemaKeyword.int64.image])
    }
  }

  // MARK: Grants

  private mutating func grant() throws(SchemaDiagnostic) -> SchemaGrant {
    try take(.grant)
    var rights: SchemaRights = []
    while true {
      guard let right = current.right else { throw unexpected(SchemaRights.words.map { "\"\($0.word)\"" }) }
      guard rights.insert(right).inserted else {
        throw SchemaDiagnostic(.meaning("\(current.text) is granted twice"), at: current.position)
      }
      index += 1
      if current.keyword == .to { break }
      guard isAt(sign: ",") else { throw unexpected([SchemaToken.image(of: ","), SchemaKeyword.to.image]) }
      index += 1
    }
    index += 1
    return SchemaGrant(rights, to: RoleName(try identifier()))
  }

  // MARK: Tokens

  private var current: SchemaToken { tokens[index] }

  private func isAt(sign: Character) -> Bool {
    current.kind == .sign(sign)
  }

  private mutating func take(_ keyword: SchemaKeyword) throws(SchemaDiagnostic) {
    guard current.keyword == keyword else { throw unexpected([keyword.image]) }
    index += 1
  }

  private mutating func take(sign: Character) throws(SchemaDiagnostic) {
    guard isAt(sign: sign) else { throw unexpected([SchemaToken.image(of: sign)]) }
    index += 1
  }

  private mutating func identifier(orElse others: [String] = []) throws(SchemaDiagnostic) -> String {
    let token = current
    guard token.kind == .word || token.kind == .quoted else { throw unexpected(others + [SchemaToken.identifierImage]) }
    if let keyword = token.keyword, keyword.needsQuotes {
      throw unexpected(
        others + [SchemaToken.identifierImage],
        hint: "To use the word as a name, put it into quotes: \"\(token.text)\".")
    }
    index += 1
    return token.text
  }

  private func unexpected(_ expected: [String], hint: String? = nil) -> SchemaDiagnostic {
    SchemaDiagnostic(
      .syntax(encountered: current.encounteredImage, expected: expected, hint: hint), at: current.position)
  }

  // MARK: Recovery

  /// What goes wrong at a place where something went wrong already is no news.
  private mutating func report(_ error: SchemaDiagnostic) {
    if diagnostics.last?.position != error.position { diagnostics.append(error) }
  }

  /// Goes to the next member of the record type.
  /// - Returns: Whether there is one before the type ends.
  private mutating func skipToMember() -> Bool {
    while current.kind != .end {
      if isAt(sign: ",") {
        index += 1
        return true
      }
      if isAt(sign: ")") || isAt(sign: ";") || isAtStatement { return false }
      // A comma is missing before it. A member that begins here gets further than this token, so this ends.
      if current.keyword == .grant || isAtField { return true }
      index += 1
    }
    return false
  }

  /// A name and the beginning of a type.
  private var isAtField: Bool {
    let isName = current.kind == .quoted || (current.kind == .word && current.keyword?.needsQuotes != true)
    guard isName, index + 1 < tokens.count else { return false }
    switch tokens[index + 1].keyword {
    case .list, .encrypted, .number: return true
    case let keyword?: return Self.plainTypes[keyword] != nil
    case nil: return false
    }
  }

  private var isAtStatement: Bool {
    guard index + 1 < tokens.count else { return false }
    return switch (current.keyword, tokens[index + 1].keyword) {
    case (.record, .type), (.create, .role): true
    default: false
    }
  }

  /// Goes behind the statement's end or to the beginning of another one.
  private mutating func skipToStatement() {
    // A statement that failed at its first word would fail there again.
    if !isAtStatement, current.kind != .end, !isAt(sign: ";") { index += 1 }
    while current.kind != .end, !isAtStatement {
      let isEnd = isAt(sign: ";")
      index += 1
      if isEnd { return }
    }
  }
}

extension SchemaToken {
  fileprivate var index: SchemaIndexes? {
    switch keyword {
    case .queryable: .queryable
    case .searchable: .searchable
    case .sortable: .sortable
    default: nil
    }
  }

  fileprivate var right: SchemaRights? {
    switch keyword {
    case .read: .read
    case .create: .create
    case .write: .write
    default: nil
    }
  }
}

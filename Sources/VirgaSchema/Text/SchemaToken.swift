/// The words of the schema language. Upper and lower case are the same.
enum SchemaKeyword: String, CaseIterable {
  case define = "DEFINE"
  case schema = "SCHEMA"
  case create = "CREATE"
  case role = "ROLE"
  case record = "RECORD"
  case type = "TYPE"
  case grant = "GRANT"
  case to = "TO"
  case read = "READ"
  case write = "WRITE"
  case list = "LIST"
  case encrypted = "ENCRYPTED"
  case number = "NUMBER"
  case preferred = "PREFERRED"
  case `as` = "AS"
  case queryable = "QUERYABLE"
  case searchable = "SEARCHABLE"
  case sortable = "SORTABLE"
  case asset = "ASSET"
  case bytes = "BYTES"
  case double = "DOUBLE"
  case int64 = "INT64"
  case location = "LOCATION"
  case reference = "REFERENCE"
  case string = "STRING"
  case timestamp = "TIMESTAMP"

  /// Whether it is a name only in quotes.
  var needsQuotes: Bool {
    switch self {
    case .grant, .preferred, .queryable, .searchable, .sortable: true
    default: false
    }
  }

  /// As an error shows what it expects.
  var image: String { "\"\(rawValue)\"" }
}

struct SchemaToken {
  enum Kind: Hashable {
    case word
    case quoted
    /// One of `(`, `)`, `,`, `;`, `<` and `>`.
    case sign(Character)
    case end
  }

  var kind: Kind
  /// Without the quotes.
  var text: String
  var position: SchemaPosition
  /// The keyword that an unquoted word is.
  var keyword: SchemaKeyword?

  init(_ kind: Kind, _ text: String, at position: SchemaPosition) {
    self.kind = kind
    self.text = text
    self.position = position
    keyword = kind == .word ? SchemaKeyword(rawValue: text.uppercased()) : nil
  }

  static let identifierImage = "<IDENTIFIER>"
  static let endImage = "<EOF>"

  static func image(of sign: Character) -> String { "\"\(sign)\"" }

  /// As an error shows what it found: the kind of word, then the word.
  var encounteredImage: String {
    switch kind {
    case .end: "\"\(Self.endImage)\""
    case .sign(let sign): "\" \(Self.image(of: sign)) \"\(text) \"\""
    case .quoted: "\" \(Self.identifierImage) \"\\\"\(text)\\\" \"\""
    case .word: "\" \(keyword?.image ?? Self.identifierImage) \"\(text) \"\""
    }
  }
}

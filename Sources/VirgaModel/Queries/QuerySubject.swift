/// A record as a query looks at it.
public struct QuerySubject: Sendable {
  /// The record's name and zone.
  public var id: RecordID
  /// The record's values.
  public var fields: Fields
  /// When and by whom the record was first saved.
  public var created: RecordStamp?
  /// When and by whom the record was last saved.
  public var modified: RecordStamp?
  /// The record above it.
  public var parent: Reference?
  /// The share that it is the root of.
  public var share: Reference?
  /// The words of fields that `keepTokens` was called for.
  private var knownTokens: [QueryField: Set<String>] = [:]

  /// Makes a subject of what a query can ask for.
  public init(id: RecordID, fields: Fields, created: RecordStamp? = nil, modified: RecordStamp? = nil) {
    self.id = id
    self.fields = fields
    self.created = created
    self.modified = modified
  }

  /// The parts of a record that a query can ask for.
  public init(_ record: Record) {
    self.init(id: record.id, fields: record.fields, created: record.created, modified: record.modified)
    parent = record.parent
    share = record.share
  }

  /// The value of a field that can be compared: none for a missing or encrypted one.
  public func value(of field: QueryField) -> FieldValue? {
    switch field {
    case .field(let name):
      guard let field = fields[name], !field.isEncrypted else { return nil }
      return field.value
    case .system(let field): return value(of: field)
    case .anySearchable: return nil
    }
  }

  private func value(of field: SystemField) -> FieldValue? {
    switch field {
    case .recordID: .reference(Reference(recordName: id.name))
    case .createdBy: created.map { .user($0.user) }
    case .modifiedBy: modified.map { .user($0.user) }
    case .createTime: created.map { .timestamp($0.time) }
    case .modTime: modified.map { .timestamp($0.time) }
    case .parent: parent.map { .reference($0) }
    case .share: share.map { .reference($0) }
    case .etag: nil
    }
  }

  /// Finds the words of a field now, for many queries that will ask for them.
  /// - Parameter searchable: The fields that `.anySearchable` stands for.
  public mutating func keepTokens(of field: QueryField, searchable: Set<FieldName>?) {
    guard knownTokens[field] == nil else { return }
    knownTokens[field] = tokens(of: field, searchable: searchable)
  }

  /// The words of a field.
  func tokens(of field: QueryField, searchable: Set<FieldName>?) -> Set<String> {
    if let known = knownTokens[field] { return known }
    return field == .anySearchable ? tokens(in: searchable) : value(of: field)?.searchTokens ?? []
  }

  /// All words of the fields that hold text.
  /// - Parameter fields: Which of them to search; `nil` searches all that are not encrypted.
  private func tokens(in names: Set<FieldName>?) -> Set<String> {
    var found: Set<String> = []
    for element in fields where !element.field.isEncrypted && names?.contains(element.name) ?? true {
      found.formUnion(element.field.value.searchTokens)
    }
    return found
  }
}

extension FieldValue {
  /// A user's record lies in the default zone of the public database, but as the owner of a stamp only its name counts.
  fileprivate static func user(_ name: UserName) -> FieldValue {
    .reference(Reference(recordName: RecordName(name.rawValue)))
  }

  /// The words of a text or of a list of texts.
  public var searchTokens: Set<String> {
    switch self {
    case .string(let text): Set(SearchTokens.tokens(of: text))
    case .stringList(let texts): texts.reduce(into: []) { $0.formUnion(SearchTokens.tokens(of: $1)) }
    default: []
    }
  }
}

public import VirgaModel
import VirgaWire

/// What an index of a zone's records holds: for the records of one type, keys made of some of their fields.
public struct IndexDefinition: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable {
    /// Values in their order, one after another; of a list each member by itself. Without a field: only the names.
    case values
    /// The words of texts.
    case words
    /// Boxes of the Earth.
    case places
  }

  public struct Component: Hashable, Sendable {
    public var field: QueryField
    public var isDescending: Bool

    public init(_ field: QueryField, descending isDescending: Bool = false) {
      self.field = field
      self.isDescending = isDescending
    }
  }

  /// Changes with how keys are made; an index of another format is made anew.
  static let format = "1"

  public var recordType: RecordType
  public var kind: Kind
  public var components: [Component]

  public init(_ recordType: RecordType, _ kind: Kind, _ components: [Component]) {
    self.recordType = recordType
    self.kind = kind
    self.components = components
  }

  /// All but the record type, as a store keeps it: `1 values +title -___modTime`.
  public var text: String {
    let names = components.map { ($0.isDescending ? "-" : "+") + $0.field.storedName }
    return ([Self.format, kind.rawValue] + names).joined(separator: " ")
  }

  /// Reads `text` back; `nil` for another format.
  public init?(_ recordType: RecordType, text: String) {
    let parts = text.split(separator: " ")
    guard parts.count >= 2, parts[0] == Self.format, let kind = Kind(rawValue: String(parts[1])) else { return nil }
    let components = parts.dropFirst(2).map {
      Component(QueryField(String($0.dropFirst())), descending: $0.first == "-")
    }
    self.init(recordType, kind, components)
  }

  /// The keys of a record in each of several indexes, ascending, none twice; none for a tombstone and for a record of
  /// another type.
  public static func keys(of record: StoredRecord, in definitions: [IndexDefinition]) throws -> [[[UInt8]]] {
    let concerned = definitions.filter { $0.concerns(record) }
    guard !concerned.isEmpty else { return definitions.map { _ in [] } }
    let subject = try record.subject(for: concerned)
    return definitions.map { $0.concerns(record) ? $0.keys(of: subject) : [] }
  }

  private func concerns(_ record: StoredRecord) -> Bool { !record.isDeleted && record.type == recordType }

  private func keys(of subject: QuerySubject) -> [[UInt8]] {
    switch kind {
    case .values:
      if components.count == 1, let members = subject.value(of: components[0].field)?.listMembers {
        return distinct(members.map { IndexKey.key(of: $0) })
      }
      return [key(of: subject)]
    case .words:
      let words = components.reduce(into: Set<String>()) { words, component in
        words.formUnion(subject.value(of: component.field)?.searchTokens ?? [])
      }
      return distinct(words.map { IndexKey.key(of: .string($0)) })
    case .places:
      guard case .location(let place)? = components.first.flatMap({ subject.value(of: $0.field) }) else { return [] }
      return [PlaceKey.key(of: place)]
    }
  }

  private func key(of subject: QuerySubject) -> [UInt8] {
    var key: [UInt8] = []
    for component in components {
      let start = key.count
      IndexKey.append(subject.value(of: component.field), to: &key)
      if component.isDescending { for index in start..<key.count { key[index] = ~key[index] } }
    }
    return key
  }

  private func distinct(_ keys: [[UInt8]]) -> [[UInt8]] {
    Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
  }
}

extension QueryField {
  /// The field's name in a schema.
  var storedName: String {
    switch self {
    case .field(let name): name.rawValue
    case .system(let field): field.rawValue
    case .anySearchable: ""
    }
  }
}

extension StoredRecord {
  /// The record with the fields that some indexes look at. Encrypted values stay sealed, and no index has them.
  fileprivate func subject(for definitions: [IndexDefinition]) throws -> QuerySubject {
    var names: Set<FieldName> = []
    for definition in definitions {
      for case .field(let name) in definition.components.map(\.field) { names.insert(name) }
    }
    return try subject(in: ZoneID(.default, owner: .defaultOwner), only: names)
  }

  /// - Parameter names: The fields to read; `nil` for all.
  func subject(in zone: ZoneID, only names: Set<FieldName>?) throws -> QuerySubject {
    let json = fieldsJSON.first == StoredFieldCipher.mark ? Array(fieldsJSON.dropFirst()) : fieldsJSON
    let fields = try reading(json) { json in
      try names.map { try Fields(json: json, only: $0) } ?? Fields(json: json)
    }
    var subject = QuerySubject(id: RecordID(name, in: zone), fields: fields, created: created, modified: modified)
    subject.parent = parent
    subject.share = share
    return subject
  }
}

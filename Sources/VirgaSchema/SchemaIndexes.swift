import VirgaModel

/// The indexes of a field.
package struct SchemaIndexes: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Finds equal values.
  package static let queryable = SchemaIndexes(rawValue: 1)
  /// Finds words.
  package static let searchable = SchemaIndexes(rawValue: 2)
  /// Finds ranges, and sorts.
  package static let sortable = SchemaIndexes(rawValue: 4)

  /// Each index with its word, in the order in which exports write them.
  package static let words: [(index: SchemaIndexes, word: String)] = [
    (.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE"),
  ]

  package var words: [String] { Self.words.filter { contains($0.index) }.map(\.word) }
}

extension SchemaDataType {
  /// The indexes that a schema may give to a field of this type. Exports of real containers have them on bytes too.
  package var allowedIndexes: SchemaIndexes {
    guard case .scalar(.bytes, isEncrypted: false) = element else { return usualIndexes }
    return isList ? .queryable : [.queryable, .sortable]
  }

  /// The indexes that a field has which a save in development made: all but those on bytes, which would keep another
  /// copy of data that hardly anybody looks for.
  package var usualIndexes: SchemaIndexes {
    guard case .scalar(let scalar, let isEncrypted) = element else {
      return isList ? .queryable : [.queryable, .sortable]
    }
    if isEncrypted { return [] }
    switch scalar {
    case .asset, .bytes: return []
    case .reference: return .queryable
    case .string: return isList ? [.queryable, .searchable] : [.queryable, .searchable, .sortable]
    case .int64, .double, .timestamp, .location: return isList ? .queryable : [.queryable, .sortable]
    }
  }
}

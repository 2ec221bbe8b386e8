import VirgaModel

/// A way to the records that may meet a filter.
enum QueryPath {
  /// By their names.
  case names([RecordName])
  /// By entries of an index of one field.
  case index(IndexDefinition.Kind, QueryField, QueryBounds, isRange: Bool)
}

extension QueryFilter {
  /// The ways that the filter offers. Negative filters offer none: what they leave out is seldom much.
  /// - Parameter searchable: The fields that a search of the whole record looks at.
  var paths: [QueryPath] {
    func values(_ intervals: [KeyInterval], isRange: Bool = false) -> [QueryPath] {
      [.index(.values, field, .intervals(intervals), isRange: isRange)]
    }
    func equal(_ values: [FieldValue]) -> [KeyInterval] {
      Set(values.map { IndexKey.key(of: $0) }).map { KeyInterval($0) }
    }
    let key = IndexKey.key(of: value)
    let kind = IndexKey.kind(of: value)
    switch comparator {
    case .equals where field == .system(.recordID), .isIn where field == .system(.recordID):
      return [.names(recordNames)]
    case .equals, .listContains: return values([KeyInterval(key)])
    case .isIn, .listContainsAny: return values(equal(value.members))
    case .listContainsAll: return equal(value.members).flatMap { values([$0]) }
    case .lessThan: return values([KeyInterval(from: kind, to: key, includesUpper: false)], isRange: true)
    case .lessThanOrEquals: return values([KeyInterval(from: kind, to: key)], isRange: true)
    case .greaterThan: return values([KeyInterval(from: key, includesLower: false, to: kind)], isRange: true)
    case .greaterThanOrEquals: return values([KeyInterval(from: key, to: kind)], isRange: true)
    case .beginsWith, .listMemberBeginsWith:
      guard case .string(let prefix) = value else { return [] }
      return values([KeyInterval(IndexKey.key(ofPrefix: prefix))])
    case .near:
      guard case .location(let center) = value, let distance else { return [] }
      return [.index(.places, field, .ranges(PlaceKey.ranges(around: center, distance: distance)), isRange: false)]
    case .containsAllTokens:
      return value.searchTokens.sorted().map { .index(.words, field, .intervals(equal([.string($0)])), isRange: false) }
    case .containsAnyTokens:
      let words = equal(value.searchTokens.map { .string($0) })
      return [.index(.words, field, .intervals(words), isRange: false)]
    default: return []
    }
  }

  private var recordNames: [RecordName] {
    var names: Set<RecordName> = []
    for case .reference(let reference) in value.members { names.insert(reference.recordName) }
    return names.sorted()
  }
}

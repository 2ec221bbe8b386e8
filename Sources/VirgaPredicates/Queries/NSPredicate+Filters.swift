package import Foundation
package import VirgaModel

extension NSPredicate {
  /// The predicate that is true of what meets all filters: in its simplest form what `queryFilters()` came from.
  package static func meeting(_ filters: [QueryFilter]) -> NSPredicate {
    let conditions = filters.map(\.condition)
    if conditions.isEmpty { return Condition.always(true).predicate }
    return (conditions.count == 1 ? conditions[0] : .all(conditions)).predicate
  }
}

extension QueryFilter {
  fileprivate var condition: Condition {
    if let opposite = comparator.opposite, opposite != .equals {
      var positive = self
      positive.comparator = opposite
      return .not(positive.condition)
    }
    return switch comparator {
    case .equals: compare(.equal)
    case .notEquals: compare(.notEqual)
    case .lessThan: compare(.less)
    case .lessThanOrEquals: compare(.lessOrEqual)
    case .greaterThan: compare(.greater)
    case .greaterThanOrEquals: compare(.greaterOrEqual)
    case .isIn: compare(.isIn)
    case .beginsWith: compare(.beginsWith)
    case .listContains: compare(.contains)
    case .listContainsAny: compare(.isIn, .any)
    case .listContainsAll: .all(value.members.map { compare(.contains, with: $0) })
    case .listMemberBeginsWith: compare(.beginsWith, .any)
    case .near: nearness
    case .containsAllTokens: search(for: value)
    case .containsAnyTokens: .any(value.searchTokens.sorted().map { search(for: .string($0)) })
    default: .always(false)
    }
  }

  private var key: Expression { field == .anySearchable ? .itself : .key([field.name]) }

  private func compare(
    _ comparator: Comparison.Comparator, _ modifier: Comparison.Modifier = .direct, with other: FieldValue? = nil
  ) -> Condition {
    .comparison(
      Comparison(
        modifier: modifier, left: key, comparator: comparator, right: .constant(Constant(field: other ?? value))))
  }

  private func search(for words: FieldValue) -> Condition {
    if field == .anySearchable { return compare(.contains, with: words) }
    return .comparison(
      Comparison(
        left: key, comparator: .tokenMatches, options: [.caseInsensitive, .diacriticInsensitive, .localeSensitive],
        right: .constant(Constant(field: words))))
  }

  private var nearness: Condition {
    .comparison(
      Comparison(
        left: .distance(key, .constant(Constant(field: value))), comparator: .less,
        right: .constant(.value(.double(distance ?? 0)))))
  }
}

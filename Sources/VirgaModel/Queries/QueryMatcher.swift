/// A query that is asked of many records: what can be found out from its values alone is found out once.
public struct QueryMatcher: Sendable {
  private let filters: [FilterMatcher]
  private let searchable: Set<FieldName>?

  /// - Parameter searchable: The fields that `.anySearchable` stands for; `nil` for all that hold text.
  public init(_ query: Query, searchable: [FieldName]? = nil) {
    filters = query.filters.map { FilterMatcher($0) }
    self.searchable = searchable.map(Set.init)
  }

  /// Whether a record of the query's type meets all filters.
  public func matches(_ subject: QuerySubject) -> Bool {
    filters.allSatisfy { $0.matches(subject, searchable: searchable) }
  }
}

extension Query {
  /// Whether one record of the query's type meets all filters. Who asks of several makes a `QueryMatcher`.
  public func matches(_ subject: QuerySubject) -> Bool { QueryMatcher(self).matches(subject) }
}

extension QueryFilter {
  /// Whether a record meets the filter. What cannot be compared does not match.
  public func matches(_ subject: QuerySubject) -> Bool { FilterMatcher(self).matches(subject, searchable: nil) }
}

/// A filter with the values that it looks for.
private struct FilterMatcher {
  private let filter: QueryFilter
  private let words: Set<String>
  private let wanted: ValueSet

  private var value: FieldValue { filter.value }
  private var ignoresZones: Bool { if case .system = filter.field { true } else { false } }

  init(_ filter: QueryFilter) {
    self.filter = filter
    let operand = filter.comparator.operand
    words = operand == .words ? filter.value.searchTokens : []
    let isList = operand == .list || operand == .members
    wanted = isList ? ValueSet(filter.value.members) : ValueSet([])
  }

  func matches(_ subject: QuerySubject, searchable: Set<FieldName>?) -> Bool {
    if filter.field == .anySearchable {
      return containsTokens(subject.tokens(of: .anySearchable, searchable: searchable))
    }
    guard let found = subject.value(of: filter.field) else { return false }
    if filter.comparator.operand == .words, filter.comparator.opposite == nil {
      return containsTokens(subject.tokens(of: filter.field, searchable: searchable))
    }
    let equality = ValueEquality(zone: ignoresZones ? nil : subject.id.zone)
    if let opposite = filter.comparator.opposite {
      return isComparable(found, by: opposite) && !meets(opposite, found, equality)
    }
    return meets(filter.comparator, found, equality)
  }

  private func meets(_ comparator: QueryComparator, _ found: FieldValue, _ equality: ValueEquality) -> Bool {
    switch comparator {
    case .equals: equality.areEqual(found, value)
    case .isIn: wanted.contains(found, equality)
    case .lessThan: found.order(before: value) == .ascending
    case .lessThanOrEquals: found.order(before: value).map { $0 != .descending } ?? false
    case .greaterThan: found.order(before: value) == .descending
    case .greaterThanOrEquals: found.order(before: value).map { $0 != .ascending } ?? false
    case .beginsWith: found.begins(with: value)
    case .near: isNear(found)
    case .containsAllTokens, .containsAnyTokens: containsTokens(found.searchTokens)
    case .listContains: found.listMembers?.contains { equality.areEqual($0, value) } ?? false
    case .listContainsAny: found.listMembers?.contains { wanted.contains($0, equality) } ?? false
    case .listContainsAll: found.listMembers.map { wanted.isContained(in: $0, equality) } ?? false
    case .listMemberBeginsWith: found.listMembers?.contains { $0.begins(with: value) } ?? false
    default: false
    }
  }

  /// Whether the opposite of `comparator` may be true of the value: of one of another type nothing is.
  private func isComparable(_ found: FieldValue, by comparator: QueryComparator) -> Bool {
    switch comparator.operand {
    case .member, .members: found.listMembers != nil
    default: found.listMembers == nil
    }
  }

  /// A value without a word finds nothing.
  private func containsTokens(_ tokens: Set<String>) -> Bool {
    guard !words.isEmpty else { return false }
    guard filter.comparator == .containsAnyTokens else { return tokens.isSuperset(of: words) }
    let (few, many) = tokens.count < words.count ? (tokens, words) : (words, tokens)
    return few.contains(where: many.contains)
  }

  private func isNear(_ found: FieldValue) -> Bool {
    guard case .location(let place) = found, case .location(let center) = value, let distance = filter.distance else {
      return false
    }
    return place.distance(to: center) <= distance
  }
}

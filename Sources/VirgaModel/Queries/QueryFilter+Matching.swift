extension Query {
  /// Whether a record of the query's type meets all filters.
  /// - Parameter searchable: The fields that `.anySearchable` stands for; `nil` for all that hold text.
  public func matches(_ subject: QuerySubject, searchable: [FieldName]? = nil) -> Bool {
    filters.allSatisfy { $0.matches(subject, searchable: searchable) }
  }
}

extension QueryFilter {
  /// Whether a record meets the filter. What cannot be compared does not match.
  public func matches(_ subject: QuerySubject, searchable: [FieldName]? = nil) -> Bool {
    if field == .anySearchable { return containsTokens(subject.tokens(in: searchable)) }
    guard let found = subject.value(of: field) else { return false }
    let equality = ValueEquality(zone: subject.id.zone, ignoresZones: field.isSystem)
    if let opposite = comparator.opposite {
      return isComparable(found, by: opposite) && !meets(opposite, found, equality)
    }
    return meets(comparator, found, equality)
  }

  private func meets(_ comparator: QueryComparator, _ found: FieldValue, _ equality: ValueEquality) -> Bool {
    switch comparator {
    case .equals: equality.areEqual(found, value)
    case .isIn: value.members.contains { equality.areEqual(found, $0) }
    case .lessThan: found.order(before: value) == .ascending
    case .lessThanOrEquals: found.order(before: value).map { $0 != .descending } ?? false
    case .greaterThan: found.order(before: value) == .descending
    case .greaterThanOrEquals: found.order(before: value).map { $0 != .ascending } ?? false
    case .beginsWith: found.begins(with: value)
    case .near: isNear(found)
    case .containsAllTokens, .containsAnyTokens: containsTokens(found.searchTokens)
    case .listContains: found.listMembers?.contains { equality.areEqual($0, value) } ?? false
    case .listContainsAny: intersects(found, equality)
    case .listContainsAll: includes(found, equality)
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

  private func intersects(_ found: FieldValue, _ equality: ValueEquality) -> Bool {
    guard let members = found.listMembers else { return false }
    let wanted = value.members
    return members.contains { member in wanted.contains { equality.areEqual(member, $0) } }
  }

  private func includes(_ found: FieldValue, _ equality: ValueEquality) -> Bool {
    guard let members = found.listMembers else { return false }
    return value.members.allSatisfy { wanted in members.contains { equality.areEqual($0, wanted) } }
  }

  /// A value without a word finds nothing.
  private func containsTokens(_ tokens: Set<String>) -> Bool {
    let wanted = value.searchTokens
    guard !wanted.isEmpty else { return false }
    return comparator == .containsAnyTokens ? !tokens.isDisjoint(with: wanted) : tokens.isSuperset(of: wanted)
  }

  private func isNear(_ found: FieldValue) -> Bool {
    guard case .location(let place) = found, case .location(let center) = value, let distance else { return false }
    return place.distance(to: center) <= distance
  }
}

extension QueryField {
  fileprivate var isSystem: Bool { if case .system = self { true } else { false } }
}

/// When two values are the same: texts by their bytes, numbers by their value, references by what they point to.
private struct ValueEquality {
  /// Where a reference points that names no zone.
  let zone: ZoneID
  /// System fields name their record alone.
  let ignoresZones: Bool

  func areEqual(_ left: FieldValue, _ right: FieldValue) -> Bool {
    switch (left, right) {
    case (.reference(let left), .reference(let right)):
      left.recordName == right.recordName && (ignoresZones || (left.zone ?? zone) == (right.zone ?? zone))
    case (.location(let left), .location(let right)):
      left.latitude == right.latitude && left.longitude == right.longitude
    default: left.order(before: right) == .same
    }
  }
}

/// How two values of one type lie to each other.
public enum ValueOrder: Hashable, Sendable { case ascending, same, descending }

extension FieldValue {
  /// How this value lies to another; `nil` if they have no order. Texts are in the order of their bytes.
  public func order(before other: FieldValue) -> ValueOrder? {
    func order<Value: Comparable>(_ left: Value, _ right: Value) -> ValueOrder {
      left < right ? .ascending : left == right ? .same : .descending
    }
    return switch (self, other) {
    case (.int64(let left), .int64(let right)): order(left, right)
    case (.double(let left), .double(let right)): order(left, right)
    case (.timestamp(let left), .timestamp(let right)): order(left, right)
    case (.string(let left), .string(let right)): Self.order(left.utf8, right.utf8)
    case (.bytes(let left), .bytes(let right)): Self.order(left, right)
    // Where no schema tells the field's type, a number may have been written without a fraction.
    case (.int64(let left), .double(let right)): Self.order(left, right)
    case (.double(let left), .int64(let right)):
      switch Self.order(right, left) {
      case .ascending: .descending
      case .descending: .ascending
      case .same: .same
      }
    default: nil
    }
  }

  private static func order(_ left: Int64, _ right: Double) -> ValueOrder {
    let rounded = Double(left)
    if rounded != right { return rounded < right ? .ascending : .descending }
    // Rounding may have hidden a difference of the last digits.
    guard let exact = Int64(exactly: right) else { return .ascending }
    return left < exact ? .ascending : left == exact ? .same : .descending
  }

  /// Two Unicode spellings of one text are two texts, so `==` would not do.
  private static func order(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> ValueOrder {
    if left.elementsEqual(right) { return .same }
    return left.lexicographicallyPrecedes(right) ? .ascending : .descending
  }

  fileprivate func begins(with prefix: FieldValue) -> Bool {
    guard case .string(let text) = self, case .string(let start) = prefix else { return false }
    return text.utf8.starts(with: start.utf8)
  }

  /// The members of a list; `nil` for any other value.
  public var listMembers: [FieldValue]? {
    switch self {
    case .stringList(let list): list.map { .string($0) }
    case .int64List(let list): list.map { .int64($0) }
    case .doubleList(let list): list.map { .double($0) }
    case .timestampList(let list): list.map { .timestamp($0) }
    case .bytesList(let list): list.map { .bytes($0) }
    case .referenceList(let list): list.map { .reference($0) }
    case .assetList(let list): list.map { .asset($0) }
    case .locationList(let list): list.map { .location($0) }
    case .emptyList: []
    default: nil
    }
  }

  /// The members of a list, or the value itself.
  public var members: [FieldValue] { listMembers ?? [self] }
}

/// How a filter compares. Negative comparators do not match a record that lacks the field.
public enum QueryComparator: String, Hashable, Sendable, CaseIterable {
  case equals = "EQUALS"
  case notEquals = "NOT_EQUALS"
  case lessThan = "LESS_THAN"
  case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
  case greaterThan = "GREATER_THAN"
  case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
  case near = "NEAR"
  case containsAllTokens = "CONTAINS_ALL_TOKENS"
  case containsAnyTokens = "CONTAINS_ANY_TOKENS"
  case isIn = "IN"
  case notIn = "NOT_IN"
  case beginsWith = "BEGINS_WITH"
  case notBeginsWith = "NOT_BEGINS_WITH"
  case listContains = "LIST_CONTAINS"
  case notListContains = "NOT_LIST_CONTAINS"
  case listContainsAny = "LIST_CONTAINS_ANY"
  case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
  case listContainsAll = "LIST_CONTAINS_ALL"
  case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
  case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
  case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

  /// Takes the protocol's name, or another under which clients know it.
  public init?(wireName: String) {
    if let known = Self(rawValue: wireName) {
      self = known
      return
    }
    switch wireName {
    case "CONTAINS_ANY": self = .containsAnyTokens
    case "LIST_NOT_CONTAINS": self = .notListContains
    case "LIST_NOT_CONTAINS_ANY": self = .notListContainsAny
    case "LIST_NOT_CONTAINS_ALL": self = .notListContainsAll
    default: return nil
    }
  }

  /// The comparator that a negative one is the opposite of, for a record that has the field.
  public var opposite: QueryComparator? {
    switch self {
    case .notEquals: .equals
    case .notIn: .isIn
    case .notBeginsWith: .beginsWith
    case .notListContains: .listContains
    case .notListContainsAny: .listContainsAny
    case .notListContainsAll: .listContainsAll
    case .notListMemberBeginsWith: .listMemberBeginsWith
    default: nil
    }
  }

  /// What the value has to be.
  public enum Operand: Hashable, Sendable {
    /// A value of the field's type, a list of them, or a value of the type of a list field's members.
    case same, list, member
    /// A list of members of a list field.
    case members
    /// Text, or a list of texts.
    case words
  }

  /// What the comparator compares with: one value, a list, or words.
  public var operand: Operand {
    switch opposite ?? self {
    case .isIn: .list
    case .listContains, .listMemberBeginsWith: .member
    case .listContainsAny, .listContainsAll: .members
    case .containsAllTokens, .containsAnyTokens: .words
    default: .same
    }
  }

  /// Whether a field of this type can be compared so.
  public func applies(to type: FieldType) -> Bool {
    if type.isEncrypted || type.scalar == .asset { return false }
    return switch opposite ?? self {
    case .equals, .isIn: !type.isList
    case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: !type.isList && type.scalar.isOrdered
    case .near: !type.isList && type.scalar == .location
    case .containsAllTokens, .containsAnyTokens: type.scalar == .string
    case .beginsWith: !type.isList && type.scalar == .string
    case .listContains, .listContainsAny, .listContainsAll: type.isList
    case .listMemberBeginsWith: type.isList && type.scalar == .string
    default: false
    }
  }
}

extension FieldType.Scalar {
  /// Whether values are less or greater than others.
  public var isOrdered: Bool {
    switch self {
    case .string, .int64, .double, .timestamp: true
    case .bytes, .reference, .asset, .location: false
    }
  }
}

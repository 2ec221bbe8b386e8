import Foundation
import VirgaModel

extension Condition {
  /// Whether the condition is true of an object.
  ///
  /// What a query can state is decided by the code with which the service answers queries, so that both select the same
  /// records: a comparison and its negation are both false of a record that lacks the field. NOT is therefore carried
  /// down to the comparisons.
  func matches(_ subject: PredicateSubject, negated: Bool = false) -> Bool {
    switch self {
    case .always(let value): value != negated
    case .comparison(let comparison): comparison.matches(subject, negated: negated)
    case .not(let part): part.matches(subject, negated: !negated)
    case .all(let parts) where negated: parts.contains { $0.matches(subject, negated: true) }
    case .any(let parts) where negated: parts.allSatisfy { $0.matches(subject, negated: true) }
    case .all(let parts): parts.allSatisfy { $0.matches(subject) }
    case .any(let parts): parts.contains { $0.matches(subject) }
    case .opaque(let opaque):
      opaque.predicate.evaluate(with: subject.object, substitutionVariables: subject.bindings) != negated
    }
  }
}

extension Comparison {
  func matches(_ subject: PredicateSubject, negated: Bool) -> Bool {
    if let result = matchesAsQuery(subject, negated: negated) { return result }
    // A value that is missing decides nothing, whichever way the question is put.
    guard let result = isTrue(subject) else { return false }
    return result != negated
  }

  /// The answer of a query; nil for what no query can ask.
  private func matchesAsQuery(_ subject: PredicateSubject, negated: Bool) -> Bool? {
    guard let filters = try? self.filters(negated: negated) else { return nil }
    for filter in filters {
      guard let seen = subject.querySubject(of: filter.field) else { return nil }
      // The service refuses to look for a part of a text; here the word means what it means in Foundation.
      if filter.comparator.operand == .member, case .string? = seen.value(of: filter.field) { return nil }
      if !filter.matches(seen) { return false }
    }
    return true
  }

  /// The answer by Foundation's rules; nil if a value is missing or the two cannot be compared so.
  private func isTrue(_ subject: PredicateSubject) -> Bool? {
    guard let left = left.value(in: subject), let right = right.value(in: subject) else { return nil }
    switch modifier {
    case .direct: return compare(left, right)
    case .any, .all:
      guard case .list(let members) = left else { return nil }
      let isTrue = { (member: Constant) in compare(member, right) ?? false }
      return modifier == .any ? members.contains(where: isTrue) : members.allSatisfy(isTrue)
    }
  }

  private func compare(_ left: Constant, _ right: Constant) -> Bool? {
    if left == .null || right == .null {
      let isNilAsked = self.left == .constant(.null) || self.right == .constant(.null)
      switch comparator {
      case .equal where isNilAsked: return left == right
      case .notEqual where isNilAsked: return left != right
      default: return nil
      }
    }
    switch comparator {
    case .equal: return areEqual(left, right)
    case .notEqual: return !areEqual(left, right)
    case .less: return holds(left, .lessThan, right)
    case .lessOrEqual: return holds(left, .lessThanOrEquals, right)
    case .greater: return holds(left, .greaterThan, right)
    case .greaterOrEqual: return holds(left, .greaterThanOrEquals, right)
    case .between:
      guard case .list(let bounds) = right, bounds.count == 2 else { return nil }
      return holds(left, .greaterThanOrEquals, bounds[0]) && holds(left, .lessThanOrEquals, bounds[1])
    case .isIn: return contains(right, left)
    case .contains: return contains(left, right)
    case .tokenMatches: return holds(left, .containsAllTokens, right)
    case .beginsWith, .endsWith, .like, .matches:
      guard let text = left.string, let pattern = right.string else { return nil }
      return TextComparison(options).holds(text, comparator, pattern)
    }
  }

  private func contains(_ whole: Constant, _ part: Constant) -> Bool? {
    if case .list(let members) = whole { return members.contains { areEqual($0, part) } }
    guard let text = whole.string, let wanted = part.string else { return nil }
    return TextComparison(options).holds(text, .contains, wanted)
  }

  private func areEqual(_ left: Constant, _ right: Constant) -> Bool {
    switch (left, right) {
    case (.value, .value): holds(left, .equals, right)
    case (.list(let left), .list(let right)):
      left.count == right.count && zip(left, right).allSatisfy { areEqual($0, $1) }
    default: left == right
    }
  }

  /// Asks the service's own evaluator about two values.
  private func holds(_ left: Constant, _ comparator: QueryComparator, _ right: Constant) -> Bool {
    guard let found = folded(left).fieldValue, let wanted = folded(right).fieldValue else { return false }
    return PredicateSubject.holds(found, comparator, wanted)
  }

  private func folded(_ constant: Constant) -> Constant {
    constant.string.map { .value(.string(TextComparison(options).folded($0))) } ?? constant
  }
}

extension PredicateSubject {
  fileprivate static func holds(_ found: FieldValue, _ comparator: QueryComparator, _ wanted: FieldValue) -> Bool {
    let zone = ZoneID(.default, owner: .defaultOwner)
    let subject = QuerySubject(id: RecordID("", in: zone), fields: ["value": found])
    return QueryFilter("value", comparator, wanted).matches(subject)
  }
}

extension Expression {
  /// The value of the expression, `.null` for a field without one; nil if there is nothing to compute it from.
  fileprivate func value(in subject: PredicateSubject) -> Constant? {
    switch self {
    case .constant(let constant): return constant
    case .key(let path): return subject.value(of: path)
    case .itself: return subject.object.map { Constant($0) } ?? .null
    case .distance(let place, let origin):
      guard case .value(.location(let place))? = place.value(in: subject),
        case .value(.location(let origin))? = origin.value(in: subject)
      else { return nil }
      return .value(.double(place.distance(to: origin)))
    }
  }
}

extension Constant {
  fileprivate var string: String? { if case .value(.string(let text)) = self { text } else { nil } }
}

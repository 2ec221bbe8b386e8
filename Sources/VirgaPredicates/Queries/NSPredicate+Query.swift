package import Foundation
package import VirgaModel

extension NSPredicate {
  /// The filters of a query that finds what the predicate is true of, all of which must be met.
  /// - Returns: Nil if the predicate is false of every record: there is nothing to ask for.
  /// - Throws: `PredicateRefusal` for what the service cannot do.
  package func queryFilters() throws(PredicateRefusal) -> [QueryFilter]? { try condition.filters(negated: false) }
}

extension Condition {
  /// - Parameter negated: Asks for the records that the condition is not true of, and that have its fields.
  func filters(negated: Bool) throws(PredicateRefusal) -> [QueryFilter]? {
    switch self {
    case .always(let value): return value != negated ? [] : nil
    case .comparison(let comparison): return try comparison.filters(negated: negated)
    case .not(let part): return try part.filters(negated: !negated)
    case .all(let parts) where !negated || parts.count == 1:
      var filters: [QueryFilter]? = []
      for part in parts {
        // Every part is looked at, so that one that is never true hides no mistake in another.
        let more = try part.filters(negated: negated)
        filters = filters.flatMap { known in more.map { known + $0 } }
      }
      return filters
    case .any(let parts) where parts.count == 1: return try parts[0].filters(negated: negated)
    case .all(let parts), .any(let parts):
      if parts.isEmpty { return try Condition.always(self == .all([])).filters(negated: negated) }
      let word = if case .all = self { "NOT of AND (which is OR)" } else { "OR" }
      throw PredicateRefusal(
        word, "queries support only AND; use IN for several values of one field, or one query for each part")
    case .opaque:
      throw PredicateRefusal("A predicate that is a block", "make the predicate from a format")
    }
  }
}

extension Comparison {
  func filters(negated: Bool) throws(PredicateRefusal) -> [QueryFilter] {
    switch (left, right) {
    case (.distance(let place, let origin), let limit):
      return try distanceFilter(place, origin, comparator, limit, negated)
    case (let limit, .distance(let place, let origin)):
      return try distanceFilter(place, origin, comparator.mirrored, limit, negated)
    case (.itself, .constant(let words)): return try searchFilter(.anySearchable, words, negated)
    case (.key(["allTokens"]), .constant(let words)) where comparator == .tokenMatches || comparator == .contains:
      return try searchFilter(.anySearchable, words, negated)
    case (.key(let path), .constant(let constant)):
      return try filters(field: path, comparator, constant, negated)
    case (.constant(let constant), .key(let path)):
      guard modifier == .direct, let mirrored = comparator.mirrored else {
        throw PredicateRefusal(text, "write the field first")
      }
      // A list that contains a field's value is IN; a value in a field that is a list is CONTAINS.
      return try filters(field: path, mirrored, constant, negated)
    default: throw PredicateRefusal(text, "one side must be a field and the other a value")
    }
  }

  private func filters(
    field path: [String], _ comparator: Comparator, _ constant: Constant, _ negated: Bool
  ) throws(PredicateRefusal) -> [QueryFilter] {
    let field = try QueryField(predicateKey: path)
    if comparator == .tokenMatches { return try searchFilter(field, constant, negated) }
    if !options.isEmpty {
      throw PredicateRefusal(
        "\(comparator.rawValue) with an option in brackets",
        "texts are compared character by character; store a lower-case copy in another field, or search for words "
          + "with SELF CONTAINS")
    }
    if constant == .null {
      throw PredicateRefusal("Comparing \(field.name) with nil", "store a special value that means nothing is there")
    }
    guard let value = constant.fieldValue else {
      throw PredicateRefusal(constant.text, "no field can hold this value")
    }
    if comparator == .between {
      guard modifier == .direct, !negated, value.members.count == 2 else {
        throw PredicateRefusal(
          negated ? "NOT of BETWEEN (which is OR)" : "BETWEEN", "use one query below and one above the bounds")
      }
      let bounds = value.members
      try check(field, bounds[0])
      return [
        QueryFilter(field, .greaterThanOrEquals, bounds[0]), QueryFilter(field, .lessThanOrEquals, bounds[1]),
      ]
    }
    let (filter, opposite) = try queryComparators(comparator, isList: constant.isList)
    try check(field, value)
    return [QueryFilter(field, negated ? opposite : filter, value)]
  }

  /// What the comparison is called in a query, and its opposite.
  private func queryComparators(
    _ comparator: Comparator, isList: Bool
  ) throws(PredicateRefusal) -> (QueryComparator, QueryComparator) {
    switch (modifier, comparator, isList) {
    case (.direct, .equal, false): return (.equals, .notEquals)
    case (.direct, .notEqual, false): return (.notEquals, .equals)
    case (.direct, .less, false): return (.lessThan, .greaterThanOrEquals)
    case (.direct, .lessOrEqual, false): return (.lessThanOrEquals, .greaterThan)
    case (.direct, .greater, false): return (.greaterThan, .lessThanOrEquals)
    case (.direct, .greaterOrEqual, false): return (.greaterThanOrEquals, .lessThan)
    case (.direct, .isIn, true): return (.isIn, .notIn)
    case (.direct, .contains, false), (.any, .equal, false): return (.listContains, .notListContains)
    case (.any, .isIn, true): return (.listContainsAny, .notListContainsAny)
    case (.direct, .beginsWith, false): return (.beginsWith, .notBeginsWith)
    case (.any, .beginsWith, false): return (.listMemberBeginsWith, .notListMemberBeginsWith)
    case (.all, _, _):
      throw PredicateRefusal("ALL", "ask for one member with CONTAINS, and for several with CONTAINS joined by AND")
    case (_, .endsWith, _):
      throw PredicateRefusal(comparator.rawValue, "use BEGINSWITH on another field that holds the text reversed")
    case (_, .like, _), (_, .matches, _):
      throw PredicateRefusal(comparator.rawValue, "use BEGINSWITH, or SELF CONTAINS to search for words")
    case (.any, _, _):
      throw PredicateRefusal(
        "ANY with \(comparator.rawValue)", "members of a list field can be compared with ==, IN and BEGINSWITH")
    case (_, .contains, true):
      throw PredicateRefusal("CONTAINS with a list", "use CONTAINS once for each member, joined by AND")
    case (_, .isIn, false): throw PredicateRefusal("IN without a list", "use BEGINSWITH, or a list of values")
    default:
      throw PredicateRefusal(
        "\(comparator.rawValue) with a list", "use IN for a field that has one value, ANY … IN for one that is a list")
    }
  }

  /// System fields have types that are known here; the service checks those of all others.
  private func check(_ field: QueryField, _ value: FieldValue) throws(PredicateRefusal) {
    guard case .system(let system) = field else { return }
    for member in value.members {
      switch (system.type.scalar, member) {
      case (.reference, .reference), (.timestamp, .timestamp), (.string, .string): continue
      case (.timestamp, _): throw PredicateRefusal("Comparing \(field.name) with \(text)", "compare it with a date")
      default:
        throw PredicateRefusal(
          "\(text)", "\(field.name) is compared with a CKRecord.ID or a CKRecord.Reference")
      }
    }
  }

  private func searchFilter(
    _ field: QueryField, _ words: Constant, _ negated: Bool
  ) throws(PredicateRefusal) -> [QueryFilter] {
    guard modifier == .direct, comparator == .contains || comparator == .tokenMatches else {
      throw PredicateRefusal(text, "SELF can only be searched for words, with SELF CONTAINS")
    }
    guard !negated else {
      throw PredicateRefusal("NOT of a search for words", "a query cannot ask for records without a word")
    }
    guard case .string(let wanted)? = words.fieldValue else {
      throw PredicateRefusal(text, "give the words as one text")
    }
    return [QueryFilter(field, .containsAllTokens, .string(wanted))]
  }

  private func distanceFilter(
    _ place: Expression, _ origin: Expression, _ comparator: Comparator?, _ limit: Expression, _ negated: Bool
  ) throws(PredicateRefusal) -> [QueryFilter] {
    let sides: ([String], Location)? =
      switch (place, origin) {
      case (.key(let path), .constant(.value(.location(let center)))),
        (.constant(.value(.location(let center))), .key(let path)):
        (path, center)
      default: nil
      }
    guard let (path, center) = sides, case .constant(let constant) = limit, let metres = constant.number else {
      throw PredicateRefusal(
        "This form of distanceToLocation:fromLocation:",
        "it takes a field and a CLLocation, and is compared with a number of metres")
    }
    let isWithin = comparator == .less || comparator == .lessOrEqual
    guard isWithin, !negated, modifier == .direct, metres >= 0 else {
      throw PredicateRefusal(
        "distanceToLocation:fromLocation: in this comparison", "use < with a distance, to find what is nearer")
    }
    return [QueryFilter(try QueryField(predicateKey: path), .near, .location(center), distance: metres)]
  }
}

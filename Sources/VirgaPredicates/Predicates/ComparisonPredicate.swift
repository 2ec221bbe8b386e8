import Foundation

/// A predicate that was made from a format and compares two expressions.
///
/// Foundation's `NSComparisonPredicate` cannot be made on Linux, nor subclassed.
final class ComparisonPredicate: NSPredicate {
  let comparison: Comparison

  init(_ comparison: Comparison) {
    self.comparison = comparison
    // The block is never asked; a predicate made with a constant would be equal to every other such one.
    super.init(block: { object, bindings in
      comparison.matches(PredicateSubject(object, bindings: bindings), negated: false)
    })
  }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    comparison.matches(PredicateSubject(object, bindings: bindings), negated: false)
  }

  override func copy(with zone: NSZone? = nil) -> Any { self }
  override var predicateFormat: String { comparison.text }
  override var description: String { comparison.text }
  override var hash: Int { comparison.hashValue }

  override func isEqual(_ object: Any?) -> Bool {
    (object as? ComparisonPredicate)?.comparison == comparison
  }
}

/// A compound predicate that was made from a format: one that can be copied, compared, printed, and that carries NOT
/// down to its comparisons.
final class FormatCompoundPredicate: NSCompoundPredicate {
  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    condition.matches(PredicateSubject(object, bindings: bindings))
  }

  override func copy(with zone: NSZone? = nil) -> Any {
    FormatCompoundPredicate(type: compoundPredicateType, subpredicates: subpredicates)
  }

  override var predicateFormat: String { condition.text }
  override var description: String { condition.text }
  override var hash: Int { condition.hashValue }

  override func isEqual(_ object: Any?) -> Bool {
    (object as? NSCompoundPredicate)?.condition == condition
  }
}

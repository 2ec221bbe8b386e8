/// Why a predicate or a sort descriptor cannot become a query: what the service does not know, and what to use instead.
///
/// It is found before anything is sent.
package struct PredicateRefusal: Error, Hashable, CustomStringConvertible {
  /// The operator, name or value that is refused, as it is written.
  package let subject: String
  /// Why, and what to use instead.
  package let advice: String

  package init(_ subject: String, _ advice: String) {
    self.subject = subject
    self.advice = advice
  }

  package var description: String { "\(subject) is not supported in queries: \(advice)." }
}

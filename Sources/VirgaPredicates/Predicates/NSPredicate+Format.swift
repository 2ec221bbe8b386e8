public import Foundation

/// What gives `NSPredicate` the initialisers that Foundation lacks on Linux.
///
/// They are on a protocol because an initialiser of a protocol may choose the object: predicates made from a format are
/// of classes of their own.
public protocol FormatPredicate {}

extension NSPredicate: FormatPredicate {}

extension FormatPredicate where Self: NSPredicate {
  /// Makes a predicate from a format, such as `"age >= %d AND name BEGINSWITH %@"`.
  ///
  /// The language is Apple's, without arithmetic, indexes, variables, collection operators and functions other than
  /// `distanceToLocation:fromLocation:`. What can be evaluated here may still be refused by a query.
  /// - Parameter args: What stands for `%@` (any value), `%K` (a field's name), `%d`, `%f` and their like. `%s` and `%c`
  ///   are not supported.
  /// - Precondition: The format can be read. One that cannot stops the process and names the place; see
  ///   `init(checking:argumentArray:)`.
  public init(format predicateFormat: String, _ args: any CVarArg...) {
    self.init(trusting: predicateFormat, args)
  }

  /// Makes a predicate from a format and a list of what stands for `%@` and its like.
  /// - Precondition: The format can be read; see `init(format:_:)`.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    self.init(trusting: predicateFormat, arguments ?? [])
  }

  /// Makes a predicate from a format that may be wrong: one that a user typed, or that came from elsewhere.
  ///
  /// This is not part of Apple's API.
  /// - Throws: `PredicateFormatError` with the place where the format cannot be read.
  public init(checking predicateFormat: String, argumentArray arguments: [Any] = []) throws(PredicateFormatError) {
    self.init(stating: try FormatParser.parse(predicateFormat, arguments))
  }

  private init(trusting format: String, _ arguments: [Any]) {
    do {
      try self.init(checking: format, argumentArray: arguments)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  private init(stating condition: Condition) {
    guard let made = condition.predicate as? Self else {
      preconditionFailure("A format makes an NSPredicate, not a \(Self.self).")
    }
    self = made
  }
}

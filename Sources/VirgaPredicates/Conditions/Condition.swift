import Foundation

/// What a predicate states, as a tree: the one form that parsing, printing, translation and evaluation share.
package indirect enum Condition: Hashable {
  case always(Bool)
  case comparison(Comparison)
  case all([Condition])
  case any([Condition])
  case not(Condition)
  /// A predicate that tells nothing of itself: one made of a block, or a subclass of an app's own.
  case opaque(OpaquePredicate)
}

/// A predicate that can only be asked, not read. Equal to itself alone.
package struct OpaquePredicate: Hashable {
  let predicate: NSPredicate

  package static func == (left: Self, right: Self) -> Bool { left.predicate === right.predicate }
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(predicate)) }
}

/// Two expressions and how they are compared.
package struct Comparison: Hashable {
  package var modifier = Modifier.direct
  package var left: Expression
  package var comparator: Comparator
  package var options: Options = []
  package var right: Expression

  /// Whether members of the left side are compared in its place. `SOME` is another word for `ANY`; `NONE` is read as
  /// its negation.
  package enum Modifier: Hashable, Sendable {
    case direct, any, all
  }

  /// By the spelling that Foundation prints.
  package enum Comparator: String, Hashable, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case between = "BETWEEN"
    case isIn = "IN"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case like = "LIKE"
    case matches = "MATCHES"
    case tokenMatches = "TOKENMATCHES"

    /// The comparator that says the same with the sides exchanged; nil where there is none.
    var mirrored: Comparator? {
      switch self {
      case .equal, .notEqual: self
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .greater: .less
      case .greaterOrEqual: .lessOrEqual
      case .contains: .isIn
      case .isIn: .contains
      default: nil
      }
    }
  }

  /// What a comparison of texts overlooks, in brackets after the comparator.
  package struct Options: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    static let caseInsensitive = Options(rawValue: 1)
    static let diacriticInsensitive = Options(rawValue: 2)
    static let normalized = Options(rawValue: 4)
    static let localeSensitive = Options(rawValue: 8)

    /// Letters and what they mean, in the order in which they are printed.
    static let letters: [(Character, Options)] = [
      ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("n", .normalized), ("l", .localeSensitive),
    ]
  }
}

/// One side of a comparison.
package indirect enum Expression: Hashable {
  /// A field, or a path of names from object to object.
  case key([String])
  /// `SELF`: the object itself.
  case itself
  case constant(Constant)
  /// `distanceToLocation:fromLocation:(…, …)`, in metres.
  case distance(Expression, Expression)
}

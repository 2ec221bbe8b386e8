package import Foundation

extension NSPredicate {
  /// What the predicate states.
  package var condition: Condition {
    switch self {
    case let predicate as ComparisonPredicate: return .comparison(predicate.comparison)
    // To Foundation on Linux a compound predicate equals the one that is always false, so it comes before those.
    case let predicate as NSCompoundPredicate:
      let parts = predicate.subpredicates.map(\.condition)
      return switch predicate.compoundPredicateType {
      case .and: .all(parts)
      case .or: .any(parts)
      case .not: .not(parts.first ?? .always(true))
      }
    default:
      if isEqual(NSPredicate(value: true)) { return .always(true) }
      if isEqual(NSPredicate(value: false)) { return .always(false) }
      return .opaque(OpaquePredicate(predicate: self))
    }
  }
}

extension Condition {
  /// The object that states the condition: a compound predicate for what NOT, AND and OR join, as on Apple's systems.
  package var predicate: NSPredicate {
    switch self {
    case .always(let value): NSPredicate(value: value)
    case .comparison(let comparison): ComparisonPredicate(comparison)
    case .all(let parts): FormatCompoundPredicate(type: .and, subpredicates: parts.map(\.predicate))
    case .any(let parts): FormatCompoundPredicate(type: .or, subpredicates: parts.map(\.predicate))
    case .not(let part): FormatCompoundPredicate(type: .not, subpredicates: [part.predicate])
    case .opaque(let opaque): opaque.predicate
    }
  }
}

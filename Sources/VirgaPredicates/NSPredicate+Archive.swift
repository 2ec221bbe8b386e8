package import Foundation

extension NSPredicate {
  /// What an archive keeps of a predicate; nil for one that this version cannot archive: all but the constant ones,
  /// which match every record or none. Foundation on Linux gives predicates no coding of their own.
  package var archivedFormat: String? {
    if isEqual(NSPredicate(value: true)) { return "TRUEPREDICATE" }
    if isEqual(NSPredicate(value: false)) { return "FALSEPREDICATE" }
    return nil
  }

  /// Reads `archivedFormat` back.
  package static func predicate(archivedFormat: String?) -> NSPredicate? {
    switch archivedFormat {
    case "TRUEPREDICATE": NSPredicate(value: true)
    case "FALSEPREDICATE": NSPredicate(value: false)
    default: nil
    }
  }
}

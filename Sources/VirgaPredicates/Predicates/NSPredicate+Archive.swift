package import Foundation

extension NSPredicate {
  /// What an archive keeps of a predicate; nil for one made of a block. Foundation on Linux gives predicates no coding
  /// of their own.
  package var archivedFormat: String? { condition.format }

  /// Reads `archivedFormat` back; nil if it is none.
  package static func predicate(archivedFormat: String?) -> NSPredicate? {
    guard let archivedFormat else { return nil }
    do {
      return try NSPredicate(checking: archivedFormat)
    } catch {
      // Whoever reads archives answers nil for foreign data.
      return nil
    }
  }
}

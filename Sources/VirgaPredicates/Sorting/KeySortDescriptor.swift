// Plain imports: with `package import Foundation` Swift 6.3 warns of endless recursion in the initialisers of Foundation's
// that these classes do not take over.
import Foundation
import VirgaModel

/// A sort by a field's name.
final class KeySortDescriptor: NSSortDescriptor, QuerySortDescriptor {
  let sortKey: String
  var sortOrigin: Location? { nil }

  init(_ key: String, ascending: Bool) {
    sortKey = key
    // Foundation wants a Swift key path; it is never followed.
    super.init(keyPath: \NSObject.hash, ascending: ascending)
  }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult { order(object1, object2) }
  override var reversedSortDescriptor: Any { KeySortDescriptor(sortKey, ascending: !ascending) }
  override var description: String { "(\(sortKey), \(ascending ? "ascending" : "descending"))" }
  override var hash: Int { sortKey.hashValue }
  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? KeySortDescriptor else { return false }
    return other.sortKey == sortKey && other.ascending == ascending
  }
}

/// A sort by what an app's own function says of the values under a key. No query can use it.
final class ComparatorSortDescriptor: NSSortDescriptor {
  let sortKey: String
  private let decide: Comparator

  init(_ key: String, ascending: Bool, comparator: @escaping Comparator) {
    sortKey = key
    decide = comparator
    super.init(keyPath: \NSObject.hash, ascending: ascending)
  }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
    let values = [object1, object2].map { PredicateSubject.value(of: sortKey, in: $0) ?? NSNull() }
    let order = decide(values[0], values[1])
    return ascending ? order : order.reversed
  }

  override var reversedSortDescriptor: Any {
    ComparatorSortDescriptor(sortKey, ascending: !ascending, comparator: decide)
  }
}

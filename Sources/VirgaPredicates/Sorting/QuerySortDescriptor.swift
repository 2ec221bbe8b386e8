package import Foundation
package import VirgaModel

/// A sort descriptor that a query can use.
package protocol QuerySortDescriptor: NSSortDescriptor {
  var sortKey: String { get }
  /// Sorts places by their distance from here.
  var sortOrigin: Location? { get }
}

extension NSSortDescriptor {
  /// The part of a query's order that this descriptor states.
  /// - Throws: `PredicateRefusal` for one made with a Swift key path or a comparator.
  package func querySort() throws(PredicateRefusal) -> QuerySort {
    guard let descriptor = self as? any QuerySortDescriptor else {
      throw PredicateRefusal("A sort by a Swift key path or a comparator", "sort by the name of a field")
    }
    let field = try QueryField(predicateKey: descriptor.sortKey.split(separator: ".").map(String.init))
    return QuerySort(field, ascending: ascending, origin: descriptor.sortOrigin)
  }
}

extension QuerySortDescriptor {
  /// The order of two objects as a query would give it; what lacks the value comes before all that has one.
  package func order(_ first: Any, _ second: Any) -> ComparisonResult {
    let field = QueryField(key: sortKey)
    let sort = QuerySort(field, ascending: ascending, origin: sortOrigin)
    let keys = [first, second].map { PredicateSubject($0).querySubject(of: field).flatMap { sort.key(of: $0) } }
    let order: ComparisonResult =
      switch (keys[0], keys[1]) {
      case (nil, nil): .orderedSame
      case (nil, _): .orderedAscending
      case (_, nil): .orderedDescending
      case (let left?, let right?):
        switch left.order(before: right) {
        case .ascending?: .orderedAscending
        case .descending?: .orderedDescending
        case .same?, nil: .orderedSame
        }
      }
    return ascending ? order : order.reversed
  }
}

extension ComparisonResult {
  var reversed: ComparisonResult {
    switch self {
    case .orderedAscending: .orderedDescending
    case .orderedDescending: .orderedAscending
    case .orderedSame: .orderedSame
    }
  }
}

public import Foundation
package import VirgaModel
import VirgaPredicates

/// Sorts records by how far the place in a field is from another, the nearest first.
public final class CKLocationSortDescriptor: NSSortDescriptor {
  public let relativeLocation: CLLocation
  private let name: String

  public convenience init(key: String, relativeLocation: CLLocation) {
    self.init(key, relativeLocation, ascending: true)
  }

  private init(_ key: String, _ relativeLocation: CLLocation, ascending: Bool) {
    name = key
    self.relativeLocation = relativeLocation
    // Foundation wants a Swift key path; it is never followed.
    super.init(keyPath: \NSObject.hash, ascending: ascending)
  }

  public override func compare(_ object1: Any, to object2: Any) -> ComparisonResult { order(object1, object2) }
  public override var reversedSortDescriptor: Any {
    CKLocationSortDescriptor(name, relativeLocation, ascending: !ascending)
  }
}

extension CKLocationSortDescriptor: QuerySortDescriptor {
  package var sortKey: String { name }
  package var sortOrigin: Location? { relativeLocation.model }
}

public import Foundation
package import VirgaModel
import VirgaPredicates

/// Sorts records by how far the place in a field is from another, the nearest first.
public final class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
  /// The place from which distances are measured.
  public let relativeLocation: CLLocation
  private let name: String

  /// Sorts by the distance of a field's place from another, the nearest first.
  public convenience init(key: String, relativeLocation: CLLocation) {
    self.init(key, relativeLocation, ascending: true)
  }

  private init(_ key: String, _ relativeLocation: CLLocation, ascending: Bool) {
    name = key
    self.relativeLocation = relativeLocation
    // Foundation wants a Swift key path; it is never followed.
    super.init(keyPath: \NSObject.hash, ascending: ascending)
  }

  // MARK: Archives

  private struct Archived: Codable {
    var key: String
    var ascending: Bool
    var location: CLLocation.Archived
  }

  public static var supportsSecureCoding: Bool { true }

  /// - Returns: A sort by no field if the archive holds something else; a query with it is refused.
  public init(coder aDecoder: NSCoder) {
    let archived = aDecoder.archived(Archived.self)
    name = archived?.key ?? ""
    relativeLocation = archived.flatMap { CLLocation($0.location) } ?? CLLocation(latitude: 0, longitude: 0)
    super.init(keyPath: \NSObject.hash, ascending: archived?.ascending ?? true)
  }

  public func encode(with coder: NSCoder) {
    coder.archive(Archived(key: name, ascending: ascending, location: relativeLocation.archived))
  }

  public override func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKLocationSortDescriptor else { return false }
    return other.name == name && other.ascending == ascending && other.relativeLocation == relativeLocation
  }
  public override var hash: Int { name.hashValue }
  public override var description: String {
    "(\(name), \(ascending ? "nearest" : "farthest") first from \(relativeLocation))"
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

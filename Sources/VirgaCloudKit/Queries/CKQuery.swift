public import Foundation
import Synchronization
import VirgaPredicates

/// Which records are wanted: a type, a condition, an order.
///
/// A predicate that no query can state is refused when the query is run, with `CKError.invalidArguments`; Apple's
/// framework raises an exception when the query is made. `NSPredicate(value: true)` asks for all records.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Unchecked because predicates and sort descriptors are not marked Sendable on Linux; both are immutable, and the
  // array of descriptors is guarded by the mutex.
  /// The type of the records to look for.
  public let recordType: CKRecord.RecordType
  /// What they must match. `NSPredicate(value: true)` matches all.
  public let predicate: NSPredicate
  private let descriptors: Mutex<Descriptors>

  private struct Descriptors: @unchecked Sendable {
    // Unchecked for the same reason: sort descriptors are immutable.
    var list: [NSSortDescriptor]?
  }

  /// Makes a query. What the service cannot look for is refused when it is sent, with `invalidArguments` and advice.
  public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
    self.recordType = recordType
    self.predicate = predicate
    descriptors = Mutex(Descriptors())
  }

  /// The order of the results; nil leaves it to the service.
  public var sortDescriptors: [NSSortDescriptor]? {
    get { descriptors.withLock { $0 }.list }
    set {
      let new = Descriptors(list: newValue)
      descriptors.withLock { $0 = new }
    }
  }

  private struct Archived: Codable {
    var recordType: String
    var predicateFormat: String?
    var sorts: [Sort]?

    struct Sort: Codable {
      var key: String
      var ascending: Bool
      var origin: [Double]?
      /// The whole of `origin`; missing in older archives.
      var location: CLLocation.Archived?
    }
  }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    guard let archived = coder.archived(Archived.self),
      let predicate = NSPredicate.predicate(archivedFormat: archived.predicateFormat)
    else { return nil }
    self.init(recordType: archived.recordType, predicate: predicate)
    sortDescriptors = archived.sorts?.map { sort in
      guard let origin = sort.origin, origin.count == 2 else {
        return NSSortDescriptor(key: sort.key, ascending: sort.ascending)
      }
      let place =
        sort.location.flatMap { CLLocation($0) } ?? CLLocation(latitude: origin[0], longitude: origin[1])
      let descriptor = CKLocationSortDescriptor(key: sort.key, relativeLocation: place)
      return sort.ascending ? descriptor : descriptor.reversedSortDescriptor as? NSSortDescriptor ?? descriptor
    }
  }

  /// A predicate or a sort that is a block is left out: without its predicate a query cannot be read back.
  public func encode(with coder: NSCoder) {
    let sorts = sortDescriptors?.compactMap { descriptor in
      (descriptor as? any QuerySortDescriptor).map { sort in
        Archived.Sort(
          key: sort.sortKey, ascending: sort.ascending, origin: sort.sortOrigin.map { [$0.latitude, $0.longitude] },
          location: (descriptor as? CKLocationSortDescriptor)?.relativeLocation.archived)
      }
    }
    coder.archive(Archived(recordType: recordType, predicateFormat: predicate.archivedFormat, sorts: sorts))
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKQuery(recordType: recordType, predicate: predicate)
    copy.sortDescriptors = sortDescriptors
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKQuery else { return false }
    return other.recordType == recordType && other.predicate == predicate
      && (other.sortDescriptors ?? []) == (sortDescriptors ?? [])
  }
  public override var hash: Int { recordType.hashValue }
}

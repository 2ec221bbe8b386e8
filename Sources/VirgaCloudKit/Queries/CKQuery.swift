public import Foundation
import Synchronization
import VirgaPredicates

/// Which records are wanted: a type, a condition, an order.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Unchecked because predicates and sort descriptors are not marked Sendable on Linux; both are immutable, and the
  // array of descriptors is guarded by the mutex.
  public let recordType: CKRecord.RecordType
  public let predicate: NSPredicate
  private let descriptors: Mutex<Descriptors>

  private struct Descriptors: @unchecked Sendable {
    // Unchecked for the same reason: sort descriptors are immutable.
    var list: [NSSortDescriptor]?
  }

  public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
    self.recordType = recordType
    self.predicate = predicate
    descriptors = Mutex(Descriptors())
  }

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
  }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    guard let archived = coder.archived(Archived.self),
      let predicate = NSPredicate.predicate(archivedFormat: archived.predicateFormat)
    else { return nil }
    self.init(recordType: archived.recordType, predicate: predicate)
  }

  public func encode(with coder: NSCoder) {
    coder.archive(Archived(recordType: recordType, predicateFormat: predicate.archivedFormat))
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKQuery(recordType: recordType, predicate: predicate)
    copy.sortDescriptors = sortDescriptors
    return copy
  }
}

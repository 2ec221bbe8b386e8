public import Foundation
import VirgaModel

/// What becomes of a record that holds a reference when the reference's target is deleted.
public enum CKRecordReferenceAction: UInt, Sendable {
  /// Nothing; the reference dangles.
  case none = 0
  /// The holder is deleted too.
  case deleteSelf = 1
}

/// A pointer from one record to another of the same zone.
///
/// On Linux an archive can only name classes at the top level, so `CKRecord.Reference` is another name for this class.
public final class CKRecordReference: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// What becomes of the record when the one that it refers to is deleted.
  public typealias Action = CKRecordReferenceAction

  /// The record that is referred to. With the action `deleteSelf` the service wants it to exist.
  public let recordID: CKRecord.ID
  /// What becomes of the record when the one that it refers to is deleted.
  public let action: CKRecord.ReferenceAction

  /// Makes a reference by an identifier. The service refuses one that leads to another zone.
  public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
    self.recordID = recordID
    self.action = action
  }

  /// Makes a reference to a record object, of which only the identifier is used.
  public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
    self.init(recordID: record.recordID, action: action)
  }

  /// - Parameter zone: The zone of the record that holds the reference.
  convenience init(_ model: Reference, in zone: ZoneID) {
    self.init(
      recordID: CKRecord.ID(RecordID(model.recordName, in: model.zone ?? zone)),
      action: model.action == .deleteSelf ? .deleteSelf : .none)
  }

  func model(in zone: ZoneID) -> Reference {
    let target = recordID.model
    return Reference(
      recordName: target.name, action: action == .deleteSelf ? .deleteSelf : .none,
      zone: target.zone == zone ? nil : target.zone)
  }

  private struct Archived: Codable {
    var recordID: RecordID
    var action: UInt
  }

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    if let archived = coder.archived(Archived.self), let action = CKRecord.ReferenceAction(rawValue: archived.action) {
      recordID = CKRecord.ID(archived.recordID)
      self.action = action
    } else if let target = coder.appleObject(CKRecordID.self, "recordID") {
      recordID = target
      action = coder.appleInteger("referenceAction") == 1 ? .deleteSelf : .none
    } else {
      return nil
    }
  }
  public func encode(with coder: NSCoder) {
    coder.archive(Archived(recordID: recordID.model, action: action.rawValue))
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKRecordReference else { return false }
    return other.recordID == recordID && other.action == action
  }
  public override var hash: Int { recordID.hash }
  public override var description: String { "<CKReference to \(recordID.recordName)>" }
}

/// An older name of `CKRecord.ReferenceAction`.
public typealias CKRecord_Reference_Action = CKRecordReferenceAction

public import Foundation
package import VirgaModel

/// A record's name and the zone it lies in. Names compare by their bytes.
///
/// On Linux an archive can only name classes at the top level, so `CKRecord.ID` is another name for this class.
public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
  package let model: RecordID

  /// - Parameter recordName: 1...255 UTF-16 code units without control characters, unique in the zone.
  public convenience init(
    recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = CKRecordZone.ID.default
  ) {
    self.init(RecordID(RecordName(recordName), in: zoneID.model))
  }

  /// The identifier of a record in the default zone.
  public convenience init(recordName: String) { self.init(recordName: recordName, zoneID: .default) }

  package init(_ model: RecordID) { self.model = model }

  /// The record of a user.
  convenience init(user: UserName) { self.init(recordName: user.rawValue, zoneID: .default) }

  public var recordName: String { model.name.rawValue }
  /// The zone that the record is in.
  public var zoneID: CKRecordZone.ID { CKRecordZone.ID(model.zone) }

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    guard let model = coder.archived(RecordID.self) ?? RecordID(appleArchive: coder) else { return nil }
    self.model = model
  }
  public func encode(with coder: NSCoder) { coder.archive(model) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKRecordID)?.model == model }
  public override var hash: Int { model.hashValue }
  public override var description: String { "<CKRecordID \(model.name) in \(model.zone.name)>" }
}

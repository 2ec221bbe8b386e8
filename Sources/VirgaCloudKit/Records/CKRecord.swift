public import Foundation
import Synchronization
import VirgaModel

/// A record: a set of named values of one record type, and what the service knows about it.
///
/// The object is shared by reference: the record given to a save is the one that the save brings up to date. It may be
/// used from several threads at once. The service keeps plain dates in whole milliseconds, so a fetched one may differ from the
/// one that was saved by half of that; encrypted ones, and those of the object that was saved, stay as they are.
public class CKRecord: NSObject, CKRecordKeyValueSetting, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Unchecked because a class that is not final cannot be checked: all state is in the mutex.
  /// The name of a record type: an ASCII letter, then letters, digits, underscores and dots, 1...255 in all.
  public typealias RecordType = String
  /// The name of a field: an ASCII letter, then letters, digits and underscores, 1...255 in all.
  public typealias FieldKey = String
  /// A record's name and zone.
  public typealias ID = CKRecordID
  /// A field's value that names another record.
  public typealias Reference = CKRecordReference
  /// What becomes of a record when the one that it refers to is deleted.
  public typealias ReferenceAction = CKRecordReferenceAction

  let state: Mutex<State>

  /// Makes a record that the service does not know yet.
  /// - Parameter recordID: Without one the record gets a new UUID as its name, in the default zone.
  public convenience init(recordType: RecordType, recordID: ID = ID()) {
    self.init(State(Record(id: recordID.model, type: VirgaModel.RecordType(recordType))))
  }

  /// Makes a record with a new UUID as its name. Apple has retired this form.
  public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
    self.init(recordType: recordType, recordID: ID(zoneID: zoneID))
  }

  init(_ state: State) {
    self.state = Mutex(state)
  }

  public required convenience init?(coder: NSCoder) {
    guard let state = State(coder: coder) else { return nil }
    self.init(state)
  }

  public class var supportsSecureCoding: Bool { true }

  // MARK: Fields

  /// The value of a plain field; setting nil removes it. Encrypted fields are in `encryptedValues`.
  public subscript(key: FieldKey) -> (any CKRecordValue)? {
    get { object(forKey: key) }
    set { setObject(newValue, forKey: key) }
  }

  /// The value of a plain field; nil if the record has no such field.
  public func object(forKey key: FieldKey) -> (any CKRecordValue)? {
    state.withLock { $0.object(FieldName(key), isEncrypted: false) }
  }

  /// Sets a field, or removes it with nil; either counts as a change, even to the same value.
  public func setObject(_ object: (any CKRecordValue)?, forKey key: FieldKey) {
    state.withLock { $0.set(FieldName(key), to: object, isEncrypted: false) }
  }

  /// The names of all plain fields that have a value, sorted.
  public func allKeys() -> [FieldKey] { state.withLock { $0.keys(isEncrypted: false) } }

  /// The names of the plain fields that were set since the record was fetched or saved, sorted. A save sends these.
  public func changedKeys() -> [FieldKey] { state.withLock { $0.changedKeys(isEncrypted: false) } }

  /// The fields that the service keeps encrypted: a second set of keys with the same accessors. A key is either plain
  /// or encrypted; setting it through one view removes it from the other.
  public var encryptedValues: any CKRecordKeyValueSetting & Sendable { CKRecordEncryptedValues(self) }

  /// The words of all text fields, without regard to case and accents, for search.
  public func allTokens() -> [String] { state.withLock { $0.tokens } }

  // MARK: System fields

  public var recordType: RecordType { state.withLock { $0.record.type.rawValue } }
  /// The record's name and zone. It never changes.
  public var recordID: ID { ID(state.withLock { $0.record.id }) }
  /// The version that this object was fetched or saved with; nil before the first save. Opaque, never twice the same.
  public var recordChangeTag: String? { state.withLock { $0.record.tag?.rawValue } }
  /// When the record was first saved, by the service's clock; nil before.
  public var creationDate: Date? { state.withLock { $0.record.created?.time.date } }
  /// When the record was last saved, by the service's clock; nil before the first save.
  public var modificationDate: Date? { state.withLock { $0.record.modified?.time.date } }
  /// Who saved the record first; nil before.
  public var creatorUserRecordID: ID? { state.withLock { ($0.record.created?.user).map(ID.init(user:)) } }
  /// Who saved the record last; nil before the first save.
  public var lastModifiedUserRecordID: ID? { state.withLock { ($0.record.modified?.user).map(ID.init(user:)) } }

  /// The share that the record is the root of.
  public var share: Reference? {
    state.withLock { state in state.record.share.map { Reference($0, in: state.record.id.zone) } }
  }

  /// The record above this one in the hierarchy that is shared as a whole. Must have the action `none`.
  public var parent: Reference? {
    get { state.withLock { state in state.record.parent.map { Reference($0, in: state.record.id.zone) } } }
    set {
      precondition(newValue?.action != .deleteSelf, "A parent reference must have the action none.")
      state.withLock { $0.setParent(newValue) }
    }
  }

  /// Sets the record above this one; nil takes this one out of the hierarchy.
  public func setParent(_ parentRecord: CKRecord?) { setParent(parentRecord?.recordID) }

  /// Sets the record above this one by its identifier; nil takes this one out of the hierarchy.
  public func setParent(_ parentRecordID: ID?) {
    parent = parentRecordID.map { Reference(recordID: $0, action: .none) }
  }

  // MARK: Archives and copies

  /// Writes what the service knows about the record, and no values: identifier, type, change tag, dates, users, parent
  /// and share. A record decoded from it has no changed keys; saving it sends only what is set after that.
  public func encodeSystemFields(with coder: NSCoder) {
    state.withLock { $0 }.encodeSystemFields(with: coder)
  }

  /// Writes everything, changes that wait for a save included.
  public func encode(with coder: NSCoder) { state.withLock { $0 }.encode(with: coder) }

  public func copy(with zone: NSZone? = nil) -> Any { CKRecord(state.withLock { $0 }) }

  public override var description: String {
    let (id, type) = state.withLock { ($0.record.id, $0.record.type) }
    return "<CKRecord \(type) \(id.name) in \(id.zone.name)>"
  }
}

extension CKRecord {
  /// Names of system fields, for predicates, sorting and desired keys.
  public enum SystemFieldKey {
    /// The record's identifier.
    public static let recordID: FieldKey = "recordID"
    /// The user who created the record.
    public static let creatorUserRecordID: FieldKey = "creatorUserRecordID"
    /// When the record was created.
    public static let creationDate: FieldKey = "creationDate"
    /// The user who changed the record last.
    public static let lastModifiedUserRecordID: FieldKey = "lastModifiedUserRecordID"
    /// When the record was last changed.
    public static let modificationDate: FieldKey = "modificationDate"
    /// The record above this one.
    public static let parent: FieldKey = "parent"
    /// The share that the record is the root of.
    public static let share: FieldKey = "share"
  }

  /// Record types that the service itself makes.
  public enum SystemType {
    /// The type of the record that each user has in the public database.
    public static let userRecord: RecordType = "Users"
    /// The type of a `CKShare`.
    public static let share: RecordType = "cloudkit.share"
  }
}

/// The record name of a share of a whole zone.
public let CKRecordNameZoneWideShare: String = "cloudkit.zoneshare"

extension CKRecord: Sequence {
  /// Walks over the plain fields in the order of their names.
  public func makeIterator() -> CKRecordKeyValueIterator { CKRecordKeyValueIterator(self) }
}

/// Walks over the plain fields of a record, in the order of their names. Fields that go meanwhile are passed over.
public struct CKRecordKeyValueIterator: IteratorProtocol {
  public typealias Element = (CKRecord.FieldKey, any CKRecordValueProtocol)

  private let record: CKRecord
  private var keys: IndexingIterator<[String]>

  init(_ record: CKRecord) {
    self.record = record
    keys = record.allKeys().makeIterator()
  }

  /// The name and the value of the next field; nil at the end.
  public mutating func next() -> Element? {
    while let key = keys.next() {
      if let value = record.object(forKey: key) { return (key, value) }
    }
    return nil
  }
}

/// The encrypted fields of one record.
final class CKRecordEncryptedValues: NSObject, CKRecordKeyValueSetting, Sendable {
  private let record: CKRecord

  init(_ record: CKRecord) { self.record = record }

  subscript(key: String) -> (any CKRecordValue)? {
    get { object(forKey: key) }
    set { setObject(newValue, forKey: key) }
  }

  func object(forKey key: String) -> (any CKRecordValue)? {
    record.state.withLock { $0.object(FieldName(key), isEncrypted: true) }
  }

  func setObject(_ object: (any CKRecordValue)?, forKey key: String) {
    record.state.withLock { $0.set(FieldName(key), to: object, isEncrypted: true) }
  }

  func allKeys() -> [String] { record.state.withLock { $0.keys(isEncrypted: true) } }
  func changedKeys() -> [String] { record.state.withLock { $0.changedKeys(isEncrypted: true) } }
}

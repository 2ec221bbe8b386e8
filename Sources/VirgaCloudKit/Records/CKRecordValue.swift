public import Foundation

/// What a field of a record can hold, in Swift's own types.
///
/// A record takes `String`, every integer and floating-point type, `Bool`, `Date`, `Data`, `CKRecord.Reference`,
/// `CKAsset`, `CLLocation`, arrays of one of these, and the Foundation classes they bridge to.
public protocol CKRecordValueProtocol {}

/// The same as `CKRecordValueProtocol`.
///
/// On Apple's systems this is what Objective-C calls a value, and Swift's types are bridged to it. Linux does not bridge
/// to protocols, and would call `record["x"] as? String` a cast that always fails.
public typealias CKRecordValue = CKRecordValueProtocol
/// What Apple's Swift calls the Objective-C protocol.
public typealias __CKRecordObjCValue = CKRecordValueProtocol

extension NSString: CKRecordValueProtocol {}
extension NSNumber: CKRecordValueProtocol {}
extension NSArray: CKRecordValueProtocol {}
extension NSDate: CKRecordValueProtocol {}
extension NSData: CKRecordValueProtocol {}
extension CKRecordReference: CKRecordValueProtocol {}
extension CKAsset: CKRecordValueProtocol {}
extension CLLocation: CKRecordValueProtocol {}

extension String: CKRecordValueProtocol {}
extension Bool: CKRecordValueProtocol {}
extension Int: CKRecordValueProtocol {}
extension Int8: CKRecordValueProtocol {}
extension Int16: CKRecordValueProtocol {}
extension Int32: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension UInt: CKRecordValueProtocol {}
extension UInt8: CKRecordValueProtocol {}
extension UInt16: CKRecordValueProtocol {}
extension UInt32: CKRecordValueProtocol {}
extension UInt64: CKRecordValueProtocol {}
extension Float: CKRecordValueProtocol {}
extension Double: CKRecordValueProtocol {}
extension Date: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}

/// Access to the fields of a record by name: the record itself for plain fields, `encryptedValues` for encrypted ones.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
  func object(forKey key: String) -> (any CKRecordValue)?
  func setObject(_ object: (any CKRecordValue)?, forKey key: String)
  subscript(key: String) -> (any CKRecordValue)? { get set }
  /// The names of all fields that have a value, in the order of their bytes.
  func allKeys() -> [String]
  /// The names of the fields that were set since the record was fetched or saved, in the order of their bytes.
  func changedKeys() -> [String]
}

extension CKRecordKeyValueSetting {
  /// The value as `T`, or nil where the field is empty or holds something that is no `T`.
  public subscript<T: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> T? {
    get { object(forKey: key) as? T }
    set { setObject(newValue, forKey: key) }
  }

  /// The value; a number comes as `NSNumber` and a text as `NSString`, which cast to every type that fits, as on
  /// Apple's systems.
  public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
    get { object(forKey: key) }
    set { setObject(newValue, forKey: key) }
  }
}

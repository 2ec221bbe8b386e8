import Foundation

// Key-value coding, which NSObject has on Apple's systems and not on Linux.

extension CKRecord {
  /// The value of a field, or of one of the record's own properties, such as `creationDate`.
  public func value(forKey key: String) -> Any? { object(forKey: key) ?? systemObject(forKey: key) }

  /// Sets a field, or removes it with nil or `NSNull`; `parent` is set as the property is.
  ///
  /// The other system fields cannot be set, nor can a field hold a value that `setObject(_:forKey:)` does not take: either
  /// stops the process, as it raises an exception on Apple's systems.
  public func setValue(_ value: Any?, forKey key: String) {
    let object = CKRecord.object(of: value)
    guard Self.systemKeys.contains(key) else { return setObject(object, forKey: key) }
    guard key == SystemFieldKey.parent, object == nil || object is CKRecord.Reference else {
      preconditionFailure("The system field \(key) of a record cannot be set to this value.")
    }
    parent = object as? CKRecord.Reference
  }

  /// The values of several fields; `NSNull` stands for those that are empty.
  public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { first, _ in first }
  }

  /// Sets several fields, in the order of their names.
  public func setValuesForKeys(_ keyedValues: [String: Any]) {
    for key in keyedValues.keys.sorted() { setValue(keyedValues[key], forKey: key) }
  }

  /// What a field can take of a value whose type the compiler does not know; nil removes the field.
  private static func object(of value: Any?) -> (any CKRecordValue)? {
    switch value {
    case nil, is NSNull: return nil
    case let object as any CKRecordValue: return object
    case let list as [Any]: return NSArray(array: list)
    case let value?:
      // An optional without a value, in an `Any`.
      if Mirror(reflecting: value).displayStyle == .optional { return nil }
      preconditionFailure("A field of a record cannot hold a value of type \(type(of: value)).")
    }
  }

  /// What no field can be called.
  static let systemKeys: Set<String> = [
    SystemFieldKey.recordID, SystemFieldKey.creatorUserRecordID, SystemFieldKey.creationDate,
    SystemFieldKey.lastModifiedUserRecordID, SystemFieldKey.modificationDate, SystemFieldKey.parent,
    SystemFieldKey.share,
  ]

  /// A property of the record by its name; nil for any other name.
  func systemObject(forKey key: String) -> Any? {
    switch key {
    case SystemFieldKey.recordID: recordID
    case SystemFieldKey.creationDate: creationDate
    case SystemFieldKey.modificationDate: modificationDate
    case SystemFieldKey.creatorUserRecordID: creatorUserRecordID
    case SystemFieldKey.lastModifiedUserRecordID: lastModifiedUserRecordID
    case SystemFieldKey.parent: parent
    case SystemFieldKey.share: share
    case "recordType": recordType
    case "recordChangeTag": recordChangeTag
    default: nil
    }
  }
}

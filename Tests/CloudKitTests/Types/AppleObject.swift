import Foundation

/// An object of a class of Apple's, as it stands in an archive: its class's name, and its keys.
class AppleObject: NSObject, NSSecureCoding {
  private let keys: [String: Any]

  required init(holding keys: [String: Any]) { self.keys = keys }

  static var supportsSecureCoding: Bool { true }
  required init?(coder: NSCoder) { nil }

  func encode(with coder: NSCoder) {
    for key in keys.keys.sorted() { coder.encodeLikeApple(keys[key] ?? NSNull(), key) }
  }

  fileprivate static let classes: [(name: String, type: AppleObject.Type)] = [
    ("CKRecord", ArchivedRecordObject.self), ("CKShare", ArchivedShareObject.self),
    ("CKRecordID", ArchivedRecordIDObject.self), ("CKRecordZone", ArchivedZoneObject.self),
    ("CKRecordZoneID", ArchivedZoneIDObject.self), ("CKReference", ArchivedReferenceObject.self),
    ("CKAsset", ArchivedAssetObject.self),
    ("CLLocation", ArchivedLocationObject.self), ("CKServerChangeToken", ArchivedTokenObject.self),
    ("CKRecordValueStore", ArchivedStoreObject.self),
    ("CKEncryptedRecordValueStore", ArchivedSecretStoreObject.self), ("CKPackage", ArchivedPackageObject.self),
    ("CKUnheardOf", ArchivedUnheardObject.self),
  ]
}

extension NSCoder {
  fileprivate func encodeLikeApple(_ value: Any, _ key: String) {
    switch value {
    case let value as Bool: encode(value, forKey: key)
    case let value as Int: encode(Int64(value), forKey: key)
    case let value as Double: encode(value, forKey: key)
    default: encode(AppleArchive.object(value), forKey: key)
    }
  }
}

/// Archives as Apple's CloudKit writes them.
enum AppleArchive {
  /// - Parameter top: What was archived with keys of its own; "root" for an object.
  static func data(_ top: [String: Any]) -> Data {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.outputFormat = .xml
    for key in top.keys.sorted() { archiver.encodeLikeApple(top[key] ?? NSNull(), key) }
    archiver.finishEncoding()
    // Foundation on Linux does not write the names that it is told by `setClassName`.
    var text = String(decoding: archiver.encodedData, as: UTF8.self)
    for (name, type) in AppleObject.classes {
      text = text.replacingOccurrences(
        of: "<string>\(NSStringFromClass(type))</string>", with: "<string>\(name)</string>")
    }
    return Data(text.utf8)
  }

  static func object(_ name: String, _ keys: [String: Any]) -> AppleObject {
    let type = AppleObject.classes.first { $0.name == name }!.type
    return type.init(holding: keys)
  }

  static func recordID(_ name: String, zone: String = "_defaultZone") -> AppleObject {
    let zone = object("CKRecordZoneID", ["ZoneName": zone, "ownerName": "__defaultOwner__"])
    return object("CKRecordID", ["RecordName": name, "ZoneID": zone])
  }

  fileprivate static func object(_ value: Any) -> NSObject {
    switch value {
    case let object as NSObject: object
    case let text as String: NSString(string: text)
    case let set as Set<String>: NSSet(array: set.map { NSString(string: $0) })
    case let list as [Any]: NSArray(array: list.map(object))
    case let values as [String: Any]:
      values.reduce(into: NSMutableDictionary()) { $0.setObject(object($1.value), forKey: NSString(string: $1.key)) }
    case let url as URL: NSURL(string: url.absoluteString)!
    case let date as Date: NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    case let data as Data: NSData(data: data)
    case let number as Int: NSNumber(value: number)
    case let number as UInt64: NSNumber(value: number)
    case let number as Double: NSNumber(value: number)
    default: NSNull()
    }
  }
}

// A keyed archive on Linux can only name classes at the top level.
final class ArchivedRecordObject: AppleObject {}
final class ArchivedShareObject: AppleObject {}
final class ArchivedRecordIDObject: AppleObject {}
final class ArchivedZoneObject: AppleObject {}
final class ArchivedZoneIDObject: AppleObject {}
final class ArchivedReferenceObject: AppleObject {}
final class ArchivedAssetObject: AppleObject {}
final class ArchivedLocationObject: AppleObject {}
final class ArchivedTokenObject: AppleObject {}
final class ArchivedStoreObject: AppleObject {}
final class ArchivedSecretStoreObject: AppleObject {}
final class ArchivedPackageObject: AppleObject {}
final class ArchivedUnheardObject: AppleObject {}

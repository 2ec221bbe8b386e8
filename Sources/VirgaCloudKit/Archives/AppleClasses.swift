import Foundation

/// What Apple's CloudKit calls the classes of its archives, and who reads them here.
///
/// Foundation on Linux looks for a class by the name that it has in Swift, its module's included, and an app that reads an
/// archive names no coder on which the names could be set. So they are set for all coders, when the program is loaded and
/// before any of it runs. Archives of our own have our classes' names, and are not touched by this.
enum AppleClasses {
  static let all: [(name: String, class: AnyClass)] = [
    ("CKRecord", CKRecord.self), ("CKShare", CKShare.self), ("CKRecordID", CKRecordID.self),
    ("CKRecordZone", CKRecordZone.self), ("CKRecordZoneID", CKRecordZoneID.self),
    ("CKReference", CKRecordReference.self), ("CKAsset", CKAsset.self), ("CLLocation", CLLocation.self),
    ("CKServerChangeToken", CKServerChangeToken.self), ("CKRecordValueStore", AppleValueStore.self),
    ("CKEncryptedRecordValueStore", AppleValueStore.self),
    // What no field can hold here.
    ("CKEncryptedData", AppleValue.self), ("CKInternalEncryptedData", AppleValue.self), ("CKPackage", AppleValue.self),
  ]

  /// All classes of such archives.
  static let allowed: [AnyClass] =
    [
      NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self, NSArray.self, NSDictionary.self, NSSet.self,
    ] + all.map(\.class)

  static func register() {
    for one in all { NSKeyedUnarchiver.setClass(one.class, forClassName: one.name) }
  }
}

#if os(Linux)
  /// The loader calls what stands in this section.
  @section(".init_array") @used private let registration: @convention(c) () -> Void = { AppleClasses.register() }
#endif

/// The values of a record in an archive of Apple's.
final class AppleValueStore: NSObject, NSSecureCoding {
  let values: AppleValues

  static var supportsSecureCoding: Bool { true }
  init?(coder: NSCoder) { values = AppleValues(coder) }
  func encode(with coder: NSCoder) {}
}

/// A value of a class that only Apple's systems have. It is left out.
final class AppleValue: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {}
}

/// Fields by name, and which of them were set since the record was fetched.
struct AppleValues {
  var fields: [String: Any] = [:]
  var changedKeys: [String] = []

  /// Reads them where a store, or a record of an older release, has them.
  init(_ coder: NSCoder) {
    let names = coder.appleObject(NSSet.self, "ChangedKeys")
    changedKeys = (names?.allObjects ?? []).compactMap { $0 as? String }.sorted()
    let values = coder.appleObject(NSDictionary.self, "RecordValues")
    for (key, value) in values ?? [:] where !(value is AppleValue) {
      if let name = key as? String { fields[name] = value }
    }
  }
}

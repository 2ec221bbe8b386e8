import Foundation
import VirgaModel

// What Apple's CloudKit has archived, by the keys under which its classes write it: those of a whole record that an app of
// 2018 archived, and of the classes as they have been since.

extension NSCoder {
  // Foundation on Linux stops the process when a decoder asks for a key that is missing, and when an object is of a class that
  // the decoder does not allow. So each key is looked for first, and all classes are allowed that such archives have.

  func appleObject<T: NSObject & NSCoding>(_ type: T.Type, _ key: String) -> T? {
    containsValue(forKey: key) ? decodeObject(of: AppleClasses.allowed, forKey: key) as? T : nil
  }

  func appleText(_ key: String) -> String? { appleObject(NSString.self, key).map { String($0) } }
  func appleInteger(_ key: String) -> Int64? { containsValue(forKey: key) ? decodeInt64(forKey: key) : nil }
  func appleDouble(_ key: String) -> Double? { containsValue(forKey: key) ? decodeDouble(forKey: key) : nil }
}

extension CKRecord.State {
  /// A record of Apple's: its system fields, and its values if it was archived as a whole.
  ///
  /// The change tag is left out. It is one of another server, and might be that of another version here: without it the
  /// first save is a conflict with the record that was brought over, and not an overwrite of it.
  init?(appleArchive coder: NSCoder) {
    guard let type = coder.appleText("RecordType"), let id = coder.appleObject(CKRecordID.self, "RecordID")?.model
    else { return nil }
    var record = Record(id: id, type: VirgaModel.RecordType(type))
    record.created = Self.stamp(coder, "RecordCtime", "CreatorUserRecordID")
    record.modified = Self.stamp(coder, "RecordMtime", "LastModifiedUserRecordID")
    record.modified?.device = coder.appleText("ModifiedByDevice") ?? ""
    record.parent = coder.appleObject(CKRecordReference.self, "ParentReference")?.model(in: id.zone)
    record.share = coder.appleObject(CKRecordReference.self, "ShareReference")?.model(in: id.zone)
    var changes: [FieldName: Bool] = [:]
    var assets: [FieldName: [CKAsset]] = [:]
    let plain = [coder.appleObject(AppleValueStore.self, "ValueStore")?.values, AppleValues(coder)].compactMap { $0 }
    let encrypted = [coder.appleObject(AppleValueStore.self, "EncryptedValueStore")?.values].compactMap { $0 }
    for (values, isEncrypted) in plain.map({ ($0, false) }) + encrypted.map({ ($0, true) }) {
      for key in values.changedKeys { changes[FieldName(key)] = isEncrypted }
      for (key, value) in values.fields {
        guard let converted = try? ConvertedValue(checking: value, in: id.zone) else { continue }
        record.fields[FieldName(key)] = converted.field(isEncrypted: isEncrypted)
        if !converted.assets.isEmpty { assets[FieldName(key)] = converted.assets }
      }
    }
    let isParentChanged =
      coder.containsValue(forKey: "HasUpdatedParentReference")
      && coder.decodeBool(forKey: "HasUpdatedParentReference")
    self.init(record, changes: changes, isParentChanged: isParentChanged, assets: assets)
  }

  private static func stamp(_ coder: NSCoder, _ time: String, _ user: String) -> RecordStamp? {
    guard let date = coder.appleObject(NSDate.self, time) else { return nil }
    let seconds = date.timeIntervalSinceReferenceDate
    return RecordStamp(
      time: Timestamp(Date(timeIntervalSinceReferenceDate: seconds)),
      user: UserName(coder.appleObject(CKRecordID.self, user)?.recordName ?? ""), device: "")
  }
}

extension RecordID {
  init?(appleArchive coder: NSCoder) {
    guard let name = coder.appleText("RecordName"), let zone = coder.appleObject(CKRecordZoneID.self, "ZoneID")
    else { return nil }
    self.init(RecordName(name), in: zone.model)
  }
}

extension ZoneID {
  init?(appleArchive coder: NSCoder) {
    guard let name = coder.appleText("ZoneName") else { return nil }
    self.init(ZoneName(name), owner: UserName(coder.appleText("ownerName") ?? CKCurrentUserDefaultName))
  }
}

extension CLLocation {
  /// An archive of Core Location's.
  convenience init?(appleArchive coder: NSCoder) {
    func number(_ name: String) -> Double? { coder.appleDouble("kCLLocationCodingKey" + name) }
    guard let latitude = number("CoordinateLatitude"), let longitude = number("CoordinateLongitude") else { return nil }
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: number("Altitude") ?? 0,
      horizontalAccuracy: number("HorizontalAccuracy") ?? 0, verticalAccuracy: number("VerticalAccuracy") ?? -1,
      course: number("Course") ?? -1, speed: number("Speed") ?? -1,
      timestamp: Date(timeIntervalSinceReferenceDate: number("Timestamp") ?? 0))
  }
}

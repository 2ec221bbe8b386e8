import CloudKit
import Foundation

/// The diary's records: what they are called and what their fields hold.
///
/// | type | field | holds |
/// |---|---|---|
/// | Entry | `text` | ENCRYPTED STRING |
/// | | `timeZone`, `device`, `copyOf`, `originSource` | STRING |
/// | | `written`, `originModified` | TIMESTAMP |
/// | | `starred`, `mood`, `deleted` | INT64 |
/// | | `tags` | LIST of STRING, in order, encrypted |
/// | | `tagTimes` | LIST of INT64: when each was added, milliseconds since 1970 |
/// | | `edited` | LIST of INT64: when each mergeable field was edited, in the order of `EditTimes.list` |
/// | | `placeName`, `locality`, `region`, `country` | ENCRYPTED STRING |
/// | | `coordinates` | ENCRYPTED LOCATION |
/// | | `weatherConditions`, `weatherCode` | STRING |
/// | | `weatherCelsius`, `weatherHumidity`, `weatherPressure`, `weatherWindSpeed`, `weatherWindBearing` | DOUBLE |
/// | Attachment | `entry` | REFERENCE to its entry, which takes it along when it is deleted |
/// | | `kind`, `fileName`, `sha256` | STRING |
/// | | `position`, `byteCount` | INT64 |
/// | | `file` | ASSET |
///
/// What was written and where is encrypted on the device; times, marks and weather are not, and neither are files.
/// A field without a value is absent. Only fields that changed are sent, so an attachment's file travels once.
enum DiaryRecord {
  static let zoneName = "Diary"
  static let entryType = "Entry"
  static let attachmentType = "Attachment"

  /// The fields that no server is to read.
  private static let encryptedFields: Set<String> = [
    "text", "tags", "placeName", "locality", "region", "country", "coordinates",
  ]

  /// Whether an encrypted value of the record cannot be read here. What the record says is then no edit of anybody's.
  static func isLocked(_ record: CKRecord) -> Bool {
    encryptedFields.contains { key in
      switch record.encryptedValueState(forKey: key) {
      case .keyMissing, .damaged, .notEncryptedByDevices: true
      case .readable, nil: false
      }
    }
  }

  /// Whether a value that a device encrypts came in the clear: whoever runs the server may have put it there.
  static func isNotEncrypted(_ record: CKRecord) -> Bool {
    encryptedFields.contains { record.encryptedValueState(forKey: $0) == .notEncryptedByDevices }
  }

  static var zoneID: CKRecordZone.ID { CKRecordZone.ID(zoneName: zoneName, ownerName: CKCurrentUserDefaultName) }

  static func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

  // MARK: To records

  static func record(of stored: StoredEntry) -> CKRecord {
    let record =
      stored.systemFields.flatMap(self.record) ?? CKRecord(recordType: entryType, recordID: recordID(stored.id.name))
    let before = stored.systemFields == nil ? nil : stored.ancestor
    let (old, new) = (before.map(contents) ?? [:], contents(of: stored.entry))
    for key in Set(old.keys).union(new.keys).sorted() where old[key] != new[key] {
      if encryptedFields.contains(key) {
        record.encryptedValues[key] = new[key]?.value
      } else {
        record[key] = new[key]?.value
      }
    }
    return record
  }

  static func record(of stored: StoredAttachment, files: AttachmentFiles) -> CKRecord {
    let attachment = stored.attachment
    if let record = stored.systemFields.flatMap(record) {
      record["position"] = attachment.order
      return record
    }
    let record = CKRecord(recordType: attachmentType, recordID: recordID(attachment.id.name))
    record["entry"] = CKRecord.Reference(recordID: recordID(attachment.entry.name), action: .deleteSelf)
    record["kind"] = attachment.kind.rawValue
    record["fileName"] = attachment.fileName
    record["position"] = attachment.order
    record["byteCount"] = attachment.byteCount
    record["sha256"] = attachment.sha256
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: files.path(sha256: attachment.sha256)))
    return record
  }

  private enum Content: Hashable {
    case string(String)
    case int(Int64)
    case double(Double)
    case date(Moment)
    case strings([String])
    case ints([Int64])
    case location(latitude: Double, longitude: Double, at: Moment)

    var value: any CKRecordValue {
      switch self {
      case .string(let value): value
      case .int(let value): value
      case .double(let value): value
      case .date(let value): value.date
      case .strings(let value): value
      case .ints(let value): value
      case .location(let latitude, let longitude, let moment):
        CLLocation(
          coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
          horizontalAccuracy: -1, verticalAccuracy: -1, timestamp: moment.date)
      }
    }
  }

  private static func contents(of entry: Entry) -> [String: Content] {
    var contents: [String: Content] = [
      "written": .date(entry.written.moment), "timeZone": .string(entry.written.zone),
      "edited": .ints(entry.edited.list.map(\.milliseconds)),
    ]
    func set(_ key: String, _ text: String?) {
      if let text, !text.isEmpty { contents[key] = .string(text) }
    }
    func set(_ key: String, _ number: Double?) { contents[key] = number.map(Content.double) }
    set("text", entry.text)
    set("device", entry.device)
    set("copyOf", entry.copyOf?.name)
    set("originSource", entry.origin?.source)
    contents["originModified"] = entry.origin.map { .date($0.modified) }
    if entry.isStarred { contents["starred"] = .int(1) }
    if entry.isDeleted { contents["deleted"] = .int(1) }
    contents["mood"] = entry.mood.map { .int(Int64($0)) }
    if !entry.tags.isEmpty {
      let names = entry.tagNames
      contents["tags"] = .strings(names)
      contents["tagTimes"] = .ints(names.map { entry.tags[$0]?.milliseconds ?? 0 })
    }
    if let place = entry.place {
      set("placeName", place.name)
      set("locality", place.locality)
      set("region", place.region)
      set("country", place.country)
      if let latitude = place.latitude, let longitude = place.longitude {
        contents["coordinates"] = .location(latitude: latitude, longitude: longitude, at: entry.written.moment)
      }
    }
    if let weather = entry.weather {
      set("weatherConditions", weather.conditions)
      set("weatherCode", weather.code)
      set("weatherCelsius", weather.celsius)
      set("weatherHumidity", weather.humidity)
      set("weatherPressure", weather.pressure)
      set("weatherWindSpeed", weather.windSpeed)
      set("weatherWindBearing", weather.windBearing)
    }
    return contents
  }

  // MARK: From records

  /// The entry that a record holds. Missing fields have their defaults, so that every record of the type is an entry.
  static func entry(of record: CKRecord) -> RemoteEntry {
    let written = Written(moment: moment(record, "written") ?? .never, zone: record["timeZone"] as? String ?? "GMT")
    let times = integers(record, "edited").map { Moment(milliseconds: $0) }
    var entry = Entry(
      text: record.encryptedValues["text"] as? String ?? "", written: written, edited: EditTimes(list: times))
    entry.isStarred = integer(record, "starred") == 1
    entry.isDeleted = integer(record, "deleted") == 1
    entry.mood = integer(record, "mood").map { Int($0) }
    let added = integers(record, "tagTimes")
    for (index, tag) in (record.encryptedValues["tags"] as? [String] ?? []).enumerated() {
      entry.tags[tag] = index < added.count ? Moment(milliseconds: added[index]) : .never
    }
    entry.copyOf = (record["copyOf"] as? String).map { EntryID($0) }
    entry.device = record["device"] as? String ?? ""
    if let source = record["originSource"] as? String {
      entry.origin = Origin(source: source, modified: moment(record, "originModified") ?? .never)
    }
    entry.place = place(record)
    entry.weather = weather(record)
    return RemoteEntry(
      id: EntryID(record.recordID.recordName), entry: entry, systemFields: systemFields(of: record),
      changedAt: changedAt(record))
  }

  /// `nil` without the reference or the digest, without which it is no attachment of ours.
  static func attachment(of record: CKRecord) -> Attachment? {
    guard let entry = record["entry"] as? CKRecord.Reference, let sha256 = record["sha256"] as? String,
      sha256.utf8.count == 64, sha256.utf8.allSatisfy({ 48...57 ~= $0 || 97...102 ~= $0 })
    else { return nil }
    return Attachment(
      id: AttachmentID(record.recordID.recordName), entry: EntryID(entry.recordID.recordName),
      kind: (record["kind"] as? String).flatMap { Attachment.Kind(rawValue: $0) } ?? .file,
      fileName: record["fileName"] as? String ?? record.recordID.recordName,
      order: integer(record, "position").map { Int($0) } ?? 0, byteCount: integer(record, "byteCount") ?? 0,
      sha256: sha256)
  }

  private static func place(_ record: CKRecord) -> Place? {
    var place = Place()
    place.name = record.encryptedValues["placeName"] as? String
    place.locality = record.encryptedValues["locality"] as? String
    place.region = record.encryptedValues["region"] as? String
    place.country = record.encryptedValues["country"] as? String
    if let location = record.encryptedValues["coordinates"] as? CLLocation {
      (place.latitude, place.longitude) = (location.coordinate.latitude, location.coordinate.longitude)
    }
    return place == Place() ? nil : place
  }

  private static func weather(_ record: CKRecord) -> Weather? {
    var weather = Weather()
    weather.conditions = record["weatherConditions"] as? String
    weather.code = record["weatherCode"] as? String
    weather.celsius = double(record, "weatherCelsius")
    weather.humidity = double(record, "weatherHumidity")
    weather.pressure = double(record, "weatherPressure")
    weather.windSpeed = double(record, "weatherWindSpeed")
    weather.windBearing = double(record, "weatherWindBearing")
    return weather == Weather() ? nil : weather
  }

  static func changedAt(_ record: CKRecord) -> Moment { record.modificationDate.map(Moment.init(date:)) ?? .never }

  private static func moment(_ record: CKRecord, _ key: String) -> Moment? {
    (record[key] as? Date).map(Moment.init(date:))
  }

  private static func integer(_ record: CKRecord, _ key: String) -> Int64? { (record[key] as? NSNumber)?.int64Value }

  private static func double(_ record: CKRecord, _ key: String) -> Double? {
    (record[key] as? NSNumber).map(\.doubleValue).flatMap { $0.isFinite ? $0 : nil }
  }

  private static func integers(_ record: CKRecord, _ key: String) -> [Int64] {
    (record[key] as? [NSNumber])?.map(\.int64Value) ?? record[key] as? [Int64] ?? []
  }

  // MARK: System fields

  static func systemFields(of record: CKRecord) -> [UInt8] {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    return Array(archiver.encodedData)
  }

  private static func record(_ systemFields: [UInt8]) -> CKRecord? {
    // What cannot be read any more counts as never saved: the server then hands over its record, and both are merged.
    guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: Data(systemFields)) else { return nil }
    unarchiver.requiresSecureCoding = true
    defer { unarchiver.finishDecoding() }
    return CKRecord(coder: unarchiver)
  }
}

extension Moment {
  var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// Dates beyond what 64 bits of milliseconds hold become the last one that they do.
  init(date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
  }
}

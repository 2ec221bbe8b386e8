import Foundation
import VirgaModel

extension CKRecord.State {
  init?(coder: NSCoder) {
    if let bytes = coder.archivedBytes(), bytes.first == SystemFieldsArchive.form {
      guard let record = SystemFieldsArchive.decode(bytes) else { return nil }
      self.init(record)
    } else if let archived = coder.archived(ArchivedRecord.self) {
      self = archived.state
    } else {
      self.init(appleArchive: coder)
    }
  }

  func encode(with coder: NSCoder) { coder.archive(ArchivedRecord(self)) }

  func encodeSystemFields(with coder: NSCoder) { coder.archive(bytes: SystemFieldsArchive.encode(record)) }
}

/// How a record is archived as a whole, and how its system fields were before `SystemFieldsArchive`. Apps keep these bytes for years: members may be added, none may change its meaning.
struct ArchivedRecord: Codable {
  var id: RecordID
  var type: RecordType
  var tag: ChangeTag?
  var created: RecordStamp?
  var modified: RecordStamp?
  var parent: ArchivedReference?
  var share: ArchivedReference?
  var shortGUID: String?
  var unknownMembers: Data?
  var fields: [ArchivedField]?
  var changedKeys: [String]?
  var changedEncryptedKeys: [String]?
  var isParentChanged: Bool?
  /// Paths of the files of assets that wait for their upload or were downloaded, by field, `nil` where there is none.
  var files: [String: [String?]]?

  init(_ state: CKRecord.State) {
    let record = state.record
    id = record.id
    type = record.type
    tag = record.tag
    created = record.created
    modified = record.modified
    parent = record.parent.map(ArchivedReference.init)
    share = record.share.map(ArchivedReference.init)
    shortGUID = record.shortGUID
    unknownMembers = record.unknownMembers.isEmpty ? nil : Data(record.unknownMembers)
    fields = record.fields.isEmpty ? nil : record.fields.map(ArchivedField.init)
    func keys(_ isEncrypted: Bool) -> [String]? {
      let keys = state.changedKeys(isEncrypted: isEncrypted)
      return keys.isEmpty ? nil : keys
    }
    changedKeys = keys(false)
    changedEncryptedKeys = keys(true)
    isParentChanged = state.parentEdit == nil ? nil : true
    if !state.assets.isEmpty {
      let files = state.assets.map { ($0.key.rawValue, $0.value.map { $0.fileURL?.path }) }
      self.files = Dictionary(uniqueKeysWithValues: files)
    }
  }

  var state: CKRecord.State {
    var record = Record(id: id, type: type)
    record.tag = tag
    record.created = created
    record.modified = modified
    record.parent = parent?.model
    record.share = share?.model
    record.shortGUID = shortGUID
    record.unknownMembers = unknownMembers.map { [UInt8]($0) } ?? []
    record.fields = Fields((fields ?? []).map(\.element))
    var changes: [FieldName: Bool] = [:]
    for key in changedKeys ?? [] { changes[FieldName(key)] = false }
    for key in changedEncryptedKeys ?? [] { changes[FieldName(key)] = true }
    var assets: [FieldName: [CKAsset]] = [:]
    for element in record.fields {
      let values = element.field.value.assetValues
      guard !values.isEmpty else { continue }
      let paths = files?[element.name.rawValue] ?? []
      assets[element.name] = values.enumerated().map { index, value in
        let path = index < paths.count ? paths[index] : nil
        return CKAsset(value, fileURL: path.map { URL(fileURLWithPath: $0) })
      }
    }
    return CKRecord.State(record, changes: changes, isParentChanged: isParentChanged ?? false, assets: assets)
  }
}

struct ArchivedReference: Codable {
  var recordName: RecordName
  var action: Reference.Action
  var zone: ZoneID?

  init(_ reference: Reference) {
    recordName = reference.recordName
    action = reference.action
    zone = reference.zone
  }

  var model: Reference { Reference(recordName: recordName, action: action, zone: zone) }
}

struct ArchivedAsset: Codable {
  var fileChecksum: String
  var size: Int64
  var referenceChecksum: String?
  var wrappingKey: String?
  var downloadURL: String?

  init(_ asset: AssetValue) {
    fileChecksum = asset.fileChecksum
    size = asset.size
    referenceChecksum = asset.referenceChecksum
    wrappingKey = asset.wrappingKey
    downloadURL = asset.downloadURL
  }

  var model: AssetValue {
    var asset = AssetValue(fileChecksum: fileChecksum, size: size, downloadURL: downloadURL)
    asset.referenceChecksum = referenceChecksum
    asset.wrappingKey = wrappingKey
    return asset
  }
}

struct ArchivedLocation: Codable {
  var latitude: Double
  var longitude: Double
  var horizontalAccuracy: Double?
  var verticalAccuracy: Double?
  var altitude: Double?
  var speed: Double?
  var course: Double?
  var timestamp: Timestamp?

  init(_ location: Location) {
    latitude = location.latitude
    longitude = location.longitude
    horizontalAccuracy = location.horizontalAccuracy
    verticalAccuracy = location.verticalAccuracy
    altitude = location.altitude
    speed = location.speed
    course = location.course
    timestamp = location.timestamp
  }

  var model: Location {
    var location = Location(latitude: latitude, longitude: longitude)
    location.horizontalAccuracy = horizontalAccuracy
    location.verticalAccuracy = verticalAccuracy
    location.altitude = altitude
    location.speed = speed
    location.course = course
    location.timestamp = timestamp
    return location
  }
}

/// One field: exactly one of the arrays is there, and `isList` tells an only element from a list of one.
struct ArchivedField: Codable {
  var name: FieldName
  var isEncrypted: Bool?
  var isList: Bool?
  var strings: [String]?
  var integers: [Int64]?
  var doubles: [Double]?
  var timestamps: [Timestamp]?
  var bytes: [Data]?
  var references: [ArchivedReference]?
  var assets: [ArchivedAsset]?
  var locations: [ArchivedLocation]?
  var unknownTag: String?
  var unknownJSON: Data?
  var exactDates: [Double]?

  init(_ element: Fields.Element) {
    name = element.name
    isEncrypted = element.field.isEncrypted ? true : nil
    exactDates = element.field.exactDates.isEmpty ? nil : element.field.exactDates
    switch element.field.value {
    case .string(let value): strings = [value]
    case .int64(let value): integers = [value]
    case .double(let value): doubles = [value]
    case .timestamp(let value): timestamps = [value]
    case .bytes(let value): bytes = [Data(value)]
    case .reference(let value): references = [ArchivedReference(value)]
    case .asset(let value): assets = [ArchivedAsset(value)]
    case .location(let value): locations = [ArchivedLocation(value)]
    case .unknown(let tag, let json):
      unknownTag = tag
      unknownJSON = Data(json)
    case .stringList(let list): (strings, isList) = (list, true)
    case .int64List(let list): (integers, isList) = (list, true)
    case .doubleList(let list): (doubles, isList) = (list, true)
    case .timestampList(let list): (timestamps, isList) = (list, true)
    case .bytesList(let list): (bytes, isList) = (list.map { Data($0) }, true)
    case .referenceList(let list): (references, isList) = (list.map(ArchivedReference.init), true)
    case .assetList(let list): (assets, isList) = (list.map(ArchivedAsset.init), true)
    case .locationList(let list): (locations, isList) = (list.map(ArchivedLocation.init), true)
    case .emptyList: isList = true
    }
  }

  var element: Fields.Element {
    var field = Field(value, isEncrypted: isEncrypted ?? false)
    field.exactDates = exactDates ?? []
    return Fields.Element(name: name, field: field)
  }

  private var value: FieldValue {
    func pick<T>(_ list: [T], _ one: (T) -> FieldValue, _ many: ([T]) -> FieldValue) -> FieldValue {
      isList ?? false ? many(list) : list.first.map(one) ?? .emptyList
    }
    if let strings { return pick(strings, FieldValue.string, FieldValue.stringList) }
    if let integers { return pick(integers, FieldValue.int64, FieldValue.int64List) }
    if let doubles { return pick(doubles, FieldValue.double, FieldValue.doubleList) }
    if let timestamps { return pick(timestamps, FieldValue.timestamp, FieldValue.timestampList) }
    if let bytes { return pick(bytes.map { [UInt8]($0) }, FieldValue.bytes, FieldValue.bytesList) }
    if let references { return pick(references.map(\.model), FieldValue.reference, FieldValue.referenceList) }
    if let assets { return pick(assets.map(\.model), FieldValue.asset, FieldValue.assetList) }
    if let locations { return pick(locations.map(\.model), FieldValue.location, FieldValue.locationList) }
    if let unknownTag, let unknownJSON { return .unknown(tag: unknownTag, json: [UInt8](unknownJSON)) }
    return .emptyList
  }
}

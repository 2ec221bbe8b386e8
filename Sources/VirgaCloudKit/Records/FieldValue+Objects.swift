import Foundation
import VirgaModel

/// A field's value beside the asset objects it was set with.
///
/// An asset that waits for its upload has a file and no digest yet: the model's value holds a blank in its place.
struct ConvertedValue {
  var value: FieldValue
  var assets: [CKAsset] = []
  private var dates: [Double] = []

  /// Why a field cannot hold something.
  struct Refusal: Error, CustomStringConvertible {
    var text: String

    var description: String { text }
  }
}

extension ConvertedValue {
  /// Reads a value that an app sets. References to the record's own zone are stored without a zone.
  ///
  /// A type of the app's own that claims to be a record value stops the process, as it does on Apple's systems.
  init(_ object: any CKRecordValue, in zone: ZoneID) {
    do throws(Refusal) { try self.init(checking: object, in: zone) } catch { preconditionFailure(error.text) }
  }

  /// Swift's own types are bridged to the classes below by the casts.
  init(checking object: Any, in zone: ZoneID) throws(Refusal) {
    switch object {
    case let text as NSString: self.init(value: .string(String(text)))
    case let number as NSNumber: self.init(value: try FieldValue(number))
    case let date as NSDate:
      self.init(value: .timestamp(Timestamp(Date(date))), dates: [date.timeIntervalSinceReferenceDate])
    case let data as NSData: self.init(value: .bytes([UInt8](Data(referencing: data))))
    case let reference as CKRecordReference: self.init(value: .reference(reference.model(in: zone)))
    case let location as CLLocation:
      self.init(value: .location(location.model), dates: [location.timestamp.timeIntervalSinceReferenceDate])
    case let asset as CKAsset: self.init(value: .asset(asset.model), assets: [asset])
    case let array as NSArray: try self.init(list: array, in: zone)
    default: throw Refusal(text: "A field of a record cannot hold a value of type \(type(of: object)).")
    }
  }

  private init(list: NSArray, in zone: ZoneID) throws(Refusal) {
    var values: [FieldValue] = []
    var assets: [CKAsset] = []
    var dates: [Double] = []
    for index in 0..<list.count {
      let converted = try ConvertedValue(checking: list.object(at: index), in: zone)
      values.append(converted.value)
      assets += converted.assets
      dates += converted.dates
    }
    guard let value = FieldValue(elements: values) else {
      throw Refusal(text: "The elements of a list in a record must have one type and must not be lists.")
    }
    self.init(value: value, assets: assets, dates: dates)
  }

  func field(isEncrypted: Bool) -> Field {
    var field = Field(value, isEncrypted: isEncrypted)
    let isFiner = zip(dates, value.timestamps).contains { Date(timeIntervalSinceReferenceDate: $0) != $1.date }
    if isFiner, dates.allSatisfy(\.isFinite) { field.exactDates = dates }
    return field
  }
}

extension Date {
  fileprivate init(_ date: NSDate) { self.init(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate) }
}

extension NSDate {
  fileprivate convenience init(_ date: Date) {
    self.init(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
  }
}

extension FieldValue {
  /// The assets that the value holds.
  var assetValues: [AssetValue] {
    switch self {
    case .asset(let asset): [asset]
    case .assetList(let assets): assets
    default: []
    }
  }

  /// The value with its assets replaced, in order.
  func replacingAssets(with assets: [AssetValue]) -> FieldValue {
    switch self {
    case .asset: assets.first.map(FieldValue.asset) ?? self
    case .assetList: .assetList(assets)
    default: self
    }
  }

  /// - Parameter dates: The value's moments.
  fileprivate func object(in zone: ZoneID, assets: [CKAsset], dates: [Date]) -> (any CKRecordValue)? {
    switch self {
    case .string(let text): NSString(string: text)
    case .int64(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .timestamp: dates.first.map(NSDate.init)
    case .bytes(let bytes): NSData(data: Data(bytes))
    case .reference(let reference): CKRecordReference(reference, in: zone)
    case .location(let location): CLLocation(location, dates.first)
    case .asset: assets.first
    case .stringList(let list): NSArray(array: list.map { NSString(string: $0) })
    case .int64List(let list): NSArray(array: list.map { NSNumber(value: $0) })
    case .doubleList(let list): NSArray(array: list.map { NSNumber(value: $0) })
    case .timestampList: NSArray(array: dates.map(NSDate.init))
    case .bytesList(let list): NSArray(array: list.map { NSData(data: Data($0)) })
    case .referenceList(let list): NSArray(array: list.map { CKRecordReference($0, in: zone) })
    case .locationList(let list):
      NSArray(
        array: list.reduce(into: (places: [CLLocation](), dates: dates[...])) { read, place in
          read.places.append(CLLocation(place, place.timestamp == nil ? nil : read.dates.popFirst()))
        }.places)
    case .assetList: NSArray(array: assets)
    case .emptyList: NSArray()
    case .unknown: nil
    }
  }
}

extension Field {
  /// The object that an app reads; nil for a value whose type this version does not know.
  /// - Parameter zone: The zone of the record, which references without a zone mean.
  /// - Parameter assets: The asset objects of the field, which keep their identity while the record holds them.
  func object(in zone: ZoneID, assets: [CKAsset]) -> (any CKRecordValue)? {
    value.object(in: zone, assets: assets, dates: dates)
  }

  /// The value's moments; whole dates count only if they are these moments.
  private var dates: [Date] {
    let times = value.timestamps
    let exact = exactDates.map { Date(timeIntervalSinceReferenceDate: $0) }
    return exact.count == times.count && exact.map(Timestamp.init) == times ? exact : times.map(\.date)
  }
}

extension FieldValue {
  /// A number as the model keeps it: floating point as a double, all else as a 64-bit integer.
  fileprivate init(_ number: NSNumber) throws(ConvertedValue.Refusal) {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
    case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max):
      let text = "A field of a record holds integers up to \(Int64.max); \(number.uint64Value) is larger."
      throw ConvertedValue.Refusal(text: text)
    default: self = .int64(number.int64Value)
    }
  }
}

extension Timestamp {
  /// The nearest millisecond: the service keeps no finer time.
  init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    // Dates such as `distantFuture` fit; the clamp is for infinities and the like.
    self.init(milliseconds: Int64(max(-9e18, min(9e18, milliseconds.isNaN ? 0 : milliseconds))))
  }

  var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

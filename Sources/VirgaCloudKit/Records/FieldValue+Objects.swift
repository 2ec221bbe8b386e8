import Foundation
import VirgaModel

/// A field's value beside the asset objects it was set with.
///
/// An asset that waits for its upload has a file and no digest yet: the model's value holds a blank in its place.
struct ConvertedValue {
  var value: FieldValue
  var assets: [CKAsset] = []
}

extension ConvertedValue {
  /// Reads a value that an app sets. References to the record's own zone are stored without a zone.
  ///
  /// Swift's own types are bridged to the classes below by the casts. A type of the app's own that claims to be a record
  /// value stops the process, as it does on Apple's systems.
  init(_ object: any CKRecordValue, in zone: ZoneID) {
    switch object {
    case let text as NSString: self.init(value: .string(String(text)))
    case let number as NSNumber: self.init(value: number.fieldValue)
    case let date as NSDate: self.init(value: .timestamp(Timestamp(Date(date))))
    case let data as NSData: self.init(value: .bytes([UInt8](Data(referencing: data))))
    case let reference as CKRecordReference: self.init(value: .reference(reference.model(in: zone)))
    case let location as CLLocation: self.init(value: .location(location.model))
    case let asset as CKAsset: self.init(value: .asset(asset.model), assets: [asset])
    case let array as NSArray: self.init(list: array, in: zone)
    default: preconditionFailure("A field of a record cannot hold a value of type \(type(of: object)).")
    }
  }

  private init(list: NSArray, in zone: ZoneID) {
    var values: [FieldValue] = []
    var assets: [CKAsset] = []
    for index in 0..<list.count {
      let element = list.object(at: index)
      let object: any CKRecordValue
      switch element {
      case let element as any CKRecordValue: object = element
      default: preconditionFailure("A list of a record cannot hold a value of type \(type(of: element)).")
      }
      let converted = ConvertedValue(object, in: zone)
      values.append(converted.value)
      assets += converted.assets
    }
    guard let value = FieldValue(elements: values) else {
      preconditionFailure("The elements of a list in a record must be of one type, and no lists themselves.")
    }
    self.init(value: value, assets: assets)
  }
}

extension Date {
  fileprivate init(_ date: NSDate) { self.init(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate) }
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

  /// The object that an app reads; nil for a value whose type this version does not know.
  /// - Parameter zone: The zone of the record, which references without a zone mean.
  /// - Parameter assets: The asset objects of the field, which keep their identity while the record holds them.
  func object(in zone: ZoneID, assets: [CKAsset]) -> (any CKRecordValue)? {
    switch self {
    case .string(let text): NSString(string: text)
    case .int64(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .timestamp(let time): time.object
    case .bytes(let bytes): NSData(data: Data(bytes))
    case .reference(let reference): CKRecordReference(reference, in: zone)
    case .location(let location): CLLocation(location)
    case .asset: assets.first
    case .stringList(let list): NSArray(array: list.map { NSString(string: $0) })
    case .int64List(let list): NSArray(array: list.map { NSNumber(value: $0) })
    case .doubleList(let list): NSArray(array: list.map { NSNumber(value: $0) })
    case .timestampList(let list): NSArray(array: list.map(\.object))
    case .bytesList(let list): NSArray(array: list.map { NSData(data: Data($0)) })
    case .referenceList(let list): NSArray(array: list.map { CKRecordReference($0, in: zone) })
    case .locationList(let list): NSArray(array: list.map { CLLocation($0) })
    case .assetList: NSArray(array: assets)
    case .emptyList: NSArray()
    case .unknown: nil
    }
  }
}

extension NSNumber {
  /// The number as the model keeps it: floating point as a double, all else as a 64-bit integer.
  fileprivate var fieldValue: FieldValue {
    switch UInt8(bitPattern: objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return .double(doubleValue)
    case UInt8(ascii: "Q") where uint64Value > UInt64(Int64.max):
      preconditionFailure("A field of a record holds integers up to \(Int64.max); \(uint64Value) is larger.")
    default: return .int64(int64Value)
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

  fileprivate var object: NSDate { NSDate(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

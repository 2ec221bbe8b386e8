/// The value of a field. Lists hold values of one type; a list read without elements and without a type is `.emptyList`.
public enum FieldValue: Hashable, Sendable {
  case string(String)
  case int64(Int64)
  case double(Double)
  case timestamp(Timestamp)
  case bytes([UInt8])
  // What is large lies apart: values are passed on many times between the wire and the store.
  indirect case reference(Reference)
  indirect case asset(AssetValue)
  indirect case location(Location)
  case stringList([String])
  case int64List([Int64])
  case doubleList([Double])
  case timestampList([Timestamp])
  case bytesList([[UInt8]])
  case referenceList([Reference])
  case assetList([AssetValue])
  case locationList([Location])
  case emptyList
  /// A value whose type tag this version does not know, kept as it came so that saving the record loses nothing.
  indirect case unknown(tag: String, json: [UInt8])
}

/// A field of a record.
public struct Field: Hashable, Sendable {
  /// The value itself.
  public var value: FieldValue
  /// Whether the value belongs to the record's encrypted values.
  public var isEncrypted: Bool
  /// The value's dates in seconds since 2001-01-01T00:00:00Z, in their order, where they are finer than the milliseconds that
  /// the value has; else empty. They stay on the device and inside encrypted values: the protocol has no place for them.
  public var exactDates: [Double] = []

  /// Makes a field, plain by default.
  public init(_ value: FieldValue, isEncrypted: Bool = false) {
    self.value = value
    self.isEncrypted = isEncrypted
  }
}

extension FieldValue {
  /// The moments that the value holds, in order; those of places too.
  public var timestamps: [Timestamp] {
    switch self {
    case .timestamp(let time): [time]
    case .timestampList(let times): times
    case .location(let place): [place.timestamp].compactMap { $0 }
    case .locationList(let places): places.compactMap(\.timestamp)
    default: []
    }
  }
}

/// A pointer to another record.
public struct Reference: Hashable, Sendable {
  /// What becomes of the record that holds the reference when its target is deleted.
  public enum Action: String, Hashable, Sendable, Codable {
    /// Nothing; the reference dangles.
    case none = "NONE"
    /// The holder is deleted too.
    case deleteSelf = "DELETE_SELF"
    /// The target must exist, and cannot be deleted while it is referenced.
    case validate = "VALIDATE"
  }

  /// The name of the record that is referred to.
  public var recordName: RecordName
  /// What becomes of the holder when that record is deleted.
  public var action: Action
  /// `nil` means the zone of the record that holds the reference.
  public var zone: ZoneID?

  /// Makes a reference; without a zone it leads to the holder's own.
  public init(recordName: RecordName, action: Action = .none, zone: ZoneID? = nil) {
    self.recordName = recordName
    self.action = action
    self.zone = zone
  }
}

/// A place on Earth, with what the protocol carries beside it. Unknown members are `nil`.
public struct Location: Hashable, Sendable {
  /// Degrees, −90...90 and −180...180.
  public var latitude: Double
  /// Degrees east, -180...180.
  public var longitude: Double
  /// Metres.
  public var horizontalAccuracy: Double?
  /// Uncertainty of the altitude in metres.
  public var verticalAccuracy: Double?
  /// Metres above sea level.
  public var altitude: Double?
  /// Metres per second, and degrees clockwise from north.
  public var speed: Double?
  /// Direction of travel in degrees clockwise from north.
  public var course: Double?
  /// When the place was determined.
  public var timestamp: Timestamp?

  /// Makes a place that is known by its coordinate alone.
  public init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }

  /// Whether there is such a place: both degrees are in their ranges.
  public var isOnEarth: Bool { (-90...90).contains(latitude) && (-180...180).contains(longitude) }
}

/// An asset as the protocol describes it: the bytes themselves travel by their own URLs.
public struct AssetValue: Hashable, Sendable {
  /// The server's opaque digest of the bytes, Base64.
  public var fileChecksum: String
  /// Bytes of the asset.
  public var size: Int64
  /// Proof of an upload; only in a record that is being saved.
  public var receipt: String?
  /// The checksum that the client gave the bytes it uploaded.
  public var referenceChecksum: String?
  /// The key with which the client encrypted the bytes.
  public var wrappingKey: String?
  /// Where to fetch the bytes; only in a record that was read, and only for a while.
  public var downloadURL: String?

  /// Makes the description of an asset.
  public init(fileChecksum: String, size: Int64, receipt: String? = nil, downloadURL: String? = nil) {
    self.fileChecksum = fileChecksum
    self.size = size
    self.receipt = receipt
    self.downloadURL = downloadURL
  }
}

public import VirgaModel

/// A value of a field in a form that can be written to a file and read back.
public struct StoredValue: Hashable, Sendable, Codable {
  /// The value as the model has it.
  public let fieldValue: FieldValue

  /// Wraps a value so that it can be stored.
  public init(_ value: FieldValue) { fieldValue = value }

  private enum Key: String, CodingKey { case type, value, values, tag, zone, action, size, checksum }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let type = try container.decode(String.self, forKey: .type)
    if container.contains(.values) {
      let members = try container.decode([StoredValue].self, forKey: .values).map(\.fieldValue)
      guard let list = FieldValue(elements: members) else {
        throw DecodingError.dataCorruptedError(
          forKey: .values, in: container, debugDescription: "a list of several types")
      }
      fieldValue = list
      return
    }
    switch type {
    case "STRING": fieldValue = .string(try container.decode(String.self, forKey: .value))
    case "INT64": fieldValue = .int64(try container.decode(Int64.self, forKey: .value))
    // By its bits: JSON has no infinity, and decimals may not come back the same.
    case "DOUBLE": fieldValue = .double(Double(bitPattern: try container.decode(UInt64.self, forKey: .value)))
    case "TIMESTAMP":
      fieldValue = .timestamp(Timestamp(milliseconds: try container.decode(Int64.self, forKey: .value)))
    case "BYTES": fieldValue = .bytes(try container.decode([UInt8].self, forKey: .value))
    case "REFERENCE":
      let action = Reference.Action(rawValue: try container.decode(String.self, forKey: .action)) ?? .none
      fieldValue = .reference(
        Reference(
          recordName: try container.decode(RecordName.self, forKey: .value), action: action,
          zone: try container.decodeIfPresent(ZoneID.self, forKey: .zone)))
    case "ASSET":
      fieldValue = .asset(
        AssetValue(
          fileChecksum: try container.decode(String.self, forKey: .checksum),
          size: try container.decode(Int64.self, forKey: .size)))
    case "LOCATION":
      let parts = try container.decode([UInt64?].self, forKey: .value).map { $0.map { Double(bitPattern: $0) } }
      guard parts.count == 8, let latitude = parts[0], let longitude = parts[1] else {
        throw DecodingError.dataCorruptedError(
          forKey: .value, in: container, debugDescription: "a place in eight parts")
      }
      var place = Location(latitude: latitude, longitude: longitude)
      place.horizontalAccuracy = parts[2]
      place.verticalAccuracy = parts[3]
      place.altitude = parts[4]
      place.speed = parts[5]
      place.course = parts[6]
      place.timestamp = parts[7].map { Timestamp(milliseconds: Int64($0)) }
      fieldValue = .location(place)
    default:
      fieldValue = .unknown(
        tag: try container.decode(String.self, forKey: .tag), json: try container.decode([UInt8].self, forKey: .value))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    if let members = fieldValue.listMembers {
      try container.encode("LIST", forKey: .type)
      return try container.encode(members.map { StoredValue($0) }, forKey: .values)
    }
    func write(_ type: String, _ value: some Encodable) throws {
      try container.encode(type, forKey: .type)
      try container.encode(value, forKey: .value)
    }
    switch fieldValue {
    case .string(let text): try write("STRING", text)
    case .int64(let number): try write("INT64", number)
    case .double(let number): try write("DOUBLE", number.bitPattern)
    case .timestamp(let time): try write("TIMESTAMP", time.milliseconds)
    case .bytes(let bytes): try write("BYTES", bytes)
    case .reference(let reference):
      try write("REFERENCE", reference.recordName)
      try container.encode(reference.action.rawValue, forKey: .action)
      try container.encodeIfPresent(reference.zone, forKey: .zone)
    case .asset(let asset):
      try container.encode("ASSET", forKey: .type)
      try container.encode(asset.fileChecksum, forKey: .checksum)
      try container.encode(asset.size, forKey: .size)
    case .location(let place):
      let parts = [
        place.latitude, place.longitude, place.horizontalAccuracy, place.verticalAccuracy, place.altitude, place.speed,
        place.course, place.timestamp.map { Double($0.milliseconds) },
      ]
      try write("LOCATION", parts.map { $0?.bitPattern })
    case .unknown(let tag, let json):
      try write("UNKNOWN", json)
      try container.encode(tag, forKey: .tag)
    default: break
    }
  }
}

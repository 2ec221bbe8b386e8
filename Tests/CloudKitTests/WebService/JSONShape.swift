import Foundation

/// JSON with its kinds kept apart: a number is never a boolean, and an integer is no fraction.
enum JSON: Decodable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case list([JSON])
  case object([String: JSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSON].self) {
      self = .list(value)
    } else {
      self = .object(try container.decode([String: JSON].self))
    }
  }

  subscript(key: String) -> JSON? { if case .object(let members) = self { members[key] } else { nil } }
  var elements: [JSON] { if case .list(let list) = self { list } else { [] } }
  var text: String? { if case .string(let text) = self { text } else { nil } }
}

/// What a part of a request may be.
indirect enum Shape: Sendable {
  case string, bool, number
  case integer(ClosedRange<Int64>)
  case base64
  case oneOf([String])
  case list(Shape, max: Int = .max)
  /// No other keys than these; `required` must be there.
  case object([String: Shape], required: Set<String> = [])
  /// Keys that follow a rule, each with the same shape of value.
  case map(Shape)
  /// A field of a record: its value must be what its type says.
  case field
  /// Further rules for what has a shape.
  case checked(Shape, @Sendable (JSON) -> String?)

  /// What is wrong with a value; empty if nothing is.
  func complaints(about json: JSON, at path: String) -> [String] {
    switch (self, json) {
    case (.string, .string), (.bool, .bool), (.number, .number), (.number, .integer): return []
    case (.integer(let range), .integer(let value)) where range.contains(value): return []
    case (.base64, .string(let text)) where Data(base64Encoded: text) != nil: return []
    case (.oneOf(let texts), .string(let text)) where texts.contains(text): return []
    case (.list(let shape, let max), .list(let list)):
      let tooMany = list.count > max ? ["\(path): \(list.count) elements, at most \(max)"] : []
      return tooMany + list.enumerated().flatMap { shape.complaints(about: $1, at: "\(path)[\($0)]") }
    case (.object(let shapes, let required), .object(let members)):
      let missing = required.filter { members[$0] == nil }.sorted().map { "\(path): \($0) is missing" }
      return missing
        + members.sorted { $0.key < $1.key }.flatMap { key, value in
          shapes[key]?.complaints(about: value, at: "\(path).\(key)") ?? ["\(path): unknown key \(key)"]
        }
    case (.map(let shape), .object(let members)):
      return members.sorted { $0.key < $1.key }.flatMap { key, value in
        let isName = key.wholeMatch(of: /[A-Za-z][A-Za-z0-9_]{0,254}|cloudkit\.[A-Za-z]+/) != nil
        return (isName ? [] : ["\(path): \(key) is no field's name"])
          + shape.complaints(about: value, at: "\(path).\(key)")
      }
    case (.field, .object(let members)): return Self.complaints(aboutField: members, at: path)
    case (.checked(let shape, let check), _):
      let complaints = shape.complaints(about: json, at: path)
      return complaints.isEmpty ? check(json).map { ["\(path): \($0)"] } ?? [] : complaints
    default: return ["\(path): \(json) is not \(self)"]
    }
  }

  private static func complaints(aboutField members: [String: JSON], at path: String) -> [String] {
    let unknown = Set(members.keys).subtracting(["value", "type", "isEncrypted"]).sorted()
    guard unknown.isEmpty else { return ["\(path): unknown keys \(unknown)"] }
    // A field without a value is cleared.
    if members["value"] ?? .null == .null { return [] }
    guard let tag = members["type"]?.text, let value = members["value"] else { return ["\(path): no type"] }
    if let mark = members["isEncrypted"], mark != .bool(true) { return ["\(path): isEncrypted is \(mark)"] }
    if tag == "UNKNOWN_LIST" { return value == .list([]) ? [] : ["\(path): \(tag) with elements"] }
    if let shape = values[tag] { return shape.complaints(about: value, at: path) }
    if tag.hasSuffix("_LIST"), let shape = values[String(tag.dropLast(5))] {
      return Shape.list(shape).complaints(about: value, at: path)
    }
    return ["\(path): unknown type \(tag)"]
  }

  private static let values: [String: Shape] = [
    "STRING": .string, "INT64": .integer(.min ... .max), "DOUBLE": .number, "BYTES": .base64,
    "ENCRYPTED_BYTES": .base64,
    "TIMESTAMP": .integer(.min ... .max),
    "REFERENCE": .object(
      ["recordName": .string, "action": .oneOf(["NONE", "DELETE_SELF", "VALIDATE"]), "zoneID": .zoneID],
      required: ["recordName"]),
    "ASSETID": .object(
      [
        "fileChecksum": .string, "size": .integer(0 ... .max), "receipt": .string, "referenceChecksum": .string,
        "wrappingKey": .string,
      ], required: ["fileChecksum", "size"]),
    "LOCATION": .object(
      [
        "latitude": .number, "longitude": .number, "horizontalAccuracy": .number, "verticalAccuracy": .number,
        "altitude": .number, "speed": .number, "course": .number, "timestamp": .integer(.min ... .max),
      ], required: ["latitude", "longitude"]),
  ]

  static let zoneID = Shape.object(
    [
      "zoneName": .string,
      "ownerRecordName": .checked(.string) { $0.text?.hasPrefix("__") == true ? "\($0) is a native placeholder" : nil },
      "zoneType": .oneOf(["DEFAULT_ZONE", "REGULAR_CUSTOM_ZONE"]),
    ], required: ["zoneName"])
}

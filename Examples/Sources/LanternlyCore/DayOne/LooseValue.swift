import Foundation

/// A value of somebody else's JSON or property list.
enum LooseValue: Hashable {
  case nothing
  case bool(Bool)
  /// With all its digits.
  case number(String)
  case text(String)
  /// A broken text: half of a surrogate pair, or bytes in another encoding.
  case brokenText
  case date(Date)
  case list([LooseValue])
  case object([String: LooseValue])

  /// Bytes of text that one entry may have in all: far more than any record holds.
  static let bytesMax = 32 << 20

  /// Reads the next value.
  /// - Parameter room: How many bytes it may take. What has no room counts as broken.
  init(_ reader: JSONReader, room: inout Int) throws {
    room -= 32
    switch try reader.kind() {
    case .word: self = try reader.word().map(LooseValue.bool) ?? .nothing
    case .number:
      let digits = try reader.number()
      room -= digits.utf8.count
      self = .number(digits)
    case .text:
      let text = try reader.string(bytesMax: max(0, room))
      room -= text?.utf8.count ?? 0
      self = text.map(LooseValue.text) ?? .brokenText
    case .array:
      var values: [LooseValue] = []
      try reader.array {
        if room <= 0 { return try reader.skip() }
        values.append(try LooseValue(reader, room: &room))
      }
      self = room > 0 ? .list(values) : .brokenText
    case .object:
      var values: [String: LooseValue] = [:]
      try reader.object { key in
        guard let key, room > 0 else { return try reader.skip() }
        room -= key.utf8.count
        values[key] = try LooseValue(reader, room: &room)
      }
      self = room > 0 ? .object(values) : .brokenText
    case .end: throw reader.broken()
    }
  }

  /// A value of a property list.
  init(propertyList value: Any) {
    switch value {
    case let text as String: self = .text(text)
    case let date as Date: self = .date(date)
    case let values as [String: Any]: self = .object(values.mapValues { LooseValue(propertyList: $0) })
    case let values as [Any]: self = .list(values.map { LooseValue(propertyList: $0) })
    case let value as Bool: self = .bool(value)
    case let number as Int: self = .number(String(number))
    case let number as Double: self = .number("\(number)")
    case let number as NSNumber: self = .number("\(number.doubleValue)")
    default: self = .brokenText
    }
  }
}

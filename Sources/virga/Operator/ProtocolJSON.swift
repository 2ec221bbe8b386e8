import Foundation
import VirgaWire

/// JSON of the protocol as dictionaries, lists, texts and truth values. Numbers stay as they are written: 1.0 is a double and
/// 1 is none, and no digit of a long one is lost.
enum ProtocolJSON {
  struct Number: Hashable, Sendable {
    let text: String
  }

  static func value(_ bytes: [UInt8]) throws(WireError) -> Any {
    var reader = JSONReader(bytes)
    let value = try value(&reader)
    try reader.finish()
    return value
  }

  private static func value(_ reader: inout JSONReader) throws(WireError) -> Any {
    switch reader.nextKind() {
    case .object:
      var object: [String: Any] = [:]
      try reader.beginObject()
      while let key = try reader.nextKey() { object[key] = try value(&reader) }
      return object
    case .array:
      var list: [Any] = []
      try reader.beginArray()
      while try reader.nextElement() { list.append(try value(&reader)) }
      return list
    case .string: return try reader.readString()
    case .bool: return try reader.readBool()
    case .null:
      _ = try reader.readNull()
      return NSNull()
    case .number, .nothing: return Number(text: String(decoding: try reader.readRaw(), as: UTF8.self))
    }
  }

  static func object(_ bytes: [UInt8]) throws(Failure) -> [String: Any] {
    guard let object = (try? value(bytes)) as? [String: Any] else {
      throw Failure(.unavailable, "the answer does not come from a Virga server")
    }
    return object
  }

  static func bytes(_ value: Any) -> [UInt8] {
    var writer = JSONWriter()
    write(value, to: &writer)
    return writer.bytes
  }

  private static func write(_ value: Any, to writer: inout JSONWriter) {
    switch value {
    case let text as String: writer.string(text)
    case let number as Number: writer.raw(number.text.utf8)
    case let flag as Bool: writer.bool(flag)
    case let number as Int: writer.int(Int64(number))
    case let object as [String: Any]:
      writer.beginObject()
      for (key, member) in object.sorted(by: { $0.key < $1.key }) {
        writer.key(key)
        write(member, to: &writer)
      }
      writer.endObject()
    case let list as [Any]: writer.array(list) { write($1, to: &$0) }
    default: writer.null()
    }
  }

  /// Over several lines, for people.
  static func text(_ value: Any, indent: String = "") -> String {
    let inner = indent + "  "
    let (brackets, parts): (String, [String])
    switch value {
    case let object as [String: Any]:
      brackets = "{}"
      parts = object.sorted { $0.key < $1.key }.map { key, member in
        "\(String(decoding: bytes(key), as: UTF8.self)) : \(text(member, indent: inner))"
      }
    case let list as [Any]: (brackets, parts) = ("[]", list.map { text($0, indent: inner) })
    default: return String(decoding: bytes(value), as: UTF8.self)
    }
    if parts.isEmpty { return brackets }
    return "\(brackets.prefix(1))\n\(inner)\(parts.joined(separator: ",\n\(inner)"))\n\(indent)\(brackets.suffix(1))"
  }

  /// Prints a value on one line, or over several for people.
  static func print(_ value: Any, onOneLine: Bool) {
    Terminal.print(onOneLine ? String(decoding: bytes(value), as: UTF8.self) : text(value))
  }
}

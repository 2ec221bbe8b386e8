import Foundation
import TestSupport

/// What a table of the protocol says of a JSON value: which keys an object must and may have, and what they hold.
indirect enum Shape: Sendable {
  case text
  /// Text that is CanonicalBase64.
  case base64
  /// One of a few words.
  case word(Set<String>)
  /// A number without fraction or exponent.
  case integer
  case number
  case flag
  /// Null or that.
  case maybe(Shape)
  case list(Shape)
  case object([Key])
  /// An object that must be empty.
  case nothing
  /// Decides by what is there, as a client does.
  case depending(@Sendable (PlainJSON) -> Shape)
  /// An object whose names are the caller's.
  case map(Shape)

  struct Key: Sendable {
    var name: String
    var shape: Shape
    var isRequired: Bool
  }

  /// An object of these keys, which must all be there, and of those that may.
  static func keys(_ required: [(String, Shape)], may optional: [(String, Shape)] = []) -> Shape {
    .object(
      required.map { Key(name: $0.0, shape: $0.1, isRequired: true) }
        + optional.map { Key(name: $0.0, shape: $0.1, isRequired: false) })
  }

  /// What is wrong with a value, by where; empty if nothing is.
  func objections(to value: PlainJSON, at path: String = "") -> [String] {
    switch (self, value) {
    case (.depending(let decide), _): return decide(value).objections(to: value, at: path)
    case (.text, .text), (.number, .number), (.flag, .flag), (.maybe, .null): return []
    case (.maybe(let shape), _): return shape.objections(to: value, at: path)
    case (.integer, .number(let text)):
      return text.allSatisfy { $0.isNumber || $0 == "-" } ? [] : ["\(path) is \(text), no integer"]
    case (.base64, .text(let text)):
      return Data(base64Encoded: text) == nil ? ["\(path) is no Base64: \(text)"] : []
    case (.word(let words), .text(let text)):
      return words.contains(text) ? [] : ["\(path) is '\(text)', not one of \(words.sorted())"]
    case (.list(let element), .list(let elements)):
      return elements.enumerated().flatMap { element.objections(to: $1, at: "\(path)[\($0)]") }
    case (.map(let shape), .object(let members)):
      return members.flatMap { shape.objections(to: $0.value, at: "\(path).\($0.name)") }
    case (.nothing, .object(let members)): return members.isEmpty ? [] : ["\(path) is not empty"]
    case (.object(let keys), .object(let members)):
      let missing = keys.filter { key in key.isRequired && !members.contains { $0.name == key.name } }
      return missing.map { "\(path).\($0.name) is missing" }
        + members.flatMap { member -> [String] in
          guard let key = keys.first(where: { $0.name == member.name }) else {
            return ["\(path).\(member.name) is not in the table"]
          }
          return key.shape.objections(to: member.value, at: "\(path).\(member.name)")
        }
    default: return ["\(path) is a \(value.kind)"]
    }
  }
}

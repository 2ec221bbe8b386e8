import Foundation
import VirgaModel

extension Condition {
  /// The condition as a format that reads back to the same condition; nil if a part of it cannot be read.
  package var format: String? { isReadable ? text : nil }

  private var isReadable: Bool {
    switch self {
    case .always: true
    case .comparison(let comparison): comparison.left.isReadable && comparison.right.isReadable
    case .all(let parts), .any(let parts): parts.allSatisfy(\.isReadable)
    case .not(let part): part.isReadable
    case .opaque: false
    }
  }

  /// The condition in words, as Foundation prints it on Apple's systems where that is known.
  package var text: String {
    switch self {
    case .always(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let comparison): comparison.text
    case .all(let parts): Self.join(parts, by: " AND ", empty: true)
    case .any(let parts): Self.join(parts, by: " OR ", empty: false)
    case .not(let part): "NOT \(part.nestedText)"
    case .opaque: "BLOCKPREDICATE"
    }
  }

  private static func join(_ parts: [Condition], by word: String, empty: Bool) -> String {
    parts.isEmpty ? Condition.always(empty).text : parts.map(\.nestedText).joined(separator: word)
  }

  private var nestedText: String {
    switch self {
    case .all, .any, .not: "(\(text))"
    case .always, .comparison, .opaque: text
    }
  }
}

extension Comparison {
  var text: String {
    let letters = String(Options.letters.filter { options.contains($0.1) }.map(\.0))
    let word = comparator.rawValue + (letters.isEmpty ? "" : "[\(letters)]")
    let modifier =
      switch modifier {
      case .direct: ""
      case .any: "ANY "
      case .all: "ALL "
      }
    return "\(modifier)\(left.text) \(word) \(right.text)"
  }
}

extension Expression {
  fileprivate var isReadable: Bool {
    switch self {
    case .key, .itself: true
    case .constant(let constant): constant.isReadable
    case .distance(let left, let right): left.isReadable && right.isReadable
    }
  }

  var text: String {
    switch self {
    case .key(let names):
      let path = names.joined(separator: ".")
      guard names.allSatisfy(FormatLexer.isName) else { return "CAST(\(path.quoted), \"NSKeyPath\")" }
      return names.count == 1 && FormatWord(path) != nil ? "#\(path)" : path
    case .itself: return "SELF"
    case .constant(let constant): return constant.text
    case .distance(let left, let right): return "distanceToLocation:fromLocation:(\(left.text), \(right.text))"
    }
  }
}

extension Constant {
  fileprivate var isReadable: Bool {
    switch self {
    case .null: true
    case .value(let value):
      switch value {
      case .string, .int64, .double, .timestamp, .bytes, .reference, .location: true
      default: false
      }
    case .list(let members): members.allSatisfy(\.isReadable)
    case .object: false
    }
  }

  /// The literal of the value. What has none in the language is cast from one that has, as Foundation does for dates.
  var text: String {
    switch self {
    case .null: "nil"
    case .value(let value): value.literal
    case .list(let members): "{\(members.map(\.text).joined(separator: ", "))}"
    case .object(let object): "\(object)"
    }
  }
}

extension FieldValue {
  fileprivate var literal: String {
    switch self {
    case .string(let text): return text.quoted
    case .int64(let number): return String(number)
    case .double(let number): return number.isFinite ? "\(number)" : "CAST(\"\(number)\", \"NSNumber\")"
    case .timestamp(let time): return "CAST(\(time.secondsSinceReferenceDate), \"NSDate\")"
    case .bytes(let bytes): return "CAST(\"\(Data(bytes).base64EncodedString())\", \"NSData\")"
    case .location(let place): return "CAST({\(place.latitude), \(place.longitude)}, \"CLLocation\")"
    case .reference(let target):
      let names = [target.recordName.rawValue] + (target.zone.map { [$0.name.rawValue, $0.owner.rawValue] } ?? [])
      return "CAST({\(names.map(\.quoted).joined(separator: ", "))}, \"CKReference\")"
    default: return "\(self)"
    }
  }
}

extension String {
  /// The text as a literal.
  fileprivate var quoted: String {
    var result = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

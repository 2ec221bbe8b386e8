import Foundation

/// An object of somebody else's JSON or property list, read without expecting much of it.
struct LooseObject {
  private let values: [String: Any]

  init?(_ value: Any?) {
    guard let values = value as? [String: Any] else { return nil }
    self.values = values
  }

  func string(_ keys: String...) -> String? {
    for key in keys {
      // Some exporters write the word for nothing into a string.
      if let text = values[key] as? String, !text.isEmpty, text != "(null)" { return text }
    }
    return nil
  }

  /// A string even if it is empty.
  func text(_ key: String) -> String? { values[key] as? String }

  func double(_ key: String) -> Double? {
    let number = (values[key] as? NSNumber)?.doubleValue ?? (values[key] as? String).flatMap(Double.init)
    return number.flatMap { $0.isFinite ? $0 : nil }
  }

  func int(_ key: String) -> Int? { double(key).flatMap { Int(exactly: $0.rounded()) } }

  func bool(_ key: String) -> Bool { (values[key] as? NSNumber)?.boolValue ?? false }

  func object(_ key: String) -> LooseObject? { LooseObject(values[key]) }

  func array(_ key: String) -> [Any]? { values[key] as? [Any] }

  func strings(_ key: String) -> [String] { (values[key] as? [Any] ?? []).compactMap { $0 as? String } }

  /// Dates are strings in JSON and dates in a property list.
  func moment(_ key: String) -> Moment? {
    if let date = values[key] as? Date {
      let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
      return Int64(exactly: milliseconds).map { Moment(milliseconds: $0) }
    }
    return (values[key] as? String).flatMap { Moment(iso8601: $0) }
  }

  /// What a value must be to be read.
  enum Shape { case string, number, bool, moment, object, objects, strings }

  /// The keys that hold something else, in the given order; nothing, `null` and an empty text are no loss.
  func unreadable(_ shapes: [(key: String, shape: Shape)]) -> [String] {
    shapes.filter { !isReadable($0.key, as: $0.shape) }.map(\.key)
  }

  private func isReadable(_ key: String, as shape: Shape) -> Bool {
    guard isGiven(key) else { return true }
    switch shape {
    case .string: return string(key) != nil
    case .number: return double(key) != nil
    case .bool: return values[key] as? NSNumber != nil
    case .moment: return moment(key) != nil
    case .object: return object(key) != nil
    case .objects: return array(key)?.allSatisfy { LooseObject($0) != nil } ?? false
    case .strings: return array(key)?.allSatisfy { $0 is String } ?? false
    }
  }

  /// Whether the key holds more than nothing.
  func isGiven(_ key: String) -> Bool {
    guard let value = values[key], !(value is NSNull) else { return false }
    return (value as? String).map { !$0.isEmpty && $0 != "(null)" } ?? true
  }

  /// Whether the key is there, whatever it holds.
  func has(_ key: String) -> Bool { values[key] != nil }
}

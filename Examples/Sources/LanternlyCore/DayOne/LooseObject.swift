import Foundation

/// An object of somebody else's JSON or property list, read without expecting much of it.
struct LooseObject {
  private let values: [String: LooseValue]

  init?(_ value: LooseValue?) {
    guard case .object(let values) = value else { return nil }
    self.values = values
  }

  init(_ values: [String: LooseValue]) { self.values = values }

  func string(_ keys: String...) -> String? {
    for key in keys {
      // Some exporters write the word for nothing into a string.
      if let text = text(key), !text.isEmpty, text != "(null)" { return text }
    }
    return nil
  }

  /// A string even if it is empty.
  func text(_ key: String) -> String? {
    guard case .text(let text) = values[key] else { return nil }
    return text
  }

  /// A finite number, also one that was written as a text.
  func double(_ key: String) -> Double? {
    let number: Double? =
      switch values[key] {
      case .number(let digits), .text(let digits): Double(digits)
      case .bool(let value): value ? 1 : 0
      default: nil
      }
    return number.flatMap { $0.isFinite ? $0 : nil }
  }

  /// A finite number that was written as one.
  func plainNumber(_ key: String) -> Double? {
    guard case .number = values[key] else { return nil }
    return double(key)
  }

  func int(_ key: String) -> Int? {
    if case .number(let digits) = values[key], let whole = Int(digits) { return whole }
    return double(key).flatMap { Int(exactly: $0.rounded()) }
  }

  func bool(_ key: String) -> Bool {
    switch values[key] {
    case .bool(let value): value
    case .number: double(key) != 0
    default: false
    }
  }

  func object(_ key: String) -> LooseObject? { LooseObject(values[key]) }

  func array(_ key: String) -> [LooseValue]? {
    guard case .list(let values) = values[key] else { return nil }
    return values
  }

  func strings(_ key: String) -> [String] {
    (array(key) ?? []).compactMap { value in
      guard case .text(let text) = value else { return nil }
      return text
    }
  }

  /// Dates are strings in JSON and dates in a property list. A date without a time is a day: its noon.
  /// - Parameter zone: Whose noon that is.
  func moment(_ key: String, in zone: String) -> Moment? {
    switch values[key] {
    case .date(let date):
      let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
      return Int64(exactly: milliseconds).map { Moment(milliseconds: $0) }
    case .text(let text): return Moment(iso8601: text) ?? Moment(day: text, in: zone)
    default: return nil
    }
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
    case .bool:
      switch values[key] {
      case .bool, .number: return true
      default: return false
      }
    case .moment: return moment(key, in: "GMT") != nil
    case .object: return object(key) != nil
    case .objects: return array(key)?.allSatisfy { LooseObject($0) != nil } ?? false
    case .strings: return array(key).map { $0.count == strings(key).count } ?? false
    }
  }

  /// Whether the key holds more than nothing.
  func isGiven(_ key: String) -> Bool {
    switch values[key] {
    case nil, .nothing: false
    case .text(let text): !text.isEmpty && text != "(null)"
    default: true
    }
  }

  /// Whether the key is there, whatever it holds.
  func has(_ key: String) -> Bool { values[key] != nil }

  /// The first of these keys that holds a broken text, also deep within.
  func brokenText(in keys: [String]) -> String? {
    keys.first { values[$0].map(Self.isBroken) ?? false }
  }

  private static func isBroken(_ value: LooseValue) -> Bool {
    switch value {
    case .brokenText: true
    case .list(let values): values.contains(where: isBroken)
    case .object(let values): values.values.contains(where: isBroken)
    default: false
    }
  }
}

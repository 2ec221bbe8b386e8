import VirgaModel

/// Keys from `lower` to below `upper`.
public struct IndexRange: Hashable, Sendable {
  public var lower: [UInt8]
  public var upper: [UInt8]

  public init(lower: [UInt8], upper: [UInt8]) {
    self.lower = lower
    self.upper = upper
  }

  static let all = IndexRange(lower: [], upper: IndexKey.end)
}

/// Values between two others, as the beginnings of their keys.
struct KeyInterval: Hashable {
  var lower: [UInt8]
  /// Whether keys that begin with `lower` lie in the interval.
  var includesLower = true
  var upper: [UInt8]
  var includesUpper = true

  init(_ key: [UInt8]) { (lower, upper) = (key, key) }

  init(from lower: [UInt8], includesLower: Bool = true, to upper: [UInt8], includesUpper: Bool = true) {
    self.lower = lower
    self.includesLower = includesLower
    self.upper = upper
    self.includesUpper = includesUpper
  }

  /// The interval in an index that begins with these values, ascending or descending.
  func range(descending: Bool) -> IndexRange {
    func invert(_ key: [UInt8]) -> [UInt8] { key.map { ~$0 } }
    let (low, hasLow, high, hasHigh) =
      descending
      ? (invert(upper), includesUpper, invert(lower), includesLower) : (lower, includesLower, upper, includesUpper)
    return IndexRange(
      lower: hasLow ? low : IndexKey.successor(of: low), upper: hasHigh ? IndexKey.successor(of: high) : high)
  }
}

/// A moment in whole milliseconds since 1970-01-01T00:00:00Z, the protocol's unit; earlier moments are negative. Sums that are
/// beyond the first or the last moment are that moment.
public struct Timestamp: Hashable, Comparable, Sendable, Codable {
  /// Milliseconds since 1970, in UTC.
  public var milliseconds: Int64

  /// A moment by its milliseconds since 1970, in UTC.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public init(from decoder: any Decoder) throws {
    milliseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(milliseconds)
  }

  /// Whether the first moment is the earlier one.
  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

  /// The moment that much later, to the millisecond.
  public static func + (left: Timestamp, right: Duration) -> Timestamp {
    Timestamp(milliseconds: left.milliseconds.saturating(adding: right.wholeMilliseconds))
  }

  /// The moment that much earlier, to the millisecond.
  public static func - (left: Timestamp, right: Duration) -> Timestamp {
    Timestamp(milliseconds: left.milliseconds.saturating(subtracting: right.wholeMilliseconds))
  }

  /// How much later the first moment is; negative if it is earlier.
  public static func - (left: Timestamp, right: Timestamp) -> Duration {
    .milliseconds(left.milliseconds.saturating(subtracting: right.milliseconds))
  }
}

extension Duration {
  /// The duration in milliseconds, its fraction cut off.
  public var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000)
    if isTooMuch { return seconds < 0 ? .min : .max }
    return whole.saturating(adding: attoseconds / 1_000_000_000_000_000)
  }
}

extension Int64 {
  // Moments come from other machines, so none may stop the process.
  fileprivate func saturating(adding other: Int64) -> Int64 {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? (other < 0 ? .min : .max) : sum
  }

  fileprivate func saturating(subtracting other: Int64) -> Int64 {
    let (difference, isTooMuch) = subtractingReportingOverflow(other)
    return isTooMuch ? (other < 0 ? .max : .min) : difference
  }
}

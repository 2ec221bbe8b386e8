/// A moment in whole milliseconds since 1970-01-01T00:00:00Z, the protocol's unit; earlier moments are negative.
public struct Timestamp: Hashable, Comparable, Sendable, Codable {
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public init(from decoder: any Decoder) throws {
    milliseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(milliseconds)
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

  public static func + (left: Timestamp, right: Duration) -> Timestamp {
    Timestamp(milliseconds: left.milliseconds + right.wholeMilliseconds)
  }

  public static func - (left: Timestamp, right: Duration) -> Timestamp {
    Timestamp(milliseconds: left.milliseconds - right.wholeMilliseconds)
  }

  public static func - (left: Timestamp, right: Timestamp) -> Duration {
    .milliseconds(left.milliseconds - right.milliseconds)
  }
}

extension Duration {
  /// The duration in milliseconds, its fraction cut off.
  public var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}

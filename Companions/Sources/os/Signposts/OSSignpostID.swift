import Synchronization

/// Tells intervals of one name apart that overlap.
public struct OSSignpostID: Equatable, Hashable, Comparable, Sendable {
  public let rawValue: UInt64

  public init(_ value: UInt64) { rawValue = value }

  /// A new identifier, different from all others of this run.
  public init(log: OSLog) { self.init(Self.counter.wrappingAdd(1, ordering: .relaxed).newValue) }

  /// The same identifier for the same object.
  public init(log: OSLog, object: AnyObject) {
    self.init(UInt64(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())) | 1 << 63)
  }

  /// For intervals that never overlap.
  public static let exclusive = OSSignpostID(0xEEEE_B0B5_B2B2_EEEE)
  public static let invalid = OSSignpostID(.max)
  public static let null = OSSignpostID(0)

  public static func < (left: OSSignpostID, right: OSSignpostID) -> Bool { left.rawValue < right.rawValue }

  private static let counter = Atomic<UInt64>(0)
}

/// What a signpost marks.
public struct OSSignpostType: RawRepresentable, Equatable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  public static let event = OSSignpostType(rawValue: 0x00)
  public static let begin = OSSignpostType(rawValue: 0x01)
  public static let end = OSSignpostType(rawValue: 0x02)

  var name: String {
    switch self {
    case .begin: "begin"
    case .end: "end"
    default: "event"
    }
  }
}

import VirgaAuth

/// Finds the data in a body of chunks, a byte at a time so that it keeps no bytes of its own.
///
/// Extensions and trailers are checked, counted against a limit and dropped.
struct ChunkedBodyParser: Sendable {
  struct Limits: Sendable, Hashable {
    /// Bytes of all chunk extensions of a body.
    var extensionBytesMax = 1_024
    /// Bytes of all trailer fields of a body.
    var trailerBytesMax = 4_096
  }

  private enum State {
    case sizeStart, size, sizeExtension, sizeLineFeed
    case data, dataReturn, dataLineFeed
    case trailerStart, trailerName, trailerValue, trailerLineFeed
    case endLineFeed, end
  }

  /// Fifteen hexadecimal digits fit an `Int64` whatever they are.
  private static let sizeDigitsMax = 15

  private let limits: Limits
  private var state = State.sizeStart
  private var sizeDigits = 0
  private var remaining: Int64 = 0
  private var extensionBytes = 0
  private var trailerBytes = 0

  init(limits: Limits = Limits()) { self.limits = limits }

  /// Whether the empty line that ends the body has been seen.
  var isAtEnd: Bool { state == .end }

  /// Moves `offset` through `bytes` up to and behind the next run of data.
  /// - Returns: Where the data is; `nil` when the body is at its end or `bytes` is used up.
  mutating func next(_ bytes: Span<UInt8>, from offset: inout Int) throws(HTTPRefusal) -> Range<Int>? {
    while offset < bytes.count, state != .end {
      if state == .data {
        let count = Int(min(remaining, Int64(bytes.count - offset)))
        defer { offset += count }
        remaining -= Int64(count)
        if remaining == 0 { state = .dataReturn }
        return offset..<offset + count
      }
      state = try follow(bytes[offset])
      offset += 1
    }
    return nil
  }

  private mutating func follow(_ byte: UInt8) throws(HTTPRefusal) -> State {
    switch state {
    case .sizeStart, .size: return try takeSize(byte)
    case .sizeExtension where byte == 0x0d: return .sizeLineFeed
    case .sizeExtension where ByteClass.isFieldValue(byte):
      extensionBytes += 1
      guard extensionBytes <= limits.extensionBytesMax else { throw .chunk }
      return .sizeExtension
    case .sizeLineFeed where byte == 0x0a:
      sizeDigits = 0
      return remaining == 0 ? .trailerStart : .data
    case .dataReturn where byte == 0x0d: return .dataLineFeed
    case .dataLineFeed where byte == 0x0a: return .sizeStart
    case .trailerStart where byte == 0x0d: return .endLineFeed
    case .trailerStart where ByteClass.isToken(byte): return try countTrailer(.trailerName)
    case .trailerName where byte == 0x3a: return try countTrailer(.trailerValue)
    case .trailerName where ByteClass.isToken(byte): return try countTrailer(.trailerName)
    case .trailerValue where byte == 0x0d: return .trailerLineFeed
    case .trailerValue where ByteClass.isFieldValue(byte): return try countTrailer(.trailerValue)
    case .trailerLineFeed where byte == 0x0a: return .trailerStart
    case .endLineFeed where byte == 0x0a: return .end
    default: throw .chunk
    }
  }

  private mutating func takeSize(_ byte: UInt8) throws(HTTPRefusal) -> State {
    if let digit = Hex.digit(byte) {
      sizeDigits += 1
      guard sizeDigits <= Self.sizeDigitsMax else { throw .chunk }
      remaining = remaining << 4 | Int64(digit)
      return .size
    }
    guard state == .size else { throw .chunk }
    switch byte {
    case 0x0d: return .sizeLineFeed
    case 0x3b: return .sizeExtension
    default: throw .chunk
    }
  }

  private mutating func countTrailer(_ next: State) throws(HTTPRefusal) -> State {
    trailerBytes += 1
    guard trailerBytes <= limits.trailerBytesMax else { throw .chunk }
    return next
  }
}

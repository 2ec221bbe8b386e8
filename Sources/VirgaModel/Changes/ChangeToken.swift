/// Where a reader of a change feed stopped: a position in the sequence of one zone, or of one database.
///
/// The token is bound to its feed by the feed's incarnation, a random number that is drawn when a zone or database is
/// created and drawn again when a store is restored from a backup; a token of another feed has expired.
/// On the wire it is Base64 of 17 bytes: a kind, the incarnation and the position, both big-endian.
public struct ChangeToken: Hashable, Sendable {
  public enum Feed: UInt8, Hashable, Sendable {
    case zone = 1
    case database = 2
    /// A walk from the newest change to the oldest.
    case zoneReversed = 3
  }

  public var feed: Feed
  public var incarnation: UInt64
  public var position: Int64

  public init(feed: Feed, incarnation: UInt64, position: Int64) {
    self.feed = feed
    self.incarnation = incarnation
    self.position = position
  }

  public var bytes: [UInt8] {
    var bytes = [feed.rawValue]
    bytes.reserveCapacity(17)
    for word in [incarnation, UInt64(bitPattern: position)] {
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    return bytes
  }

  /// Reads what `bytes` wrote; `nil` for anything else.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 17, let feed = bytes.first.flatMap(Feed.init(rawValue:)) else { return nil }
    func word(_ part: some Collection<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
    let position = Int64(bitPattern: word(bytes.dropFirst(9)))
    guard position >= 0 else { return nil }
    self.init(feed: feed, incarnation: word(bytes.dropFirst().prefix(8)), position: position)
  }
}

/// Where a reader of a change feed stopped: a position in the sequence of one zone, or of one database.
///
/// The token is bound to its feed by the feed's incarnation, a random number that is drawn when a zone or database is
/// created and drawn again when a store is restored from a backup; a token of another feed has expired.
/// On the wire it is Base64 of 17 bytes: a kind, the incarnation and the position, both big-endian. While a first
/// read goes on, 8 bytes more hold its horizon.
public struct ChangeToken: Hashable, Sendable {
  /// Whose changes a token counts.
  public enum Feed: UInt8, Hashable, Sendable {
    case zone = 1
    case database = 2
    /// A walk from the newest change to the oldest.
    case zoneReversed = 3
  }

  /// Whose changes the token counts.
  public var feed: Feed
  /// The life of the zone or database that the token belongs to; in another one it has expired.
  public var incarnation: UInt64
  /// The sequence up to which the reader knows everything.
  public var position: Int64
  /// Where the feed stood when the reader began without a token; 0 once it has come that far. Deletions up to here
  /// are nothing to a reader who never saw the deleted.
  public var horizon: Int64

  /// Makes a token.
  public init(feed: Feed, incarnation: UInt64, position: Int64, horizon: Int64 = 0) {
    self.feed = feed
    self.incarnation = incarnation
    self.position = position
    self.horizon = horizon > position ? horizon : 0
  }

  /// The token as it travels, before it is written as text.
  public var bytes: [UInt8] {
    var bytes = [feed.rawValue]
    bytes.reserveCapacity(25)
    let words = [incarnation, UInt64(bitPattern: position), UInt64(bitPattern: horizon)]
    for word in horizon == 0 ? words[..<2] : words[...] {
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    return bytes
  }

  /// Reads what `bytes` wrote; `nil` for anything else.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 17 || bytes.count == 25, let feed = bytes.first.flatMap(Feed.init(rawValue:)) else {
      return nil
    }
    func word(_ index: Int) -> UInt64 { bytes.dropFirst(1 + 8 * index).prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
    let position = Int64(bitPattern: word(1))
    let horizon = bytes.count == 25 ? Int64(bitPattern: word(2)) : 0
    guard position >= 0, bytes.count == 17 || horizon > position else { return nil }
    self.init(feed: feed, incarnation: word(0), position: position, horizon: horizon)
  }
}

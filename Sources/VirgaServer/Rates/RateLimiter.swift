package import VirgaModel

/// A token bucket for each user or address, kept as one number: the moment at which the bucket will be full again
/// (the generic cell rate algorithm, ITU-T I.371).
package struct RateLimiter: Sendable {
  private let rate: Rate
  /// Microseconds since 1970 at which each bucket is full; missing for full ones.
  private var full: [String: Int64] = [:]

  package init(_ rate: Rate) { self.rate = rate }

  /// Lets one through, or says how long to wait. Whoever waits that long is let through if nobody else of the same key
  /// comes first; a refusal costs nothing.
  /// - Complexity: O(1), but once in `Limits.rateKeysMax` new keys all are looked at.
  package mutating func admit(_ key: String, now: Timestamp) -> Duration? {
    let interval = 1_000_000 / Int64(rate.perSecond)
    let moment = now.milliseconds * 1_000
    // No bucket is emptier than empty; only a clock that was set back makes one seem so.
    let latest = moment + Int64(rate.burst) * interval
    if let known = full[key], known > latest { full[key] = latest }
    let start = max(full[key] ?? moment, moment)
    let wait = start - moment - Int64(rate.burst - 1) * interval
    if wait > 0 { return .microseconds(wait) }
    if full[key] == nil, full.count >= Limits.rateKeysMax { forgetSome(moment) }
    full[key] = start + interval
    return nil
  }

  /// Drops full buckets and, if that is not enough, all: better lenient for a moment than slow or out of memory.
  private mutating func forgetSome(_ moment: Int64) {
    full = full.filter { $0.value > moment }
    if full.count >= Limits.rateKeysMax { full = [:] }
  }
}

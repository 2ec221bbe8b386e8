import VirgaModel

/// How often something may happen: so many times a second in the long run, and so many times at once.
package struct Rate: Hashable, Sendable {
  package var perSecond: Int
  package var burst: Int

  /// - Precondition: Both are from 1 to `Limits.rateMax`.
  package init(perSecond: Int, burst: Int) {
    precondition(
      (1...Limits.rateMax).contains(perSecond) && (1...Limits.rateMax).contains(burst), "a rate out of range")
    self.perSecond = perSecond
    self.burst = burst
  }

  /// Reads `50` or `50:500`; the burst is ten seconds' worth if it is left out. `nil` for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count <= 2, let first = parts[0], (1...Limits.rateMax).contains(first) else { return nil }
    let burst = parts.count == 2 ? parts[1] : min(first * 10, Limits.rateMax)
    guard let burst, (1...Limits.rateMax).contains(burst) else { return nil }
    self.init(perSecond: first, burst: burst)
  }
}

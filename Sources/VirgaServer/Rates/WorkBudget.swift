package import VirgaModel

/// How much work may be done for each user or zone: so much at once, and so much for each second after. What is done is
/// charged after it was done, so the last piece may go beyond.
package struct WorkBudget: Sendable {
  private let perSecond: Int64
  private let atOnce: Int64
  /// Microseconds since 1970 at which nothing is owed any more; missing for whoever owes nothing.
  private var settled: [String: Int64] = [:]

  package init(perSecond: Int, atOnce: Int) {
    self.perSecond = Int64(perSecond)
    self.atOnce = Int64(atOnce)
  }

  /// How long to wait before more is done; `nil` if it may be done now.
  package func wait(for key: String, now: Timestamp) -> Duration? {
    let owed = (settled[key] ?? 0) - now.milliseconds * 1_000 - atOnce * 1_000_000 / perSecond
    return owed < 0 ? nil : .microseconds(owed + 1)
  }

  /// Takes back a charge for what was not done.
  package mutating func giveBack(_ amount: Int, to key: String, now: Timestamp) {
    guard let moment = settled[key] else { return }
    let earlier = moment - Int64(amount) * 1_000_000 / perSecond
    settled[key] = earlier > now.milliseconds * 1_000 ? earlier : nil
  }

  package mutating func charge(_ amount: Int, to key: String, now: Timestamp) {
    guard amount > 0 else { return }
    let moment = now.milliseconds * 1_000
    if settled[key] == nil, settled.count >= Limits.rateKeysMax {
      settled = settled.filter { $0.value > moment }
      if settled.count >= Limits.rateKeysMax { settled = [:] }
    }
    // Only a clock that was set back makes somebody owe more than there ever is.
    let most = moment + 2 * atOnce * 1_000_000 / perSecond
    settled[key] = min(max(settled[key] ?? moment, moment) + Int64(amount) * 1_000_000 / perSecond, most)
  }
}

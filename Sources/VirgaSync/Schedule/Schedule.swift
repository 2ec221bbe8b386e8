import VirgaModel

/// When what is due next, and what must not happen before when.
struct Schedule: Sendable {
  /// The due times of one kind of run.
  struct RunTimer: Sendable {
    var due: Timestamp?
    /// Set by failures: nothing is due before both. One is our own choice, the other what the service asked for.
    var backoffEnd: Timestamp?
    var retryAfterEnd: Timestamp?
    var failures = 0
    var lastStart: Timestamp?
    var lastSuccess: Timestamp?
    var lastFailure: SyncFailure?

    /// When the next run starts, if nothing else happens.
    var start: Timestamp? {
      guard let due else { return nil }
      return max(due, backoffEnd ?? due, retryAfterEnd ?? due)
    }

    mutating func request(at time: Timestamp) { due = min(due ?? time, time) }

    mutating func succeed(at now: Timestamp) {
      backoffEnd = nil
      retryAfterEnd = nil
      failures = 0
      lastFailure = nil
      lastSuccess = now
    }

    /// Notes a failure; returns when to try again.
    @discardableResult
    mutating func fail(_ failure: SyncFailure, at now: Timestamp, policy: SyncPolicy, jitter: Double) -> Timestamp {
      failures += 1
      lastFailure = failure
      let next = now + policy.wait(afterFailures: failures, retryAfter: failure.retryAfter, jitter: jitter)
      if failure.retryAfter ?? .zero > .zero { retryAfterEnd = next } else { backoffEnd = next }
      return next
    }
  }

  var send = RunTimer()
  var fetch = RunTimer()
  /// When the app is told of the state, if it changed.
  var report: Timestamp?
  /// The distance that requests keep, and until when.
  var pace: Duration = .zero
  var paceEnd: Timestamp?
  var lastRequest: Timestamp?

  var next: Timestamp? { [send.start, fetch.start, report].compactMap { $0 }.min() }

  mutating func slowDown(_ failure: SyncFailure, at now: Timestamp, policy: SyncPolicy) {
    guard failure.kind == .throttled else { return }
    pace = max(pace, min(failure.retryAfter ?? .seconds(1), policy.paceMax))
    paceEnd = now + policy.paceAge
  }

  /// When the next request may leave, if not now.
  mutating func requestTime(at now: Timestamp) -> Timestamp? {
    guard let end = paceEnd, let last = lastRequest else { return nil }
    if now >= end {
      (pace, paceEnd) = (.zero, nil)
      return nil
    }
    let earliest = last + pace
    return earliest > now ? earliest : nil
  }

  /// When a send is due that an addition at `now` asks for. A send that was due before may move back while
  /// additions go on, but not past the spacing.
  func sendTime(forAdditionAt now: Timestamp, policy: SyncPolicy) -> Timestamp {
    guard let last = send.lastStart else { return send.due ?? now + policy.sendDelay }
    let latest = last + policy.sendSpacing
    if latest <= now { return send.due ?? now + policy.sendDelay }
    return min(latest, max(now + policy.sendQuiet, last + policy.sendSpacingMin))
  }
}

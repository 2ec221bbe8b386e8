import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

/// How much is read for users of what they do not see: no page ends because of it, which would tell of it.
final class HiddenReads: Sendable {
  private let budget = Mutex(
    WorkBudget(perSecond: Limits.hiddenReadsPerUserAndSecond, atOnce: Limits.hiddenReadsPerUserMax))

  /// Performs a call that reads, on a thread of the store: so no more calls than there are such threads are let in before
  /// the first has paid.
  /// - Throws: `THROTTLED` with the time to wait.
  func counting(
    for start: CallContext, now: () -> Timestamp, _ body: (inout CallContext) throws -> Reply
  ) throws -> Reply {
    var context = start
    guard context.endpoint.scope != .private, let user = context.principal.user else { return try body(&context) }
    let key = context.principal.account?.rawValue ?? user.rawValue
    if let wait = budget.withLock({ $0.wait(for: key, now: now()) }) {
      let seconds = max(1, (wait.wholeMilliseconds + 999) / 1_000)
      throw ServiceError(
        .throttled, "much was read for this user lately that others made", retryAfterSeconds: Int(seconds))
    }
    defer { charge(context.hiddenReads, to: key, now: now()) }
    return try body(&context)
  }

  func charge(_ reads: Int, to key: String, now: Timestamp) {
    if reads > 0 { budget.withLock { $0.charge(reads, to: key, now: now) } }
  }
}

extension Route {
  /// Whether requests are counted: not those of monitors and of browsers that ask whether they may ask.
  var isRated: Bool {
    switch self {
    case .health, .ready, .metrics, .preflight: false
    default: true
    }
  }
}

import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

/// How often users and addresses ask.
final class RequestRates: Sendable {
  private struct Limiters {
    var address: RateLimiter?
    var user: RateLimiter?
  }

  private let limiters: Mutex<Limiters>
  /// Whether any rate is limited: without, no lock is taken.
  private let isOn: Bool

  init(address: Rate?, user: Rate?) {
    limiters = Mutex(Limiters(address: address.map(RateLimiter.init), user: user.map(RateLimiter.init)))
    isOn = address != nil || user != nil
  }

  /// - Throws: `THROTTLED` with the time to wait.
  func admit(address: String, now: Timestamp) throws(ServiceError) {
    guard isOn else { return }
    try check(limiters.withLock { $0.address?.admit(address, now: now) }, "address")
  }

  /// An account is one user in all containers; a caller without a user is only counted by address.
  /// - Throws: `THROTTLED` with the time to wait.
  func admit(_ principal: Principal, now: Timestamp) throws(ServiceError) {
    guard isOn, let key = principal.account?.rawValue ?? principal.user?.rawValue else { return }
    try check(limiters.withLock { $0.user?.admit(key, now: now) }, "user")
  }

  /// The same for an account's own calls, which belong to no container.
  /// - Throws: `THROTTLED` with the time to wait.
  func admit(_ account: AccountID, now: Timestamp) throws(ServiceError) {
    guard isOn else { return }
    try check(limiters.withLock { $0.user?.admit(account.rawValue, now: now) }, "user")
  }

  private func check(_ wait: Duration?, _ who: String) throws(ServiceError) {
    guard let wait else { return }
    // Whole seconds, rounded up, so that nobody comes too early.
    let seconds = max(1, (wait.wholeMilliseconds + 999) / 1_000)
    throw ServiceError(.throttled, "too many requests from this \(who)", retryAfterSeconds: Int(seconds))
  }
}

package import VirgaModel

/// Keeps a channel for notifications open: subscribe, get a push token, poll its queue, over and over.
///
/// A value like `SyncMachine`: each step that it returns is answered by one event.
package struct PushListener: Sendable {
  package enum Step: Equatable, Sendable {
    /// Make sure that the database subscription exists.
    case subscribe
    /// Get a token, and with it the address to poll.
    case createToken
    /// Wait for a notification; the service answers without one now and then.
    case poll(url: String)
    case pause(until: Timestamp)
  }

  package enum Event: Sendable {
    case start
    case subscribed(Result<Void, SyncFailure>)
    case tokenCreated(Result<String, SyncFailure>)
    case polled(Result<Bool, SyncFailure>)
    case paused
    /// The account changed; nothing of the former one is of use.
    case reset
  }

  package struct Decision: Equatable, Sendable {
    package var next: Step
    /// Whether a notification came.
    package var hasNews = false
    /// Whether pushes can reach the engine at present.
    package var isUp: Bool

    package init(next: Step, hasNews: Bool = false, isUp: Bool) {
      self.next = next
      self.hasNews = hasNews
      self.isUp = isUp
    }
  }

  private let policy: SyncPolicy
  private var isSubscribed = false
  private var url: String?
  private var failures = 0
  private var pollStart: Timestamp?

  package init(policy: SyncPolicy = SyncPolicy()) { self.policy = policy }

  package mutating func handle(
    _ event: Event, at now: Timestamp, random: inout some RandomNumberGenerator
  ) -> Decision {
    let jitter = Double.random(in: 0..<1, using: &random)
    var hasNews = false
    switch event {
    case .start, .paused: break
    case .reset: (isSubscribed, url, failures) = (false, nil, 0)
    case .subscribed(.success):
      isSubscribed = true
    case .tokenCreated(.success(let address)):
      url = address
    case .polled(.success(let news)):
      // An answer without news that comes at once would make a busy loop of the poll.
      if !news, let start = pollStart, now - start < .seconds(1) {
        return pause(SyncFailure(.unreachable), at: now, jitter: jitter)
      }
      failures = 0
      hasNews = news
    case .subscribed(.failure(let failure)), .tokenCreated(.failure(let failure)):
      return pause(failure, at: now, jitter: jitter)
    case .polled(.failure(let failure)):
      // The queue may be gone for good, so the next round asks for a new one unless only the network failed.
      if failure.kind != .unreachable { (isSubscribed, url) = (false, nil) }
      return pause(failure, at: now, jitter: jitter)
    }
    return Decision(next: next(at: now), hasNews: hasNews, isUp: url != nil)
  }

  private mutating func next(at now: Timestamp) -> Step {
    guard isSubscribed else { return .subscribe }
    guard let url else { return .createToken }
    pollStart = now
    return .poll(url: url)
  }

  private mutating func pause(_ failure: SyncFailure, at now: Timestamp, jitter: Double) -> Decision {
    failures += 1
    let wait = policy.wait(afterFailures: failures, retryAfter: failure.retryAfter, jitter: jitter)
    return Decision(next: .pause(until: now + wait), isUp: false)
  }
}

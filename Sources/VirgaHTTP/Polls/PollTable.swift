import Synchronization

/// The long polls that are parked, by push token, and the notifications on their way to a client.
///
/// Each poll is resumed exactly once for each time that it waits: by a wake, by the end of its time, by a newer poll
/// that takes its place, or by its task's cancellation.
final class PollTable: Sendable {
  enum Outcome: Sendable { case woken, over }

  /// One request that is, or is about to be, parked.
  final class Poll: Sendable {
    private enum State {
      case armed
      case parked(CheckedContinuation<Outcome, Never>)
      case resolved(Outcome)
    }

    let token: String
    /// The tick after which its time is over.
    let lastTick: Int
    private let state = Mutex(State.armed)

    fileprivate init(token: String, lastTick: Int) {
      self.token = token
      self.lastTick = lastTick
    }

    /// Forgets an earlier wake. Called before looking at what may have changed, so that no later wake is missed.
    func arm() {
      state.withLock { state in
        if case .resolved(.woken) = state { state = .armed }
      }
    }

    /// Suspends until the poll is resolved; returns at once if it was since `arm`.
    func wait() async -> Outcome {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let outcome: Outcome? = state.withLock { state in
            if case .resolved(let outcome) = state { return outcome }
            state = .parked(continuation)
            return nil
          }
          if let outcome { continuation.resume(returning: outcome) }
        }
      } onCancel: {
        resolve(.over)
      }
    }

    fileprivate func resolve(_ outcome: Outcome) {
      let parked = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
        defer {
          // The end of a poll is not undone by a wake.
          if case .resolved(.over) = state {} else { state = .resolved(outcome) }
        }
        if case .parked(let continuation) = state { return continuation }
        return nil
      }
      parked?.resume(returning: outcome)
    }
  }

  /// Polls of one token at a time; a further one ends the oldest.
  static let pollsPerTokenMax = 4

  private struct State {
    var polls: [String: [Poll]] = [:]
    var tick = 0
    var delivering: Set<Int64> = []
    var delivered = 0
  }

  private let state = Mutex(State())
  private let ticksPerPoll: Int

  /// - Parameter seconds: How long a poll is parked, in ticks of a second.
  init(seconds: Duration) { ticksPerPoll = max(1, Int(seconds.components.seconds)) }

  var count: Int { state.withLock { $0.polls.values.reduce(0) { $0 + $1.count } } }

  func begin(_ token: String) -> Poll {
    let (poll, displaced) = state.withLock { state in
      let poll = Poll(token: token, lastTick: state.tick + ticksPerPoll)
      var polls = state.polls[token] ?? []
      let displaced = polls.count >= Self.pollsPerTokenMax ? polls.removeFirst() : nil
      state.polls[token] = polls + [poll]
      return (poll, displaced)
    }
    displaced?.resolve(.over)
    return poll
  }

  func end(_ poll: Poll) {
    state.withLock { state in
      let rest = state.polls[poll.token]?.filter { $0 !== poll } ?? []
      state.polls[poll.token] = rest.isEmpty ? nil : rest
    }
  }

  /// Makes the polls of a token look again.
  func wake(_ token: String) {
    for poll in state.withLock({ $0.polls[token] ?? [] }) { poll.resolve(.woken) }
  }

  /// A second has passed: polls whose time is over are answered.
  func tick() {
    let over = state.withLock { state in
      state.tick += 1
      return state.polls.values.flatMap { polls in polls.filter { $0.lastTick < state.tick } }
    }
    for poll in over { poll.resolve(.over) }
  }

  /// Whether the caller is the one to deliver a notification.
  func claim(_ notification: Int64) -> Bool { state.withLock { $0.delivering.insert(notification).inserted } }

  /// Notifications that went to a client.
  var delivered: Int { state.withLock { $0.delivered } }

  func noteDelivery() { state.withLock { $0.delivered += 1 } }

  func release(_ notification: Int64) { _ = state.withLock { $0.delivering.remove(notification) } }
}

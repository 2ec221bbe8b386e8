import Synchronization
import VirgaServer

/// One request that is parked, or about to be. It is resumed exactly once for each time that it waits: by a
/// notification, by a wake, by the end of its time, by a newer poll that takes its place, or by its task's cancellation.
final class ParkedPoll: Sendable {
  enum Outcome: Sendable {
    case given(NotificationRow, PushQueue)
    /// Ask the table again.
    case woken
    case over
  }

  typealias Continuation = CheckedContinuation<Outcome, Never>

  private enum State {
    case armed
    case parked(Continuation)
    case resolved(Outcome)
  }

  let token: String
  /// The tick after which its time is over.
  let lastTick: Int
  private let state = Mutex(State.armed)

  init(token: String, lastTick: Int) {
    self.token = token
    self.lastTick = lastTick
  }

  /// Forgets an earlier wake, and a notification that `wait` gave: a fault on purpose may have lost it since.
  func arm() {
    state.withLock { state in
      switch state {
      case .resolved(.woken), .resolved(.given): state = .armed
      case .armed, .parked, .resolved(.over): break
      }
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

  func resolve(_ outcome: Outcome) { accept(outcome).continuation?.resume(returning: outcome) }

  /// Resolves the poll, whose continuation the caller then resumes.
  /// - Returns: `isTaken` is false if something else has resolved it for good.
  func accept(_ outcome: Outcome) -> (isTaken: Bool, continuation: Continuation?) {
    state.withLock { state in
      switch state {
      case .armed, .resolved(.woken):
        state = .resolved(outcome)
        return (true, nil)
      case .parked(let continuation):
        state = .resolved(outcome)
        return (true, continuation)
      // A notification is not lost to the end of a poll, nor is the end undone by a wake.
      case .resolved(.given), .resolved(.over): return (false, nil)
      }
    }
  }
}

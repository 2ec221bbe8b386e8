import Synchronization

/// Tasks that wait for another one. Each waits until all are resumed, or until it is cancelled.
final class Waiters: Sendable {
  private struct State {
    var next = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// - Parameter isolation: The caller's, so that it waits from this moment on: what it waits for cannot end before.
  func wait(isolation: isolated (any Actor)? = #isolation) async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { $0.waiting[number] = continuation }
        // A cancellation before this found nobody waiting.
        if Task.isCancelled { resume(number) }
      }
    } onCancel: {
      resume(number)
    }
  }

  func resumeAll() {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting.sorted { $0.key < $1.key }
    }
    for (_, continuation) in waiting { continuation.resume() }
  }

  private func resume(_ number: Int) { state.withLock { $0.waiting.removeValue(forKey: number) }?.resume() }
}

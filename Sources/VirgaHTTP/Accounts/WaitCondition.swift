import Synchronization
import VirgaWire

/// Wakes tasks that wait for something to change.
final class WaitCondition: Sendable {
  private struct State {
    var rings: UInt64 = 0
    var nextWaiter: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// How often it rang. Read before looking at what may change, and given to `wait`, it makes sure that no ring is missed.
  var rings: UInt64 { state.withLock { $0.rings } }

  func ring() {
    let waiters = state.withLock { state in
      state.rings += 1
      defer { state.waiters = [:] }
      return state.waiters
    }
    for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume() }
  }

  /// Suspends until it has rung more often than `rings`, the time is over, or the task is cancelled.
  func wait(after rings: UInt64, atMost duration: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.wait(after: rings) }
      group.addTask {
        // An early end by cancellation is as good as the end of the time: the caller looks again in any case.
        do { try await ContinuousClock().sleep(for: duration) } catch { return }
      }
      await group.next()
      group.cancelAll()
    }
  }

  private func wait(after rings: UInt64) async {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.rings > rings || Task.isCancelled { return true }
          state.waiters[id] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
      waiter?.resume()
    }
  }
}

extension WaitCondition {
  /// Looks at something again whenever it rings, until that is settled or the time is over.
  /// - Returns: What it looked like last.
  func wait<Value>(
    atMost duration: Duration, while isUnsettled: (Value) -> Bool, for look: () throws(ServiceError) -> Value
  ) async throws(ServiceError) -> Value {
    let deadline = ContinuousClock.now + duration
    while true {
      let rings = rings
      let value = try look()
      let left = deadline - ContinuousClock.now
      if !isUnsettled(value) || left <= .zero || Task.isCancelled { return value }
      await wait(after: rings, atMost: left)
    }
  }
}

import Synchronization
import VirgaCloudKit
import VirgaModel

/// Runs the jobs of tasks one after another on the thread that asks for it, and keeps a time that only goes on when
/// nothing else is left to do. The same test gives the same order of jobs each time.
final class VirtualTime: TaskExecutor, Sendable {
  private struct State {
    var jobs: [UnownedJob] = []
    var now = Timestamp(milliseconds: 1_700_000_000_000)
    var sleepers: [(time: Timestamp, id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
    var cancelled: Set<UInt64> = []
    var nextSleeper: UInt64 = 0
  }

  private let state = Mutex(State())

  var now: Timestamp { state.withLock { $0.now } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
  }

  func sleep(until time: Timestamp) async throws {
    let id = state.withLock { state in
      state.nextSleeper += 1
      return state.nextSleeper
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(id) != nil { return true }
          state.sleepers.append((time, id, continuation))
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let place = state.sleepers.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.sleepers.remove(at: place).continuation
      }
      continuation?.resume(throwing: CancellationError())
    }
  }

  /// Runs what can run at this moment.
  func settle() {
    while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Lets time pass, waking sleepers in the order of their times.
  func pass(_ duration: Duration) {
    let end = now + duration
    settle()
    while wakeNext(before: end) { settle() }
    state.withLock { $0.now = end }
  }

  private func wakeNext(before end: Timestamp) -> Bool {
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      let first = state.sleepers.enumerated().min {
        ($0.element.time, $0.element.id) < ($1.element.time, $1.element.id)
      }
      guard let first, first.element.time <= end else { return nil }
      state.now = max(state.now, first.element.time)
      return state.sleepers.remove(at: first.offset).continuation
    }
    next?.resume()
    return next != nil
  }

  /// Runs a body to its end, letting time pass as far as it must.
  func run<Value: Sendable>(
    atMost limit: Duration = .seconds(36_000), _ body: @escaping @Sendable () async throws -> Value
  ) throws -> Value {
    let result = Mutex<Result<Value, any Error>?>(nil)
    Task(executorPreference: self) {
      do {
        let value = try await body()
        result.withLock { $0 = .success(value) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
    }
    let end = now + limit
    settle()
    while result.withLock({ $0 == nil }) {
      guard wakeNext(before: end) else { throw Stuck() }
      settle()
    }
    guard let value = result.withLock({ $0 }) else { throw Stuck() }
    return try value.get()
  }

  /// Nothing could run and no time would help.
  struct Stuck: Error {}

  /// - Parameter skew: By how much the device's clock is ahead.
  func environment(seed: UInt64, skew: Duration = .zero) -> SyncEnvironment {
    SyncEnvironment(
      now: { self.now + skew }, sleep: { try await self.sleep(until: $0 - skew) }, executor: self, seed: seed)
  }
}

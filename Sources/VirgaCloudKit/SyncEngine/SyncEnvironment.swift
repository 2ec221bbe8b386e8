import Foundation
package import VirgaModel

/// What a sync engine takes from outside besides its database: time, dice, and where its tasks run.
package struct SyncEnvironment: Sendable {
  /// The time; only ever goes forward.
  package var now: @Sendable () -> Timestamp
  /// Returns at that time, or throws when its task is cancelled.
  package var sleep: @Sendable (_ until: Timestamp) async throws -> Void
  package var executor: (any TaskExecutor)?
  package var seed: UInt64

  package init(
    now: @escaping @Sendable () -> Timestamp, sleep: @escaping @Sendable (Timestamp) async throws -> Void,
    executor: (any TaskExecutor)? = nil, seed: UInt64
  ) {
    self.now = now
    self.sleep = sleep
    self.executor = executor
    self.seed = seed
  }

  /// Real time. A wall clock that is set back must not put a retry off by as much, so the time is that of the
  /// process's start and what a steady clock has counted since.
  package static let system: SyncEnvironment = {
    let clock = ContinuousClock()
    let start = (wall: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)), steady: clock.now)
    let now: @Sendable () -> Timestamp = { start.wall + (clock.now - start.steady) }
    return SyncEnvironment(
      now: now,
      sleep: { time in try await clock.sleep(for: max(.zero, time - now()), tolerance: .milliseconds(1)) },
      seed: UInt64.random(in: .min ... .max))
  }()
}

/// A generator whose numbers follow from its seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }
}

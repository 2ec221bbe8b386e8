/// How long a group waits for further jobs before it commits.
///
/// Callers that were answered together come back together, but not at once. Without a wait, the first one back would
/// have a commit for itself and the others would share the next: two commits in each round instead of one. A caller
/// alone never waits.
struct GroupPace {
  private var expectedCount = 1
  /// How long the last commits took, the newest one most; `nil` before the first.
  private var commit: Duration?

  private let quickTime: Duration

  /// - Parameter quickTime: Commits that take less are quick for a caller alone.
  init(quickTime: Duration) { self.quickTime = quickTime }

  /// Whether callers have come one by one lately, and the disk takes no longer than a few changes of thread.
  var isQuickForOne: Bool { expectedCount == 1 && commit.map { $0 < quickTime } ?? false }

  /// - Returns: zero if the group has as many jobs as the last one, or took its time.
  func wait(performedCount: Int, elapsed: Duration) -> Duration {
    if performedCount >= expectedCount { return .zero }
    return max(.zero, min((commit ?? .zero) / 2, .milliseconds(2)) - elapsed)
  }

  /// - Parameter duration: `nil` if there was nothing to make durable.
  mutating func note(jobCount: Int, commit duration: Duration?) {
    // Rounded down, so that a caller who stays alone is expected alone after a few commits.
    expectedCount = max(1, (expectedCount + jobCount) / 2)
    guard let duration else { return }
    commit = commit.map { ($0 * 3 + duration) / 4 } ?? duration
  }
}

import Synchronization

/// What the store's threads share.
final class StoreState: Sendable {
  private let counters = Mutex(SQLiteStore.Counters())
  private let diskFailure = Atomic(false)

  var counts: SQLiteStore.Counters { counters.withLock { $0 } }

  /// Threads add to the counters after each piece of work.
  func count(_ change: (inout SQLiteStore.Counters) -> Void) { counters.withLock { change(&$0) } }

  private let quickNanoseconds: Int64
  /// Nanoseconds that the last small reads took, the newest one most; slow until one was measured.
  private let smallRead: Atomic<Int64>

  init(quickTime: Duration) {
    quickNanoseconds = quickTime.nanoseconds
    smallRead = Atomic(quickTime.nanoseconds)
  }

  /// Whether what a small read needs is mostly in memory, so that it takes less than a change of thread or two.
  var readsAreQuick: Bool { smallRead.load(ordering: .relaxed) < quickNanoseconds }

  func noteSmallRead(_ time: Duration) {
    // Where two threads do it at once, one of them is not counted.
    let average = (smallRead.load(ordering: .relaxed) * 3 + time.nanoseconds) / 4
    smallRead.store(average, ordering: .relaxed)
  }

  /// Whether the disk failed to make written bytes durable. The system then takes pages for written that are not, and a
  /// second attempt would seem to succeed; so nothing is written until the store is opened anew.
  var diskHasFailed: Bool { diskFailure.load(ordering: .acquiring) }

  func noteDiskFailure() { diskFailure.store(true, ordering: .releasing) }
}

extension Duration {
  fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}

import Synchronization

/// What the store's threads share.
final class StoreState: Sendable {
  private let counters = Mutex(SQLiteStore.Counters())
  private let diskFailure = Atomic(false)

  var counts: SQLiteStore.Counters { counters.withLock { $0 } }

  /// Threads add to the counters after each piece of work.
  func count(_ change: (inout SQLiteStore.Counters) -> Void) { counters.withLock { change(&$0) } }

  /// Whether the disk failed to make written bytes durable. The system then takes pages for written that are not, and a
  /// second attempt would seem to succeed; so nothing is written until the store is opened anew.
  var diskHasFailed: Bool { diskFailure.load(ordering: .acquiring) }

  func noteDiskFailure() { diskFailure.store(true, ordering: .releasing) }
}

import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

/// How indexes are made that queries ask for: a step at a time for the whole server, so that no more than one waits before
/// a save, and so much for each user and of each zone as `Limits` says.
final class IndexMaking: Sendable {
  private struct Budgets {
    var users = WorkBudget(
      perSecond: Limits.indexedRecordsPerUserAndSecond, atOnce: Limits.indexedRecordsPerUserMax)
    var zones = WorkBudget(
      perSecond: Limits.indexedRecordsPerZoneAndSecond, atOnce: Limits.indexedRecordsPerZoneMax)
  }

  /// Steps come one by one, in the order in which they were asked for.
  let gate = SharedGate()
  private let budgets = Mutex(Budgets())
  /// The indexes that queries wait for or are about to read, and how many do.
  private let claimed = Mutex([ZoneAddress: [IndexDefinition: Int]]())

  func claim(_ need: WriteNeeded) {
    claimed.withLock { $0[need.zone, default: [:]][need.definition, default: 0] += 1 }
  }

  func release(_ need: WriteNeeded) {
    claimed.withLock { claimed in
      let others = claimed[need.zone]?[need.definition] ?? 1
      claimed[need.zone]?[need.definition] = others > 1 ? others - 1 : nil
      if claimed[need.zone]?.isEmpty == true { claimed[need.zone] = nil }
    }
  }

  func claimed(in zone: ZoneAddress) -> Set<IndexDefinition> { claimed.withLock { Set($0[zone, default: [:]].keys) } }

  /// - Throws: `THROTTLED` with the time to wait.
  func check(_ user: String, _ zone: String, now: Timestamp) throws(ServiceError) {
    let wait = budgets.withLock { budgets -> Duration? in
      [budgets.users.wait(for: user, now: now), budgets.zones.wait(for: zone, now: now)].compactMap { $0 }.max()
    }
    guard let wait else { return }
    let seconds = max(1, (wait.wholeMilliseconds + 999) / 1_000)
    throw ServiceError(
      .throttled, "too many different filters and sorts: the index for this query is made later",
      retryAfterSeconds: Int(seconds))
  }

  func charge(_ records: Int, _ user: String, _ zone: String, now: Timestamp) {
    budgets.withLock { budgets in
      budgets.users.charge(records, to: user, now: now)
      budgets.zones.charge(records, to: zone, now: now)
    }
  }
}

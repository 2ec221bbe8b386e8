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
  private let claimed = Mutex([ZoneKey: [IndexDefinition: Int]]())

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

  func claimed(in zone: ZoneKey) -> Set<IndexDefinition> { claimed.withLock { Set($0[zone, default: [:]].keys) } }

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

extension Front {
  /// A query needs two indexes at most, and one of them may have gone for another query's meanwhile.
  private static let attemptsMax = 8

  /// Runs a read, and makes the indexes that it asks for on the way.
  func buildingIndexes<Value>(for context: CallContext, _ read: () async throws -> Value) async throws -> Value {
    var needs: [WriteNeeded] = []
    defer { needs.forEach(indexes.release) }
    for _ in 0..<Self.attemptsMax {
      do { return try await read() } catch let need as WriteNeeded {
        indexes.claim(need)
        needs.append(need)
        try await make(need, for: context)
      }
    }
    throw ServiceError.indexesAreBusy
  }

  private func make(_ need: WriteNeeded, for context: CallContext) async throws {
    let user = context.principal.user
    // All who ask without a name share what there is for one.
    let payer = context.principal.account?.rawValue ?? user?.rawValue ?? ""
    let database = need.zone.database
    let zone = "\(database.container)/\(database.environment)/\(database.owner?.rawValue ?? "")/\(need.zone.name)"
    try indexes.check(payer, zone, now: configuration.now())
    var hasBegun = false
    while true {
      // What was done so far is there for the next query.
      if Task.isCancelled { throw CancellationError() }
      let step = try await indexes.gate.alone { [store, service, indexes] in
        try await store.write { transaction in
          try service.advance(need, for: user, sparing: indexes.claimed(in: need.zone), in: transaction)
        }
      }
      indexes.charge(step.records, payer, zone, now: configuration.now())
      if step.isReady { return }
      // Others took its place though it was awaited: so they would again.
      if step.hasBegun && hasBegun { throw ServiceError.indexesAreBusy }
      if step.hasBegun { hasBegun = true }
    }
  }
}

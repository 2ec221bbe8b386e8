import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

extension Gateway {
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

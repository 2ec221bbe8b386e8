import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

extension Gateway {
  /// Runs a call as the faults let it.
  /// - Returns: Its reply; `nil` when the connection is to break off instead of an answer.
  func run(_ call: Call, _ context: CallContext, meeting faults: [FaultPlan.Rule]) async throws -> Reply? {
    for fault in faults { try await hold(fault.latency) }
    var refused = RefusedItems(call)
    for fault in faults {
      switch fault.effect {
      case .error(let error, .request): throw error
      case .error(let error, .items): refused.refuse(with: error, where: fault.condition.fits(zone:record:))
      case .cutBeforeCommit: return nil
      case .expireZoneTokens(let zone): try await expireTokens(ofZones: zone.map { [$0] } ?? call.zoneNames, context)
      case .expireDatabaseTokens: try await expireTokens(ofZones: nil, context)
      case .removeZone(let zone, let reason):
        try await remove(zone.map { [$0] } ?? call.zoneNames, reason: reason, context)
      case .none, .cutAfterCommit, .dropNotification, .repeatNotification: break
      }
    }
    let reply = try await refused.reply { try await run($0, context) }
    return faults.contains { $0.effect == .cutAfterCommit } ? nil : reply
  }

  /// What breaks off instead of an answer.
  static var brokenOff: HTTPResponse {
    var response = HTTPResponse(status: 200)
    response.isBrokenOff = true
    return response
  }

  func hold(_ latency: Duration) async throws {
    if latency > .zero { try await configuration.sleep(latency) }
  }

  /// - Parameter zones: Whose tokens expire; `nil` for those of the database itself.
  private func expireTokens(ofZones zones: Set<ZoneName>?, _ context: CallContext) async throws {
    guard let owner = context.principal.user else { return }
    let endpoint = context.endpoint
    let key = DatabaseKey(container: endpoint.container, environment: endpoint.environment, owner: owner)
    try await store.write { transaction in
      var random = context.random
      guard var database = try transaction.database(key) else { return }
      guard let zones else {
        database.incarnation = UInt64.random(in: 1 ... .max, using: &random)
        return try transaction.put(database)
      }
      for name in zones.sorted() {
        guard var zone = try transaction.zone(name, in: key) else { continue }
        zone.incarnation = UInt64.random(in: 1 ... .max, using: &random)
        try transaction.put(&zone)
      }
    }
  }

  private func remove(_ zones: Set<ZoneName>, reason: ZoneDeletionReason, _ context: CallContext) async throws {
    let wakes = try await store.write { [service] transaction in
      var context = context
      context.endpoint.scope = .private
      // The user did it elsewhere, so every device is told.
      context.clientID = nil
      context.principal.device = nil
      for zone in zones.sorted() where zone != .default {
        _ = try service.remove(zone, reason: reason, in: transaction, context: &context)
      }
      return context.wakes
    }
    removals.ring()
    wake(wakes)
  }

  /// The faults that meet a call.
  func faults(for call: Call, _ context: CallContext) -> [FaultPlan.Rule] {
    var facts = FaultPlan.Facts(
      operation: call.operation.rawValue, container: context.endpoint.container, scope: context.endpoint.scope)
    facts.user = context.principal.user
    facts.device = context.principal.device?.rawValue
    facts.client = context.clientID
    facts.zones = call.zoneNames
    facts.records = call.recordNames
    return faults.meet(facts)
  }
}

extension Call {
  /// The zones that the call names.
  var zoneNames: Set<ZoneName> {
    switch self {
    case .recordsModify(let request): [request.zone.name]
    case .recordsLookup(let request): [request.zone.name]
    case .recordsChanges(let request): [request.zone.name]
    case .zonesLookup(let request): Set(request.zones.map(\.name))
    case .zonesModify(let request): Set(request.operations.map(\.zone.name))
    case .changesZone(let requests): Set(requests.map(\.zone.name))
    case .assetsUpload(let request): [request.zone.name]
    case .assetsRereference(let request): [request.zone.name]
    default: []
    }
  }

  var recordNames: Set<RecordName> {
    switch self {
    case .recordsModify(let request): Set(request.operations.compactMap(\.record.name))
    case .recordsLookup(let request): Set(request.records.map(\.name))
    case .assetsUpload(let request): Set(request.items.compactMap(\.recordName))
    case .assetsRereference(let request): Set(request.items.map(\.recordName))
    default: []
    }
  }
}

/// The items of a call that fail on purpose. The others run.
private struct RefusedItems {
  /// What is left to run.
  private var call: Call
  /// By their place in the call as it came.
  private var errors: [Int: ServiceError] = [:]
  private let original: Call

  init(_ call: Call) {
    self.call = call
    original = call
  }

  mutating func refuse(with error: ServiceError, where fits: (ZoneName, RecordName?) -> Bool) {
    for (index, item) in items.enumerated() where errors[index] == nil && fits(item.zone, item.record) {
      errors[index] = error
    }
    // A call without items fails as a whole.
    if items.isEmpty { errors[-1] = error }
  }

  private var items: [(zone: ZoneName, record: RecordName?)] {
    switch original {
    case .recordsModify(let request): request.operations.map { (request.zone.name, $0.record.name) }
    case .recordsLookup(let request): request.records.map { (request.zone.name, $0.name) }
    case .zonesLookup(let request): request.zones.map { ($0.name, nil) }
    case .zonesModify(let request): request.operations.map { ($0.zone.name, nil) }
    case .changesZone(let requests): requests.map { ($0.zone.name, nil) }
    default: []
    }
  }

  func reply(_ run: (Call) async throws -> Reply) async throws -> Reply {
    if let error = errors[-1] { throw error }
    if errors.isEmpty { return try await run(original) }
    func kept<Item>(_ items: [Item]) -> [Item] { items.indices.filter { errors[$0] == nil }.map { items[$0] } }
    switch original {
    case .recordsModify(var request):
      // The rules treat an item that is at fault as the protocol wants, in an atomic batch too.
      for (index, error) in errors { request.operations[index].fault = error }
      return try await run(.recordsModify(request))
    case .recordsLookup(var request):
      let all = request.records
      request.records = kept(all)
      guard case .records(var reply) = try await run(.recordsLookup(request)) else { break }
      reply.records = merged(reply.records, count: all.count) { .failure(RecordFailure(all[$0].name, $1)) }
      return .records(reply)
    case .zonesLookup(var request):
      let all = request.zones
      request.zones = kept(all)
      guard case .zones(let results) = try await run(.zonesLookup(request)) else { break }
      return .zones(merged(results, count: all.count) { .failure(all[$0], $1) })
    case .zonesModify(var request):
      let all = request.operations
      request.operations = kept(all)
      guard case .zones(let results) = try await run(.zonesModify(request)) else { break }
      return .zones(merged(results, count: all.count) { .failure(all[$0].zone, $1) })
    case .changesZone(let requests):
      guard case .zoneChanges(let results) = try await run(.changesZone(kept(requests))) else { break }
      return .zoneChanges(merged(results, count: requests.count) { .failure(requests[$0].zone, $1) })
    default: break
    }
    throw ServiceError(.internalError, "the call gave another reply than its own")
  }

  private func merged<Result>(
    _ results: [Result], count: Int, _ failure: (Int, ServiceError) -> Result
  ) -> [Result] {
    var rest = results[...]
    return (0..<count).compactMap { index in errors[index].map { failure(index, $0) } ?? rest.popFirst() }
  }
}

import VirgaModel
public import VirgaWire

/// The rules of the service. A value without state: everything it knows is in the transaction, the context and its
/// settings.
public struct Service: Sendable {
  /// How much a database may hold.
  public var quotas: Quotas
  /// Changes that a zone has seen up to which a query reads its records without an index.
  package var recordsScannedPerZoneMax: Int64 = Int64(Limits.recordsScannedPerZoneMax)
  package var zonesPerDatabaseMax = Limits.zonesPerDatabaseMax
  package var zoneNamesPerDatabaseMax = Limits.zoneNamesPerDatabaseMax

  public init(quotas: Quotas = Quotas()) { self.quotas = quotas }

  /// Performs a call that only reads.
  /// - Throws: `ServiceError` when the call fails as a whole, `StoreError` when the store does, and `WriteNeeded` for a
  ///   query that must first make an index.
  public func read(_ call: Call, in transaction: any ReadTransaction, context: inout CallContext) throws -> Reply {
    try checkContainer(context.endpoint.container)
    try call.checkCount(atMost: context.operationsPerRequestMax)
    return try performRead(call, in: transaction, context: &context)
  }

  private func performRead(
    _ call: Call, in transaction: any ReadTransaction, context: inout CallContext
  ) throws -> Reply {
    switch call {
    case .recordsQuery(let request): try queryRecords(request, in: transaction, context: &context)
    case .recordsLookup(let request): try lookUpRecords(request, in: transaction, context: context)
    case .recordsChanges(let request): try recordChanges(request, in: transaction, context: &context)
    case .zonesList: try listZones(in: transaction, context: context)
    case .zonesLookup(let request): try lookUpZones(request, in: transaction, context: context)
    case .zonesChanges(let request): .zonesChanges(try databaseChanges(request, in: transaction, context: context))
    case .changesDatabase(let request):
      .databaseChanges(try databaseChanges(request, in: transaction, context: context))
    case .changesZone(let requests): try zoneChanges(requests, in: transaction, context: &context)
    case .subscriptionsList: try listSubscriptions(in: transaction, context: context)
    case .subscriptionsLookup(let request): try lookUpSubscriptions(request, in: transaction, context: context)
    case .recordsResolve(let request): try resolveShares(request, in: transaction, context: context)
    case .usersLookup(let request): try lookUpUsers(request, in: transaction, context: context)
    case .assetsUpload(let request): try makeUploadTokens(request, in: transaction, context: &context)
    case .recordsModify, .recordsAccept, .zonesModify, .subscriptionsModify, .assetsRereference, .tokensCreate,
      .tokensRegister, .usersCaller, .usersCurrent:
      throw ServiceError(.internalError, "\(call.operation.rawValue) was run as a read")
    }
  }

  /// Performs any call. Nothing is written if it throws; the caller wakes `context.wakes` after the commit.
  /// - Throws: as `read`.
  public func write(_ call: Call, in transaction: any WriteTransaction, context: inout CallContext) throws -> Reply {
    try write(prepare(call), in: transaction, context: &context)
  }

  /// The same for a call that another thread has prepared.
  public func write(
    _ prepared: PreparedCall, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    try checkContainer(context.endpoint.container)
    try prepared.call.checkCount(atMost: context.operationsPerRequestMax)
    return try performWrite(prepared, in: transaction, context: &context)
  }

  private func performWrite(
    _ prepared: PreparedCall, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    switch prepared.call {
    case .recordsModify(let request):
      try modifyRecords(request, prepared.operations, in: transaction, context: &context)
    case .recordsAccept(let request): try acceptShares(request, in: transaction, context: &context)
    case .usersCaller, .usersCurrent: try callingUser(in: transaction, context: &context)
    case .zonesModify(let request): try modifyZones(request, in: transaction, context: &context)
    case .subscriptionsModify(let request): try modifySubscriptions(request, in: transaction, context: &context)
    case .assetsRereference(let request): try rereferenceAssets(request, in: transaction, context: &context)
    case .tokensCreate(let request): try createPushToken(request, in: transaction, context: &context)
    case .tokensRegister(let request): try registerPushToken(request, in: transaction, context: &context)
    default: try performRead(prepared.call, in: transaction, context: &context)
    }
  }

  /// Keys of entities are joined from names, of which a container's comes first.
  func checkContainer(_ container: ContainerID) throws {
    if let objection = NameRule.container.objection(to: container.rawValue) {
      throw ServiceError(.notFound, "the container's name \(objection)")
    }
  }
}

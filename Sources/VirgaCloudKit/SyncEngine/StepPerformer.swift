import VirgaModel
import VirgaSync

/// Talks to the delegate for one task of the shell, and keeps what the last requests brought until it was told.
struct StepPerformer {
  let shell: SyncShell
  var batch = CKSyncEngine.RecordZoneChangeBatch()
  var zoneRequest: ZoneRequest?
  var recordRequest: RecordRequest?
  var zoneFetch: ZoneFetch?

  init(shell: SyncShell) { self.shell = shell }

  mutating func tell(_ notice: Notice) async {
    guard let event = event(for: notice) else { return }
    guard let (engine, delegate) = shell.participants else { return shell.shutDown() }
    await HandlerCall.during(engine) { await delegate.handleEvent(event, syncEngine: engine) }
  }

  mutating func askBatch(_ context: SendContext) async -> SyncEvent {
    guard let (engine, delegate) = shell.participants else {
      shell.shutDown()
      return .batch(nil)
    }
    let publicContext = sendContext(context)
    let batch = await HandlerCall.during(engine, leavingOut: shell.recordsLeftOut) {
      await delegate.nextRecordZoneChangeBatch(publicContext, syncEngine: engine)
    }
    self.batch = batch ?? CKSyncEngine.RecordZoneChangeBatch()
    return .batch(
      batch.map {
        BatchPart(
          saves: $0.recordsToSave.map(\.recordID.model), deletes: $0.recordIDsToDelete.map(\.model),
          isAtomic: $0.atomicByZone)
      })
  }

  func askFetchOptions(_ context: FetchContext) async -> SyncEvent {
    guard let (engine, delegate) = shell.participants else {
      shell.shutDown()
      return .fetchOptions(context.scope, prioritized: [])
    }
    let publicContext = fetchContext(context)
    let options = await HandlerCall.during(engine) {
      await delegate.nextFetchChangesOptions(publicContext, syncEngine: engine)
    }
    return .fetchOptions(options.scope.machineScope, prioritized: options.prioritizedZoneIDs.map(\.model))
  }

  // MARK: Events as apps see them

  private mutating func event(for notice: Notice) -> CKSyncEngine.Event? {
    switch notice {
    case .signIn(let user): .accountChange(.init(changeType: .signIn(currentUser: CKRecord.ID(user: user))))
    case .signOut(let previous):
      .accountChange(.init(changeType: .signOut(previousUser: CKRecord.ID(user: previous))))
    case .switchAccounts(let previous, let current):
      .accountChange(
        .init(
          changeType: .switchAccounts(
            previousUser: CKRecord.ID(user: previous), currentUser: CKRecord.ID(user: current))))
    case .stateUpdate: .stateUpdate(.init(stateSerialization: .init(shell.machineState)))
    case .willSend(let context): .willSendChanges(.init(context: sendContext(context)))
    case .didSend(let context): .didSendChanges(.init(context: sendContext(context)))
    case .sentZones(let failed): zoneRequest.map { .sentDatabaseChanges($0.event(failed: failed)) }
    case .sentRecords(let part, let failed):
      recordRequest.map { .sentRecordZoneChanges($0.event(of: part, failed: failed)) }
    case .willFetch(let context): .willFetchChanges(.init(context: fetchContext(context)))
    case .didFetch(let context): .didFetchChanges(.init(context: fetchContext(context)))
    case .fetchedDatabaseChanges(let page): .fetchedDatabaseChanges(.init(page))
    case .willFetchZone(let zone): .willFetchRecordZoneChanges(.init(zoneID: CKRecordZone.ID(zone)))
    case .fetchedRecords: takeRecords()
    case .didFetchZone(let zone, let failure):
      .didFetchRecordZoneChanges(.init(zoneID: CKRecordZone.ID(zone), error: failure?.error))
    }
  }

  /// A page is told once and not kept longer, so that a long fetch takes no more memory than one page.
  private mutating func takeRecords() -> CKSyncEngine.Event? {
    defer { zoneFetch = nil }
    return zoneFetch?.event.map { .fetchedRecordZoneChanges($0) }
  }

  private func sendContext(_ context: SendContext) -> CKSyncEngine.SendChangesContext {
    CKSyncEngine.SendChangesContext(
      reason: context.call == nil ? .scheduled : .manual,
      options: shell.options(of: context.call)?.sendOptions ?? CKSyncEngine.SendChangesOptions())
  }

  private func fetchContext(_ context: FetchContext) -> CKSyncEngine.FetchChangesContext {
    var options = shell.options(of: context.call)?.fetchOptions ?? CKSyncEngine.FetchChangesOptions()
    options.scope = CKSyncEngine.FetchChangesOptions.Scope(context.scope)
    if !context.prioritized.isEmpty { options.prioritizedZoneIDs = context.prioritized.map { CKRecordZone.ID($0) } }
    return CKSyncEngine.FetchChangesContext(reason: context.call == nil ? .scheduled : .manual, options: options)
  }
}

extension CKSyncEngine.FetchChangesOptions.Scope {
  init(_ scope: FetchScope) {
    switch scope {
    case .all: self = .all
    case .allExcluding(let zones): self = .allExcluding(zones.map { CKRecordZone.ID($0) })
    case .zones(let zones): self = .zoneIDs(zones.map { CKRecordZone.ID($0) })
    }
  }
}

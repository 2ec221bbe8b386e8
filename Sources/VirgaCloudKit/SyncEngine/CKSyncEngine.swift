import VirgaModel
package import VirgaSync

/// Keeps the records of one database and those of an app in step.
///
/// Make one for each database soon after launch, with the state that was stored last. The app tells it what to send by
/// adding pending changes to its `state`, provides the records when the engine asks for a batch, and stores what
/// events bring. The engine decides when to send and fetch, waits and tries again where that helps, and keeps what it
/// has to remember in a state that the app stores.
///
/// What becomes of a pending change: a saved one is removed. One that failed for a reason that passes (the network, a
/// busy service or zone, no account) stays and is tried again, not before the time that the service asked for. Any other
/// failure removes it and hands it over in `sentRecordZoneChanges`: the app resolves it and adds it again. A record that
/// fails five times in a row that way waits longer and longer between attempts, behind the others, so that it stops
/// nothing; the `status` names it.
///
/// Events are delivered one after another. Inside a call to the delegate, `fetchChanges` and `sendChanges` of the same
/// engine throw `invalidArguments`, because they could only run after that call has returned. A task that is started
/// there may call them, and is served afterwards; if the delegate awaits that task, both wait for each other, and the call
/// throws after a minute.
///
/// A record in the default zone is sent and never fetched: that zone has no feed, on Apple's service neither. The `status`
/// warns of it.
///
/// Differences from Apple's: a batch that the service refuses as a whole is divided and sent in parts, if it is not
/// atomic; `status` and `forgetChangeTokens()` are additions; the push channel is a poll of the service's own.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
  /// The database that is kept in step.
  public let database: CKDatabase
  /// What waits to be sent, and what is known to wait on the server.
  public let state: State
  let shell: SyncShell

  /// Makes an engine and starts it: with `automaticallySync` it fetches and sends at once.
  public convenience init(_ configuration: Configuration) {
    self.init(configuration, environment: .system)
  }

  package init(
    _ configuration: Configuration, environment: SyncEnvironment, policy: SyncPolicy = SyncPolicy()
  ) {
    database = configuration.database
    shell = SyncShell(configuration, environment: environment, policy: policy)
    state = State(shell)
    shell.start(self)
  }

  deinit { shell.shutDown() }

  /// Ends the engine as the end of its process would: nothing more is sent, fetched or told.
  package func shutDown() { shell.shutDown() }

  /// Fetches now, whatever the schedule says, and returns when the delegate has handled every event of it.
  /// - Throws: `CKError` if the fetch failed as a whole. The failure of one zone is that zone's event.
  public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
    try refuseInsideHandler("fetchChanges")
    try await run(SyncShell.Call(fetchOptions: options)) { .fetch($0, options.scope.machineScope) }
  }

  /// Sends now, whatever the schedule says, and returns when the delegate has handled every event of it.
  ///
  /// What fails is handed over in the events, and is not sent again by this call, though the delegate add it again: the
  /// next call sends it, or the schedule. As Apple's engine does it.
  /// - Throws: `CKError` if the send failed as a whole, and `partialFailure` if something was not saved or deleted:
  ///   `partialErrorsByItemID` says which records and zones, and why. All else was sent.
  public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
    try refuseInsideHandler("sendChanges")
    try await run(SyncShell.Call(sendOptions: options)) { .send($0, options.scope.machineScope) }
  }

  /// Stops what is being fetched or sent, and returns when nothing is. Requests that are under way may still succeed.
  ///
  /// Inside a call to a delegate, of this or another engine, and in tasks started there, it does not wait for the end:
  /// that might be waiting for the call. Pending changes stay.
  public func cancelOperations() async {
    if HandlerCall.mayBeWaitedFor {
      shell.submit(.cancel(CallID(0)))
      return
    }
    do { try await shell.run(SyncShell.Call()) { .cancel($0) } } catch {
      // The engine was shut down meanwhile, so nothing runs.
      return
    }
  }

  /// Reads everything again with the next fetch. Pending changes stay.
  ///
  /// For each zone a `didFetchRecordZoneChanges` with `changeTokenExpired` precedes its second reading. An addition of
  /// ours.
  public func forgetChangeTokens() { shell.submit(.forgetTokens) }

  /// Says that something may have changed, as a push does. For apps that get pushes by a way of their own, and harmless
  /// if nothing did. An addition of ours.
  public func receivePush() { shell.submit(.push) }

  public var description: String {
    let status = shell.status
    return "<CKSyncEngine \(database.databaseScope) pending=\(status.pendingSaves + status.pendingDeletions)>"
  }

  private func refuseInsideHandler(_ name: String) throws {
    guard HandlerCall.isInside(self) else { return }
    throw CKError(
      .invalidArguments,
      "\(name)() was awaited inside a call to the engine's delegate. It can run only after that call has returned.")
  }

  private func run(_ call: SyncShell.Call, _ event: @escaping @Sendable (CallID) -> SyncEvent) async throws {
    guard let handler = HandlerCall.around(self) else { return try await shell.run(call, event) }
    // Started by a call to the delegate that may be waiting for this one.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await self.shell.run(call, event)
        return true
      }
      group.addTask {
        let environment = self.shell.environment
        try await environment.sleep(environment.now() + Self.handlerPatience)
        if handler.hasReturned { return false }
        throw CKError(
          .invalidArguments,
          "The engine's delegate seems to wait for a run that can begin only after the delegate has returned.")
      }
      defer { group.cancelAll() }
      while let isOver = try await group.next(), !isOver {}
    }
  }

  /// How long a call to the delegate may wait for a run that waits for it.
  private static let handlerPatience: Duration = .seconds(60)
}

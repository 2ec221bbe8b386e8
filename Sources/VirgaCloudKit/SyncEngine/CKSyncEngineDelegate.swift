/// An app's side of a sync engine: it stores what comes, and provides what goes.
///
/// The engine calls it serially: the next call begins when the last one has returned. See `CKSyncEngine` for what may
/// not be awaited inside.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
  /// Something happened. Store what the event brings before returning: the engine takes it as stored.
  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

  /// Provides the next records to send; `nil` ends the run.
  ///
  /// The engine does not filter by scope: take pending changes for which `context.options.scope.contains(_:)` is true.
  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch?

  /// Says what the next fetch is to bring and in which order. By default, what the context asks for.
  func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
  /// Fetches what the engine asks for, if the delegate does not say otherwise.
  public func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions { context.options }
}

extension CKSyncEngine {
  /// What an engine is made with.
  public struct Configuration: Sendable, CustomStringConvertible {
    /// The private or shared database to sync.
    public var database: CKDatabase
    /// The state of the last `stateUpdate` event that was stored; `nil` the first time.
    public var stateSerialization: State.Serialization?
    /// The app's side. The engine that is made holds it weakly: keep it alive.
    public var delegate: any CKSyncEngineDelegate
    /// Whether the engine syncs by itself when changes are added, when a push comes, and now and then.
    /// Without it nothing happens but by `fetchChanges` and `sendChanges`.
    public var automaticallySync: Bool
    /// The database subscription to use. By default the engine has one of its own.
    public var subscriptionID: CKSubscription.ID?

    /// Makes a configuration that syncs by itself.
    public init(
      database: CKDatabase, stateSerialization: State.Serialization?, delegate: any CKSyncEngineDelegate
    ) {
      self.database = database
      self.stateSerialization = stateSerialization
      self.delegate = delegate
      automaticallySync = true
    }

    public var description: String {
      "<Configuration database=\(database.databaseScope) automaticallySync=\(automaticallySync)"
        + " state=\(stateSerialization == nil ? "none" : "given")>"
    }
  }
}

import VirgaModel
import VirgaSync

extension CKSyncEngine {
  /// Why a run happens.
  public enum SyncReason: Hashable, Sendable, CustomStringConvertible {
    /// The engine's schedule.
    case scheduled
    /// A call of `fetchChanges` or `sendChanges`.
    case manual

    public var description: String {
      switch self {
      case .scheduled: "scheduled"
      case .manual: "manual"
      }
    }
  }

  /// What a fetch is to bring.
  public struct FetchChangesOptions: Sendable, CustomStringConvertible {
    /// The zones whose records are fetched. Changes of zones themselves always are.
    public enum Scope: Equatable, Sendable, CustomStringConvertible {
      /// Every zone.
      case all
      /// Every zone but these.
      case allExcluding([CKRecordZone.ID])
      /// These zones.
      case zoneIDs([CKRecordZone.ID])

      /// Whether records of that zone are fetched.
      public func contains(_ zoneID: CKRecordZone.ID) -> Bool { machineScope.contains(zoneID.model) }

      var machineScope: FetchScope {
        switch self {
        case .all: .all
        case .allExcluding(let zones): .allExcluding(zones.map(\.model))
        case .zoneIDs(let zones): .zones(zones.map(\.model))
        }
      }

      public var description: String {
        switch self {
        case .all: "all"
        case .allExcluding(let zones): "all excluding \(zones.map(\.zoneName))"
        case .zoneIDs(let zones): "zones \(zones.map(\.zoneName))"
        }
      }
    }

    /// The zones to fetch.
    public var scope: Scope
    /// The group that the fetch's requests belong to, in logs.
    public var operationGroup: CKOperationGroup
    /// Zones to fetch first, in this order.
    public var prioritizedZoneIDs: [CKRecordZone.ID]

    /// Makes options without zones that go first.
    public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
      self.scope = scope
      self.operationGroup = operationGroup ?? CKOperationGroup()
      prioritizedZoneIDs = []
    }

    public var description: String {
      "<FetchChangesOptions scope=\(scope) prioritized=\(prioritizedZoneIDs.map(\.zoneName))>"
    }
  }

  /// Why a fetch happens, and what it is to bring.
  public struct FetchChangesContext: Sendable, CustomStringConvertible {
    /// Why the fetch happens.
    public let reason: SyncReason
    /// What the fetch is to bring. The delegate may have narrowed it.
    public let options: FetchChangesOptions

    public var description: String { "<FetchChangesContext reason=\(reason) options=\(options)>" }
  }

  /// What a send is to cover.
  public struct SendChangesOptions: Sendable, CustomStringConvertible {
    /// The changes that are sent.
    public enum Scope: Equatable, Sendable, CustomStringConvertible {
      /// All that is pending.
      case all
      /// All that is pending, but not in these zones.
      case allExcluding([CKRecordZone.ID])
      /// What is pending in these zones.
      case zoneIDs([CKRecordZone.ID])
      /// What is pending for these records.
      case recordIDs([CKRecord.ID])

      /// Whether a pending change is sent. Filter the pending changes with it when a batch is asked for.
      public func contains(_ pendingChange: PendingRecordZoneChange) -> Bool { contains(pendingChange.recordID) }
      /// Whether changes of that record are sent.
      public func contains(_ recordID: CKRecord.ID) -> Bool { machineScope.contains(record: recordID.model) }

      var machineScope: SendScope {
        switch self {
        case .all: .all
        case .allExcluding(let zones): .allExcluding(zones.map(\.model))
        case .zoneIDs(let zones): .zones(zones.map(\.model))
        case .recordIDs(let records): .records(records.map(\.model))
        }
      }

      public var description: String {
        switch self {
        case .all: "all"
        case .allExcluding(let zones): "all excluding \(zones.map(\.zoneName))"
        case .zoneIDs(let zones): "zones \(zones.map(\.zoneName))"
        case .recordIDs(let records): "records \(records.map(\.recordName))"
        }
      }
    }

    /// The changes to send.
    public var scope: Scope
    /// The group that the send's requests belong to, in logs.
    public var operationGroup: CKOperationGroup

    /// Makes options; without arguments for all that is pending.
    public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
      self.scope = scope
      self.operationGroup = operationGroup ?? CKOperationGroup()
    }

    public var description: String { "<SendChangesOptions scope=\(scope)>" }
  }

  /// Why a send happens, and what it is to cover.
  public struct SendChangesContext: Sendable, CustomStringConvertible {
    /// Why the send happens.
    public let reason: SyncReason
    /// What the send is to cover.
    public let options: SendChangesOptions

    public var description: String { "<SendChangesContext reason=\(reason) options=\(options)>" }
  }
}

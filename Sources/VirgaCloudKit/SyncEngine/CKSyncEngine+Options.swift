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
      case all
      case allExcluding([CKRecordZone.ID])
      case zoneIDs([CKRecordZone.ID])

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

    public var scope: Scope
    public var operationGroup: CKOperationGroup
    /// Zones to fetch first, in this order.
    public var prioritizedZoneIDs: [CKRecordZone.ID]

    public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
      self.scope = scope
      self.operationGroup = operationGroup ?? CKOperationGroup()
      prioritizedZoneIDs = []
    }

    public var description: String {
      "<FetchChangesOptions scope=\(scope) prioritized=\(prioritizedZoneIDs.map(\.zoneName))>"
    }
  }

  public struct FetchChangesContext: Sendable, CustomStringConvertible {
    public let reason: SyncReason
    public let options: FetchChangesOptions

    public var description: String { "<FetchChangesContext reason=\(reason) options=\(options)>" }
  }

  /// What a send is to cover.
  public struct SendChangesOptions: Sendable, CustomStringConvertible {
    public enum Scope: Equatable, Sendable, CustomStringConvertible {
      case all
      case allExcluding([CKRecordZone.ID])
      case zoneIDs([CKRecordZone.ID])
      case recordIDs([CKRecord.ID])

      public func contains(_ pendingChange: PendingRecordZoneChange) -> Bool { contains(pendingChange.recordID) }
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

    public var scope: Scope
    public var operationGroup: CKOperationGroup

    public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
      self.scope = scope
      self.operationGroup = operationGroup ?? CKOperationGroup()
    }

    public var description: String { "<SendChangesOptions scope=\(scope)>" }
  }

  public struct SendChangesContext: Sendable, CustomStringConvertible {
    public let reason: SyncReason
    public let options: SendChangesOptions

    public var description: String { "<SendChangesContext reason=\(reason) options=\(options)>" }
  }
}

extension CKSyncEngine {
  /// What an engine tells its delegate.
  public enum Event: Sendable, CustomStringConvertible {
    /// Store the state: it is what the next launch begins with.
    case stateUpdate(StateUpdate)
    /// Another account, or none. Nothing is pending any more, except after a sign-in that follows no other account.
    case accountChange(AccountChange)
    case fetchedDatabaseChanges(FetchedDatabaseChanges)
    case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
    case sentDatabaseChanges(SentDatabaseChanges)
    case sentRecordZoneChanges(SentRecordZoneChanges)
    case willFetchChanges(WillFetchChanges)
    case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
    case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
    case didFetchChanges(DidFetchChanges)
    case willSendChanges(WillSendChanges)
    case didSendChanges(DidSendChanges)

    public struct StateUpdate: Sendable, CustomStringConvertible {
      public let stateSerialization: State.Serialization

      public var description: String {
        let state = stateSerialization.state
        return "<StateUpdate pending=\(state.records.count) zones=\(state.zoneTokens.count)>"
      }
    }

    public struct AccountChange: Sendable, CustomStringConvertible {
      public enum ChangeType: Equatable, Sendable {
        case signIn(currentUser: CKRecord.ID)
        case signOut(previousUser: CKRecord.ID)
        case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
      }

      public let changeType: ChangeType

      public var description: String {
        switch changeType {
        case .signIn(let user): "<AccountChange signIn \(user.recordName)>"
        case .signOut(let user): "<AccountChange signOut \(user.recordName)>"
        case .switchAccounts(let previous, let current):
          "<AccountChange switchAccounts \(previous.recordName) to \(current.recordName)>"
        }
      }
    }

    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
      public let modifications: [CKDatabase.DatabaseChange.Modification]
      public let deletions: [CKDatabase.DatabaseChange.Deletion]

      public var description: String {
        "<FetchedDatabaseChanges modified=\(modifications.map(\.zoneID.zoneName))"
          + " deleted=\(deletions.map(\.zoneID.zoneName))>"
      }
    }

    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
      public let modifications: [CKDatabase.RecordZoneChange.Modification]
      public let deletions: [CKDatabase.RecordZoneChange.Deletion]

      public var description: String {
        "<FetchedRecordZoneChanges modified=\(modifications.count) deleted=\(deletions.count)>"
      }
    }

    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
      public struct FailedZoneSave: Sendable, CustomStringConvertible {
        public let zone: CKRecordZone
        public let error: CKError

        public var description: String { "<FailedZoneSave \(zone.zoneID.zoneName): \(error)>" }
      }

      public let savedZones: [CKRecordZone]
      public let failedZoneSaves: [FailedZoneSave]
      public let deletedZoneIDs: [CKRecordZone.ID]
      public let failedZoneDeletes: [CKRecordZone.ID: CKError]

      public var description: String {
        "<SentDatabaseChanges saved=\(savedZones.count) deleted=\(deletedZoneIDs.count)"
          + " failed=\(failedZoneSaves.count + failedZoneDeletes.count)>"
      }
    }

    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
      public struct FailedRecordSave: Sendable, CustomStringConvertible {
        public let record: CKRecord
        public let error: CKError

        public var description: String { "<FailedRecordSave \(record.recordID.recordName): \(error)>" }
      }

      public let savedRecords: [CKRecord]
      public let failedRecordSaves: [FailedRecordSave]
      public let deletedRecordIDs: [CKRecord.ID]
      public let failedRecordDeletes: [CKRecord.ID: CKError]

      public var description: String {
        "<SentRecordZoneChanges saved=\(savedRecords.count) deleted=\(deletedRecordIDs.count)"
          + " failed=\(failedRecordSaves.count + failedRecordDeletes.count)>"
      }
    }

    public struct WillFetchChanges: Sendable, CustomStringConvertible {
      public let context: FetchChangesContext
      public var description: String { "<WillFetchChanges \(context)>" }
    }

    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
      public let zoneID: CKRecordZone.ID
      public var description: String { "<WillFetchRecordZoneChanges \(zoneID.zoneName)>" }
    }

    /// A zone was read to its end, or failed.
    ///
    /// The error `changeTokenExpired` says that the zone is now read from its beginning, within the same fetch. Such a
    /// reading names what lives and cannot name what was deleted: records that the app holds of this zone, that have no
    /// pending change, and that do not come before the zone's next end without an error are gone from the server.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
      public let zoneID: CKRecordZone.ID
      public let error: CKError?

      public var description: String {
        "<DidFetchRecordZoneChanges \(zoneID.zoneName)\(error.map { ": \($0)" } ?? "")>"
      }
    }

    public struct DidFetchChanges: Sendable, CustomStringConvertible {
      public let context: FetchChangesContext
      public var description: String { "<DidFetchChanges \(context)>" }
    }

    public struct WillSendChanges: Sendable, CustomStringConvertible {
      public let context: SendChangesContext
      public var description: String { "<WillSendChanges \(context)>" }
    }

    public struct DidSendChanges: Sendable, CustomStringConvertible {
      public let context: SendChangesContext
      public var description: String { "<DidSendChanges \(context)>" }
    }

    public var description: String {
      switch self {
      case .stateUpdate(let event): event.description
      case .accountChange(let event): event.description
      case .fetchedDatabaseChanges(let event): event.description
      case .fetchedRecordZoneChanges(let event): event.description
      case .sentDatabaseChanges(let event): event.description
      case .sentRecordZoneChanges(let event): event.description
      case .willFetchChanges(let event): event.description
      case .willFetchRecordZoneChanges(let event): event.description
      case .didFetchRecordZoneChanges(let event): event.description
      case .didFetchChanges(let event): event.description
      case .willSendChanges(let event): event.description
      case .didSendChanges(let event): event.description
      }
    }
  }
}

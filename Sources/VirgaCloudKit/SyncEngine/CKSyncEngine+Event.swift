extension CKSyncEngine {
  /// What an engine tells its delegate.
  public enum Event: Sendable, CustomStringConvertible {
    /// Store the state: it is what the next launch begins with.
    case stateUpdate(StateUpdate)
    /// Another account, or none. Nothing is pending any more, except after a sign-in that follows no other account.
    case accountChange(AccountChange)
    /// Zones changed on the server, or are gone.
    case fetchedDatabaseChanges(FetchedDatabaseChanges)
    /// Records changed on the server: one page of one zone.
    case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
    /// Zones were saved and deleted, or were not.
    case sentDatabaseChanges(SentDatabaseChanges)
    /// Records were saved and deleted, or were not.
    case sentRecordZoneChanges(SentRecordZoneChanges)
    /// A fetch begins.
    case willFetchChanges(WillFetchChanges)
    /// A zone is about to be read.
    case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
    /// A zone was read to its end, or failed.
    case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
    /// A fetch is over.
    case didFetchChanges(DidFetchChanges)
    /// A send begins.
    case willSendChanges(WillSendChanges)
    /// A send is over.
    case didSendChanges(DidSendChanges)

    /// The engine's state has changed.
    public struct StateUpdate: Sendable, CustomStringConvertible {
      /// What to store. It replaces what was stored before.
      public let stateSerialization: State.Serialization

      public var description: String {
        let state = stateSerialization.state
        return "<StateUpdate pending=\(state.records.count) zones=\(state.zoneTokens.count)>"
      }
    }

    /// Another account is used on this device, or none.
    public struct AccountChange: Sendable, CustomStringConvertible {
      /// What happened to the account.
      public enum ChangeType: Equatable, Sendable {
        /// There is an account now, and there was none before.
        case signIn(currentUser: CKRecord.ID)
        /// There is no account any more.
        case signOut(previousUser: CKRecord.ID)
        /// There is another account now.
        case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
      }

      /// What happened to the account. After a sign-out and a switch, what belonged to the previous user is to be put
      /// aside.
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

    /// Zones changed on the server.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
      /// Zones that are new, or in which something changed. Their records follow with events of their own.
      public let modifications: [CKDatabase.DatabaseChange.Modification]
      /// Zones that are gone, with why. Remove what the app holds of them.
      public let deletions: [CKDatabase.DatabaseChange.Deletion]

      public var description: String {
        "<FetchedDatabaseChanges modified=\(modifications.map(\.zoneID.zoneName))"
          + " deleted=\(deletions.map(\.zoneID.zoneName))>"
      }
    }

    /// Records changed on the server: one page of one zone.
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
      /// Records that were created or changed, in the order of the zone's feed.
      public let modifications: [CKDatabase.RecordZoneChange.Modification]
      /// Records that were deleted.
      public let deletions: [CKDatabase.RecordZoneChange.Deletion]

      public var description: String {
        "<FetchedRecordZoneChanges modified=\(modifications.count) deleted=\(deletions.count)>"
      }
    }

    /// A request for zones was answered.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
      /// A zone that was not saved.
      public struct FailedZoneSave: Sendable, CustomStringConvertible {
        /// The zone that was to be saved.
        public let zone: CKRecordZone
        /// Why it was not.
        public let error: CKError

        public var description: String { "<FailedZoneSave \(zone.zoneID.zoneName): \(error)>" }
      }

      /// Zones that the service has now.
      public let savedZones: [CKRecordZone]
      /// Zones that were not saved, with why. Those whose failure does not pass are not pending any more.
      public let failedZoneSaves: [FailedZoneSave]
      /// Zones that the service does not have any more.
      public let deletedZoneIDs: [CKRecordZone.ID]
      /// Zones that could not be deleted, with why.
      public let failedZoneDeletes: [CKRecordZone.ID: CKError]

      public var description: String {
        "<SentDatabaseChanges saved=\(savedZones.count) deleted=\(deletedZoneIDs.count)"
          + " failed=\(failedZoneSaves.count + failedZoneDeletes.count)>"
      }
    }

    /// A request for records was answered.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
      /// A record that was not saved.
      public struct FailedRecordSave: Sendable, CustomStringConvertible {
        /// The record that was to be saved.
        public let record: CKRecord
        /// Why it was not: `serverRecordChanged` brings the records to merge.
        public let error: CKError

        public var description: String { "<FailedRecordSave \(record.recordID.recordName): \(error)>" }
      }

      /// Records that are saved, with their new change tags. Store their system fields.
      public let savedRecords: [CKRecord]
      /// Records that were not saved. Those whose failure does not pass are not pending any more: resolve it and add
      /// them again.
      public let failedRecordSaves: [FailedRecordSave]
      /// Records that the service does not have any more.
      public let deletedRecordIDs: [CKRecord.ID]
      /// Records that could not be deleted, with why.
      public let failedRecordDeletes: [CKRecord.ID: CKError]

      public var description: String {
        "<SentRecordZoneChanges saved=\(savedRecords.count) deleted=\(deletedRecordIDs.count)"
          + " failed=\(failedRecordSaves.count + failedRecordDeletes.count)>"
      }
    }

    /// A fetch begins.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
      /// Why it happens, and what it is to bring.
      public let context: FetchChangesContext
      public var description: String { "<WillFetchChanges \(context)>" }
    }

    /// A zone is about to be read.
    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
      /// The zone that is about to be read.
      public let zoneID: CKRecordZone.ID
      public var description: String { "<WillFetchRecordZoneChanges \(zoneID.zoneName)>" }
    }

    /// A zone was read to its end, or failed.
    ///
    /// The error `changeTokenExpired` says that the zone is now read from its beginning, within the same fetch. Such a
    /// reading names what lives and cannot name what was deleted: records that the app holds of this zone, that have no
    /// pending change, and that do not come before the zone's next end without an error are gone from the server.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
      /// The zone that was read.
      public let zoneID: CKRecordZone.ID
      /// Why it could not be read to its end; nil if it was.
      public let error: CKError?

      public var description: String {
        "<DidFetchRecordZoneChanges \(zoneID.zoneName)\(error.map { ": \($0)" } ?? "")>"
      }
    }

    /// A fetch is over, also one that failed or was cancelled.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
      /// Why it happened, and what it was to bring.
      public let context: FetchChangesContext
      public var description: String { "<DidFetchChanges \(context)>" }
    }

    /// A send begins.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
      /// Why it happens, and what it is to cover.
      public let context: SendChangesContext
      public var description: String { "<WillSendChanges \(context)>" }
    }

    /// A send is over, also one that failed or was cancelled.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
      /// Why it happened, and what it was to cover.
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

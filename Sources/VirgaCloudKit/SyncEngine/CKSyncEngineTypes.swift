// The names that Objective-C has for what is nested in CKSyncEngine's Swift types, with Apple's numbers.

/// The kinds of events.
public enum CKSyncEngineEventType: Int, Sendable {
  /// See `CKSyncEngine.Event.stateUpdate`.
  case stateUpdate = 0
  /// See `CKSyncEngine.Event.accountChange`.
  case accountChange = 1
  /// See `CKSyncEngine.Event.fetchedDatabaseChanges`.
  case fetchedDatabaseChanges = 2
  /// See `CKSyncEngine.Event.fetchedRecordZoneChanges`.
  case fetchedRecordZoneChanges = 3
  /// See `CKSyncEngine.Event.sentDatabaseChanges`.
  case sentDatabaseChanges = 4
  /// See `CKSyncEngine.Event.sentRecordZoneChanges`.
  case sentRecordZoneChanges = 5
  /// See `CKSyncEngine.Event.willFetchChanges`.
  case willFetchChanges = 6
  /// See `CKSyncEngine.Event.willFetchRecordZoneChanges`.
  case willFetchRecordZoneChanges = 7
  /// See `CKSyncEngine.Event.didFetchRecordZoneChanges`.
  case didFetchRecordZoneChanges = 8
  /// See `CKSyncEngine.Event.didFetchChanges`.
  case didFetchChanges = 9
  /// See `CKSyncEngine.Event.willSendChanges`.
  case willSendChanges = 10
  /// See `CKSyncEngine.Event.didSendChanges`.
  case didSendChanges = 11
}

/// What can happen to the account.
public enum CKSyncEngineAccountChangeType: Int, Sendable {
  /// There is an account now, and there was none before.
  case signIn = 0
  /// There is no account any more.
  case signOut = 1
  /// There is another account now.
  case switchAccounts = 2
}

/// Why a run happens.
public enum CKSyncEngineSyncReason: Int, Sendable {
  /// The engine's schedule.
  case scheduled = 0
  /// A call of `fetchChanges` or `sendChanges`.
  case manual = 1
}

/// Why a zone is gone.
public enum CKSyncEngineZoneDeletionReason: Int, Sendable {
  /// An app deleted it.
  case deleted = 0
  /// Its user erased it in the settings.
  case purged = 1
  /// Its user reset their encrypted data.
  case encryptedDataReset = 2
}

/// What is to become of a record.
public enum CKSyncEnginePendingRecordZoneChangeType: Int, Sendable {
  /// It is saved.
  case saveRecord = 0
  /// It is deleted.
  case deleteRecord = 1
}

/// What is to become of a zone.
public enum CKSyncEnginePendingDatabaseChangeType: Int, Sendable {
  /// It is saved.
  case saveZone = 0
  /// It is deleted.
  case deleteZone = 1
}

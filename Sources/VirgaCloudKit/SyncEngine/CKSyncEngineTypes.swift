// The names that Objective-C has for what is nested in CKSyncEngine's Swift types, with Apple's numbers.

public enum CKSyncEngineEventType: Int, Sendable {
  case stateUpdate = 0
  case accountChange = 1
  case fetchedDatabaseChanges = 2
  case fetchedRecordZoneChanges = 3
  case sentDatabaseChanges = 4
  case sentRecordZoneChanges = 5
  case willFetchChanges = 6
  case willFetchRecordZoneChanges = 7
  case didFetchRecordZoneChanges = 8
  case didFetchChanges = 9
  case willSendChanges = 10
  case didSendChanges = 11
}

public enum CKSyncEngineAccountChangeType: Int, Sendable {
  case signIn = 0
  case signOut = 1
  case switchAccounts = 2
}

public enum CKSyncEngineSyncReason: Int, Sendable {
  case scheduled = 0
  case manual = 1
}

public enum CKSyncEngineZoneDeletionReason: Int, Sendable {
  case deleted = 0
  case purged = 1
  case encryptedDataReset = 2
}

public enum CKSyncEnginePendingRecordZoneChangeType: Int, Sendable {
  case saveRecord = 0
  case deleteRecord = 1
}

public enum CKSyncEnginePendingDatabaseChangeType: Int, Sendable {
  case saveZone = 0
  case deleteZone = 1
}

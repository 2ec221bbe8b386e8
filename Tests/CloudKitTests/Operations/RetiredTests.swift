import CloudKit
import Synchronization
import Testing

@testable import VirgaCloudKit

/// What Apple has retired and older apps still use: each answers as the service does today.
@Suite struct RetiredTests {
  let server: TestServer
  let device: TestDevice
  let zone = CKRecordZone(zoneName: "Notes")
  var container: CKContainer { device.container }
  var database: CKDatabase { device.database }

  init() async throws {
    server = try TestServer()
    device = try server.device()
    _ = try await database.save(zone)
    let notes = (0..<5).map { index in
      let record = CKRecord(
        recordType: "Note", recordID: CKRecord.ID(recordName: "n\(index)", zoneID: zone.zoneID))
      record["number"] = index
      record["text"] = "t"
      return record
    }
    _ = try await database.modifyRecords(saving: notes, deleting: [])
  }

  /// Runs an operation and waits for its completion block.
  private func run(_ operation: CKOperation) async {
    if let operation = operation as? CKDatabaseOperation {
      operation.database = database
    } else {
      operation.configuration.container = container
    }
    await withCheckedContinuation { done in
      operation.completionBlock = { done.resume() }
      CKOperation.queue.addOperation(operation)
    }
  }

  @Test func subscriptionsWithoutAnIdentifierGetOneEach() {
    let all = [CKDatabaseSubscription(), CKDatabaseSubscription()]
    let zones = CKRecordZoneSubscription(zoneID: zone.zoneID)
    let query = CKQuerySubscription(recordType: "Note", predicate: NSPredicate(value: true))
    #expect(Set((all + [zones, query] as [CKSubscription]).map(\.subscriptionID)).count == 4)
    #expect(zones.zoneID == zone.zoneID && query.recordType == "Note")
    #expect(
      query.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion])
    let once = CKQuerySubscription(recordType: "Note", predicate: NSPredicate(value: true), options: .firesOnce)
    #expect(once.querySubscriptionOptions == .firesOnce)
  }

  @Test func olderNamesMeanTheSame() {
    let action: CKRecord_Reference_Action = .deleteSelf
    #expect(action == CKRecord.Reference.Action.deleteSelf)
    let value: (any __CKRecordObjCValue)? = "x" as NSString
    #expect(value is NSString)
    let role: CKShare_Participant_Role = .owner
    #expect(role == CKShare.ParticipantRole.owner && CKShare_Participant_Permission.readOnly.rawValue == 2)
    #expect(CKShare_Participant_AcceptanceStatus.accepted.rawValue == 2)
    #expect(CKShare_Participant_ParticipantType.privateUser.rawValue == 3)
    #expect(CKContainer_Application_PermissionStatus.denied.rawValue == 2)
    #expect(CKContainer_Application_Permissions.userDiscoverability.rawValue == 1)
    #expect(CKError.resultsTruncated.rawValue == 13)
    let record = CKRecord(recordType: "Note", zoneID: zone.zoneID)
    #expect(record.recordID.zoneID == zone.zoneID && UUID(uuidString: record.recordID.recordName) != nil)
    let none: String? = nil
    #expect(CKRecordZone.ID(zoneName: "Notes", ownerName: none) == zone.zoneID)
  }

  @Test func anErrorComesFromAnNSErrorAndGoesBack() throws {
    let error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 3.0, NSLocalizedDescriptionKey: "busy"])
    let object = error._nsError
    #expect(object.domain == CKErrorDomain && object.code == 23)
    #expect(CKError(_nsError: object) == error && CKError(_nsError: object).retryAfterSeconds == 3)
    #expect(CKError(_nsError: NSError(domain: CKErrorDomain, code: 9_999)).code == .internalError)
  }

  @Test func permissionsAreDeniedInEveryForm() async throws {
    let statuses = await withCheckedContinuation { done in
      container.status(forApplicationPermission: .userDiscoverability) { first, error in
        container.requestApplicationPermission(.userDiscoverability) { second, other in
          done.resume(returning: error == nil && other == nil ? [first, second] : [])
        }
      }
    }
    #expect(statuses == [.denied, .denied])
  }

  @Test func peopleAreFoundByTheirRecordOnly() async throws {
    let me = try await container.userRecordID()
    #expect(try await container.userIdentity(forUserRecordID: me)?.userRecordID == me)
    #expect(
      try await container.userIdentities(forUserRecordIDs: [me, CKRecord.ID(recordName: "_no")]).keys.map { $0 } == [me]
    )
    #expect(try await container.userIdentity(forEmailAddress: "a@example.org") == nil)
    #expect(try await container.userIdentities(forPhoneNumbers: ["1"]).isEmpty)
    #expect(try await container.allUserIdentitiesFromContacts().isEmpty)
    let found = await withCheckedContinuation { done in
      container.discoverUserIdentity(withUserRecordID: me) { identity, error in
        done.resume(returning: error == nil ? identity?.userRecordID : nil)
      }
    }
    #expect(found == me)
    let journal = Journal()
    let operation = CKDiscoverUserIdentitiesOperation(
      userIdentityLookupInfos: [.init(userRecordID: me), .init(emailAddress: "a@example.org")])
    operation.userIdentityDiscoveredBlock = { identity, info in
      journal.note("\(identity.userRecordID == me) \(info.userRecordID == me)")
    }
    operation.discoverUserIdentitiesResultBlock = { journal.note("end \($0.error == nil)") }
    await run(operation)
    let everyone = CKDiscoverAllUserIdentitiesOperation()
    everyone.userIdentityDiscoveredBlock = { _ in journal.note("somebody") }
    everyone.discoverAllUserIdentitiesCompletionBlock = { journal.note("all \($0 == nil)") }
    await run(everyone)
    #expect(journal.all == ["true true", "end true", "all true"])
    device.network.cut()
    let cut = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: [.init(userRecordID: me)])
    cut.discoverUserIdentitiesCompletionBlock = { journal.note("\(($0 as? CKError)?.code == .networkUnavailable)") }
    await run(cut)
    #expect(journal.all.last == "true")
  }

  @Test func operationsOnStoredPushesFindNoneAndSucceed() async {
    let journal = Journal()
    let changes = CKFetchNotificationChangesOperation(previousServerChangeToken: CKServerChangeToken("t"))
    changes.notificationChangedBlock = { _ in journal.note("a push") }
    changes.fetchNotificationChangesCompletionBlock = { token, error in
      journal.note("changes \(token?.text ?? "none") \(error == nil) \(changes.moreComing)")
    }
    let id = CKNotificationID("n")
    let read = CKMarkNotificationsReadOperation(notificationIDsToMarkRead: [id])
    read.markNotificationsReadCompletionBlock = { journal.note("read \($0 == [id]) \($1 == nil)") }
    let badge = CKModifyBadgeOperation(badgeValue: 3)
    badge.modifyBadgeCompletionBlock = { journal.note("badge \($0 == nil)") }
    for operation in [changes, read, badge] { await run(operation) }
    let cancelled = CKModifyBadgeOperation(badgeValue: 0)
    cancelled.modifyBadgeCompletionBlock = { journal.note("\(($0 as? CKError)?.code == .operationCancelled)") }
    cancelled.cancel()
    await run(cancelled)
    #expect(journal.all == ["changes t true false", "read true true", "badge true", "true"])
  }

  @Test func zoneOptionsReadAsConfigurationsDo() async throws {
    let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
    options.resultsLimit = 2
    options.desiredKeys = ["number"]
    let operation = CKFetchRecordZoneChangesOperation(
      recordZoneIDs: [zone.zoneID], optionsByRecordZoneID: [zone.zoneID: options])
    let journal = Journal()
    operation.recordChangedBlock = { journal.note($0.allKeys().joined()) }
    operation.recordZoneChangeTokensUpdatedBlock = { _, _, _ in journal.note("page") }
    await run(operation)
    #expect(journal.all == ["number", "number", "page", "number", "number", "page", "number"])
    // Of the two forms, the newer one counts, also where neither is written out.
    let plain = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone.zoneID])
    #expect(plain.optionsByRecordZoneID == nil)
    plain.optionsByRecordZoneID = [zone.zoneID: options]
    plain.configurationsByRecordZoneID = [zone.zoneID: .init(desiredKeys: ["text"])]
    plain.recordChangedBlock = { journal.note($0.allKeys().joined()) }
    await run(plain)
    #expect(journal.all.suffix(5) == Array(repeating: "text", count: 5)[...])
  }

  @Test func recordChangesComeOnePageForEachOperation() async throws {
    _ = try await database.deleteRecord(withID: CKRecord.ID(recordName: "n0", zoneID: zone.zoneID))
    let journal = Journal()
    let next = Mutex<CKServerChangeToken?>(nil)
    var isPartial = true
    while isPartial {
      let operation = CKFetchRecordChangesOperation(
        recordZoneID: zone.zoneID, previousServerChangeToken: next.withLock { $0 })
      operation.resultsLimit = 3
      operation.desiredKeys = ["number"]
      operation.recordChangedBlock = { journal.note($0.recordID.recordName) }
      operation.recordWithIDWasDeletedBlock = { journal.note("deleted \($0.recordName)") }
      operation.fetchRecordChangesCompletionBlock = { token, _, error in
        next.withLock { $0 = token }
        journal.note("end \(error == nil)")
      }
      await run(operation)
      isPartial = operation.moreComing
    }
    #expect(journal.all == ["n1", "n2", "n3", "end true", "n4", "end true"])
    _ = try await database.deleteRecord(withID: CKRecord.ID(recordName: "n1", zoneID: zone.zoneID))
    let last = CKFetchRecordChangesOperation(
      recordZoneID: zone.zoneID, previousServerChangeToken: next.withLock { $0 })
    last.recordWithIDWasDeletedBlock = { journal.note("deleted \($0.recordName)") }
    await run(last)
    #expect(journal.all.last == "deleted n1")
    let nowhere = CKFetchRecordChangesOperation(
      recordZoneID: CKRecordZone.ID(zoneName: "No"), previousServerChangeToken: nil)
    nowhere.fetchRecordChangesCompletionBlock = {
      journal.note("\($0 == nil) \(($2 as? CKError)?.code == .zoneNotFound)")
    }
    await run(nowhere)
    #expect(journal.all.last == "true true")
  }

  /// Apps make operations of their own out of these.
  @Test func operationsCanBeSubclassed() async throws {
    final class SaveOne: CKModifyRecordsOperation, @unchecked Sendable {
      let saved = Mutex<[String]>([])
      convenience init(_ record: CKRecord) {
        self.init(recordsToSave: [record])
        savePolicy = .allKeys
      }
      override var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
        get { { id, _ in self.saved.withLock { $0.append(id.recordName) } } }
        set {}
      }
      override func start() {
        saved.withLock { $0.append("start") }
        super.start()
      }
    }
    let operation = SaveOne(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "own", zoneID: zone.zoneID)))
    await run(operation)
    #expect(operation.saved.withLock { $0 } == ["start", "own"])
  }

  @Test func theNumbersOfTheEnginesObjectiveCNamesAreApples() {
    #expect(CKSyncEngineEventType(rawValue: 11) == .didSendChanges && CKSyncEngineEventType(rawValue: 12) == nil)
    #expect(CKSyncEngineAccountChangeType.switchAccounts.rawValue == 2 && CKSyncEngineSyncReason.manual.rawValue == 1)
    #expect(CKSyncEngineZoneDeletionReason(rawValue: 2) == .encryptedDataReset)
    #expect(CKSyncEnginePendingRecordZoneChangeType(rawValue: 1) == .deleteRecord)
    #expect(CKSyncEnginePendingDatabaseChangeType(rawValue: 1) == .deleteZone)
  }

  // MARK: Queries and zones

  @Test func aQueryForAnUnknownTypeIsAnUnknownItem() async throws {
    let query = CKQuery(recordType: "Nothing", predicate: NSPredicate(value: true))
    for database in [database, container.publicCloudDatabase] {
      let error = await #expect(throws: CKError.self) { try await database.records(matching: query) }
      #expect(error?.code == .unknownItem && error?.localizedDescription == "Did not find record type: Nothing")
    }
    let journal = Journal()
    let operation = CKQueryOperation(query: query)
    operation.queryResultBlock = { journal.note("\(($0.error as? CKError)?.code.rawValue ?? 0)") }
    await run(operation)
    #expect(journal.all == ["11"])
    // A container that is not served is another matter.
    let subscription = await #expect(throws: CKError.self) {
      try await database.save(CKQuerySubscription(recordType: "Nothing", predicate: query.predicate))
    }
    #expect(subscription?.code == .unknownItem)
  }

  @Test func deletingAZoneThatIsNotThereSucceeds() async throws {
    let missing = CKRecordZone.ID(zoneName: "None")
    #expect(try await database.deleteRecordZone(withID: missing) == missing)
    let results = try await database.modifyRecordZones(saving: [], deleting: [missing, zone.zoneID])
    for id in [missing, zone.zoneID] { try results.deleteResults[id]?.get() }
    #expect(results.deleteResults.count == 2)
    try await database.deleteRecordZone(withID: zone.zoneID)
    // What cannot be deleted still says so, and a save does not pass for a deletion.
    await #expect(throws: CKError.self) { try await database.deleteRecordZone(withID: .default) }
    await #expect(throws: CKError.self) { try await container.publicCloudDatabase.deleteRecordZone(withID: missing) }
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: missing))
    let error = await #expect(throws: CKError.self) { try await database.save(record) }
    #expect(error?.code == .zoneNotFound)
  }
}

import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

/// Sections 5 to 8 of the behaviours that concern zones, subscriptions and shares as a whole.
@Suite struct ZoneBehaviourTests {
  let server: TestServer
  let device: TestDevice
  var database: CKDatabase { device.database }
  let zone = CKRecordZone(zoneName: "Diary")

  init() async throws {
    server = try TestServer()
    device = try server.device("alice")
    _ = try await device.database.save(zone)
  }

  private func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? CKError)?.code }
  }

  // 5.6
  @Test(arguments: ["purgeZone", "resetEncryptedData"]) func aZoneThatItsUserTookHasABlockOfItsOwn(
    fault: String
  ) async throws {
    for hasBlock in [true, false] {
      _ = try await database.save(zone)
      let token = try await database.databaseChanges(since: nil).changeToken
      try server.plan(
        #"{"when": {"operation": "changes/database", "call": 1}, "do": {"\#(fault)": true, "zone": "Diary"}}"#)
      let journal = Journal()
      let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
      operation.recordZoneWithIDWasDeletedBlock = { journal.note("deleted \($0.zoneName)") }
      if hasBlock {
        operation.recordZoneWithIDWasPurgedBlock = { journal.note("purged \($0.zoneName)") }
        operation.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = { journal.note("reset \($0.zoneName)") }
      }
      operation.fetchDatabaseChangesResultBlock = { journal.note("done \($0.word)") }
      await operation.run(in: database)
      let word = !hasBlock ? "deleted" : fault == "purgeZone" ? "purged" : "reset"
      #expect(journal.all == ["\(word) Diary", "done ok"])
    }
  }

  // 7.2, 7.3
  @Test func capabilitiesAndOwnersAreThoseOfTheService() async throws {
    #expect(CKRecordZone(zoneName: "New").capabilities == [])
    #expect(CKRecordZone(zoneName: "New").zoneID.ownerName == CKCurrentUserDefaultName)
    let saved = try await database.recordZone(for: zone.zoneID)
    #expect(saved.capabilities.isSuperset(of: [.fetchChanges, .atomic, .sharing]))
    #expect(saved.zoneID.ownerName == CKCurrentUserDefaultName)
    let home = try await database.recordZone(for: .default)
    #expect(!home.capabilities.contains(.atomic) && !home.capabilities.contains(.fetchChanges))
  }

  // 7.1
  @Test func aDeletedZoneTakesItsRecordsAlong() async throws {
    let note = record("n", in: zone)
    _ = try await database.save(note)
    try await database.deleteRecordZone(withID: zone.zoneID)
    #expect(await code { _ = try await database.record(for: note.recordID) } == .zoneNotFound)
    _ = try await database.save(zone)
    #expect(await code { _ = try await database.record(for: note.recordID) } == .unknownItem)
  }

  // 1.9
  @Test func partialErrorsAreKeyedByWhatTheOperationWorksOn() async throws {
    let journal = Journal()
    let missing = CKRecordZone.ID(zoneName: "None")
    let zones = CKFetchRecordZonesOperation(recordZoneIDs: [zone.zoneID, missing])
    zones.fetchRecordZonesCompletionBlock = { found, error in
      let errors = (error as? CKError)?.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecordZone.ID: any Error]
      journal.note("\(found?.count ?? 0) \(errors?[missing].word ?? "none")")
    }
    await zones.run(in: database)
    let subscriptions = CKFetchSubscriptionsOperation(subscriptionIDs: ["none"])
    subscriptions.fetchSubscriptionCompletionBlock = { _, error in
      let errors = (error as? CKError)?.userInfo[CKPartialErrorsByItemIDKey] as? [CKSubscription.ID: any Error]
      journal.note(errors?["none"].word ?? "none")
    }
    await subscriptions.run(in: database)
    #expect(journal.all == ["1 zoneNotFound", "unknownItem"])
  }

  // 7.5: as chosen.
  @Test func aSubscriptionIsSavedAgainOnlyAsItIs() async throws {
    let subscription = CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "s")
    _ = try await database.save(subscription)
    _ = try await database.save(subscription)
    let other = CKDatabaseSubscription(subscriptionID: "s")
    #expect(await code { _ = try await database.save(other) } == .serverRejectedRequest)
    #expect(try await database.allSubscriptions().count == 1)
  }

  // MARK: Shares

  private func share(_ root: CKRecord, with person: TestDevice) async throws -> CKShare {
    let share = CKShare(rootRecord: root)
    let participant = try await device.container.shareParticipant(
      forUserRecordID: try await person.container.userRecordID())
    participant.permission = .readWrite
    share.addParticipant(participant)
    let results = try await database.modifyRecords(saving: [root, share], deleting: [])
    for result in results.saveResults.values { _ = try result.get() }
    _ = try await person.container.accept(try await person.container.shareMetadata(for: try #require(share.url)))
    return share
  }

  // 8.7
  @Test(arguments: ["share", "zone"]) func aParticipantLeaves(by deletion: String) async throws {
    let bob = try server.device("bob")
    let root = record("root", in: zone)
    let share = try await share(root, with: bob)
    let shared = bob.container.sharedCloudDatabase
    let first = try await shared.databaseChanges(since: nil)
    let zoneID = try #require(first.modifications.first?.zoneID)
    if deletion == "share" {
      try await shared.deleteRecord(withID: CKRecord.ID(recordName: share.recordID.recordName, zoneID: zoneID))
    } else {
      try await shared.deleteRecordZone(withID: zoneID)
    }
    #expect(try await shared.databaseChanges(since: first.changeToken).deletions.map(\.zoneID) == [zoneID])
    #expect(try await shared.allRecordZones().isEmpty)
    // The owner keeps all, and has one participant less.
    let current = try #require(try await database.record(for: share.recordID) as? CKShare)
    #expect(current.participants.filter { $0.acceptanceStatus == .accepted }.map(\.role) == [.owner])
    #expect(try await database.record(for: root.recordID).recordID == root.recordID)
    // As chosen: who has left needs another invitation.
    let url = try #require(share.url)
    #expect(await code { _ = try await bob.container.shareMetadata(for: url) } == .permissionFailure)
  }

  // 8.1
  @Test func aShareThatIsDeletedLeavesItsRootAndComesBackAtAnotherAddress() async throws {
    let root = record("root", in: zone)
    let share = CKShare(rootRecord: root)
    _ = try await database.modifyRecords(saving: [root, share], deleting: [])
    let url = try #require(share.url)
    try await database.deleteRecord(withID: share.recordID)
    let alone = try await database.record(for: root.recordID)
    #expect(alone.share == nil)
    let second = CKShare(rootRecord: alone)
    _ = try await database.modifyRecords(saving: [alone, second], deleting: [])
    #expect(second.url != nil && second.url != url)
  }

  // 8.1
  @Test func theDefaultZoneCannotShare() async throws {
    let root = record("root", in: .default())
    _ = try await database.save(root)
    let share = CKShare(rootRecord: root)
    let results = try await database.modifyRecords(saving: [root, share], deleting: [])
    #expect(results.saveResults[share.recordID].map { $0.word != "ok" } == true)
  }

  // 8.2
  @Test func aZoneWithSharesOfItsRecordsHasNoneForItself() async throws {
    let root = record("root", in: zone)
    _ = try await database.modifyRecords(saving: [root, CKShare(rootRecord: root)], deleting: [])
    #expect(await code { _ = try await database.save(CKShare(recordZoneID: zone.zoneID)) } != nil)
  }

  // 8.6
  @Test func numbersOfRolesAndStatesAreApples() {
    #expect([CKShare.ParticipantRole.unknown, .owner, .privateUser, .publicUser].map(\.rawValue) == [0, 1, 3, 4])
    #expect(
      [CKShare.ParticipantAcceptanceStatus.unknown, .pending, .accepted, .removed].map(\.rawValue) == [0, 1, 2, 3])
    #expect([CKShare.ParticipantPermission.unknown, .none, .readOnly, .readWrite].map(\.rawValue) == [0, 1, 2, 3])
  }
}

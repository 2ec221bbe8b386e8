import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

/// Section 8 of the behaviours: sharing between two people.
@Suite struct ShareTests {
  let alice: TestDevice
  let bob: TestDevice
  let zone = CKRecordZone(zoneName: "Diary")
  let root: CKRecord
  let page: CKRecord

  init() async throws {
    let server = try TestServer()
    alice = try server.device("alice")
    bob = try server.device("bob")
    _ = try await bob.container.userRecordID()
    _ = try await alice.database.save(zone)
    root = record("root", in: zone, title: "Diary")
    page = record("page", in: zone, title: "Monday")
    page.setParent(root)
    _ = try await alice.database.modifyRecords(saving: [root, page, record("secret", in: zone)], deleting: [])
  }

  /// Shares the hierarchy with Bob.
  private func share(permission: CKShare.ParticipantPermission = .readOnly) async throws -> CKShare {
    let share = CKShare(rootRecord: root)
    share[CKShare.SystemFieldKey.title] = "Our diary"
    let participant = try await alice.container.shareParticipant(
      forUserRecordID: try await bob.container.userRecordID())
    participant.permission = permission
    share.addParticipant(participant)
    let results = try await alice.database.modifyRecords(saving: [root, share], deleting: [])
    for result in results.saveResults.values { _ = try result.get() }
    return share
  }

  private func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? CKError)?.code }
  }

  /// What was joined is told, though another container cannot be reached any more.
  @Test func whatWasAcceptedIsToldOfThoughTheRestFails() async throws {
    let elsewhere = CKContainer("iCloud.other", on: alice.service).privateCloudDatabase
    var urls: [URL] = []
    for database in [alice.database, elsewhere] {
      _ = try await database.save(zone)
      let top = record("top", in: zone, title: "Top")
      let share = CKShare(rootRecord: top)
      share.publicPermission = .readOnly
      for result in try await database.modifyRecords(saving: [top, share], deleting: []).saveResults.values {
        _ = try result.get()
      }
      urls.append(try #require(share.url))
    }
    bob.network.before { [network = bob.network] request in
      if request.url.contains("iCloud.other/") { network.cut() }
    }
    let partly = try await bob.container.shareMetadatas(for: urls)
    let first = try #require(try partly[urls[0]]?.get())
    #expect(CloudKitTests.code(of: partly[urls[1]]) == .networkUnavailable)
    bob.network.before(nil)
    bob.network.heal()
    let second = try #require(try await bob.container.shareMetadatas(for: urls)[urls[1]]?.get())
    bob.network.before { [network = bob.network] request in
      if request.url.contains("iCloud.other/") { network.cut() }
    }
    let accepted = try await bob.container.accept([first, second])
    #expect((try? accepted[first]?.get()) != nil)
    #expect(CloudKitTests.code(of: accepted[second]) == .networkUnavailable)
  }

  // 8.1, 8.3, 8.5
  @Test func shareAndRootAreSavedTogetherAndNameEachOther() async throws {
    let share = CKShare(rootRecord: root)
    #expect(root.share?.recordID == share.recordID && share.url == nil)
    #expect(share.participants.map(\.role) == [.owner] && share.owner == share.currentUserParticipant)
    let results = try await alice.database.modifyRecords(saving: [root, share], deleting: [])
    #expect(try results.saveResults[share.recordID]?.get() === share)
    #expect(share.url != nil && share.recordChangeTag != nil)
    #expect(try await share.owner.userIdentity.userRecordID == alice.container.userRecordID())
    let fetched = try #require(try await alice.database.record(for: share.recordID) as? CKShare)
    #expect(fetched.url == share.url && fetched.publicPermission == .none && fetched.participants.count == 1)
    #expect(try await alice.database.record(for: root.recordID).share?.recordID == share.recordID)
  }

  // 8.1
  @Test func aRecordIsInOneShareOnlyAndARootMustExist() async throws {
    _ = try await share()
    let second = CKShare(rootRecord: root)
    #expect(await code { _ = try await alice.database.save(second) } == .alreadyShared)
    let lost = CKShare(rootRecord: record("none", in: zone))
    #expect(await code { _ = try await alice.database.save(lost) } == .referenceViolation)
  }

  // 8.7
  @Test func whoAcceptsSeesTheHierarchyAndNothingElse() async throws {
    let share = try await share()
    let url = try #require(share.url)
    let metadata = try await bob.container.shareMetadata(for: url)
    #expect(metadata.participantStatus == .pending && metadata.participantPermission == .readOnly)
    #expect(metadata.participantRole == .privateUser && metadata.containerIdentifier == "iCloud.test")
    #expect(metadata.rootRecord?["title"] as? String == "Diary")
    #expect(metadata.hierarchicalRootRecordID?.recordName == "root")
    #expect(metadata.share["cloudkit.title"] as? String == "Our diary")
    let accepted = try await bob.container.accept(metadata)
    #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)

    let shared = bob.container.sharedCloudDatabase
    let changes = try await shared.databaseChanges(since: nil)
    let zoneID = try #require(changes.modifications.map(\.zoneID).first { $0.zoneName == "Diary" })
    #expect(try await zoneID.ownerName == alice.container.userRecordID().recordName)
    let records = try await shared.recordZoneChanges(inZoneWith: zoneID, since: nil).modificationResultsByID
    let names = Set(records.keys.map(\.recordName)).subtracting([share.recordID.recordName])
    #expect(names == ["root", "page"])
    let theirs = try await shared.record(for: CKRecord.ID(recordName: "page", zoneID: zoneID))
    theirs["title"] = "Tuesday"
    #expect(await code { _ = try await shared.save(theirs) } == .permissionFailure)
  }

  @Test func whoMayWriteDoesAndTheOwnerSeesIt() async throws {
    let share = try await share(permission: .readWrite)
    let metadata = try await bob.container.shareMetadata(for: try #require(share.url))
    _ = try await bob.container.accept(metadata)
    let shared = bob.container.sharedCloudDatabase
    let zoneID = CKRecordZone.ID(zoneName: "Diary", ownerName: metadata.share.recordID.zoneID.ownerName)
    let theirs = try await shared.record(for: CKRecord.ID(recordName: "page", zoneID: zoneID))
    theirs["title"] = "Tuesday"
    _ = try await shared.save(theirs)
    #expect(try await alice.database.record(for: page.recordID)["title"] as? String == "Tuesday")
  }

  // 1.2
  @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
  func aShareIsNeverOverwritten(_ policy: CKModifyRecordsOperation.RecordSavePolicy) async throws {
    let share = try await share()
    let stale = try #require(share.copy() as? CKShare)
    share[CKShare.SystemFieldKey.title] = "New"
    _ = try await alice.database.save(share)
    stale[CKShare.SystemFieldKey.title] = "Old"
    let results = try await alice.database.modifyRecords(saving: [stale], deleting: [], savePolicy: policy)
    #expect(results.saveResults[share.recordID]?.word == "serverRecordChanged")
  }

  // 8.4
  @Test func openingAShareLetsAnybodyInAndClosingItPutsAllOut() async throws {
    let share = try await share()
    share.publicPermission = .readOnly
    #expect(share.participants.map(\.role) == [.owner])
    _ = try await alice.database.save(share)
    let metadata = try await bob.container.shareMetadata(for: try #require(share.url))
    #expect(metadata.participantRole == .publicUser)
    _ = try await bob.container.accept(metadata)
    let current = try #require(try await alice.database.record(for: share.recordID) as? CKShare)
    #expect(current.participants.count == 2)
    current.publicPermission = .none
    #expect(current.participants.count == 1)
    _ = try await alice.database.save(current)
    #expect(
      await code { _ = try await bob.container.shareMetadata(for: try #require(share.url)) } == .permissionFailure)
  }

  // 8.5
  @Test func whoIsTakenOutLosesTheZone() async throws {
    let share = try await share()
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: try #require(share.url)))
    let current = try #require(try await alice.database.record(for: share.recordID) as? CKShare)
    let guest = try #require(current.participants.first { $0.role == .privateUser })
    #expect(guest.acceptanceStatus == .accepted)
    current.removeParticipant(guest)
    _ = try await alice.database.save(current)
    #expect(current.participants.count == 1)
    let zoneID = CKRecordZone.ID(zoneName: "Diary", ownerName: try await alice.container.userRecordID().recordName)
    let fetch = CKRecord.ID(recordName: "page", zoneID: zoneID)
    #expect(await code { _ = try await bob.container.sharedCloudDatabase.record(for: fetch) } != nil)
  }

  // 8.2
  @Test func aZonesShareHasAFixedNameAndNoRoot() async throws {
    let other = CKRecordZone(zoneName: "All")
    _ = try await alice.database.save(other)
    let share = CKShare(recordZoneID: other.zoneID)
    #expect(share.recordID.recordName == CKRecordNameZoneWideShare)
    share.publicPermission = .readWrite
    _ = try await alice.database.save(share)
    let metadata = try await bob.container.shareMetadata(for: try #require(share.url))
    #expect(metadata.hierarchicalRootRecordID == nil && metadata.rootRecord == nil)
  }

  // C142
  @Test func aZonesShareIsFoundByItsNameAndMadeOnceOnly() async throws {
    let other = CKRecordZone(zoneName: "All")
    _ = try await alice.database.save(other)
    let share = CKShare(recordZoneID: other.zoneID)
    let guest = try await alice.container.shareParticipant(forUserRecordID: try await bob.container.userRecordID())
    guest.permission = .readOnly
    share.addParticipant(guest)
    _ = try await alice.database.save(share)
    let error = await #expect(throws: CKError.self) {
      try await alice.database.save(CKShare(recordZoneID: other.zoneID))
    }
    #expect(error?.code == .serverRecordChanged)
    let name = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: other.zoneID)
    let found = try #require(try await alice.database.record(for: name) as? CKShare)
    #expect(found.participants.map(\.role) == [.owner, .privateUser] && found.url == share.url)
    let theirs = try #require(found.participants.last)
    theirs.permission = .readWrite
    found.addParticipant(theirs)
    _ = try await alice.database.save(found)
    let again = try #require(try await alice.database.record(for: name) as? CKShare)
    #expect(again.participants.last?.permission == .readWrite && again.url == share.url)
  }

  // C142
  @Test(arguments: [CKShare.ParticipantPermission.readOnly, .readWrite])
  func whoDeletesTheShareLeavesAndTheOwnersDataStay(_ permission: CKShare.ParticipantPermission) async throws {
    let share = try await share(permission: permission)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: try #require(share.url)))
    let shared = bob.container.sharedCloudDatabase
    let told = try await shared.databaseChanges(since: nil)
    let zoneID = try #require(told.modifications.first?.zoneID)
    func theirs(_ id: CKRecord.ID) -> CKRecord.ID { CKRecord.ID(recordName: id.recordName, zoneID: zoneID) }
    func isWhole() async throws -> Bool {
      for id in [root.recordID, page.recordID, share.recordID] { _ = try await alice.database.record(for: id) }
      return true
    }
    #expect(await code { _ = try await shared.deleteRecord(withID: theirs(root.recordID)) } == .permissionFailure)
    if permission == .readOnly {
      #expect(await code { _ = try await shared.deleteRecord(withID: theirs(page.recordID)) } == .permissionFailure)
    }
    #expect(try await isWhole())
    _ = try await shared.deleteRecord(withID: theirs(share.recordID))
    #expect(try await shared.databaseChanges(since: told.changeToken).deletions.map(\.zoneID) == [zoneID])
    for id in [root.recordID, page.recordID, share.recordID] {
      #expect(await code { _ = try await shared.record(for: theirs(id)) } == .zoneNotFound)
    }
    #expect(try await isWhole())
    #expect((try await alice.database.record(for: share.recordID) as? CKShare)?.participants.count == 1)
  }

  @Test func aShareThatIsMadeAgainHasAnotherAddress() async throws {
    let first = try #require(try await share().url)
    let share = try #require(try await alice.database.record(for: root.recordID).share)
    _ = try await alice.database.deleteRecord(withID: share.recordID)
    let again = try await alice.database.record(for: root.recordID)
    let second = CKShare(rootRecord: again)
    second.publicPermission = .readOnly
    _ = try await alice.database.modifyRecords(saving: [again, second], deleting: [])
    #expect(second.url != nil && second.url != first)
    #expect(await code { _ = try await bob.container.shareMetadata(for: first) } == .unknownItem)
    _ = try await bob.container.shareMetadata(for: try #require(second.url))
  }

  // 8.8
  @Test func operationsTellOfEachAddressShareAndPerson() async throws {
    let share = try await share()
    let url = try #require(share.url)
    let nowhere = try #require(URL(string: "http://virga.test/share/iCloud.test/development/none"))
    let journal = Journal()
    var found: CKShare.Metadata?
    let fetch = CKFetchShareMetadataOperation(shareURLs: [url, nowhere])
    fetch.perShareMetadataBlock = { _, metadata, error in
      found = metadata ?? found
      journal.note("\(metadata?.rootRecord == nil) \(error.word)")
    }
    fetch.fetchShareMetadataCompletionBlock = { error in
      let failed = (error as? CKError)?.partialErrorsByItemID?.keys.first?.base as? URL
      journal.note("\(error.word) \(failed == nowhere)")
    }
    await fetch.run(in: bob.container)
    let accept = CKAcceptSharesOperation(shareMetadatas: [try #require(found)])
    accept.perShareResultBlock = { _, result in journal.note("accept \(result.word)") }
    accept.acceptSharesResultBlock = { journal.note("accepted \($0.word)") }
    await accept.run(in: bob.container)
    let people = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [
      .init(emailAddress: "nobody@example.org"), .init(userRecordID: try await alice.container.userRecordID()),
    ])
    people.perShareParticipantResultBlock = { info, result in
      journal.note("\(info.emailAddress ?? "user") \(result.word)")
    }
    people.fetchShareParticipantsResultBlock = { journal.note("people \($0.word)") }
    await people.run(in: bob.container)
    #expect(
      journal.all == [
        "true ok", "true unknownItem", "partialFailure true", "accept ok", "accepted ok",
        "nobody@example.org unknownItem", "user ok", "people ok",
      ])
  }

  @Test func sharesAndTheirMetadataSurviveTheirArchives() async throws {
    let share = try await share()
    let bytes = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
    let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: bytes))
    #expect(copy.url == share.url && copy.recordChangeTag == share.recordChangeTag)
    #expect(copy.participants.map(\.participantID) == share.participants.map(\.participantID))
    copy[CKShare.SystemFieldKey.title] = "From the archive"
    _ = try await alice.database.save(copy)

    let metadata = try await bob.container.shareMetadata(for: try #require(share.url))
    let data = try NSKeyedArchiver.archivedData(withRootObject: metadata, requiringSecureCoding: true)
    let kept = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShareMetadata.self, from: data))
    #expect(kept.rootRecord?.recordID == metadata.rootRecord?.recordID && kept == metadata)
    #expect(try await bob.container.accept(kept).currentUserParticipant?.acceptanceStatus == .accepted)
  }
}

import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaWire

@testable import VirgaCloudKit

extension TestServer {
  /// Lets things go wrong, as a file of faults says.
  func plan(_ faults: String) throws {
    front.faults.set(try FaultPlan(json: Array(#"{"seed": 1, "faults": [\#(faults)]}"#.utf8)))
  }
}

/// What an app sees of faults that happen on purpose.
@Suite(.timeLimit(.minutes(2))) struct FaultTests {
  let server: TestServer
  let device: TestDevice
  var database: CKDatabase { device.database }
  let zone = CKRecordZone.ID(zoneName: "Diary")

  init() async throws {
    server = try TestServer()
    device = try server.device()
    _ = try await device.database.save(CKRecordZone(zoneID: zone))
  }

  private func note(_ name: String) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["text"] = name
    return record
  }

  @Test(
    arguments: [
      (#"{"throttle": 13}"#, .requestRateLimited), (#"{"zoneBusy": true}"#, .zoneBusy),
      (#"{"quotaFull": true}"#, .quotaExceeded), (#"{"accountUnavailable": true}"#, .accountTemporarilyUnavailable),
      (#"{"cut": "beforeCommit"}"#, .serverResponseLost), (#"{"cut": "afterCommit"}"#, .serverResponseLost),
      (#"{"error": "TRY_AGAIN_LATER", "retryAfter": 5}"#, .serviceUnavailable),
      (#"{"error": "ACCESS_DENIED"}"#, .permissionFailure), (#"{"error": "INTERNAL_ERROR"}"#, .internalError),
      (#"{"error": "CONFLICT", "reach": "items"}"#, .serverRecordChanged),
      (#"{"error": "VALIDATING_REFERENCE_ERROR", "reach": "items"}"#, .referenceViolation),
      (#"{"purgeZone": true}"#, .userDeletedZone), (#"{"resetEncryptedData": true}"#, .zoneNotFound),
      (#"{"error": "BAD_REQUEST", "reason": "limit exceeded: on purpose"}"#, .limitExceeded),
    ] as [(String, CKError.Code)])
  func anAppSeesTheErrorThatTheFaultStandsFor(action: String, expected: CKError.Code) async throws {
    try server.plan(#"{"when": {"operation": "records/modify", "call": 1}, "do": \#(action)}"#)
    #expect(await code { _ = try await database.save(note("a")) } == expected)
    let rule = try #require(server.front.faults.current?.rules.first)
    #expect(rule.met == 1)
  }

  /// A full quota takes no files, and does not stop what makes space.
  @Test func aFullQuotaForAssetsStopsNoDeletion() async throws {
    _ = try await database.save(note("old"))
    let photo = note("photo")
    photo["file"] = CKAsset(fileURL: try server.folder.file("photo", [1, 2, 3]))
    try server.plan(#"{"when": {"operation": "assets/upload"}, "do": {"error": "QUOTA_EXCEEDED"}}"#)
    let results = try await database.modifyRecords(
      saving: [photo], deleting: [note("old").recordID], atomically: false)
    #expect(code(of: results.saveResults[photo.recordID]) == .quotaExceeded)
    #expect((try? results.deleteResults[note("old").recordID]?.get()) != nil)
  }

  /// Also of what has no assets, which goes in a request after theirs.
  @Test(arguments: [("zoneNotFound", CKError.Code.zoneNotFound), ("purgeZone", .userDeletedZone)], [true, false])
  func aZoneThatIsGoneIsTheErrorOfAllThatWasToGoThere(
    reason: (name: String, code: CKError.Code), atomically: Bool
  ) async throws {
    _ = try await database.save(note("old"))
    if reason.name == "purgeZone" {
      try server.plan(#"{"when": {"operation": "assets/upload", "call": 1}, "do": {"purgeZone": true}}"#)
    } else {
      _ = try await database.deleteRecordZone(withID: zone)
    }
    let photo = note("photo")
    photo["file"] = CKAsset(fileURL: try server.folder.file("photo", [1, 2, 3]))
    let plain = note("plain")
    let results = try await database.modifyRecords(
      saving: [photo, plain], deleting: [note("old").recordID], atomically: atomically)
    #expect(code(of: results.saveResults[photo.recordID]) == reason.code)
    #expect(code(of: results.saveResults[plain.recordID]) == reason.code)
    #expect(code(of: results.deleteResults[note("old").recordID]) == reason.code)
  }

  @Test func theWaitReachesTheApp() async throws {
    try server.plan(#"{"when": {"operation": "records/modify"}, "do": {"throttle": 13}}"#)
    do {
      _ = try await database.save(note("a"))
      Issue.record("it was saved")
    } catch let error as CKError { #expect(error.retryAfterSeconds == 13) }
  }

  // The two ways of losing an answer differ in what the server has afterwards.
  @Test(arguments: [("beforeCommit", false), ("afterCommit", true)])
  func aCutConnectionTellsNothingOfWhatWasDone(moment: String, isSaved: Bool) async throws {
    try server.plan(#"{"when": {"operation": "records/modify", "call": 1}, "do": {"cut": "\#(moment)"}}"#)
    #expect(await code { _ = try await database.save(note("a")) } == .serverResponseLost)
    let found = try await database.records(for: [note("a").recordID])
    #expect(code(of: found[note("a").recordID]) == (isSaved ? nil : .unknownItem))
  }

  @Test func expiredTokensMakeAReaderBeginAgain() async throws {
    _ = try await database.save(note("a"))
    let token = try await database.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
    try server.plan(
      #"{"when": {"operation": "changes/zone", "zone": "Diary", "call": 1}, "do": {"expireTokens": "zone"}}"#)
    #expect(
      await code { _ = try await database.recordZoneChanges(inZoneWith: zone, since: token) } == .changeTokenExpired)
    let again = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(again.modificationResultsByID.count == 1)
    #expect(await code { _ = try await database.recordZoneChanges(inZoneWith: zone, since: again.changeToken) } == nil)
  }

  @Test func expiredDatabaseTokensMakeAReaderBeginAgain() async throws {
    let token = try await database.databaseChanges(since: nil).changeToken
    try server.plan(#"{"when": {"operation": "changes/database", "call": 1}, "do": {"expireTokens": "database"}}"#)
    #expect(await code { _ = try await database.databaseChanges(since: token) } == .changeTokenExpired)
    #expect(try await database.databaseChanges(since: nil).modifications.count == 1)
  }

  // C11
  @Test(
    arguments: [("purgeZone", .purged), ("resetEncryptedData", .encryptedDataReset)]
      as [(String, CKDatabase.DatabaseChange.Deletion.Reason)])
  func aPurgedZoneIsToldOfInTheFeed(action: String, reason: CKDatabase.DatabaseChange.Deletion.Reason) async throws {
    let token = try await database.databaseChanges(since: nil).changeToken
    try server.plan(
      #"{"when": {"operation": "changes/database", "call": 1}, "do": {"\#(action)": true, "zone": "Diary"}}"#)
    let changes = try await database.databaseChanges(since: token)
    #expect(changes.deletions.map(\.zoneID) == [zone])
    #expect(changes.deletions.map(\.reason) == [reason])
  }

  @Test func oneRecordFailsAndTheOthersAreSaved() async throws {
    try server.plan(
      #"{"when": {"operation": "records/modify", "record": "b"}, "do": {"quotaFull": true}}"#)
    let results = try await database.modifyRecords(
      saving: [note("a"), note("b"), note("c")], deleting: [], atomically: false)
    #expect(code(of: results.saveResults[note("b").recordID]) == .quotaExceeded)
    #expect(code(of: results.saveResults[note("a").recordID]) == nil)
    let found = try await database.records(for: [note("a").recordID, note("b").recordID])
    #expect(code(of: found[note("a").recordID]) == nil)
    #expect(code(of: found[note("b").recordID]) == .unknownItem)
  }

  @Test func anAtomicBatchFailsWithItsOneRecord() async throws {
    try server.plan(#"{"when": {"record": "b"}, "do": {"quotaFull": true}}"#)
    let results = try await database.modifyRecords(saving: [note("a"), note("b")], deleting: [], atomically: true)
    #expect(code(of: results.saveResults[note("a").recordID]) == .batchRequestFailed)
    #expect(code(of: results.saveResults[note("b").recordID]) == .quotaExceeded)
  }

  @Test func productionMeetsNoFaults() async throws {
    try server.plan(#"{"do": {"error": "INTERNAL_ERROR"}}"#)
    let service = RemoteService(
      endpoint: TestServer.url, environment: .production, home: device.home, transport: device.network,
      deviceName: "phone", now: { [server] in server.now })
    let container = CKContainer("iCloud.test", on: service)
    #expect(await code { _ = try await container.privateCloudDatabase.allRecordZones() } == nil)
    #expect(await code { _ = try await database.allRecordZones() } == .internalError)
  }
}

/// The same over libcurl and a real socket.
@Suite(.timeLimit(.minutes(2))) struct FaultSocketTests {
  @Test(
    arguments: [
      (#"{"cut": "beforeCommit"}"#, .serverResponseLost), (#"{"cut": "afterCommit"}"#, .serverResponseLost),
      (#"{"throttle": 2}"#, .requestRateLimited), (#"{"zoneBusy": true, "retryAfter": 3}"#, .zoneBusy),
      (#"{"purgeZone": true}"#, .userDeletedZone), (#"{"latency": 0.01}"#, nil),
    ] as [(String, CKError.Code?)])
  func faultsReachAnAppOverASocket(action: String, expected: CKError.Code?) async throws {
    let server = try TestServer(baseURL: nil)
    let local = try LocalServer(server.front)
    let service = RemoteService(
      endpoint: local.url, environment: .development, home: VirgaHome(path: server.folder.path + "/home"),
      transport: CurlTransport(), deviceName: "phone", now: { server.now })
    let database = CKContainer("iCloud.test", on: service).privateCloudDatabase
    let zone = CKRecordZone.ID(zoneName: "Diary")
    _ = try await database.save(CKRecordZone(zoneID: zone))
    try server.plan(#"{"when": {"operation": "records/modify", "call": 1}, "do": \#(action)}"#)
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: zone))
    #expect(await code { _ = try await database.save(record) } == expected)
    // The library must not have sent it twice by itself.
    #expect(server.front.faults.current?.rules.first?.matched == 1)
    await local.stop()
  }
}

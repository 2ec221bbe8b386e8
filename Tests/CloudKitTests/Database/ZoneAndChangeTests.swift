import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

struct ZoneAndChangeTests {
  let server: TestServer
  let device: TestDevice
  var database: CKDatabase { device.database }
  let zone = CKRecordZone.ID(zoneName: "Notes")

  init() throws {
    server = try TestServer()
    device = try server.device()
  }

  private func note(_ name: String, _ title: String) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["title"] = title
    return record
  }

  /// A batch in several requests: once one is done, the failure of another is its items' own.
  @Test func aPartThatFailsDoesNotHideWhatTheOthersDid() async throws {
    func perform(failingAt bad: Int) async throws -> [Bool] {
      try await inParts(Array(0..<5), of: 2) { part in
        if part.contains(bad) { throw CKError(.networkUnavailable) }
        return part.map { $0 * 10 }
      }.map { (try? $0.get()) != nil }
    }
    #expect(try await perform(failingAt: 2) == [true, true, false, false, true])
    await #expect(throws: CKError.self) { try await perform(failingAt: 0) }
  }

  @Test func savingAZoneTwiceSucceedsAndZonesAreOnesOwn() async throws {
    let saved = try await database.save(CKRecordZone(zoneID: zone))
    #expect(saved.zoneID == zone)
    #expect(saved.capabilities.isSuperset(of: [.fetchChanges, .atomic]))
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let all = try await database.allRecordZones()
    #expect(all.map(\.zoneID).contains(zone))
    #expect(all.map(\.zoneID).contains(.default))
    #expect(all.first { $0.zoneID == .default }?.capabilities == [])
    #expect(try await database.recordZone(for: zone).zoneID == zone)
    #expect(await code { _ = try await database.recordZone(for: CKRecordZone.ID(zoneName: "None")) } == .zoneNotFound)
  }

  @Test func publicDatabaseHasNoZonesAndNoFeeds() async throws {
    let database = device.container.publicCloudDatabase
    #expect(await code { _ = try await database.save(CKRecordZone(zoneID: zone)) } == .badDatabase)
    #expect(await code { _ = try await database.databaseChanges(since: nil) } == .badDatabase)
    #expect(await code { _ = try await database.recordZoneChanges(inZoneWith: .default, since: nil) } == .badDatabase)
  }

  @Test func feedBringsLatestStatesAndDeletionsOnce() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let record = note("a", "one")
    _ = try await database.save(record)
    record["title"] = "two"
    _ = try await database.save(record)
    _ = try await database.save(note("b", "gone soon"))
    let first = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(first.modificationResultsByID.count == 2)
    #expect(try first.modificationResultsByID[record.recordID]?.get().record["title"] as? String == "two")
    #expect(!first.moreComing)

    _ = try await database.deleteRecord(withID: note("b", "").recordID)
    let second = try await database.recordZoneChanges(inZoneWith: zone, since: first.changeToken)
    #expect(second.modificationResultsByID.isEmpty)
    #expect(second.deletions.map(\.recordID) == [note("b", "").recordID])
    #expect(second.deletions.map(\.recordType) == ["Note"])
    let third = try await database.recordZoneChanges(inZoneWith: zone, since: second.changeToken)
    #expect(third.modificationResultsByID.isEmpty && third.deletions.isEmpty)
  }

  @Test func pagesAreReadToTheEnd() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let records = (0..<25).map { note("r\($0)", "x") }
    _ = try await database.modifyRecords(saving: records, deleting: [])
    var token: CKServerChangeToken?
    var names: Set<String> = []
    var pages = 0
    while true {
      let page = try await database.recordZoneChanges(
        inZoneWith: zone, since: token, desiredKeys: [], resultsLimit: 10)
      names.formUnion(page.modificationResultsByID.keys.map(\.recordName))
      pages += 1
      token = page.changeToken
      if !page.moreComing { break }
    }
    #expect(names.count == 25)
    #expect(pages == 3)
  }

  @Test func zonesThatChangedAndWentAreTold() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let first = try await database.databaseChanges(since: nil)
    #expect(first.modifications.map(\.zoneID) == [zone])
    try await database.deleteRecordZone(withID: zone)
    let second = try await database.databaseChanges(since: first.changeToken)
    #expect(second.deletions.map(\.zoneID) == [zone])
    #expect(second.deletions.map(\.reason) == [.deleted])
    #expect(await code { _ = try await database.recordZoneChanges(inZoneWith: zone, since: nil) } == .zoneNotFound)
  }

  @Test func tokenOfAnotherZoneHasExpired() async throws {
    let other = CKRecordZone.ID(zoneName: "Other")
    _ = try await database.modifyRecordZones(
      saving: [CKRecordZone(zoneID: zone), CKRecordZone(zoneID: other)], deleting: [])
    let token = try await database.recordZoneChanges(inZoneWith: other, since: nil).changeToken
    #expect(
      await code { _ = try await database.recordZoneChanges(inZoneWith: zone, since: token) } == .changeTokenExpired)
    let foreign = CKServerChangeToken("nonsense")
    #expect(await code { _ = try await database.databaseChanges(since: foreign) } == .changeTokenExpired)
  }

  @Test func subscriptionsAreSavedFoundAndDeleted() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let all = CKDatabaseSubscription(subscriptionID: "all")
    all.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
    let one = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "one")
    all.recordType = "Note"
    #expect(try await database.save(all) === all)
    _ = try await database.save(all)
    _ = try await database.save(one)
    let found = try await database.allSubscriptions()
    #expect(found.map(\.subscriptionID).sorted() == ["all", "one"])
    let database2 = try #require(found.first { $0.subscriptionID == "all" } as? CKDatabaseSubscription)
    #expect(database2.recordType == "Note")
    #expect(database2.notificationInfo?.shouldSendContentAvailable == true)
    let zoneSubscription = try await database.subscription(for: "one") as? CKRecordZoneSubscription
    #expect(zoneSubscription?.zoneID == zone)
    #expect(try await database.deleteSubscription(withID: "all") == "all")
    #expect(await code { _ = try await database.subscription(for: "all") } == .unknownItem)
  }

  @Test func cancelledTaskThrowsOperationCancelled() async throws {
    let database = database
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await database.allRecordZones()
    }
    task.cancel()
    #expect(await code { _ = try await task.value } == .operationCancelled)
  }
}

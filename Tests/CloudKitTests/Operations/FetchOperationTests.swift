import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaModel
import VirgaServer

@testable import VirgaCloudKit

/// Section 5 of the behaviours, and zones and subscriptions by operation.
@Suite struct FetchOperationTests {
  let device: TestDevice
  let zone = CKRecordZone(zoneName: "Notes")
  let journal = Journal()

  init() async throws {
    device = try TestServer().device()
    _ = try await device.database.save(zone)
    let records = ["a", "b", "c"].map { record($0, in: CKRecordZone(zoneName: "Notes")) }
    _ = try await device.database.modifyRecords(saving: records, deleting: [])
  }

  private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone.zoneID) }

  private func changes(
    in zones: [CKRecordZone.ID],
    _ configurations: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration] = [:]
  ) -> CKFetchRecordZoneChangesOperation {
    let operation = CKFetchRecordZoneChangesOperation(
      recordZoneIDs: zones, configurationsByRecordZoneID: configurations)
    operation.recordWasChangedBlock = { [journal] id, result in journal.note("\(id.recordName) \(result.word)") }
    operation.recordWithIDWasDeletedBlock = { [journal] id, type in journal.note("-\(id.recordName) \(type)") }
    operation.recordZoneChangeTokensUpdatedBlock = { [journal] zone, _, _ in journal.note("token \(zone.zoneName)") }
    operation.recordZoneFetchResultBlock = { [journal] zone, result in
      let more = (try? result.get().moreComing).map { " more \($0)" } ?? ""
      journal.note("zone \(zone.zoneName) \(result.word)\(more)")
    }
    operation.fetchRecordZoneChangesResultBlock = { [journal] in journal.note("result \($0.word)") }
    return operation
  }

  private func page(of count: Int, since token: CKServerChangeToken? = nil)
    -> CKFetchRecordZoneChangesOperation.ZoneConfiguration
  {
    .init(previousServerChangeToken: token, resultsLimit: count)
  }

  // 5.2
  @Test func allChangesAreReadPageByPageAndTheLastTokenComesWithTheZone() async throws {
    await changes(in: [zone.zoneID], [zone.zoneID: page(of: 2)]).run(in: device.database)
    #expect(
      journal.all == ["a ok", "b ok", "token Notes", "c ok", "zone Notes ok more false", "result ok"])
  }

  /// C138: each token comes by one block, whichever page it belongs to: between pages by that for updates, and the last one
  /// with the zone's end.
  @Test(arguments: [(100, true), (0, true), (100, false)])
  func everyPageBringsItsToken(limit: Int, fetchesAll: Bool) async throws {
    let many = CKRecordZone(zoneName: "Many")
    _ = try await device.database.save(many)
    for part in 0..<3 {
      let records = (0..<150).map { record("r\(part * 150 + $0)", in: many) }
      _ = try await device.database.modifyRecords(saving: records, deleting: [])
    }
    struct Told: Sendable {
      var records = 0
      /// How many records had come by each update, and its token.
      var updates: [(count: Int, token: CKServerChangeToken?)] = []
      var end: (token: CKServerChangeToken, moreComing: Bool)?
    }
    func fetch(_ limit: Int, since token: CKServerChangeToken?) async -> Told {
      let told = Mutex(Told())
      let operation = CKFetchRecordZoneChangesOperation(
        recordZoneIDs: [many.zoneID], configurationsByRecordZoneID: [many.zoneID: page(of: limit, since: token)])
      operation.fetchAllChanges = fetchesAll
      operation.recordWasChangedBlock = { _, _ in told.withLock { $0.records += 1 } }
      operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in
        told.withLock { $0.updates.append(($0.records, token)) }
      }
      operation.recordZoneFetchResultBlock = { _, result in
        told.withLock { told in told.end = (try? result.get()).map { ($0.serverChangeToken, $0.moreComing) } }
      }
      await operation.run(in: device.database)
      return told.withLock { $0 }
    }
    let told = await fetch(limit, since: nil)
    let end = try #require(told.end)
    #expect(told.updates.map(\.count) == (limit == 100 && fetchesAll ? [100, 200, 300, 400] : []))
    #expect(told.records == (fetchesAll ? 450 : 100) && end.moreComing == !fetchesAll)
    // An update's token is where its pages ended.
    if let update = told.updates.last { #expect(await fetch(0, since: update.token).records == 50) }
    let rest = await fetch(0, since: end.token)
    // Nothing new brings a token all the same.
    #expect((rest.records == 0) == fetchesAll && rest.updates.isEmpty && rest.end != nil)
  }

  @Test func whatBreaksInOneZoneLeavesTheOthersAlone() async throws {
    let broken = CKRecordZone(zoneName: "Broken")
    _ = try await device.database.save(broken)
    device.network.replaceAnswers { path, answer in
      guard path.contains("changes/zone"), String(decoding: answer.body, as: UTF8.self).contains("Broken") else {
        return answer
      }
      let body = #"{"zones":[{"zoneID":{"zoneName":"Broken"},"serverErrorCode":"INTERNAL_ERROR","reason":"why"}]}"#
      return TransportResponse(status: 200, body: Array(body.utf8))
    }
    await changes(in: [broken.zoneID, zone.zoneID]).run(in: device.database)
    #expect(
      journal.all == ["zone Broken internalError", "a ok", "b ok", "c ok", "zone Notes ok more false", "result ok"])
  }

  @Test func withoutFetchAllChangesOnePageIsReadAndMoreIsAnnounced() async throws {
    let operation = changes(in: [zone.zoneID], [zone.zoneID: page(of: 2)])
    operation.fetchAllChanges = false
    await operation.run(in: device.database)
    #expect(journal.all == ["a ok", "b ok", "zone Notes ok more true", "result ok"])
  }

  /// What stands between may answer a second request with what it kept of the first.
  @Test(arguments: ["changes/zone", "changes/database"])
  func aPageThatLeadsNowhereEndsTheOperation(feed: String) async throws {
    _ = try await device.database.save(CKRecordZone(zoneName: "More"))
    let (first, count) = (Holder<TransportResponse>(), Counter())
    device.network.forget()
    device.network.replaceAnswers { path, answer in
      guard path.contains(feed), count.next() < 20 else { return answer }
      first.value = first.value ?? answer
      return first.value ?? answer
    }
    if feed == "changes/zone" {
      await changes(in: [zone.zoneID], [zone.zoneID: page(of: 2)]).run(in: device.database)
    } else {
      let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
      operation.resultsLimit = 1
      operation.fetchDatabaseChangesResultBlock = { [journal] in journal.note("result \($0.word)") }
      await operation.run(in: device.database)
    }
    #expect(device.network.count(feed) == 2)
    #expect(!journal.all.contains { $0.hasPrefix("zone Notes ok") || feed == "changes/database" && $0 == "result ok" })
  }

  // 5.1
  @Test func desiredKeysOfAZoneLeaveTheOtherFieldsOut() async throws {
    let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(desiredKeys: [])
    let operation = CKFetchRecordZoneChangesOperation()
    operation.configurationsByRecordZoneID = [zone.zoneID: configuration]
    operation.recordChangedBlock = { [journal] in journal.note("\($0.recordID.recordName) \($0.allKeys())") }
    await operation.run(in: device.database)
    #expect(journal.all == ["a []", "b []", "c []"])
  }

  // 5.3
  @Test func tokensFromBeforeAnErrorStayValid() async throws {
    let operation = changes(in: [zone.zoneID], [zone.zoneID: page(of: 2)])
    let network = device.network
    let kept = Kept()
    operation.recordZoneChangeTokensUpdatedBlock = { [journal] _, token, _ in
      kept.token = token
      journal.note("token")
      network.cut()
    }
    await operation.run(in: device.database)
    #expect(
      journal.all == ["a ok", "b ok", "token", "zone Notes networkUnavailable", "result networkUnavailable"])
    network.heal()
    let rest = Journal()
    let again = CKFetchRecordZoneChangesOperation(
      recordZoneIDs: [zone.zoneID], configurationsByRecordZoneID: [zone.zoneID: page(of: 2, since: kept.token)])
    again.recordWasChangedBlock = { id, _ in rest.note(id.recordName) }
    await again.run(in: device.database)
    #expect(rest.all == ["c"])
  }

  /// Written by a block of one operation, read when it is done.
  private final class Kept: @unchecked Sendable { var token: CKServerChangeToken? }

  // 2: changeTokenExpired is a zone's error.
  @Test func anExpiredTokenFailsItsZoneAndTheOthersGoOn() async throws {
    let other = CKRecordZone(zoneName: "Other")
    _ = try await device.database.save(other)
    _ = try await device.database.save(record("x", in: other))
    let foreign = try await device.database.recordZoneChanges(inZoneWith: other.zoneID, since: nil).changeToken
    let operation = changes(
      in: [zone.zoneID, CKRecordZone.ID(zoneName: "Missing"), other.zoneID], [zone.zoneID: page(of: 0, since: foreign)])
    await operation.run(in: device.database)
    #expect(
      journal.all == [
        "zone Notes changeTokenExpired", "zone Missing zoneNotFound", "x ok", "zone Other ok more false", "result ok",
      ])
  }

  @Test func anOldCompletionBlockGetsTheZonesErrorsAsPartialFailure() async throws {
    let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [
      zone.zoneID, CKRecordZone.ID(zoneName: "Missing"),
    ])
    operation.recordZoneFetchCompletionBlock = { [journal] zone, token, _, more, error in
      journal.note("\(zone.zoneName) \(token != nil) \(more) \(error.word)")
    }
    operation.fetchRecordZoneChangesCompletionBlock = { [journal] error in
      let zones = (error as? CKError)?.partialErrorsByItemID?.keys.compactMap {
        ($0.base as? CKRecordZone.ID)?.zoneName
      }
      journal.note("\(error.word) \(zones ?? [])")
    }
    await operation.run(in: device.database)
    #expect(
      journal.all == ["Notes true false ok", "Missing false false zoneNotFound", #"partialFailure ["Missing"]"#])
  }

  @Test func deletionsComeWithTheirTypes() async throws {
    let token = try await device.database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
    _ = try await device.database.deleteRecord(withID: id("b"))
    await changes(in: [zone.zoneID], [zone.zoneID: page(of: 0, since: token)]).run(in: device.database)
    #expect(journal.all == ["-b Note", "zone Notes ok more false", "result ok"])
  }

  // 5.6
  @Test func databaseChangesTellOfZonesThatChangedAndThatAreGone() async throws {
    let first = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
    let kept = Kept()
    first.recordZoneWithIDChangedBlock = { [journal] in journal.note("changed \($0.zoneName)") }
    first.changeTokenUpdatedBlock = { [journal] _ in journal.note("token") }
    first.fetchDatabaseChangesResultBlock = { [journal] result in
      kept.token = try? result.get().serverChangeToken
      journal.note("result \(result.word)")
    }
    await first.run(in: device.database)
    #expect(journal.all.filter { $0 != "changed _defaultZone" } == ["changed Notes", "token", "result ok"])

    _ = try await device.database.deleteRecordZone(withID: zone.zoneID)
    let later = Journal()
    let second = CKFetchDatabaseChangesOperation(previousServerChangeToken: kept.token)
    second.recordZoneWithIDWasDeletedBlock = { later.note("deleted \($0.zoneName)") }
    second.recordZoneWithIDWasPurgedBlock = { later.note("purged \($0.zoneName)") }
    second.fetchDatabaseChangesCompletionBlock = { token, more, error in
      later.note("\(token != nil) \(more) \(error.word)")
    }
    await second.run(in: device.database)
    #expect(later.all == ["deleted Notes", "true false ok"])

    _ = try await device.database.save(zone)
    let again = Journal()
    let third = CKFetchDatabaseChangesOperation(previousServerChangeToken: kept.token)
    third.recordZoneWithIDChangedBlock = { again.note("changed \($0.zoneName)") }
    third.recordZoneWithIDWasDeletedBlock = { again.note("deleted \($0.zoneName)") }
    await third.run(in: device.database)
    #expect(again.all == ["deleted Notes", "changed Notes"])
  }

  @Test func thePublicDatabaseHasNoFeed() async throws {
    let operation = CKFetchDatabaseChangesOperation()
    operation.fetchDatabaseChangesResultBlock = { [journal] in journal.note($0.word) }
    await operation.run(in: device.container.publicCloudDatabase)
    #expect(journal.all == ["badDatabase"])
  }

  @Test func recordsThatAreMissingFailAlone() async throws {
    let operation = CKFetchRecordsOperation(recordIDs: [id("a"), id("none")])
    operation.desiredKeys = []
    operation.perRecordProgressBlock = { [journal] id, done in journal.note("\(id.recordName) \(done)") }
    operation.perRecordResultBlock = { [journal] id, result in journal.note("\(id.recordName) \(result.word)") }
    operation.fetchRecordsCompletionBlock = { [journal] records, error in
      journal.note("\(records?.values.map { "\($0.recordID.recordName) \($0.allKeys())" } ?? []) \(error.word)")
    }
    await operation.run(in: device.database)
    #expect(journal.all == ["a 1.0", "a ok", "none unknownItem", #"["a []"] partialFailure"#])
  }

  @Test func zonesAreSavedFetchedAndDeleted() async throws {
    let other = CKRecordZone(zoneName: "Other")
    let save = CKModifyRecordZonesOperation(recordZonesToSave: [other, zone], recordZoneIDsToDelete: nil)
    save.perRecordZoneSaveBlock = { [journal] id, result in journal.note("save \(id.zoneName) \(result.word)") }
    save.modifyRecordZonesResultBlock = { [journal] in journal.note("result \($0.word)") }
    await save.run(in: device.database)
    let fetch = CKFetchRecordZonesOperation(recordZoneIDs: [other.zoneID, CKRecordZone.ID(zoneName: "Missing")])
    fetch.perRecordZoneResultBlock = { [journal] id, result in journal.note("fetch \(id.zoneName) \(result.word)") }
    fetch.fetchRecordZonesCompletionBlock = { [journal] zones, error in
      journal.note("\(zones?.count ?? 0) \(error.word)")
    }
    await fetch.run(in: device.database)
    let delete = CKModifyRecordZonesOperation(recordZoneIDsToDelete: [other.zoneID])
    delete.perRecordZoneDeleteBlock = { [journal] id, result in journal.note("delete \(id.zoneName) \(result.word)") }
    delete.modifyRecordZonesCompletionBlock = { [journal] _, deleted, error in
      journal.note("\(deleted?.map(\.zoneName) ?? []) \(error.word)")
    }
    await delete.run(in: device.database)
    #expect(
      journal.all == [
        "save Other ok", "save Notes ok", "result ok", "fetch Other ok", "fetch Missing zoneNotFound",
        "1 partialFailure", "delete Other ok", #"["Other"] ok"#,
      ])
  }

  @Test func subscriptionsAreSavedFetchedAndDeleted() async throws {
    let subscription = CKDatabaseSubscription(subscriptionID: "all")
    let save = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription])
    save.perSubscriptionSaveBlock = { [journal] id, result in journal.note("save \(id) \(result.word)") }
    save.modifySubscriptionsResultBlock = { [journal] in journal.note("result \($0.word)") }
    await save.run(in: device.database)
    let fetch = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
    fetch.perSubscriptionResultBlock = { [journal] id, result in journal.note("fetch \(id) \(result.word)") }
    fetch.fetchSubscriptionCompletionBlock = { [journal] found, error in
      journal.note("\(found?.count ?? 0) \(error.word)")
    }
    await fetch.run(in: device.database)
    let delete = CKModifySubscriptionsOperation(subscriptionIDsToDelete: ["all"])
    delete.perSubscriptionDeleteBlock = { [journal] id, result in journal.note("delete \(id) \(result.word)") }
    await delete.run(in: device.database)
    #expect(journal.all == ["save all ok", "result ok", "fetch all ok", "1 ok", "delete all ok"])
  }

  @Test func aZonesConfigurationSurvivesItsArchive() throws {
    let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
      previousServerChangeToken: CKServerChangeToken("t"), resultsLimit: 5, desiredKeys: ["title"])
    let data = try NSKeyedArchiver.archivedData(withRootObject: configuration, requiringSecureCoding: true)
    let copy = try #require(
      try NSKeyedUnarchiver.unarchivedObject(ofClass: CKFetchRecordZoneChangesConfiguration.self, from: data))
    #expect(copy.previousServerChangeToken == configuration.previousServerChangeToken)
    #expect(copy.resultsLimit == 5 && copy.desiredKeys == ["title"])
  }

  /// More than one answer holds: the request is divided, and nothing is missing.
  @Test func manyLargeRecordsAreFetchedInSeveralAnswers() async throws {
    let server = try TestServer()
    let device = try server.device()
    _ = try await device.database.save(zone)
    let names = (0..<36).map { "large\($0)" }
    server.store.write(
      { transaction in
        for database in try transaction.databases() {
          guard var row = try transaction.zone("Notes", in: database.key) else { continue }
          let stamp = RecordStamp(time: Timestamp(milliseconds: 0), user: database.key.owner ?? "", device: "phone")
          let text = String(repeating: "x", count: 1_000_000)
          for name in names {
            row.sequence += 1
            try transaction.put(
              StoredRecord(
                name: RecordName(name), type: "Note", sequence: row.sequence, created: stamp, modified: stamp,
                fieldsJSON: Array(#"{"text":{"value":"\#(text)","type":"STRING"}}"#.utf8)),
              in: row, replacing: nil, keepsVersion: true)
          }
          try transaction.put(&row)
        }
      }, completion: { (_: Result<Void, any Error>) in })
    let found = try await device.database.records(for: names.map(id))
    #expect(found.count == names.count)
    for (_, result) in found { #expect((try result.get()["text"] as? String)?.utf8.count == 1_000_000) }
  }
}

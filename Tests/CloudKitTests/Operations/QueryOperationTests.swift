import CloudKit
import Foundation
import Synchronization
import Testing

@testable import VirgaCloudKit

/// Section 5.8 of the behaviours: queries in calls and operations.
@Suite struct QueryOperationTests {
  let device: TestDevice
  let zone = CKRecordZone(zoneName: "Notes")
  let journal = Journal()

  init() async throws {
    device = try TestServer().device()
    _ = try await device.database.save(zone)
    let records = (1...5).map { number in
      let record = record("n\(number)", in: CKRecordZone(zoneName: "Notes"), title: "Note \(number)")
      record["number"] = number
      return record
    }
    _ = try await device.database.modifyRecords(saving: records, deleting: [])
  }

  private func query(_ predicate: NSPredicate = NSPredicate(format: "number > 0"), ascending: Bool = true) -> CKQuery {
    let query = CKQuery(recordType: "Note", predicate: predicate)
    query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: ascending)]
    return query
  }

  private func names(_ results: [(CKRecord.ID, Result<CKRecord, any Error>)]) -> [String] {
    results.map(\.0.recordName)
  }

  @Test func aQueryThatLeadsToItselfEnds() async throws {
    device.network.replaceAnswers { path, answer in
      guard path.contains("records/query") else { return answer }
      return TransportResponse(status: 200, body: Array(#"{"records":[],"continuationMarker":"again"}"#.utf8))
    }
    let cursor = try await device.database.records(matching: query(), inZoneWith: zone.zoneID).queryCursor
    let next = try #require(cursor)
    #expect(await code { _ = try await device.database.records(continuingMatchFrom: next) } == .internalError)
  }

  @Test func recordsComeInTheQuerysOrderFromOneZoneOrAll() async throws {
    let some = query(NSPredicate(format: "number > %d", 2), ascending: false)
    let (inZone, cursor) = try await device.database.records(
      matching: some, inZoneWith: zone.zoneID, resultsLimit: CKQueryOperation.maximumResults)
    #expect(names(inZone) == ["n5", "n4", "n3"] && cursor == nil)
    #expect(try inZone.first?.1.get()["title"] as? String == "Note 5")
    let anywhere = try await device.database.records(matching: some, desiredKeys: [])
    #expect(names(anywhere.matchResults) == ["n5", "n4", "n3"])
    #expect(try anywhere.matchResults.first?.1.get().allKeys() == [])
    let nothing = try await device.database.records(matching: query(NSPredicate(value: false)), desiredKeys: nil)
    #expect(nothing.matchResults.isEmpty && nothing.queryCursor == nil)
  }

  @Test func aCursorGoesOnEvenFromAnArchive() async throws {
    var (results, cursor) = try await device.database.records(
      matching: query(), inZoneWith: zone.zoneID, desiredKeys: nil, resultsLimit: 2)
    #expect(names(results) == ["n1", "n2"])
    while let next = cursor {
      let bytes = try NSKeyedArchiver.archivedData(withRootObject: next, requiringSecureCoding: true)
      let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryCursor.self, from: bytes))
      let page = try await device.database.records(continuingMatchFrom: copy, resultsLimit: 2)
      results += page.matchResults
      cursor = page.queryCursor
    }
    #expect(names(results) == ["n1", "n2", "n3", "n4", "n5"])
  }

  @Test func anOperationFetchesOnePageAndTellsWhereToGoOn() async throws {
    let next = Mutex<CKQueryOperation.Cursor?>(nil)
    let first = CKQueryOperation(query: query())
    first.zoneID = zone.zoneID
    first.resultsLimit = 3
    first.recordMatchedBlock = { [journal] id, result in journal.note("\(id.recordName) \(result.word)") }
    first.recordFetchedBlock = { [journal] _ in journal.note("older") }
    first.queryResultBlock = { [journal] result in
      next.withLock { $0 = try? result.get() }
      journal.note("result \(result.word)")
    }
    await first.run(in: device.database)
    let second = CKQueryOperation(cursor: try #require(next.withLock { $0 }))
    second.recordFetchedBlock = { [journal] in journal.note($0.recordID.recordName) }
    second.queryCompletionBlock = { [journal] cursor, error in journal.note("\(cursor == nil) \(error.word)") }
    await second.run(in: device.database)
    #expect(journal.all == ["n1 ok", "n2 ok", "n3 ok", "result ok", "n4", "n5", "true ok"])
  }

  @Test func whatCannotBeAskedIsRefusedBeforeAnythingIsSent() async throws {
    device.network.forget()
    for (database, query) in [
      (device.database, query(NSPredicate(format: "number = 1 OR number = 2"))),
      (device.container.sharedCloudDatabase, query()),
    ] {
      let operation = CKQueryOperation(query: query)
      operation.queryResultBlock = { [journal] in journal.note($0.word) }
      await operation.run(in: database)
    }
    let empty = CKQueryOperation()
    empty.queryCompletionBlock = { [journal] _, error in journal.note(error.word) }
    await empty.run(in: device.database)
    #expect(journal.all == ["invalidArguments", "invalidArguments", "invalidArguments"])
    #expect(device.network.count("records/query") == 0)
  }
}

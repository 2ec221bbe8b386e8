import CloudKit
import CloudKitMerge
import Foundation
import Testing

@testable import VirgaCloudKit

/// Two devices of one account, the real server, and the toolkit in between.
struct ConflictMergerTests {
  let server: TestServer
  let phone: TestDevice
  let zone = CKRecordZone.ID(zoneName: "Notes")

  init() throws {
    server = try TestServer()
    phone = try server.device()
  }

  private func start(_ fields: [String: any CKRecordValue], type: String = "Note") async throws -> CKRecord {
    _ = try await phone.database.save(CKRecordZone(zoneID: zone))
    let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: "a", zoneID: zone))
    for (key, value) in fields { record[key] = value }
    return try await phone.database.save(record)
  }

  private func merger(_ device: String) throws -> ConflictMerger {
    ConflictMerger(policies: try ConflictsSample.types(), device: device)
  }

  @Test func aSaveMergesWithWhatAnotherDeviceSaved() async throws {
    _ = try await start(["visits": 5, "title": "Rain", "tags": ["a"], "text": "one\ntwo"])
    let tablet = try await phone.joined(as: "tablet")
    let id = CKRecord.ID(recordName: "a", zoneID: zone)
    let (mine, theirs) = (try await phone.database.record(for: id), try await tablet.database.record(for: id))
    theirs["visits"] = 6
    theirs["tags"] = ["a", "b"]
    theirs["text"] = "one\ntwo\nthree"
    try await merger("tablet").save(theirs, in: tablet.database)
    mine["visits"] = 6
    mine["tags"] = ["c"]
    mine["text"] = "ONE\ntwo"
    var journal = ConflictJournal()
    let saved = try await merger("phone").save(mine, in: phone.database) { journal.note($0.outcome, at: Date()) }
    #expect(saved["visits"] as? Int == 7)
    #expect(saved["tags"] as? [String] == ["b", "c"])
    #expect(saved["text"] as? String == "ONE\ntwo\nthree")
    #expect(saved["title"] as? String == "Rain")
    // The phone's first write was refused, its second one got through.
    #expect(saved["writes"] as? [String] == ["phone:2", "tablet:1"])
    #expect(journal.entries.count == 1)
    let fetched = try await tablet.database.record(for: id)
    #expect(fetched.recordChangeTag == saved.recordChangeTag)
  }

  @Test func bothTextsStayWhereTheyCannotBeJoined() async throws {
    let record = try await start(["text": "one"])
    let other = try await phone.database.record(for: record.recordID)
    other["text"] = "uno"
    _ = try await phone.database.save(other)
    record["text"] = "eins"
    let saved = try await merger("phone").save(record, in: phone.database)
    #expect(saved["text"] as? String == "uno")
    let all = try await phone.database.recordZoneChanges(inZoneWith: zone, since: nil)
    let texts = try all.modificationResultsByID.values.map { try $0.get().record["text"] as? String }
    #expect(Set(texts) == ["uno", "eins"])
    // Forking the same two versions again makes no third text.
    _ = try await merger("phone").save(record, in: phone.database)
    #expect(try await phone.database.recordZoneChanges(inZoneWith: zone, since: nil).modificationResultsByID.count == 2)
  }

  @Test func aTaskThatIsDoneIsNotPostponed() async throws {
    let record = try await start(["done": false], type: "Task")
    let other = try await phone.database.record(for: record.recordID)
    other["done"] = true
    _ = try await phone.database.save(other)
    record["postponedTo"] = Date(timeIntervalSince1970: 9)
    let saved = try await merger("phone").save(record, in: phone.database)
    #expect(saved["done"] as? Bool == true && saved["postponedTo"] == nil)
  }

  @Test func threeVersionsByHand() async throws {
    let record = try await start(["price": 1, "title": "x"])
    let other = try await phone.database.record(for: record.recordID)
    other["price"] = 2
    _ = try await phone.database.save(other)
    record["price"] = 3
    record["title"] = "y"
    let merger = try merger("phone")
    let saved = try await ConflictsSample.byHand(record, in: phone.database, merger: merger)
    // The question is open: the server's price shows, the title is saved.
    #expect(saved["price"] as? Int == 2 && saved["title"] as? String == "y")
  }

  @Test func aCounterSurvivesAnAnswerThatIsLost() async throws {
    let record = try await start(["visits": 0])
    let merger = try merger("phone")
    record["visits"] = 1
    // The server takes it, and the answer never comes.
    let sent = merger.prepare(record)
    let arrived = try #require(sent.copy() as? CKRecord)
    _ = try await phone.database.save(arrived)
    record["visits"] = 3
    let saved = try await merger.save(record, in: phone.database)
    #expect(saved["visits"] as? Int == 3)
  }

  @Test func theLimitOfAttemptsIsToldWithTheConflict() async throws {
    let record = try await start(["title": "a"])
    let merger = ConflictMerger(policy: try MergePolicy(default: .preferMine), device: "phone", attemptsMax: 2)
    for attempt in 1...3 {
      let other = try await phone.database.record(for: record.recordID)
      other["title"] = "theirs \(attempt)"
      _ = try await phone.database.save(other)
      let mine = try #require(record.copy() as? CKRecord)
      mine["title"] = "mine"
      let error = await #expect(throws: CKError.self) { try await phone.database.save(mine) }
      let merged = try merger.merge(try #require(error), current: mine)
      #expect(merged.isGivenUp == (attempt == 3) && merged.isSaveNeeded == (attempt < 3))
    }
    #expect(throws: CKError.self) { try merger.merge(CKError(.networkFailure), current: record) }
  }

  @Test func assetsAndEncryptedValuesAreMergedToo() async throws {
    let record = try await start(["title": "a"])
    record.encryptedValues["secret"] = "one\ntwo"
    _ = try await phone.database.save(record)
    let other = try await phone.database.record(for: record.recordID)
    other.encryptedValues["secret"] = "one\n2"
    _ = try await phone.database.save(other)
    let file = URL(fileURLWithPath: server.folder.path + "/photo")
    try Data("photo".utf8).write(to: file)
    record["photo"] = CKAsset(fileURL: file)
    record.encryptedValues["secret"] = "1\ntwo"
    let policy = try MergePolicy(default: .preferServer) { Field("secret").text(orElse: .preferServer) }
    let saved = try await ConflictMerger(policy: policy, device: "phone").save(record, in: phone.database)
    #expect(saved.encryptedValues["secret"] as? String == "1\n2")
    let fetched = try await phone.database.record(for: record.recordID)
    let photo = try #require((fetched["photo"] as? CKAsset)?.fileURL)
    #expect(try Data(contentsOf: photo) == Data("photo".utf8))
    #expect(fetched.encryptedValues["secret"] as? String == "1\n2")
  }

  @Test func theJournalPutsDiscardedValuesBack() async throws {
    let record = try await start(["title": "a"])
    let other = try await phone.database.record(for: record.recordID)
    other["title"] = "theirs"
    _ = try await phone.database.save(other)
    record["title"] = "mine"
    var journal = ConflictJournal()
    let merger = ConflictMerger(policy: try MergePolicy(default: .preferServer), device: "phone")
    let saved = try await merger.save(record, in: phone.database) { journal.note($0.outcome, at: Date()) }
    #expect(saved["title"] as? String == "theirs")
    let leftAlone = journal.undo(journal.entries[0].id, in: saved)
    #expect(leftAlone == [] && saved["title"] as? String == "mine" && saved.changedKeys() == ["title"])
    _ = try await merger.save(saved, in: phone.database)
    #expect(try await phone.database.record(for: record.recordID)["title"] as? String == "mine")
  }

  @Test func anEnginesDelegateMergesInThreeLines() async throws {
    let record = try await start(["visits": 1, "title": "a"])
    let delegate = MergingDelegate(merger: try merger("phone"))
    var configuration = CKSyncEngine.Configuration(
      database: phone.database, stateSerialization: nil, delegate: delegate)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    try await engine.fetchChanges()
    let mine = try #require(delegate.records[record.recordID])
    let other = try await phone.database.record(for: record.recordID)
    other["visits"] = 2
    _ = try await phone.database.save(other)
    mine["visits"] = 2
    mine["title"] = "b"
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
    for _ in 0..<3 where !engine.state.pendingRecordZoneChanges.isEmpty { try? await engine.sendChanges() }
    #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    let saved = try await phone.database.record(for: record.recordID)
    #expect(saved["visits"] as? Int == 3 && saved["title"] as? String == "b")
    #expect(delegate.journal.entries.count == 1)
  }
}

import CloudKit
import CloudKitMerge
import Foundation
import Testing
import VirgaModel

@testable import CloudKitMerge
@testable import VirgaCloudKit

/// Merges while the user goes on typing, and what a merger keeps for them.
@Suite struct ConflictEditTests {
  let server: TestServer
  let phone: TestDevice
  let zone = CKRecordZone(zoneName: "Notes")
  var id: CKRecord.ID { CKRecord.ID(recordName: "a", zoneID: zone.zoneID) }

  init() async throws {
    server = try TestServer()
    phone = try server.device()
    _ = try await phone.database.save(zone)
    let record = CKRecord(recordType: "Note", recordID: id)
    record["title"] = "a"
    record["visits"] = 1
    _ = try await phone.database.save(record)
  }

  private static func policies() throws -> MergePolicies {
    MergePolicies(
      default: try MergePolicy(default: .preferMine, marks: "writes") {
        Field("visits").counter()
        Field("date").newest(by: "date")
      })
  }

  /// Does something once, while a save is under way.
  private func duringTheNextSave(_ body: @escaping @Sendable () async throws -> Void) {
    let network = phone.network
    network.before { request in
      guard request.url.contains("records/modify") else { return }
      network.before(nil)
      do { try await body() } catch { Issue.record(error) }
    }
  }

  private func saveElsewhere(_ key: String, _ value: any CKRecordValue & Sendable) async throws {
    let database = phone.restarted().database
    let other = try await database.record(for: id)
    other[key] = value
    _ = try await database.save(other)
  }

  @Test func anEngineSendsWhatIsTypedDuringASaveThatMeetsAConflict() async throws {
    let delegate = MergingDelegate(merger: ConflictMerger(policies: try Self.policies(), device: "phone"))
    var configuration = CKSyncEngine.Configuration(
      database: phone.database, stateSerialization: nil, delegate: delegate)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    try await engine.fetchChanges()
    let record = try #require(delegate.records[id])
    record["title"] = "b"
    record["visits"] = 2
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    duringTheNextSave { [id] in
      try await saveElsewhere("visits", 2)
      record["title"] = "c"
      record["visits"] = 4
      engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }
    for _ in 0..<4 where !engine.state.pendingRecordZoneChanges.isEmpty { try? await engine.sendChanges() }
    let saved = try await phone.database.record(for: id)
    #expect(saved["title"] as? String == "c")
    #expect(saved["visits"] as? Int == 5, "1 elsewhere, 3 here")
    #expect(delegate.records[id]?["title"] as? String == "c")
  }

  /// One that was deleted while it was sent is not made again.
  @Test func aRecordThatTheAppHasDeletedIsNotMerged() async throws {
    let record = try await phone.database.record(for: id)
    try await saveElsewhere("title", "theirs")
    record["title"] = "mine"
    let error = await #expect(throws: CKError.self) { try await phone.database.save(record) }
    let event = CKSyncEngine.Event.SentRecordZoneChanges(
      savedRecords: [], failedRecordSaves: [.init(record: record, error: try #require(error))], deletedRecordIDs: [],
      failedRecordDeletes: [:])
    let merger = ConflictMerger(policies: try Self.policies(), device: "phone")
    #expect(merger.merge(event) { _ in nil }.isEmpty)
    #expect(merger.merge(event) { _ in record }.count == 1)
  }

  @Test func aSaveByHandKeepsWhatIsTypedMeanwhile() async throws {
    let record = try await phone.database.record(for: id)
    record["title"] = "b"
    duringTheNextSave {
      try await saveElsewhere("visits", 2)
      record["title"] = "c"
      // The merged record is saved: what is typed during that is not sent, and not lost.
      duringTheNextSave { record["text"] = "d" }
    }
    let saved = try await ConflictMerger(policies: try Self.policies(), device: "phone").save(
      record, in: phone.database)
    #expect(saved["title"] as? String == "c" && saved["visits"] as? Int == 2)
    #expect(saved["text"] as? String == "d" && saved.changedKeys() == ["text"])
    #expect(try await phone.database.record(for: id)["title"] as? String == "c")
  }

  /// Apple's service may send no ancestor. What the app edited during the save is then no part of the one that is remembered.
  @Test func editsMadeDuringASaveAreNotTakenForWhatTheServerHas() async throws {
    let merger = ConflictMerger(policies: try Self.policies(), device: "phone")
    let record = try await phone.database.record(for: id)
    record["title"] = "b"
    duringTheNextSave { record["title"] = "c" }
    _ = try await merger.save(record, in: phone.database)
    try await saveElsewhere("visits", 2)
    let server = try await phone.restarted().database.record(for: id)
    let merged = merger.merge(server: server, mine: record, ancestor: nil)
    #expect(merged.record["title"] as? String == "c" && merged.isSaveNeeded)
  }

  @Test func versionsThatAreRememberedHaveALimit() throws {
    var memory = RecordMemory(bytesMax: 100_000)
    func record(_ name: Int, _ bytes: Int) -> CKRecord {
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\(name)", zoneID: zone.zoneID))
      record["text"] = String(repeating: "x", count: bytes)
      return record
    }
    for name in 0..<10_000 {
      let record = record(name, 1_000)
      memory[record.recordID] = [record]
      #expect(memory.bytes <= 100_000)
    }
    #expect((30...60).contains(memory.count))
    let last = record(9_999, 0).recordID
    #expect(memory[last].count == 1 && memory[record(0, 0).recordID].isEmpty)
    // Putting the same one in again and again takes nothing from others, and leaves nothing behind.
    let count = memory.count
    for _ in 0..<10_000 { memory[last] = [record(9_999, 1_000)] }
    #expect(memory.count == count)
    memory[last] = []
    #expect(memory.count == count - 1)
    memory[record(1, 0).recordID] = [record(1, 200_000)]
    #expect(memory.count == 0 && memory.bytes == 0)
  }

  // MARK: Dates

  @Test(arguments: [
    ("Tue, 01 Dec 2026 14:54:26 GMT", 1_796_136_866_000 as Int64?), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799_000), ("Tue, 01 Dec 2026 99999999999999999999:54:26 GMT", nil),
    ("Tue, 01 Dec 2026 24:00:00 GMT", nil), ("Tue, 01 Dec 2026 14:54:26 CET", nil), ("", nil), ("2026-12-01", nil),
  ])
  func datesOfAnswersAreRead(text: String, milliseconds: Int64?) {
    #expect(Timestamp(httpDate: text)?.milliseconds == milliseconds)
  }

  /// The service's clock is that of its answers, however wrong this device's is.
  private func tellTime(_ text: String) {
    phone.network.replaceAnswers { _, answer in
      var answer = answer
      answer.headers.append(("Date", text))
      return answer
    }
  }

  @Test func aDateOfTheFutureIsSavedAsTheServicesTime() async throws {
    tellTime("Tue, 01 Dec 2026 12:00:00 GMT")
    let service = Date(timeIntervalSince1970: 1_796_126_400)
    let merger = ConflictMerger(policies: try Self.policies(), device: "phone", container: phone.container)
    let record = try await phone.database.record(for: id)
    record["date"] = Date(timeIntervalSince1970: 1_900_000_000)
    _ = try await phone.database.save(merger.prepare(record))
    let saved = try #require(record["date"] as? Date)
    #expect((0...1).contains(saved.timeIntervalSince(service)))
    // One of the past stays, and so does one of the future that somebody else has stored.
    let past = Date(timeIntervalSince1970: 1_790_000_000)
    record["date"] = past
    #expect(merger.prepare(record)["date"] as? Date == past)
    let other = CKRecord(recordType: "Note", recordID: id)
    other["date"] = Date(timeIntervalSince1970: 1_900_000_000)
    let known = other.snapshot().record
    known.state.withLock { $0.settle($0.record, upTo: $0.edits) }
    known.state.withLock { $0.record.tag = "1" }
    #expect(merger.prepare(known)["date"] as? Date == Date(timeIntervalSince1970: 1_900_000_000))
  }

  /// A conflict says what time it is at the service, also to a merger that knows no container.
  @Test func aDateOfTheFutureDoesNotWinAConflict() async throws {
    let record = try await phone.database.record(for: id)
    let edited = Date(timeIntervalSince1970: 1_790_000_100)
    server.advance(by: .seconds(200))
    try await saveElsewhere("date", edited)
    tellTime("Mon, 21 Sep 2026 14:14:00 GMT")
    record["date"] = Date(timeIntervalSince1970: 1_900_000_000)
    let error = await #expect(throws: CKError.self) { try await phone.database.save(record) }
    let merger = ConflictMerger(policies: try Self.policies(), device: "phone")
    let merged = try merger.merge(try #require(error), current: record)
    #expect(merged.record["date"] as? Date == edited)
  }
}

import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

/// Saves and deletions against the real server.
struct SaveTests {
  let server: TestServer
  let device: TestDevice
  var database: CKDatabase { device.database }
  let zone = CKRecordZone.ID(zoneName: "Notes")

  init() throws {
    server = try TestServer()
    device = try server.device()
  }

  private func note(_ name: String, _ title: String? = nil) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    if let title { record["title"] = title }
    return record
  }

  private func makeZone() async throws { _ = try await database.save(CKRecordZone(zoneID: zone)) }

  @Test func savedObjectIsBroughtUpToDateInPlace() async throws {
    try await makeZone()
    let record = note("a", "one")
    let saved = try await database.save(record)
    #expect(saved === record)
    #expect(record.recordChangeTag != nil)
    #expect(record.creationDate == server.now.date)
    #expect(record.changedKeys() == [])
    #expect(record["title"] as? String == "one")
    let first = record.recordChangeTag
    record["title"] = "two"
    _ = try await database.save(record)
    #expect(record.recordChangeTag != first)
    let fetched = try await database.record(for: record.recordID)
    #expect(fetched["title"] as? String == "two")
    #expect(fetched.recordChangeTag == record.recordChangeTag)
    #expect(fetched.recordID == record.recordID)
  }

  @Test func everyKindOfValueComesBackFromTheServer() async throws {
    try await makeZone()
    let record = note("a")
    record["text"] = "Ægir \u{1F600} \"quoted\"\n"
    record["whole"] = 9_007_199_254_740_993
    record["double"] = 1.0
    record["truth"] = true
    record["date"] = Date(timeIntervalSince1970: 1_760_000_000.5)
    record["bytes"] = Data([0, 1, 255])
    record["place"] = CLLocation(
      coordinate: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4), altitude: 34, horizontalAccuracy: 5,
      verticalAccuracy: 6, timestamp: Date(timeIntervalSince1970: 1_760_000_000.125))
    record["link"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "b", zoneID: zone), action: .none)
    record["texts"] = ["a", "b"]
    record["numbers"] = [1, 2]
    record["dates"] = [Date(timeIntervalSince1970: 1)]
    record.encryptedValues["secret"] = "hush"
    _ = try await database.save(record)
    let fetched = try await database.record(for: record.recordID)
    #expect(fetched.allKeys() == record.allKeys())
    for key in record.allKeys() {
      let (sent, back) = (record[key] as? NSObject, fetched[key] as? NSObject)
      #expect(sent == back, "\(key): \(String(describing: sent)) \(String(describing: back))")
    }
    #expect(fetched["double"] as? Double == 1)
    #expect(fetched.encryptedValues["secret"] as? String == "hush")
    #expect((fetched["link"] as? CKRecord.Reference)?.recordID.zoneID == zone)
  }

  // C36
  @Test func staleTagIsRefusedWithTheThreeRecords() async throws {
    try await makeZone()
    let mine = note("a", "base")
    mine["other"] = "kept"
    _ = try await database.save(mine)
    let theirs = try await database.record(for: mine.recordID)
    theirs["title"] = "theirs"
    _ = try await database.save(theirs)

    mine["title"] = "mine"
    for _ in 0..<2 {
      let error = try await #require(conflict { _ = try await database.save(mine) })
      #expect(error.serverRecord?["title"] as? String == "theirs")
      #expect(error.serverRecord?.recordChangeTag == theirs.recordChangeTag)
      #expect(error.ancestorRecord?["title"] as? String == "base")
      #expect(error.clientRecord?["title"] as? String == "mine")
      #expect(mine.changedKeys() == ["title"])
    }
    // The merged server record is accepted at the first try.
    let merged = try #require(try await conflict { _ = try await database.save(mine) }?.serverRecord)
    merged["title"] = "both"
    _ = try await database.save(merged)
    let final = try await database.record(for: mine.recordID)
    #expect(final["title"] as? String == "both")
    #expect(final["other"] as? String == "kept")
  }

  @Test func conflictWithAServiceThatSaysNoRecordsIsLookedUp() async throws {
    try await makeZone()
    let mine = note("a", "base")
    _ = try await database.save(mine)
    let theirs = try await database.record(for: mine.recordID)
    theirs["title"] = "theirs"
    _ = try await database.save(theirs)
    // As a service answers that knows nothing of our extensions.
    device.network.replaceAnswers { path, answer in
      guard path.contains("records/modify") else { return answer }
      let body = #"{"records":[{"recordName":"a","serverErrorCode":"CONFLICT","reason":"stale","uuid":"u"}]}"#
      return TransportResponse(status: 200, body: Array(body.utf8))
    }
    mine["title"] = "mine"
    let error = try await #require(conflict { _ = try await database.save(mine) })
    #expect(error.serverRecord?["title"] as? String == "theirs")
    #expect(error.ancestorRecord == nil)
  }

  @Test func newObjectOverAnExistingRecordIsAConflict() async throws {
    try await makeZone()
    _ = try await database.save(note("a", "first"))
    let error = try await #require(conflict { _ = try await database.save(note("a", "second")) })
    #expect(error.serverRecord?["title"] as? String == "first")
  }

  // C36
  @Test func overwritingPoliciesCompareNoTags() async throws {
    try await makeZone()
    let stale = note("a", "base")
    stale["other"] = "base"
    _ = try await database.save(stale)
    let theirs = try await database.record(for: stale.recordID)
    theirs["title"] = "theirs"
    theirs["other"] = "theirs"
    theirs["new"] = "theirs"
    _ = try await database.save(theirs)

    stale["title"] = "mine"
    let results = try await database.modifyRecords(saving: [stale], deleting: [], savePolicy: .changedKeys)
    _ = try results.saveResults[stale.recordID]?.get()
    var now = try await database.record(for: stale.recordID)
    #expect(now["title"] as? String == "mine")
    #expect(now["other"] as? String == "theirs")
    #expect(stale.recordChangeTag == now.recordChangeTag)
    #expect(stale["other"] as? String == "theirs")

    let partial = note("a", "all")
    _ = try await database.modifyRecords(saving: [partial], deleting: [], savePolicy: .allKeys)
    now = try await database.record(for: stale.recordID)
    #expect(now["title"] as? String == "all")
    #expect(now["new"] as? String == "theirs")
  }

  // C20
  @Test func fieldsOfAFailedFirstSaveGoOutWithTheNext() async throws {
    try await makeZone()
    let record = note("r")
    record["a"] = 1
    record["b"] = 2
    device.network.cut()
    await #expect(throws: CKError.self) { try await database.save(record) }
    device.network.heal()
    record["a"] = 3
    _ = try await database.save(record)
    let stored = try await database.record(for: record.recordID)
    #expect(stored["a"] as? Int == 3)
    #expect(stored["b"] as? Int == 2)
  }

  @Test func editsMadeWhileASaveIsUnderWayStayChanged() async throws {
    try await makeZone()
    let record = note("a", "sent")
    record["other"] = "sent"
    device.network.before { request in
      if request.url.contains("records/modify") { record["title"] = "later" }
    }
    _ = try await database.save(record)
    device.network.before(nil)
    #expect(record["title"] as? String == "later")
    #expect(record.changedKeys() == ["title"])
    _ = try await database.save(record)
    #expect(try await database.record(for: record.recordID)["title"] as? String == "later")
  }

  @Test func decodedSystemFieldsSaveOnlyWhatIsSetAfterwards() async throws {
    try await makeZone()
    let record = note("a", "one")
    record["other"] = "kept"
    _ = try await database.save(record)
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    let bare = try #require(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)))
    bare["title"] = "two"
    _ = try await database.save(bare)
    let stored = try await database.record(for: record.recordID)
    #expect(stored["title"] as? String == "two")
    #expect(stored["other"] as? String == "kept")
  }

  @Test func innocentItemsOfAnAtomicBatchSaySo() async throws {
    try await makeZone()
    let stale = note("stale", "one")
    _ = try await database.save(stale)
    let newer = try await database.record(for: stale.recordID)
    newer["title"] = "two"
    _ = try await database.save(newer)
    stale["title"] = "three"
    let fresh = note("fresh", "x")
    let results = try await database.modifyRecords(saving: [fresh, stale], deleting: [])
    #expect(code(of: results.saveResults[stale.recordID]) == .serverRecordChanged)
    #expect(code(of: results.saveResults[fresh.recordID]) == .batchRequestFailed)
    let loose = try await database.modifyRecords(saving: [fresh, stale], deleting: [], atomically: false)
    #expect(code(of: loose.saveResults[stale.recordID]) == .serverRecordChanged)
    #expect(code(of: loose.saveResults[fresh.recordID]) == nil)
  }

  @Test func deletingWhatDoesNotExistSucceedsAndFetchingItFails() async throws {
    try await makeZone()
    let record = note("a", "one")
    _ = try await database.save(record)
    #expect(try await database.deleteRecord(withID: record.recordID) == record.recordID)
    _ = try await database.deleteRecord(withID: record.recordID)
    #expect(await code { _ = try await database.record(for: record.recordID) } == .unknownItem)
    record["title"] = "two"
    #expect(await code { _ = try await database.save(record) } == .unknownItem)
  }

  @Test func missingZoneIsEachItemsError() async throws {
    try await makeZone()
    let elsewhere = CKRecordZone.ID(zoneName: "Nowhere")
    let lost = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "x", zoneID: elsewhere))
    lost["title"] = "x"
    let results = try await database.modifyRecords(saving: [lost, note("a", "one")], deleting: [])
    #expect(code(of: results.saveResults[lost.recordID]) == .zoneNotFound)
    #expect(code(of: results.saveResults[note("a").recordID]) == nil)
  }

  // C13
  @Test func batchOverTheLimitIsRefusedWholeAndNothingWritten() async throws {
    try await makeZone()
    let records = (0..<401).map { note("r\($0)", "x") }
    #expect(await code { _ = try await database.modifyRecords(saving: records, deleting: []) } == .limitExceeded)
    #expect(device.network.count("records/modify") == 0)
    let results = try await database.modifyRecords(saving: Array(records.dropLast()), deleting: [])
    #expect(results.saveResults.count == 400)
    #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil })
  }

  // C13
  @Test func lookupsOfManyNamesAreChunked() async throws {
    try await makeZone()
    let records = (0..<1_001).map { note("r\($0)", "\($0)") }
    for part in records.chunks(of: 400) {
      _ = try await database.modifyRecords(saving: Array(part), deleting: [])
    }
    device.network.forget()
    let found = try await database.records(for: records.map(\.recordID), desiredKeys: ["title"])
    #expect(found.count == 1_001)
    for record in records {
      #expect(try found[record.recordID]?.get()["title"] as? String == record["title"] as? String)
    }
    #expect(device.network.count("records/lookup") == 3)
  }

  // C61
  @Test func recordOverOneMegabyteIsRefusedAloneAndItsBytesFitInAnAsset() async throws {
    try await makeZone()
    let large = note("large")
    large["text"] = String(repeating: "x", count: (1 << 20) + 1)
    let small = note("small", "x")
    let results = try await database.modifyRecords(saving: [large, small], deleting: [], atomically: false)
    #expect(code(of: results.saveResults[small.recordID]) == nil)
    let failure = try #require(error(of: results.saveResults[large.recordID]))
    #expect(failure.code == .limitExceeded)
    #expect(failure.localizedDescription.contains("1048576"))
    #expect(large.changedKeys() == ["text"])

    let file = try server.folder.file("large", size: 2 << 20)
    let asset = note("asset")
    asset["file"] = CKAsset(fileURL: file)
    _ = try await database.save(asset)
  }

  // C93
  @Test(arguments: ["a/b", "100%", "a+b", "a b", "a?b=c&d", "\"quoted\"", "a\\b", "~.:;,@"])
  func namesWithOddCharactersComeBack(name: String) async throws {
    try await makeZone()
    let record = note(name, "x")
    _ = try await database.save(record)
    #expect(try await database.record(for: record.recordID).recordID.recordName == name)
    let changes = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(changes.modificationResultsByID.keys.map(\.recordName) == [name])
    _ = try await database.deleteRecord(withID: record.recordID)
    #expect(await code { _ = try await database.record(for: record.recordID) } == .unknownItem)
  }

  // C125. Making such an ID never ends the program, and the other records of the batch are saved.
  @Test(arguments: [
    "", "_own", "nul\0", "line\nbreak", "\u{85}", String(repeating: "x", count: 256),
    String(repeating: "\u{1F600}", count: 128),
  ])
  func namesThatAreNoneAreRefusedForTheirRecordAlone(name: String) async throws {
    try await makeZone()
    let (bad, good) = (note(name, "x"), note("good", "x"))
    let results = try await database.modifyRecords(saving: [bad, good], deleting: [], atomically: false)
    #expect(error(of: results.saveResults[bad.recordID])?.code == .invalidArguments)
    #expect(code(of: results.saveResults[good.recordID]) == nil)
  }

  // C125
  @Test func namesOfAnyScriptAreTakenAndCompareByTheirBytes() async throws {
    try await makeZone()
    let names = [
      "caf\u{e9}", "cafe\u{301}", "\u{301}first", "\u{1F469}\u{200D}\u{1F680}", "日記/1", "\u{212A}", "K",
      String(repeating: "\u{e9}", count: 250), String(repeating: "\u{1F600}", count: 127) + "x",
    ]
    let records = names.map { note($0, $0) }
    #expect(Set(records.map(\.recordID)).count == names.count)
    let child = note("child", "x")
    child["twin"] = CKRecord.Reference(recordID: records[1].recordID, action: .deleteSelf)
    let saved = try await database.modifyRecords(saving: records + [child], deleting: [])
    #expect(saved.saveResults.values.allSatisfy { (try? $0.get()) != nil })
    let found = try await database.records(for: records.map(\.recordID))
    for (name, record) in zip(names, records) {
      let back = try found[record.recordID]?.get()
      #expect(back.map { Array($0.recordID.recordName.utf8) } == Array(name.utf8))
      #expect((back?["title"] as? String).map { Array($0.utf8) } == Array(name.utf8))
    }
    let feed = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(Set(feed.modificationResultsByID.keys) == Set((records + [child]).map(\.recordID)))

    // Who deletes one spelling leaves the other.
    _ = try await database.deleteRecord(withID: records[0].recordID)
    let left = try await database.recordZoneChanges(inZoneWith: zone, since: feed.changeToken)
    #expect(left.deletions.map(\.recordID) == [records[0].recordID])
    #expect(try await database.record(for: child.recordID)["title"] as? String == "x")
    _ = try await database.deleteRecord(withID: records[1].recordID)
    #expect(await code { _ = try await database.record(for: child.recordID) } == .unknownItem)
    #expect(try await database.record(for: records[5].recordID).recordID != records[6].recordID)
  }

  // C131
  @Test func whatIsSetToNilGoesAndWhatIsNotNamedStays() async throws {
    try await makeZone()
    let record = note("a", "kept")
    record["date"] = Date(timeIntervalSince1970: 1_000)
    record["list"] = ["x", "y"]
    record["bytes"] = Data([1, 2])
    record.encryptedValues["secret"] = "hidden"
    record["number"] = 3
    _ = try await database.save(record)
    record["date"] = nil
    record["bytes"] = nil
    record["list"] = [String]()
    record.encryptedValues["secret"] = nil
    _ = try await database.save(record)
    let other = try await device.joined(as: "laptop")
    let back = try await other.database.record(for: record.recordID)
    #expect(back["date"] == nil && back["bytes"] == nil && back.encryptedValues["secret"] == nil)
    #expect(back["list"] as? [String] == [])
    #expect(back["title"] as? String == "kept" && back["number"] as? Int == 3)
    #expect(back.allKeys().sorted() == ["list", "number", "title"])

    // A record that was made anew and never had the key says nothing of it.
    let fresh = note("a", "new text")
    let results = try await other.database.modifyRecords(saving: [fresh], deleting: [], savePolicy: .changedKeys)
    _ = try results.saveResults[fresh.recordID]?.get()
    let last = try await database.record(for: record.recordID)
    #expect(last["title"] as? String == "new text" && last["number"] as? Int == 3 && last["list"] as? [String] == [])
  }

  // C93
  @Test func textIsKeptByteForByte() async throws {
    try await makeZone()
    let texts = ["caf\u{e9}", "cafe\u{301}", "\u{0}\u{1}\u{7f}\u{2028}", "\u{10FFFF}"]
    for (index, text) in texts.enumerated() {
      let record = note("a\(index)", text)
      _ = try await database.save(record)
      let back = try await database.record(for: record.recordID)["title"] as? String
      #expect(back.map { Array($0.utf8) } == Array(text.utf8))
    }
  }

  // C53
  @Test func valuesThatAnOldVersionDoesNotKnowSurviveItsSave() async throws {
    try await makeZone()
    let new = note("a", "title")
    new["status"] = "snoozed"
    _ = try await database.save(new)
    let old = try await database.record(for: new.recordID)
    #expect(old["status"] as? String == "snoozed")
    old["title"] = "edited"
    _ = try await database.save(old)
    #expect(try await database.record(for: new.recordID)["status"] as? String == "snoozed")
  }

  @Test func numbersThatAreNotFiniteAndReservedKeysFailTheirRecordAlone() async throws {
    try await makeZone()
    let endless = note("endless", "x")
    endless["ratio"] = Double.infinity
    let nowhere = note("nowhere", "x")
    nowhere["place"] = CLLocation(latitude: .nan, longitude: 0)
    let reserved = note("reserved", "x")
    reserved["_mine"] = 1
    let fine = note("fine", "x")
    let results = try await database.modifyRecords(
      saving: [endless, nowhere, reserved, fine], deleting: [], atomically: false)
    for record in [endless, nowhere, reserved] {
      #expect(code(of: results.saveResults[record.recordID]) == .invalidArguments, "\(record)")
    }
    #expect(code(of: results.saveResults[fine.recordID]) == nil)
  }

  @Test func answersThatAreTooLargeAreAskedForInParts() async throws {
    try await makeZone()
    let records = (0..<10).map { note("r\($0)", "\($0)") }
    _ = try await database.modifyRecords(saving: records, deleting: [])
    device.network.replaceAnswers { path, answer in
      guard path.contains("records/lookup"), answer.body.count > 1_500 else { return answer }
      let body = #"{"serverErrorCode":"BAD_REQUEST","reason":"limit exceeded: bytes","uuid":"u"}"#
      return TransportResponse(status: 400, body: Array(body.utf8))
    }
    let found = try await database.records(for: records.map(\.recordID))
    #expect(found.values.allSatisfy { (try? $0.get()) != nil })
    #expect(found.count == 10)
  }

  @Test func completionHandlersGiveTheSameResults() async throws {
    try await makeZone()
    let record = note("a", "one")
    let saved = await withCheckedContinuation { continuation in
      database.save(record) { record, error in continuation.resume(returning: (record, error)) }
    }
    #expect(saved.0 === record)
    #expect(saved.1 == nil)
    let missing = await withCheckedContinuation { continuation in
      database.fetch(withRecordID: CKRecord.ID(recordName: "none", zoneID: zone)) { record, error in
        continuation.resume(returning: (record, error))
      }
    }
    #expect(missing.0 == nil)
    #expect((missing.1 as? CKError)?.code == .unknownItem)
  }

  @Test func lostAnswerIsSaidToBeLost() async throws {
    try await makeZone()
    let record = note("a", "one")
    device.network.loseAnswers()
    #expect(await code { _ = try await database.save(record) } == .serverResponseLost)
    #expect(record.changedKeys() == ["title"])
    // It took effect, which the next save finds out.
    #expect(await code { _ = try await database.save(record) } == .serverRecordChanged)
  }
}

// MARK: Reading errors

func code(_ body: () async throws -> Void) async -> CKError.Code? {
  do {
    try await body()
    return nil
  } catch { return (error as? CKError)?.code }
}

func conflict(_ body: () async throws -> Void) async throws -> CKError? {
  do {
    try await body()
    return nil
  } catch let error as CKError where error.code == .serverRecordChanged { return error }
}

func error<Value>(of result: Result<Value, any Error>?) -> CKError? {
  guard case .failure(let error)? = result else { return nil }
  return error as? CKError
}

func code<Value>(of result: Result<Value, any Error>?) -> CKError.Code? { error(of: result)?.code }

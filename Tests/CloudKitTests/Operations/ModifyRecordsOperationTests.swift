import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

/// Sections 1 and 2 of the behaviours: saving and deleting by operation.
@Suite struct ModifyRecordsOperationTests {
  let device: TestDevice
  let zone = CKRecordZone(zoneName: "Notes")
  let journal = Journal()

  init() async throws {
    device = try TestServer().device()
    _ = try await device.database.save(zone)
  }

  /// An operation whose blocks of the newer style write into the journal.
  private func operation(saving records: [CKRecord] = [], deleting ids: [CKRecord.ID] = []) -> CKModifyRecordsOperation
  {
    let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: ids)
    operation.perRecordSaveBlock = { [journal] id, result in journal.note("save \(id.recordName) \(result.word)") }
    operation.perRecordDeleteBlock = { [journal] id, result in journal.note("delete \(id.recordName) \(result.word)") }
    operation.modifyRecordsResultBlock = { [journal] result in journal.note("result \(result.word)") }
    operation.completionBlock = { [journal] in journal.note("completion") }
    return operation
  }

  @Test func everyItemIsToldOfInOrderAndTheCompletionBlockComesLast() async throws {
    let kept = record("b", in: zone)
    let operation = operation(
      saving: [record("a", in: zone), kept], deleting: [CKRecord.ID(recordName: "x", zoneID: zone.zoneID)])
    await operation.run(in: device.database)
    #expect(journal.all == ["save a ok", "save b ok", "delete x ok", "result ok", "completion"])
    #expect(kept.recordChangeTag != nil && kept.changedKeys().isEmpty)
    #expect(operation.isFinished && !operation.isExecuting)
  }

  // 1.7, 1.9
  @Test func partialFailureReachesOldCompletionBlocksOnly() async throws {
    _ = try await device.database.save(record("a", in: zone))
    let stale = record("a", in: zone)
    let old = CKModifyRecordsOperation(recordsToSave: [stale, record("b", in: zone)])
    old.isAtomic = false
    old.perRecordCompletionBlock = { [journal] record, error in
      journal.note("\(record.recordID.recordName) \(error.word)")
    }
    old.modifyRecordsCompletionBlock = { [journal] saved, deleted, error in
      let failed = (error as? CKError)?.partialErrorsByItemID ?? [:]
      journal.note("\(saved?.map(\.recordID.recordName) ?? []) \(deleted ?? []) \(error.word)")
      journal.note("\(failed.map { "\(($0.key.base as? CKRecord.ID)?.recordName ?? "?") \(Optional($0.value).word)" })")
    }
    await old.run(in: device.database)
    #expect(
      journal.all == [
        "a serverRecordChanged", "b ok", #"["b"] [] partialFailure"#, #"["a serverRecordChanged"]"#,
      ])

    let newer = Journal()
    let operation = CKModifyRecordsOperation(recordsToSave: [record("a", in: zone)])
    operation.modifyRecordsResultBlock = { newer.note($0.word) }
    await operation.run(in: device.database)
    #expect(newer.all == ["ok"])
  }

  // 1.8
  @Test func aNewerBlockSilencesItsOlderForm() async throws {
    let operation = operation(saving: [record("a", in: zone)])
    operation.perRecordCompletionBlock = { [journal] _, _ in journal.note("older record block") }
    operation.modifyRecordsCompletionBlock = { [journal] _, _, _ in journal.note("older completion block") }
    await operation.run(in: device.database)
    #expect(journal.all == ["save a ok", "result ok", "completion"])
  }

  // 1.4, 1.6
  @Test func theInnocentOfAnAtomicBatchFailWithBatchRequestFailed() async throws {
    _ = try await device.database.save(record("a", in: zone))
    let other = CKRecordZone(zoneName: "Other")
    _ = try await device.database.save(other)
    let operation = operation(saving: [record("a", in: zone), record("b", in: zone), record("c", in: other)])
    #expect(operation.isAtomic)
    await operation.run(in: device.database)
    #expect(
      journal.all == [
        "save a serverRecordChanged", "save b batchRequestFailed", "save c ok", "result ok", "completion",
      ])
  }

  // 1.1, 1.2
  @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
  func policiesThatOverwriteCompareNoTagsButSharesAlwaysDo(_ policy: CKModifyRecordsOperation.RecordSavePolicy)
    async throws
  {
    _ = try await device.database.save(record("a", in: zone))
    let operation = operation(saving: [record("a", in: zone, title: "B")])
    operation.savePolicy = policy
    await operation.run(in: device.database)
    #expect(journal.all.first == "save a ok")
    let share = CKRecord(
      recordType: CKRecord.SystemType.share, recordID: CKRecord.ID(recordName: "s", zoneID: zone.zoneID))
    #expect(!RecordDraft(share, policy: policy).overwrites)
  }

  // 1.13
  @Test func progressReachesOneForEveryRecordAndHasStepsForAssets() async throws {
    let folder = try TemporaryFolder()
    let picture = record("picture", in: zone)
    picture["small"] = CKAsset(fileURL: try folder.file("small", size: 100))
    picture["large"] = CKAsset(fileURL: try folder.file("large", size: 300))
    let operation = operation(saving: [record("plain", in: zone), picture])
    operation.perRecordProgressBlock = { [journal] record, done in
      journal.note("\(record.recordID.recordName) \(done)")
    }
    await operation.run(in: device.database)
    let steps = journal.all.filter { $0.hasPrefix("picture ") }
    #expect(steps == ["picture 0.75", "picture 1.0"] || steps == ["picture 0.25", "picture 1.0"])
    #expect(journal.all.filter { $0.hasPrefix("plain ") } == ["plain 1.0"])
    #expect(journal.all.suffix(4) == ["picture 1.0", "save picture ok", "result ok", "completion"])
  }

  // 1.15
  @Test func aBatchThatIsTooLargeFailsAsAWholeAndForEachItem() async throws {
    let records = (0..<401).map { record("r\($0)", in: zone) }
    let operation = operation(saving: records)
    await operation.run(in: device.database)
    #expect(Set(journal.all.filter { $0.hasPrefix("save") }.map { $0.split(separator: " ")[2] }) == ["limitExceeded"])
    #expect(journal.all.count == 403)
    #expect(journal.all.suffix(2) == ["result limitExceeded", "completion"])
  }

  @Test func anOldCompletionBlockGetsTheErrorOfTheWholeItself() async throws {
    device.network.cut()
    let operation = CKModifyRecordsOperation(recordsToSave: [record("a", in: zone)])
    operation.modifyRecordsCompletionBlock = { [journal] saved, _, error in journal.note("\(saved ?? []) \(error.word)")
    }
    await operation.run(in: device.database)
    #expect(journal.all == ["[] networkUnavailable"])
  }

  // 1.16
  @Test func blocksRunOneAtATimeAndNeverOnTheMainThread() async throws {
    let operation = operation(saving: (0..<20).map { record("r\($0)", in: zone) })
    operation.perRecordSaveBlock = { [journal] _, _ in journal.note("\(Thread.isMainThread)") }
    await operation.run(in: device.database)
    #expect(Set(journal.all.dropLast(2)) == ["false"])
  }

  /// An app may wait in a block for another operation: blocks run on no thread that operations need.
  @Test func aBlockMayWaitForAnotherOperation() async throws {
    let database = device.database
    let zone = zone
    let operation = operation(saving: [record("a", in: zone)])
    operation.perRecordSaveBlock = { [journal] id, _ in
      let fetch = CKFetchRecordsOperation(recordIDs: [id])
      fetch.perRecordResultBlock = { _, result in journal.note("fetched \(result.word)") }
      database.add(fetch)
      fetch.waitUntilFinished()
      journal.note("waited")
    }
    await operation.run(in: database)
    #expect(journal.all == ["fetched ok", "waited", "result ok", "completion"])
  }
}

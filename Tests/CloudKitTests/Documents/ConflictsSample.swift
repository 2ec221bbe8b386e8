import CloudKit
import CloudKitMerge
import Foundation

// The code of docs/conflicts.md.

enum ConflictsSample {
  static func fieldByField() throws -> MergePolicy {
    try MergePolicy(default: .preferServer, marks: "writes") {
      Field("title").newest(by: "editedAt")
      Field("value", "recordedAt", "source").newest(by: "recordedAt")
      Field("visits").counter()
      Field("tags").set()
      Field("text").text(orElse: .fork)
      Field("price").ask()
    }
  }

  static func wholeRecord() throws -> MergePolicy {
    try MergePolicy(default: .preferServer) {
      WholeRecord().newest(by: "recordedAt")
    }
  }

  static func task() throws -> MergePolicy {
    try MergePolicy(default: .preferServer) {
      Invariant("done and postponed") { !($0["done"] == true && $0["postponedTo"] != nil) }
        .repair("a task that is done is not postponed") { $0["postponedTo"] = nil }
    }
  }

  static func types() throws -> MergePolicies {
    MergePolicies(["Task": try task(), "Measurement": try wholeRecord()], default: try fieldByField())
  }

  static func byHand(_ record: CKRecord, in database: CKDatabase, merger: ConflictMerger) async throws -> CKRecord {
    do {
      return try await database.save(merger.prepare(record))
    } catch {
      let merged = try merger.merge(error, current: record)
      return merged.isSaveNeeded ? try await merger.save(merged.record, in: database) : merged.record
    }
  }
}

/// The delegate of an engine whose app keeps records in a dictionary.
final class MergingDelegate: CKSyncEngineDelegate, @unchecked Sendable {
  // One engine calls its delegate one call at a time, and the test looks between the calls.
  var records: [CKRecord.ID: CKRecord] = [:]
  var journal = ConflictJournal()
  let merger: ConflictMerger
  let now: () -> Date

  init(merger: ConflictMerger, now: @escaping () -> Date = Date.init) {
    self.merger = merger
    self.now = now
  }

  func keep(_ merged: MergedRecord) {
    for record in [merged.record] + merged.forks { records[record.recordID] = record }
    journal.note(merged.outcome, at: now())
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine engine: CKSyncEngine) async {
    switch event {
    case .sentRecordZoneChanges(let sent):
      for saved in sent.savedRecords { records[saved.recordID] = saved }
      for merged in merger.merge(sent, current: { self.records[$0] }) {
        keep(merged)
        engine.state.add(pendingRecordZoneChanges: merged.pendingChanges)
      }
    case .fetchedRecordZoneChanges(let fetched):
      for change in fetched.modifications where !isPending(change.record.recordID, engine) {
        records[change.record.recordID] = change.record
        merger.remember(change.record)
      }
    default: break
    }
  }

  private func isPending(_ id: CKRecord.ID, _ engine: CKSyncEngine) -> Bool {
    engine.state.pendingRecordZoneChanges.contains(.saveRecord(id))
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine engine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let pending = engine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { id in
      self.records[id].map { self.merger.prepare($0) }
    }
  }
}

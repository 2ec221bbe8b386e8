import CloudKit
import Foundation
import Synchronization

/// A device with notes and an engine, and a log of what the engine told it.
final class FaultyDevice: CKSyncEngineDelegate, Sendable {
  static let zone = CKRecordZone(zoneName: "Notes")

  private struct State {
    var texts: [String: String] = [:]
    /// As the server last confirmed them.
    var known: [CKRecord.ID: CKRecord] = [:]
    var log: [String] = []
    var saved: [String] = []
    var fetched: [String] = []
    var codes: [CKError.Code] = []
    var deletions: [CKDatabase.DatabaseChange.Deletion] = []
    var wasReset = false
    /// What a second reading of the zone, after its token had expired, has not brought yet.
    var unseen: Set<String>?
    /// Whether the zone is made again when it is gone.
    var uploadsAgain = true
  }

  private let state = Mutex(State())
  private let (events, continuation) = AsyncStream.makeStream(of: Void.self)
  let database: CKDatabase
  /// Whether batches succeed or fail as a whole.
  private let isAtomic: Bool
  private let holder = Mutex<CKSyncEngine?>(nil)

  init(_ database: CKDatabase, automatic: Bool, isAtomic: Bool = false) {
    self.database = database
    self.isAtomic = isAtomic
    var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
    configuration.automaticallySync = automatic
    let engine = CKSyncEngine(configuration)
    holder.withLock { $0 = engine }
  }

  var engine: CKSyncEngine { holder.withLock { $0! } }

  static func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone.zoneID) }

  // MARK: What its user does

  func write(_ text: String, to name: String) {
    state.withLock { $0.texts[name] = text }
    engine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(Self.id(name))])
  }

  func delete(_ name: String) {
    state.withLock { $0.texts[name] = nil }
    engine.state.add(pendingRecordZoneChanges: [.deleteRecord(Self.id(name))])
  }

  func leaveGoneZonesAlone() { state.withLock { $0.uploadsAgain = false } }

  /// Sends and fetches until nothing waits, or the engine says why it does not go on.
  func sync() async {
    for _ in 0..<3 {
      try? await engine.sendChanges()
      try? await engine.fetchChanges()
    }
  }

  /// Looks again after each event until a condition holds.
  func wait(until condition: () -> Bool) async {
    if condition() { return }
    for await _ in events where condition() { return }
  }

  // MARK: What it holds

  var texts: [String: String] { state.withLock { $0.texts } }
  var log: [String] { state.withLock { $0.log } }
  /// Names of records saved, one for each time.
  var saved: [String] { state.withLock { $0.saved } }
  var fetched: [String] { state.withLock { $0.fetched } }
  var codes: [CKError.Code] { state.withLock { $0.codes } }
  var deletions: [CKDatabase.DatabaseChange.Deletion] { state.withLock { $0.deletions } }
  var wasReset: Bool { state.withLock { $0.wasReset } }
  var pending: [CKSyncEngine.PendingRecordZoneChange] { engine.state.pendingRecordZoneChanges }

  // MARK: CKSyncEngineDelegate

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    switch event {
    case .fetchedRecordZoneChanges(let changes): take(changes, syncEngine)
    case .sentRecordZoneChanges(let changes): take(changes, syncEngine)
    case .fetchedDatabaseChanges(let changes):
      state.withLock { state in
        state.deletions += changes.deletions
        // Its user erased it: what is here goes too. After a reset it is to be uploaded again.
        if changes.deletions.contains(where: { $0.reason == .purged }), !state.uploadsAgain { state.texts = [:] }
        if !changes.deletions.isEmpty { state.known = [:] }
      }
    case .didFetchRecordZoneChanges(let end): finish(end.error, syncEngine)
    default: break
    }
    if case .stateUpdate = event {} else { state.withLock { $0.log.append(Self.name(event)) } }
    continuation.yield()
  }

  /// A reading from the beginning tells of no deletions: what it does not bring is gone.
  private func finish(_ error: CKError?, _ engine: CKSyncEngine) {
    let waiting = Set(engine.state.pendingRecordZoneChanges)
    state.withLock { state in
      if error?.code == .changeTokenExpired {
        state.unseen = Set(state.texts.keys)
      } else if error == nil, let unseen = state.unseen {
        for name in unseen where !waiting.contains(.saveRecord(Self.id(name))) { state.texts[name] = nil }
        state.unseen = nil
      }
    }
  }

  private static func name(_ event: CKSyncEngine.Event) -> String {
    String("\(event)".dropFirst().prefix { $0.isLetter })
  }

  private func take(_ changes: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine) {
    let waiting = Set(engine.state.pendingRecordZoneChanges)
    state.withLock { state in
      for record in changes.modifications.map(\.record) {
        let name = record.recordID.recordName
        state.fetched.append(name)
        state.unseen?.remove(name)
        state.known[record.recordID] = record
        if !waiting.contains(.saveRecord(record.recordID)) { state.texts[name] = record["text"] as? String }
      }
      for id in changes.deletions.map(\.recordID) where !waiting.contains(.saveRecord(id)) {
        state.texts[id.recordName] = nil
        state.known[id] = nil
      }
    }
  }

  private func take(_ changes: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
    var again: [CKSyncEngine.PendingRecordZoneChange] = []
    var needsZone = false
    state.withLock { state in
      for record in changes.savedRecords {
        state.saved.append(record.recordID.recordName)
        state.known[record.recordID] = record
      }
      for failure in changes.failedRecordSaves {
        let id = failure.record.recordID
        state.codes.append(failure.error.code)
        switch failure.error.code {
        case .serverRecordChanged:
          // A save whose answer was lost finds itself there.
          state.known[id] = failure.error.serverRecord
          again.append(.saveRecord(id))
        case .zoneNotFound, .userDeletedZone:
          if failure.error.userInfo[CKErrorUserDidResetEncryptedDataKey] != nil { state.wasReset = true }
          guard state.uploadsAgain else { continue }
          state.known = [:]
          needsZone = true
          again.append(.saveRecord(id))
        case .unknownItem:
          state.known[id] = nil
          again.append(.saveRecord(id))
        case .batchRequestFailed: again.append(.saveRecord(id))
        default: break
        }
      }
    }
    if needsZone {
      engine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
      // All that is here, not only what was being sent.
      again = texts.keys.sorted().map { .saveRecord(Self.id($0)) }
    }
    engine.state.add(pendingRecordZoneChanges: again)
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let (texts, known) = state.withLock { ($0.texts, $0.known) }
    let changes = syncEngine.state.pendingRecordZoneChanges
    var batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
      guard let text = texts[id.recordName] else { return nil }
      let record = known[id] ?? CKRecord(recordType: "Note", recordID: id)
      record["text"] = text
      return record
    }
    batch?.atomicByZone = isAtomic
    return batch
  }
}

import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaHTTP

@testable import VirgaCloudKit

/// What a sync engine does about faults that happen on purpose.
@Suite(.timeLimit(.minutes(2))) struct FaultEngineTests {
  let server: TestServer
  let phone: TestDevice
  let zone = CKRecordZone.ID(zoneName: "Diary")

  init() throws {
    server = try TestServer()
    phone = try server.device()
  }

  private func engine(_ delegate: NoteKeeper) -> CKSyncEngine {
    var configuration = CKSyncEngine.Configuration(
      database: phone.database, stateSerialization: nil, delegate: delegate)
    configuration.automaticallySync = false
    return CKSyncEngine(configuration)
  }

  private func noted(_ keeper: NoteKeeper) async throws -> CKSyncEngine {
    let engine = engine(keeper)
    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: "a", zoneID: zone))])
    return engine
  }

  @Test(arguments: [#"{"throttle": 1}"#, #"{"zoneBusy": true}"#, #"{"cut": "beforeCommit"}"#])
  func whatPassesLeavesTheChangePending(action: String) async throws {
    let keeper = NoteKeeper()
    let engine = try await noted(keeper)
    try server.plan(#"{"when": {"operation": "records/modify", "call": 1}, "do": \#(action)}"#)
    try? await engine.sendChanges()
    #expect(engine.state.pendingRecordZoneChanges.count == 1)
    #expect(keeper.saved.isEmpty)
    // What the engine waits for is over.
    server.advance(by: .seconds(3_600))
    server.front.faults.clear()
    try await engine.sendChanges()
    #expect(keeper.saved == ["a"])
    #expect(engine.state.pendingRecordZoneChanges.isEmpty)
  }

  @Test func aZoneThatItsUserPurgedIsToldOfWithItsReason() async throws {
    let keeper = NoteKeeper()
    let engine = try await noted(keeper)
    try await engine.sendChanges()
    try await engine.fetchChanges()
    try server.plan(
      #"{"when": {"operation": "changes/database", "call": 1}, "do": {"purgeZone": true, "zone": "Diary"}}"#)
    try await engine.fetchChanges()
    #expect(keeper.deletions.map(\.reason) == [.purged])
  }

  @Test func anExpiredTokenIsFetchedFromTheBeginning() async throws {
    let keeper = NoteKeeper()
    let engine = try await noted(keeper)
    try await engine.sendChanges()
    let reader = NoteKeeper()
    let second = self.engine(reader)
    try await second.fetchChanges()
    #expect(reader.fetched == ["a"])
    try server.plan(#"{"when": {"operation": "changes/database", "call": 1}, "do": {"expireTokens": "database"}}"#)
    try await second.fetchChanges()
    #expect(server.front.faults.current?.rules.first?.met == 1)
    try await second.fetchChanges()
  }
}

/// An app with one note.
private final class NoteKeeper: CKSyncEngineDelegate, Sendable {
  private struct Memory {
    var saved: [String] = []
    var fetched: [String] = []
    var deletions: [CKDatabase.DatabaseChange.Deletion] = []
  }

  private let memory = Mutex(Memory())
  var saved: [String] { memory.withLock { $0.saved } }
  var fetched: [String] { memory.withLock { $0.fetched } }
  var deletions: [CKDatabase.DatabaseChange.Deletion] { memory.withLock { $0.deletions } }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    memory.withLock { memory in
      switch event {
      case .sentRecordZoneChanges(let changes): memory.saved += changes.savedRecords.map(\.recordID.recordName)
      case .fetchedRecordZoneChanges(let changes):
        memory.fetched += changes.modifications.map(\.record.recordID.recordName)
      case .fetchedDatabaseChanges(let changes): memory.deletions += changes.deletions
      default: break
      }
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
      let record = CKRecord(recordType: "Note", recordID: id)
      record["text"] = id.recordName
      return record
    }
  }
}

import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaCloudKit

/// C132: a record takes 750 others that go with it, and no more.
@Suite struct OverfullTargetTests {
  @Test func whatATargetHasNoRoomForIsToldOnceAndStopsNothing() throws {
    let world = SyncWorld()
    let outline = Outline(children: 800)
    let (engine, link) = outline.engine(world)
    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: DiaryDevice.zoneID))])
    engine.state.add(pendingRecordZoneChanges: outline.records.map { .saveRecord($0.recordID) })
    // Whether the call throws is another matter: what could be sent is sent.
    _ = try? world.time.run { try await engine.sendChanges() }
    let told = outline.told
    #expect(told.saved.count == 751 && Set(told.saved).count == 751)
    #expect(told.failed.count == 50 && Set(told.failed.map(\.name)).count == 50)
    #expect(told.failed.allSatisfy { $0.code == .limitExceeded })
    #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    let requests = link.log.count { $0.operation == "records/modify" }
    #expect(requests < 200, "\(requests)")
    _ = try? world.time.run { try await engine.sendChanges() }
    #expect(link.log.count { $0.operation == "records/modify" } == requests)
    #expect(outline.told.failed.count == 50)
    #expect(try world.serverRows().count == 751)
  }
}

/// An outline with one root and lines that go with it.
private final class Outline: CKSyncEngineDelegate, Sendable {
  struct Told {
    var saved: [String] = []
    var failed: [(name: String, code: CKError.Code)] = []
  }

  let records: [CKRecord]
  private let memory = Mutex(Told())

  init(children: Int) {
    let root = CKRecord(recordType: "Entry", recordID: DiaryDevice.id("root"))
    records =
      [root]
      + (0..<children).map { number in
        let line = CKRecord(recordType: "Entry", recordID: DiaryDevice.id("line\(number)"))
        line["owner"] = CKRecord.Reference(record: root, action: .deleteSelf)
        return line
      }
  }

  var told: Told { memory.withLock { $0 } }

  func engine(_ world: SyncWorld) -> (CKSyncEngine, Link) {
    let link = Link(world.server)
    var configuration = CKSyncEngine.Configuration(
      database: world.container(account: "u1", link).privateCloudDatabase, stateSerialization: nil, delegate: self)
    configuration.automaticallySync = false
    return (CKSyncEngine(configuration, environment: world.time.environment(seed: 3)), link)
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    guard case .sentRecordZoneChanges(let changes) = event else { return }
    memory.withLock { told in
      told.saved += changes.savedRecords.map(\.recordID.recordName)
      told.failed += changes.failedRecordSaves.map { ($0.record.recordID.recordName, $0.error.code) }
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let records = Dictionary(uniqueKeysWithValues: records.map { ($0.recordID, $0) })
    let pending = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { records[$0] }
  }
}

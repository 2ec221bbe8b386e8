import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaCloudKit
import VirgaModel

/// Sends many records and counts how many of them are in memory.
private final class Uploader: CKSyncEngineDelegate, Sendable {
  private struct Weak: Sendable { weak var record: CKRecord? }

  private struct Counts {
    var made: [Weak] = []
    var peak = 0
    var saved = 0
  }

  static let zoneID = CKRecordZone.ID(zoneName: "diary")
  private let counts = Mutex(Counts())

  var peak: Int { counts.withLock { $0.peak } }
  var saved: Int { counts.withLock { $0.saved } }

  private func count() {
    counts.withLock { counts in
      counts.made.removeAll { $0.record == nil }
      counts.peak = max(counts.peak, counts.made.count)
    }
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    count()
    if case .sentRecordZoneChanges(let sent) = event { counts.withLock { $0.saved += sent.savedRecords.count } }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    defer { count() }
    let pending = syncEngine.state.pendingRecordZoneChanges
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { recordID in
      let record = CKRecord(recordType: "Entry", recordID: recordID)
      record["text"] = "text of \(recordID.recordName)"
      counts.withLock { $0.made.append(Weak(record: record)) }
      return record
    }
  }
}

@Suite struct LongUploadTests {
  @Test func atMostTwoBatchesOfRecordsAreInMemory() throws {
    let world = SyncWorld()
    let uploader = Uploader()
    let container = world.container(account: "u1", Link(world.server))
    var configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase, stateSerialization: nil, delegate: uploader)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration, environment: world.time.environment(seed: 1))
    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Uploader.zoneID))])
    engine.state.add(
      pendingRecordZoneChanges: (0..<3_000).map {
        .saveRecord(CKRecord.ID(recordName: "entry-\($0)", zoneID: Uploader.zoneID))
      })
    try world.time.run { try await engine.sendChanges() }
    #expect(uploader.saved == 3_000)
    #expect((400...800).contains(uploader.peak), "\(uploader.peak)")
  }
}

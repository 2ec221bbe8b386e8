import CloudKit
import Foundation
import Synchronization
import Testing

@testable import VirgaCloudKit

/// Public reports of sync engines that concern changes while others are under way.
@Suite struct SyncCaseTests {
  enum Moment: CaseIterable { case batchIsMade, requestIsUnderWay, answerIsTold }

  /// Runs `body` at that moment of each of the next sends, as often as it is asked to.
  private func atMoment(_ moment: Moment, of device: DiaryDevice, times: Int, _ body: @escaping @Sendable () -> Void) {
    let left = Mutex(times)
    let once: @Sendable () -> Void = {
      let isDue = left.withLock { left in
        left -= 1
        return left >= 0
      }
      if isDue { body() }
    }
    switch moment {
    case .batchIsMade: device.onBatch(once)
    case .requestIsUnderWay:
      device.link.setFault { operation, _ in
        if operation == "records/modify" { once() }
        return nil
      }
    case .answerIsTold:
      device.onEvent { event, _ in if case .sentRecordZoneChanges = event { once() } }
    }
  }

  /// C137: an edit made while the older version is on its way is not taken for sent; three times in a row.
  @Test(arguments: Moment.allCases, [false, true])
  func theVersionThatIsSentIsToldFromTheCurrentOne(moment: Moment, isAutomatic: Bool) throws {
    let world = SyncWorld()
    let phone = world.device(automatic: isAutomatic)
    let number = Mutex(0)
    atMoment(moment, of: phone, times: 3) {
      let text = number.withLock { number in
        number += 1
        return "\(number)"
      }
      phone.edit("r", ["text": text])
    }
    phone.edit("r", ["text": "0"])
    if isAutomatic { world.time.pass(.seconds(60)) } else { try phone.send() }
    #expect(phone.pending == [])
    #expect(try world.serverRows() == ["r": ["text": "3"]])
    #expect(phone.rows == ["r": ["text": "3"]])
    #expect(phone.engine.status.failedRecords.isEmpty && phone.failures == [])
  }

  /// C137: a deletion that was added while the record is on its way deletes it.
  @Test(arguments: Moment.allCases) func aDeletionDuringTheFlightDeletes(moment: Moment) throws {
    let world = SyncWorld()
    let phone = world.device()
    atMoment(moment, of: phone, times: 1) { phone.delete("r") }
    phone.edit("r", ["text": "0"])
    try phone.send()
    #expect(phone.pending == [])
    #expect(try world.serverRows().isEmpty && phone.rows.isEmpty)
  }

  /// C137: the device's own older version comes back while a newer one waits; the newer one wins everywhere.
  @Test func ownOlderVersionDoesNotReplaceWhatWaits() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    phone.edit("r", ["text": "1"])
    try world.converge(phone, laptop)
    phone.edit("r", ["text": "2"])
    try phone.send()
    world.time.pass(.seconds(1))
    phone.edit("r", ["text": "3"])
    try phone.fetch()
    #expect(phone.pending == ["save r in diary"])
    #expect(phone.rows["r"] == ["text": "3"])
    try world.converge(phone, laptop)
    #expect(laptop.rows == ["r": ["text": "3"]])
  }
}

/// C146: more children than one request takes, added before the record that they name.
@Suite(.timeLimit(.minutes(2))) struct HierarchyCaseTests {
  private let device: TestDevice
  private let zone = CKRecordZone(zoneName: "Trees")

  init() async throws {
    device = try TestServer().device()
    _ = try await device.database.save(zone)
  }

  private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone.zoneID) }

  private func family() -> (root: CKRecord, children: [CKRecord]) {
    let root = CKRecord(recordType: "Tree", recordID: id("root"))
    let children = (0..<600).map { number in
      let child = CKRecord(recordType: "Leaf", recordID: id("leaf\(number)"))
      child["tree"] = CKRecord.Reference(recordID: root.recordID, action: .deleteSelf)
      return child
    }
    return (root, children)
  }

  private func engine(_ keeper: TreeKeeper) -> CKSyncEngine {
    var configuration = CKSyncEngine.Configuration(
      database: device.database, stateSerialization: nil, delegate: keeper)
    configuration.automaticallySync = false
    return CKSyncEngine(configuration)
  }

  private func names() async throws -> Set<String> {
    var (names, token, isMore): (Set<String>, CKServerChangeToken?, Bool) = ([], nil, true)
    while isMore {
      let page = try await device.database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
      names.formUnion(page.modificationResultsByID.keys.map(\.recordName))
      (token, isMore) = (page.changeToken, page.moreComing)
    }
    return names
  }

  @Test(arguments: [false, true]) func childrenBeforeTheirRootAreToldAndNotLost(addsAgain: Bool) async throws {
    let (root, children) = family()
    let keeper = TreeKeeper(children + [root], addsAgain: addsAgain)
    let engine = engine(keeper)
    engine.state.add(pendingRecordZoneChanges: keeper.changes)
    let error = try #require(await #expect(throws: CKError.self) { try await engine.sendChanges() })
    #expect(error.code == .partialFailure && error.partialErrorsByItemID?.count == 400)
    // Those of the first request, each with the name of what is missing; root and the others are saved.
    #expect(Set(keeper.failures.keys) == Set((0..<400).map { "leaf\($0)" }))
    #expect(keeper.failures.values.allSatisfy { $0.code == .referenceViolation })
    #expect(keeper.failures.values.allSatisfy { $0.localizedDescription.contains("'root'") })
    #expect(engine.status.failedRecords.count == 400 && !engine.status.isUpToDate)
    #expect(try await names().count == 201)
    if !addsAgain { engine.state.add(pendingRecordZoneChanges: children.prefix(400).map { .saveRecord($0.recordID) }) }
    #expect(engine.state.pendingRecordZoneChanges.count == 400)
    try await engine.sendChanges()
    #expect(try await names().count == 601)
    #expect(engine.status.failedRecords.isEmpty && engine.state.pendingRecordZoneChanges.isEmpty)
  }

  @Test func aRootBeforeItsChildrenIsSavedWithAllOfThem() async throws {
    let (root, children) = family()
    let keeper = TreeKeeper([root] + children, addsAgain: false)
    let engine = engine(keeper)
    engine.state.add(pendingRecordZoneChanges: keeper.changes)
    try await engine.sendChanges()
    #expect(keeper.failures.isEmpty)
    #expect(try await names().count == 601)
  }
}

private final class TreeKeeper: CKSyncEngineDelegate, Sendable {
  private let records: [CKRecord.ID: CKRecord]
  let changes: [CKSyncEngine.PendingRecordZoneChange]
  private let addsAgain: Bool
  private let memory = Mutex<[String: CKError]>([:])
  var failures: [String: CKError] { memory.withLock { $0 } }

  init(_ records: [CKRecord], addsAgain: Bool) {
    self.records = Dictionary(uniqueKeysWithValues: records.map { ($0.recordID, $0) })
    changes = records.map { .saveRecord($0.recordID) }
    self.addsAgain = addsAgain
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    guard case .sentRecordZoneChanges(let sent) = event else { return }
    memory.withLock { memory in
      for failure in sent.failedRecordSaves { memory[failure.record.recordID.recordName] = failure.error }
    }
    guard addsAgain, !sent.failedRecordSaves.isEmpty else { return }
    syncEngine.state.add(
      pendingRecordZoneChanges: sent.failedRecordSaves.map { .saveRecord($0.record.recordID) })
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
      self.records[id]
    }
  }
}

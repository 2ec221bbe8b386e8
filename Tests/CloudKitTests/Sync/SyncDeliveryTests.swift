import CloudKit
import Foundation
import Testing
import VirgaCloudKit
import VirgaModel
import VirgaSync
import VirgaWire

/// Changes reach the server, whatever stands in their way.
@Suite struct SyncDeliveryTests {
  static let transient: [(name: String, fault: Link.Fault)] = [
    ("busy", .refusal(ServiceError(.tryAgainLater, "busy", retryAfterSeconds: 13))),
    ("throttled", .refusal(ServiceError(.throttled, "slow down", retryAfterSeconds: 13))),
    ("cut", .cut), ("lost", .lostAnswer),
    (
      "zone busy",
      .reply(
        .records(
          RecordsReply(records: [
            .failure(RecordFailure("r1", ServiceError(.tryAgainLater, "busy", retryAfterSeconds: 13)))
          ])))
    ),
  ]

  /// C01: transient failures keep the record pending, nothing is sent before the wait is over, two attempts.
  @Test(arguments: transient.indices)
  func aTransientFailureIsRetriedByTheSchedule(index: Int) throws {
    let (name, fault) = Self.transient[index]
    let world = SyncWorld()
    let phone = world.device(automatic: true)
    phone.link.setFault { operation, number in operation == "records/modify" && number == 0 ? fault : nil }
    world.time.pass(.seconds(2))
    phone.edit("r1", ["text": "a"])
    world.time.pass(.milliseconds(400))
    #expect(phone.pending == ["save r1 in diary"], "\(name)")
    let first = try #require(phone.link.log.first { $0.operation == "records/modify" })
    world.time.pass(.seconds(60))
    #expect(try world.serverRows() == ["r1": ["text": "a"]])
    #expect(phone.pending == [])
    let attempts = phone.link.log.filter { $0.operation == "records/modify" }
    // After a lost answer the second attempt meets its own record, and is settled by the merge.
    #expect(attempts.count == 2, "\(name)")
    if name != "cut", name != "lost" { #expect(attempts[1].time - first.time >= .seconds(13)) }
  }

  /// C03: killed at any request, before or after it took effect, and started again with what was stored last.
  @Test(arguments: 0..<10, [true, false])
  func aDeviceKilledAtAnyStepSendsItsChangeOnce(step: Int, takesEffect: Bool) throws {
    let world = SyncWorld()
    let phone = world.device()
    let count = Counter()
    phone.edit("r1", ["text": "a"])
    phone.link.setFault { _, _ in
      guard count.next() == step else { return nil }
      phone.kill()
      return takesEffect ? .lostAnswer : .cut
    }
    // The call fails once its engine is gone.
    _ = try? world.time.run(atMost: .seconds(100)) { [engine = phone.engine] in
      try await engine.sendChanges()
      try await engine.fetchChanges()
    }
    let again = world.device(disk: phone.kill())
    // C28: the engine's list says what the marks say.
    #expect(again.pending.isEmpty != again.disk.rows.values.contains { $0.isDirty })
    try world.converge(again)
    #expect(try world.serverRows() == ["r1": ["text": "a"]])
  }

  /// C03: killed between the row's write and the report of the engine's state.
  @Test func anEditThatTheEngineCouldNotReportIsSentAfterTheNextStart() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("r1", ["text": "a"])
    let disk = phone.kill()
    #expect(disk.state == nil)
    let again = world.device(disk: disk)
    try again.sync()
    #expect(try world.serverRows() == ["r1": ["text": "a"]])
  }

  /// C05: one record that exists already and one with a stale tag among 91.
  @Test func conflictsInABatchAreResolvedWithinThreeRounds() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    phone.edit("stale", ["text": "1"])
    try phone.sync()
    try laptop.sync()
    phone.edit("stale", ["text": "2"])
    phone.edit("exists", ["text": "phone"])
    try phone.sync()
    laptop.edit("stale", ["other": "3"])
    laptop.edit("exists", ["other": "laptop"])
    for number in 0..<89 { laptop.edit("r\(number)", ["text": "\(number)"]) }
    #expect(try laptop.sendFailing() == ["stale": .serverRecordChanged, "exists": .serverRecordChanged])
    try laptop.send()
    #expect(laptop.link.batches.count <= 3)
    let rows = try world.serverRows()
    #expect(rows.count == 91)
    #expect(rows["stale"] == ["text": "2", "other": "3"])
    #expect(rows["exists"] == ["text": "phone", "other": "laptop"])
  }

  /// C05: an app that resolves nothing is not asked for ever; the other records are saved, and calls are accepted.
  @Test func aConflictThatTheAppLeavesAloneIsBounded() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    phone.edit("exists", ["text": "phone"])
    try phone.sync()
    laptop.set(resolves: false)
    laptop.edit("exists", ["text": "laptop"])
    for number in 0..<90 { laptop.edit("r\(number)", ["text": "\(number)"]) }
    for _ in 0..<3 { #expect(try laptop.sendFailing() == ["exists": .serverRecordChanged]) }
    #expect(laptop.link.batches == [91, 1, 1])
    #expect(try world.serverRows().count == 91)
    #expect(laptop.engine.status.failedRecords.map(\.recordID.recordName) == ["exists"])
    #expect(laptop.engine.status.failedRecords.map(\.error.code) == [.serverRecordChanged])
    laptop.set(resolves: true)
    try laptop.sendAll()
    #expect(laptop.pending == [])
    #expect(laptop.engine.status.failedRecords.isEmpty)
  }

  /// C06: an innocent neighbour of a conflict in an atomic batch is not forgotten.
  @Test func theInnocentOfAnAtomicBatchIsSentAgain() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    phone.edit("parent", ["text": "1"])
    try phone.sync()
    try laptop.sync()
    phone.edit("parent", ["text": "2"])
    try phone.sync()
    laptop.set(isAtomic: true)
    laptop.edit("parent", ["child": "child"])
    laptop.edit("child", ["parent": "parent"])
    #expect(try laptop.sendFailing() == ["parent": .serverRecordChanged, "child": .batchRequestFailed])
    try laptop.send()
    #expect(
      laptop.failures == [.batchRequestFailed, .serverRecordChanged]
        || laptop.failures == [.serverRecordChanged, .batchRequestFailed])
    #expect(try world.serverRows() == ["parent": ["text": "2", "child": "child"], "child": ["parent": "parent"]])
    #expect(laptop.pending == [])
  }

  /// C08: one record that is always refused; the others pass it, and so does a later edit.
  @Test func oneRefusedRecordStopsNothing() throws {
    let world = SyncWorld()
    let phone = world.device()
    for number in 0..<49 { phone.edit("r\(number)", ["text": "\(number)"]) }
    phone.edit("bell\u{7}", ["text": "a name that is refused"])
    #expect(try phone.sendFailing() == ["bell\u{7}": .invalidArguments])
    #expect(try world.serverRows().count == 49)
    #expect(phone.engine.status.failedRecords.map(\.recordID.recordName) == ["bell\u{7}"])
    #expect(phone.engine.status.failedRecords.map(\.error.code) == [.invalidArguments])
    phone.edit("later", ["text": "x"])
    try phone.send()
    #expect(try world.serverRows()["later"] == ["text": "x"])
  }

  /// C13: no request holds more than 400 items.
  @Test func manyChangesAreDividedIntoRequests() throws {
    let world = SyncWorld()
    let phone = world.device()
    for number in 0..<50 { phone.edit("old\(number)", ["text": "x"]) }
    try phone.sync()
    for number in 0..<1_360 { phone.edit("r\(number)", ["text": "\(number)"]) }
    for number in 0..<50 { phone.delete("old\(number)") }
    try phone.send()
    #expect(phone.link.batches.allSatisfy { $0 <= 400 })
    #expect(phone.link.batches.reduce(0, +) == 1_460)
    #expect(try world.serverRows().count == 1_360)
  }

  /// C13: a batch of the app's own making that is too large is divided by the engine.
  @Test func aHandMadeBatchOverTheLimitIsDivided() throws {
    let world = SyncWorld()
    let maker = BatchMaker(count: 1_001)
    let engine = maker.engine(world)
    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: DiaryDevice.zoneID))])
    engine.state.hasPendingUntrackedChanges = true
    try world.time.run { try await engine.sendChanges() }
    #expect(try world.serverRows().count == 1_001)
    #expect(maker.link.batches.allSatisfy { $0 <= 400 })
    #expect(!engine.state.hasPendingUntrackedChanges)
  }

  /// What a proxy finds too long is sent in parts; only a record that is too long by itself is refused.
  @Test func changesPassAProxyThatTakesShortBodies() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.link.bodyLimit = 65_536
    for number in 0..<200 { phone.edit("r\(number)", ["text": String(repeating: "x", count: 1_000)]) }
    phone.edit("long", ["text": String(repeating: "x", count: 70_000)])
    #expect(try phone.sendFailing() == ["long": .limitExceeded])
    #expect(try world.serverRows().count == 200)
    #expect(Set(phone.failures) == [.limitExceeded])
    #expect(phone.engine.status.failedRecords.map(\.recordID.recordName) == ["long"])
  }

  /// C16: full storage: nothing is deleted here because of it, the user hears once, and all is sent when there is space.
  @Test func fullStorageNeverLeadsToADeletion() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("seed", ["text": "x"])
    try phone.sync()
    let isFull = Flag(true)
    phone.link.setFault { operation, _ in
      guard operation == "records/modify", isFull.value else { return nil }
      return .reply(
        .records(
          RecordsReply(records: [
            .failure(RecordFailure("1-parent", ServiceError(.quotaExceeded, "full"))),
            .failure(RecordFailure("2-child", ServiceError(.validatingReferenceError, "no target"))),
          ])))
    }
    phone.edit("1-parent", ["text": "P"])
    phone.edit("2-child", ["parent": "1-parent"])
    try phone.sync()
    phone.addMarked()
    try phone.sync()
    #expect(phone.rows.count == 3)
    #expect(phone.disk.rows.values.filter(\.isDirty).count == 2)
    #expect(phone.notices == ["no space"])
    isFull.value = false
    phone.addMarked()
    #expect(phone.pending == ["save 1-parent in diary", "save 2-child in diary"])
    try phone.sync()
    #expect(try world.serverRows().count == 3)
  }

  /// C18: deleted there, edited here: both devices end with the same, by the app's rule.
  @Test(arguments: [DiaryDevice.DeletePolicy.deleteWins, .editWins], [true, false])
  func aDeletionAgainstAnEditEndsTheSameOnBoth(policy: DiaryDevice.DeletePolicy, fetchesFirst: Bool) throws {
    let world = SyncWorld()
    let (a, b) = (world.device(), world.device())
    a.set(deletePolicy: policy)
    b.set(deletePolicy: policy)
    a.edit("r", ["text": "1"])
    try world.converge(a, b)
    a.delete("r")
    try a.sync()
    b.edit("r", ["text": "2"])
    if fetchesFirst { try b.fetch() } else { try b.sendAll() }
    if !fetchesFirst { #expect(b.failures == [.unknownItem]) }
    try world.converge(a, b)
    #expect(a.rows == (policy == .editWins ? ["r": ["text": "2"]] : [:]))
    if policy == .deleteWins { #expect(b.disk.conflicts.count == 1) }
  }

  /// C20: what a failed creation held is sent with the next attempt.
  @Test func aCreationThatFailedIsSentWhole() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("r", ["a": "1", "b": "2"])
    phone.link.setFault { operation, number in operation == "records/modify" && number == 0 ? .cut : nil }
    #expect(throws: CKError.self) { try phone.send() }
    phone.edit("r", ["a": "3"])
    try phone.sync()
    #expect(try world.serverRows() == ["r": ["a": "3", "b": "2"]])
  }

  @Test func anEditDuringItsRequestIsSentAfterIt() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("r", ["text": "1"])
    phone.link.setFault { operation, number in
      if operation == "records/modify", number == 0 { phone.edit("r", ["text": "2"]) }
      return nil
    }
    try phone.send()
    #expect(try world.serverRows() == ["r": ["text": "2"]])
    #expect(phone.link.batches == [1, 1])
    #expect(phone.pending == [])
  }
}

/// An app that makes its batches itself, without listing changes.
final class BatchMaker: CKSyncEngineDelegate, Sendable {
  private let count: Int
  private let zoneID: CKRecordZone.ID
  private let isGiven = Flag(false)
  private let way = Holder<Link>()

  init(count: Int, zoneID: CKRecordZone.ID = DiaryDevice.zoneID) {
    self.count = count
    self.zoneID = zoneID
  }

  var link: Link {
    guard let link = way.value else { preconditionFailure("no engine was made") }
    return link
  }

  func engine(_ world: SyncWorld) -> CKSyncEngine {
    let link = Link(world.server)
    way.value = link
    let container = world.container(account: "u1", link)
    var configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase, stateSerialization: nil, delegate: self)
    configuration.automaticallySync = false
    return CKSyncEngine(configuration, environment: world.time.environment(seed: 3))
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    if isGiven.value { return nil }
    isGiven.value = true
    let records = (0..<count).map { number in
      let record = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "r\(number)", zoneID: zoneID))
      record["text"] = "\(number)"
      return record
    }
    return CKSyncEngine.RecordZoneChangeBatch(recordsToSave: records)
  }
}

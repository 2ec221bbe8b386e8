import CloudKit
import Foundation
import Testing
import VirgaCloudKit
import VirgaModel
import VirgaWire

@Suite struct SyncStatusTests {
  /// C111: three edits without a network, then with one.
  @Test func theStatusCountsWhatWaits() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("seed", ["text": "x"])
    try phone.sync()
    let before = try #require(phone.engine.status.lastSend)
    world.time.pass(.seconds(60))
    phone.link.isCut = true
    for name in ["a", "b", "c"] { phone.edit(name, ["text": name]) }
    #expect(throws: CKError.self) { try phone.send() }
    var status = phone.engine.status
    #expect(status.pendingSaves == 3)
    #expect(status.sendError?.code == .networkUnavailable)
    #expect(status.lastSend == before)
    #expect(!status.isUpToDate)
    phone.link.isCut = false
    try phone.sync()
    status = phone.engine.status
    #expect(status.pendingSaves == 0)
    #expect(status.sendError == nil)
    #expect(try #require(status.lastSend) > before)
    #expect(status.isUpToDate)
  }

  /// C26: the app cannot read its records.
  @Test func aRecordStoreThatCannotBeReadIsAFailure() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("a", ["text": "a"])
    phone.set(isUnreadable: true)
    for _ in 0..<3 {
      try phone.send()
      #expect(phone.pending == ["save a in diary"])
      #expect(phone.engine.status.sendError != nil)
      #expect(phone.engine.status.lastSend == nil)
    }
    phone.set(isUnreadable: false)
    try phone.send()
    #expect(phone.pending == [])
    #expect(phone.engine.status.sendError == nil)
  }

  /// C112: a schema that was not deployed needs attention at once, and a later success clears that.
  @Test func aRefusalOfTheSchemaIsListedUntilItIsMended() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("seed", ["text": "x"])
    try phone.sync()
    phone.link.setFault { operation, _ in
      guard operation == "records/modify" else { return nil }
      let error = ServiceError(.badRequest, "\(Reason.schemaRefusal) 'Entry' in production schema")
      return .reply(.records(RecordsReply(records: [.failure(RecordFailure("a", error))])))
    }
    phone.edit("a", ["text": "a"])
    #expect(try phone.sendFailing() == ["a": .serverRejectedRequest])
    #expect(phone.engine.status.failedRecords.map(\.error.code) == [.serverRejectedRequest])
    #expect(!phone.engine.status.isUpToDate)
    phone.link.setFault(nil)
    phone.addMarked()
    try phone.sync()
    #expect(phone.engine.status.failedRecords.isEmpty)
    #expect(phone.engine.status.isUpToDate)
  }

  /// What was refused for good stays listed through fetches and launches, with its code and text, until it is mended.
  @Test func aRefusalOutlivesFetchesAndLaunches() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("seed", ["text": "x"])
    try phone.sync()
    let reason = "Cannot create new type Entry in production schema; deploy it with: virga schema deploy"
    phone.link.setFault { operation, _ in
      guard operation == "records/modify" else { return nil }
      return .reply(.records(RecordsReply(records: [.failure(RecordFailure("a", ServiceError(.badRequest, reason)))])))
    }
    phone.edit("a", ["text": "a"])
    #expect(try phone.sendFailing() == ["a": .serverRejectedRequest])
    #expect(phone.pending == [])
    for _ in 0..<2 {
      try phone.fetch()
      #expect(phone.engine.status.failedRecords.map(\.recordID) == [DiaryDevice.id("a")])
    }
    let gaps = phone.engine.status.schemaGaps
    #expect(gaps.map(\.recordType) == ["Entry"])
    var disk = phone.kill()
    // Of what it marked, the app adds nothing again by itself.
    disk.rows[DiaryDevice.id("a")]?.isDirty = false
    let again = world.device(disk: disk)
    try again.fetch()
    let status = again.engine.status
    #expect(status.failedRecords.map(\.recordID) == [DiaryDevice.id("a")])
    #expect(status.failedRecords.map(\.error.code) == [.serverRejectedRequest])
    #expect(status.schemaGaps == gaps && !status.isUpToDate)
    again.edit("a", ["text": "a"])
    try again.sync()
    #expect(again.engine.status.isUpToDate)
  }

  /// A conflict that the app leaves alone is nobody's but the app's to settle, by saving or by taking its change back.
  @Test(arguments: [true, false])
  func aConflictIsListedUntilTheAppSettlesIt(isSaved: Bool) throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    phone.edit("r", ["text": "1"])
    try world.converge(phone, laptop)
    laptop.edit("r", ["text": "2"])
    try laptop.sync()
    phone.edit("r", ["text": "3"])
    phone.set(resolves: false)
    #expect(try phone.sendFailing() == ["r": .serverRecordChanged])
    try phone.fetch()
    #expect(phone.engine.status.failedRecords.map(\.error.code) == [.serverRecordChanged])
    #expect(!phone.engine.status.isUpToDate)
    if isSaved {
      phone.set(resolves: true)
      try phone.sendAll()
    } else {
      phone.engine.state.remove(pendingRecordZoneChanges: [.saveRecord(DiaryDevice.id("r"))])
    }
    #expect(phone.engine.status.failedRecords.isEmpty)
    #expect(phone.engine.status.isUpToDate)
  }

  /// C128: the default zone has no feed: records go up, no engine announces the zone, and the status names it once.
  @Test func theDefaultZoneIsNamedOnceAndNeverAnnounced() throws {
    let world = SyncWorld()
    let maker = BatchMaker(count: 3, zoneID: .default)
    let engine = maker.engine(world)
    engine.state.hasPendingUntrackedChanges = true
    #expect(engine.status.warnings.isEmpty)
    try world.time.run { try await engine.sendChanges() }
    #expect(engine.status.warnings == [.zoneIsNeverFetched(CKRecordZone.default().zoneID)])
    #expect(engine.status.warnings.first?.description.contains("_defaultZone") == true)
    let reader = world.device()
    try reader.fetch()
    #expect(reader.rows.isEmpty && !reader.events.contains { $0.hasPrefix("database(") })
    #expect(reader.engine.status.isUpToDate && reader.engine.status.warnings.isEmpty)
  }

  /// C37: a clock that is wrong is told.
  @Test(arguments: [Duration.seconds(-300), .seconds(3_600), .zero])
  func aWrongClockIsTold(skew: Duration) throws {
    let world = SyncWorld()
    let phone = world.device(engineSkew: skew)
    phone.edit("a", ["text": "a"])
    try phone.send()
    let measured = try #require(phone.engine.status.clockSkew)
    #expect(measured == skew)
  }
}

@Suite struct SyncMergeTests {
  enum Move: CaseIterable { case sendA, fetchA, sendB, fetchB }

  static let orders: [[Move]] = {
    func arrange(_ left: [Move]) -> [[Move]] {
      left.isEmpty
        ? [[]]
        : left.indices.flatMap { index in
          var rest = left
          let move = rest.remove(at: index)
          return arrange(rest).map { [move] + $0 }
        }
    }
    return arrange(Move.allCases)
  }()

  /// C33: one field edited on both; whatever the order of sends and fetches, all end with the later edit.
  @Test(arguments: [(30, 60, "B"), (60, 30, "A"), (30, 30, "B")])
  func bothDevicesEndWithTheSameValue(timeA: Int, timeB: Int, winner: String) throws {
    let world = SyncWorld()
    let (a, b) = (world.device(), world.device())
    for number in Self.orders.indices { a.edit("r\(number)", ["text": "base"]) }
    try world.converge(a, b)
    for (number, order) in Self.orders.enumerated() {
      let edits = [(timeA, a, "A"), (timeB, b, "B")].sorted { $0.0 < $1.0 }
      let start = world.time.now
      for (time, device, text) in edits {
        world.time.pass(max(.zero, start + .seconds(time) - world.time.now))
        device.edit("r\(number)", ["text": text])
      }
      for move in order {
        switch move {
        case .sendA: try a.sendAll()
        case .fetchA: try a.fetch()
        case .sendB: try b.sendAll()
        case .fetchB: try b.fetch()
        }
      }
      for _ in 0..<2 { for device in [a, b] { try device.sync() } }
      #expect(a.rows["r\(number)"] == ["text": winner], "\(order)")
      #expect(a.rows == b.rows, "\(order)")
    }
    try world.converge(a, b)
  }

  /// C34: the resolver gets the last acknowledged version as ancestor, also after a restart.
  @Test(arguments: [false, true])
  func theAncestorIsWhatTheServerAcknowledged(restarts: Bool) throws {
    let world = SyncWorld()
    let (a, first) = (world.device(), world.device())
    a.edit("r", ["x": "1", "y": "1"])
    try world.converge(a, first)
    a.edit("r", ["x": "2"])
    try a.sync()
    first.edit("r", ["y": "unacknowledged"])
    first.link.isCut = true
    #expect(throws: CKError.self) { try first.send() }
    let b = restarts ? world.device(disk: first.kill()) : first
    b.link.isCut = false
    #expect(try b.sendFailing() == ["r": .serverRecordChanged])
    try b.send()
    #expect(b.ancestors == [["x": "1", "y": "1"]])
    #expect(try world.serverRows() == ["r": ["x": "2", "y": "unacknowledged"]])
    // C36: the merged record was accepted at the first retry.
    #expect(b.failures == [.serverRecordChanged])
  }

  /// C36: the record with the old tag conflicts again, and says what the server has.
  @Test func theOldTagConflictsAgain() throws {
    let world = SyncWorld()
    let phone = world.device()
    let database = world.container(account: "u1", phone.link).privateCloudDatabase
    phone.edit("r", ["text": "1"])
    try phone.sync()
    let old = try world.time.run { try await database.record(for: DiaryDevice.id("r")) }
    phone.edit("r", ["text": "2"])
    try phone.sync()
    old["text"] = "3"
    for _ in 0..<2 {
      let error = #expect(throws: CKError.self) { _ = try world.time.run { try await database.save(old) } }
      #expect(error?.code == .serverRecordChanged)
      #expect(error?.serverRecord?["text"] as? String == "2")
    }
    let results = try world.time.run {
      try await database.modifyRecords(saving: [old], deleting: [], savePolicy: .changedKeys).saveResults
    }
    #expect(throws: Never.self) { try results[old.recordID]?.get() }
    #expect(try world.serverRows()["r"]?["text"] == "3")
  }

  /// C37: an edit made after seeing another wins, whatever its device's clock says.
  @Test(arguments: [Duration.seconds(-300), .seconds(3_600)])
  func anEditThatSawTheOtherWins(skew: Duration) throws {
    let world = SyncWorld()
    let (a, b) = (world.device(), world.device())
    b.set(clockSkew: skew)
    a.edit("r", ["text": "A"])
    try world.converge(a, b)
    b.edit("r", ["text": "B"])
    try b.sync()
    try a.sync()
    #expect(a.rows["r"] == ["text": "B"])
    // Edits that did not see each other end the same on both.
    a.edit("r", ["text": "A2"])
    b.edit("r", ["text": "B2"])
    try world.converge(a, b)
  }

  /// C46: edits of two fields of one record both survive.
  @Test func editsOfTwoFieldsBothSurvive() throws {
    let world = SyncWorld()
    let (a, b) = (world.device(), world.device())
    a.edit("r", ["x": "0", "y": "0"])
    try world.converge(a, b)
    a.edit("r", ["x": "A"])
    b.edit("r", ["y": "B"])
    try world.converge(a, b)
    #expect(a.rows["r"] == ["x": "A", "y": "B"])
    #expect(a.disk.conflicts.isEmpty && b.disk.conflicts.isEmpty)
  }
}

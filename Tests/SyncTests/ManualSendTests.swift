import Foundation
import Testing
import VirgaModel
import VirgaSync

/// A send that the app asks for sends each change once and throws what failed; the schedule goes on as ever.
@Suite struct ManualSendTests {
  /// Fails for the records with these names, each time.
  private static func refusing(_ names: Set<RecordName>, _ kind: SyncFailure.Kind) -> (SyncStep) -> SyncEvent {
    { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      return .recordsSent(
        .success(part.records.map { ItemOutcome($0, names.contains($0.name) ? SyncFailure(kind) : nil) }))
    }
  }

  /// Adds again what failed, as a delegate does that has resolved it.
  private static func addingAgain(_ names: Set<RecordName>) -> (Notice) -> [SyncEvent] {
    { notice in
      guard case .sentRecords(let part, _) = notice else { return [] }
      let failed = part.records.filter { names.contains($0.name) }
      return failed.isEmpty ? [] : [.add(zones: [], records: failed.map { PendingRecordChange(.save, $0) })]
    }
  }

  @Test(arguments: [
    SyncFailure.Kind.conflict, .zoneGone, .collateral, .final, .rejected, .zoneBusy, .noAccount,
  ])
  func whatFailedIsThrownAndNotSentAgainByTheSameCall(kind: SyncFailure.Kind) {
    var world = MachineWorld(answer: Self.refusing(["a"], kind))
    world.onTell = Self.addingAgain(["a"])
    world.save(record("a"), record("b"))
    let thrown = world.send()
    #expect(thrown == .some(SyncFailure(.partial)))
    #expect(thrown??.items.map(\.name) == [.record(record("a"))])
    #expect(thrown??.items.map(\.failure.kind) == [kind])
    #expect(world.pendingWords == ["+a"])
    #expect(world.trace.filter { $0.hasPrefix("records:") } == ["records:2"])
    #expect(world.machine.status.sendFailure != nil)
    // The next call sends it.
    world.onTell = { _ in [] }
    world.answer = { MachineWorld.success($0) }
    #expect(world.send() == .some(nil))
    #expect(world.pendingWords.isEmpty && world.machine.status.sendFailure == nil)
  }

  /// What failed and is put back stays behind, and all that comes after it goes out in the same call.
  @Test func laterBatchesOfTheCallAreNotFilledWithWhatFailed() {
    let failing = Set((0..<450).map { RecordName("a\($0)") })
    var world = MachineWorld(answer: Self.refusing(failing, .conflict))
    world.onTell = Self.addingAgain(failing)
    world.handle(.add(zones: [], records: (0..<450).map { PendingRecordChange(.save, record("a\($0)")) }))
    world.handle(.add(zones: [], records: (0..<450).map { PendingRecordChange(.save, record("b\($0)")) }))
    #expect(world.send()??.items.count == 450)
    #expect(world.pendingWords == (0..<450).map { "+a\($0)" })
    #expect(world.trace.filter { $0.hasPrefix("records:") } == ["records:400", "records:400", "records:100"])
  }

  /// An edit while its record is on its way is another matter: the request that succeeds does not carry it.
  @Test func anEditDuringTheRequestIsSentByTheSameCall() {
    var world = MachineWorld()
    world.save(record("a"))
    var rounds = 0
    world.take(.send(CallID(1), .all))
    world.settleAdding {
      rounds += 1
      return (2...4).contains(rounds) ? [.add(zones: [], records: [PendingRecordChange(.save, record("a"))])] : []
    }
    #expect(world.finished[CallID(1)] == .some(nil))
    #expect(world.pendingWords.isEmpty)
  }

  @Test func aZoneThatIsRefusedIsThrownAndNotSentAgain() {
    var world = MachineWorld { step in
      guard case .sendZones(let changes) = step else { return MachineWorld.success(step) }
      return .zonesSent(.success(changes.map { ZoneOutcome($0.zone, SyncFailure(.final)) }))
    }
    world.onTell = { notice in
      guard case .sentZones = notice else { return [] }
      return [.add(zones: [PendingZoneChange(.save, diary)], records: [])]
    }
    world.handle(.add(zones: [PendingZoneChange(.save, diary)], records: []))
    world.save(record("a", in: photos))
    let thrown = world.send()
    #expect(thrown??.items.map(\.name) == [.zone(diary)])
    #expect(world.trace.filter { $0 == "zones:diary" }.count == 1)
    #expect(world.pendingWords.isEmpty && world.machine.state.zoneChanges.count == 1)
  }

  /// A zone that the delegate adds because its records were refused is new to the call.
  @Test func theZoneOfRefusedRecordsIsMadeByTheSameCall() {
    var world = MachineWorld(answer: Self.refusing(["a"], .zoneGone))
    world.onTell = { notice in
      guard case .sentRecords = notice else { return [] }
      return [.add(zones: [PendingZoneChange(.save, diary)], records: [PendingRecordChange(.save, record("a"))])]
    }
    world.save(record("a"))
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(world.trace.contains("zones:diary") && world.machine.state.zoneChanges.isEmpty)
    #expect(world.pendingWords == ["+a"])
  }

  /// An atomic batch goes without the zone of what failed.
  @Test func anAtomicBatchLeavesOutTheZoneOfWhatFailed() {
    var world = MachineWorld(answer: Self.refusing(["a"], .conflict))
    world.save(record("a"), record("b"), record("c", in: photos))
    var batches = 0
    let refuse = Self.refusing(["a"], .conflict)
    world.answer = { step in
      guard case .askBatch = step else { return refuse(step) }
      batches += 1
      let all = [record("a"), record("b"), record("c", in: photos)]
      return .batch(batches > 2 ? nil : BatchPart(saves: all, deletes: [], isAtomic: true))
    }
    _ = world.send()
    #expect(world.trace.filter { $0.hasPrefix("records:") }.prefix(2) == ["records:3", "records:1"])
  }

  /// With automatic sync the schedule sends what a call left, a little later and again and again as for any addition.
  @Test func theScheduleSendsWhatACallLeft() {
    var world = MachineWorld(automatic: true, answer: Self.refusing(["a"], .conflict))
    world.onTell = Self.addingAgain(["a"])
    world.save(record("a"))
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(world.sendTimes.count == 1 && world.machine.status.nextSend != nil)
    world.onTell = { _ in [] }
    world.answer = { MachineWorld.success($0) }
    world.pass(.seconds(10))
    #expect(world.sendTimes.count == 2)
    #expect(world.pendingWords.isEmpty && world.machine.status.sendFailure == nil)
  }

  /// A scheduled send puts what its delegate added again into the next batch of the same run, as before.
  @Test func aScheduledSendGoesOnWithWhatWasAddedAgain() {
    var world = MachineWorld(automatic: true)
    var attempts = 0
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      attempts += 1
      return .recordsSent(.success(part.records.map { ItemOutcome($0, attempts == 1 ? SyncFailure(.conflict) : nil) }))
    }
    world.onTell = { attempts == 1 ? Self.addingAgain(["a"])($0) : [] }
    world.save(record("a"))
    world.pass(.milliseconds(300))
    #expect(attempts == 2 && world.pendingWords.isEmpty)
    #expect(world.trace.filter { $0 == "willSend" }.count == 1)
  }

  /// What ends the run as a whole is thrown as it is, whatever failed before.
  @Test func theFailureOfTheWholeIsThrownBeforeThoseOfItems() {
    var requests = 0
    var world = MachineWorld()
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      requests += 1
      if requests > 1 { return .recordsSent(.failure(SyncFailure(.unreachable))) }
      return .recordsSent(.success(part.records.map { ItemOutcome($0, SyncFailure(.conflict)) }))
    }
    for number in 0..<500 { world.save(record("r\(number)")) }
    #expect(world.send() == .some(SyncFailure(.unreachable)))
    #expect(world.machine.status.sendFailure == SyncFailure(.unreachable))
  }
}

/// Failures stay in the status until they are mended, also through a relaunch.
@Suite struct FailureMemoryTests {
  private static let refusal: SyncFailure = {
    var failure = SyncFailure(.rejected, retryAfter: .milliseconds(1_500))
    failure.note = SyncFailure.Note(code: 15, text: "no such field")
    return failure
  }()

  /// One record that failed and that the app left alone.
  private func world(_ kind: SyncFailure.Kind) -> MachineWorld {
    var world = MachineWorld { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      var failure = kind == .rejected ? Self.refusal : SyncFailure(kind)
      if failure.note == nil { failure.note = SyncFailure.Note(code: 14, text: "changed") }
      return .recordsSent(.success(part.records.map { ItemOutcome($0, failure) }))
    }
    world.save(record("a"))
    _ = world.send()
    world.answer = { MachineWorld.success($0) }
    return world
  }

  private func failed(_ world: MachineWorld) -> [RecordID] { world.machine.status.failedRecords.map(\.record) }

  private func relaunched(_ world: MachineWorld) throws -> MachineWorld {
    let data = try JSONEncoder().encode(world.machine.state)
    return MachineWorld(state: try JSONDecoder().decode(SyncState.self, from: data))
  }

  @Test(arguments: [SyncFailure.Kind.conflict, .zoneGone, .rejected, .final, .zoneBusy])
  func aFailureOutlivesFetchesAndLaunches(kind: SyncFailure.Kind) throws {
    var world = world(kind)
    #expect(failed(world) == [record("a")])
    world.answer = { step in
      switch step {
      case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [diary], token: "d2")))
      case .fetchZone: .zonePage(.success(ZonePage(zone: diary, count: 1, token: "z2")))
      default: MachineWorld.success(step)
      }
    }
    #expect(world.fetch() == .some(nil))
    #expect(failed(world) == [record("a")])
    for _ in 0..<2 { world = try relaunched(world) }
    #expect(failed(world) == [record("a")])
    let failure = try #require(world.machine.status.failedRecords.first?.failure)
    #expect(failure.kind == kind)
    #expect(failure.note?.code == (kind == .rejected ? 15 : 14))
    #expect(failure.retryAfter == (kind == .rejected ? .milliseconds(1_500) : nil))
    #expect(world.fetch() == .some(nil))
    #expect(failed(world) == [record("a")])
  }

  enum Cure: CaseIterable { case saved, deleted, takenBack, zoneDeletedHere, zoneDeletedThere, anotherAccount }

  @Test(arguments: Cure.allCases, [false, true])
  func aFailureIsForgottenOnceItIsMended(cure: Cure, afterALaunch: Bool) throws {
    var world = world(.conflict)
    if afterALaunch { world = try relaunched(world) }
    switch cure {
    case .saved:
      world.save(record("a"))
      _ = world.send()
    case .deleted:
      world.handle(.add(zones: [], records: [PendingRecordChange(.delete, record("a"))]))
      _ = world.send()
    case .takenBack: world.handle(.remove(zones: [], records: [PendingRecordChange(.save, record("a"))]))
    case .zoneDeletedHere:
      world.handle(.add(zones: [PendingZoneChange(.delete, diary)], records: []))
      _ = world.send()
    case .zoneDeletedThere:
      world.answer = { step in
        guard case .fetchDatabase = step else { return MachineWorld.success(step) }
        return .databasePage(.success(DatabasePage(modified: [], deleted: [.init(diary, .deleted)], token: "d2")))
      }
      _ = world.fetch()
    case .anotherAccount:
      world.handle(.accountMayHaveChanged)
      world.answer = { step in
        guard case .checkAccount = step else { return MachineWorld.success(step) }
        return .account(.success("_bob"))
      }
      _ = world.fetch()
    }
    #expect(failed(world).isEmpty)
    #expect(failed(try relaunched(world)).isEmpty)
  }

  /// What is told in the status is not what bounds the attempts: a delegate that takes a change back and adds it again
  /// each time it fails is stopped all the same.
  @Test func takingBackAndAddingAgainDoesNotGoOnForEver() {
    var attempts = 0
    var world = MachineWorld(automatic: true)
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      attempts += 1
      if attempts > 50 { return .recordsSent(.failure(SyncFailure(.cancelled))) }
      return .recordsSent(.success(part.records.map { ItemOutcome($0, SyncFailure(.final)) }))
    }
    world.onTell = { notice in
      guard case .sentRecords = notice else { return [] }
      let change = [PendingRecordChange(.save, record("a"))]
      return [.remove(zones: [], records: change), .add(zones: [], records: change)]
    }
    world.save(record("a"))
    world.pass(.milliseconds(300))
    #expect(attempts == 5)
  }

  /// A state that an earlier release wrote, and one of a later release with a kind of failure that is not known.
  @Test(arguments: [
    (#"{"version":1,"recordZones":[ZONE],"recordLines":"+0 a\n","untracked":false,"unfetched":[],"reread":[]}"#, 0),
    (#"{"version":2,"recordZones":[ZONE],"recordLines":"+0 a\n","failures":[{"record":RECORD,"kind":"new"},7]}"#, 1),
  ])
  func statesOfOtherReleasesAreRead(template: String, failures: Int) throws {
    func json(_ value: some Encodable) throws -> String {
      String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
    let json = try template.replacingOccurrences(of: "ZONE", with: json(diary))
      .replacingOccurrences(of: "RECORD", with: json(record("a")))
    let state = try JSONDecoder().decode(SyncState.self, from: Data(json.utf8))
    #expect(state.recordChanges == [PendingRecordChange(.save, record("a"))])
    let machine = SyncMachine(state: state, isAutomatic: false)
    #expect(machine.status.failedRecords.count == failures)
    #expect(machine.status.failedRecords.allSatisfy { $0.failure.kind == .final })
  }

  /// However many records fail, the state that is written stays small.
  @Test func aStateHoldsNoMoreThanAThousandFailures() throws {
    var world = MachineWorld { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      var failure = SyncFailure(.zoneBusy)
      failure.note = SyncFailure.Note(code: 1, text: String(repeating: "x", count: 100_000))
      return .recordsSent(.success(part.records.map { ItemOutcome($0, failure) }))
    }
    world.handle(.add(zones: [], records: (0..<1_001).map { PendingRecordChange(.save, record("r\($0)")) }))
    _ = world.send()
    #expect(failed(world).count == 1_001)
    let data = try JSONEncoder().encode(world.machine.state)
    #expect(data.count < 1_500_000)
    #expect(failed(try relaunched(world)) == (1..<1_001).map { record("r\($0)") })
  }

  /// C128: the default zone has no feed. It is not announced, and a warning names it once.
  @Test func theDefaultZoneIsNotAnnouncedAndIsWarnedOfOnce() {
    let feedless = ZoneID(.default, owner: .defaultOwner)
    var world = MachineWorld { step in
      guard case .fetchDatabase = step else { return MachineWorld.success(step) }
      return .databasePage(.success(DatabasePage(modified: [feedless], failed: [feedless], token: "d1")))
    }
    #expect(world.fetch() == .some(nil))
    #expect(!world.trace.contains { $0.hasPrefix("database(") || $0.hasPrefix("zone ") })
    #expect(world.machine.status.feedlessZones.isEmpty && world.machine.status.unfetchedZones == 0)
    world.save(record("a", in: feedless), record("b", in: feedless), record("c"))
    #expect(world.send() == .some(nil))
    #expect(world.machine.status.feedlessZones == [feedless])
  }
}

import Testing
import VirgaModel
import VirgaSync

@Suite struct SendTests {
  @Test func zonesGoBeforeRecordsAndEachRequestIsToldBeforeTheNext() {
    var world = MachineWorld()
    world.handle(.add(zones: [PendingZoneChange(.save, diary)], records: [PendingRecordChange(.save, record("a"))]))
    #expect(world.send() == .some(nil))
    #expect(
      world.trace == [
        "account?", "signIn", "state", "willSend", "zones:diary", "sentZones", "batch?", "records:1", "sentRecords",
        "batch?", "state", "didSend",
      ])
    #expect(world.pendingWords.isEmpty)
  }

  @Test func aZoneAddedWhileRecordsAreSentGoesBeforeTheNextBatch() {
    var world = MachineWorld()
    var isAdded = false
    world.onTell = { notice in
      guard case .sentRecords = notice, !isAdded else { return [] }
      isAdded = true
      return [
        .add(zones: [PendingZoneChange(.save, photos)], records: [PendingRecordChange(.save, record("b", in: photos))])
      ]
    }
    world.save(record("a"))
    _ = world.send()
    #expect(
      world.trace.filter { !["state", "account?", "signIn"].contains($0) } == [
        "willSend", "batch?", "records:1", "sentRecords", "zones:photos", "sentZones", "batch?", "records:1",
        "sentRecords", "batch?", "didSend",
      ])
  }

  @Test(arguments: [
    // additions, then what is pending, in order
    (["+a", "+b", "+a"], ["+a", "+b"]),
    (["+a", "+b", "-a"], ["-a", "+b"]),
    (["-a", "+a"], ["+a"]),
    (["+a", "+b", "+c", "-b", "+d"], ["+a", "-b", "+c", "+d"]),
  ])
  func aRecordHasOnePendingChangeAndKeepsItsPlace(additions: [String], expected: [String]) {
    var world = MachineWorld()
    for word in additions {
      let change = PendingRecordChange(word.hasPrefix("+") ? .save : .delete, record(String(word.dropFirst())))
      world.handle(.add(zones: [], records: [change]))
    }
    #expect(world.pendingWords == expected)
  }

  @Test func removingTheOppositeChangeIsANoOp() {
    var world = MachineWorld()
    world.save(record("a"))
    world.handle(.remove(zones: [], records: [PendingRecordChange(.delete, record("a"))]))
    #expect(world.pendingWords == ["+a"])
    world.handle(.remove(zones: [], records: [PendingRecordChange(.save, record("a"))]))
    #expect(world.pendingWords.isEmpty)
  }

  /// An edit during flight: the request carried the former content, so its success must not swallow the addition.
  @Test(arguments: ["ask", "request"], [PendingKind.save, .delete])
  func anAdditionDuringFlightSurvivesTheSuccessOfTheRequest(moment: String, kind: PendingKind) {
    var world = MachineWorld()
    world.save(record("a"))
    var rounds = 0
    var machineEvents: [SyncEvent] = []
    world.answer = { step in
      switch (step, moment) {
      case (.askBatch, "ask"), (.sendRecords, "request"):
        rounds += 1
        if rounds == 1 { machineEvents.append(.add(zones: [], records: [PendingRecordChange(kind, record("a"))])) }
      default: break
      }
      return MachineWorld.success(step)
    }
    // The addition is handed in while the step is being performed.
    world.take(.send(CallID(1), .all))
    world.settleAdding {
      defer { machineEvents = [] }; return machineEvents
    }
    let sent = world.steps.filter { if case .sendRecords = $0.step { true } else { false } }
    #expect(sent.count == 2)
    #expect(world.pendingWords.isEmpty)
  }

  @Test(arguments: [SyncFailure.Kind.unreachable, .throttled, .noAccount, .cancelled, .barred])
  func aRunFailureKeepsEveryPendingChangeAndIsThrown(kind: SyncFailure.Kind) {
    var world = MachineWorld()
    world.save(record("a"), record("b"))
    world.answer = { step in
      if case .sendRecords = step { return .recordsSent(.failure(SyncFailure(kind))) }
      return MachineWorld.success(step)
    }
    #expect(world.send() == .some(SyncFailure(kind)))
    #expect(world.pendingWords == ["+a", "+b"])
    #expect(world.trace.suffix(2).last == "didSend")
    #expect(!world.trace.contains("sentRecords"))
  }

  @Test(arguments: [
    (SyncFailure.Kind.zoneBusy, true), (.noAccount, true), (.final, false), (.conflict, false), (.zoneGone, false),
    (.collateral, false),
    (.rejected, false),
    (.limitExceeded, false),
  ])
  func anItemStaysPendingForRetryableFailuresAlone(kind: SyncFailure.Kind, stays: Bool) {
    var world = MachineWorld()
    world.save(record("a"), record("b"))
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      return .recordsSent(
        .success(part.records.map { ItemOutcome($0, $0.name == "a" ? SyncFailure(kind) : nil) }))
    }
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(world.pendingWords == (stays ? ["+a"] : []))
    #expect(world.trace.filter { $0 == "records:2" }.count == 1)
  }

  /// C01: for each transient failure the record stays pending, nothing is sent before the wait is over, two attempts.
  @Test(arguments: [SyncFailure.Kind.unreachable, .throttled, .zoneBusy], [Duration.seconds(13), nil])
  func transientFailuresAreRetriedAfterTheWaitThatWasAskedFor(kind: SyncFailure.Kind, retryAfter: Duration?) {
    var world = MachineWorld(automatic: true)
    var attempts = 0
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      attempts += 1
      guard attempts == 1 else { return MachineWorld.success(step) }
      let failure = SyncFailure(kind, retryAfter: retryAfter)
      return .recordsSent(
        kind == .zoneBusy ? .success(part.records.map { ItemOutcome($0, failure) }) : .failure(failure))
    }
    world.handle(.start)
    world.save(record("r1"))
    world.pass(.seconds(10))
    if retryAfter != nil {
      #expect(world.pendingWords == ["+r1"])
      // Another edit does not shorten the wait.
      world.save(record("r1"))
    }
    world.pass(.seconds(60))
    #expect(world.pendingWords.isEmpty)
    #expect(attempts == 2)
    let times = world.sendTimes
    #expect(times[1] - times[0] >= (retryAfter ?? .milliseconds(500)))
  }

  @Test func waitsDoubleUpToTheMaximumAndNeverEnd() {
    var world = MachineWorld(automatic: true)
    world.answer = { step in
      if case .sendRecords = step { return .recordsSent(.failure(SyncFailure(.unreachable))) }
      return MachineWorld.success(step)
    }
    world.handle(.start)
    world.save(record("a"))
    world.pass(.seconds(3_600))
    let times = world.sendTimes
    let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
    #expect(gaps.count >= 12)
    for (number, gap) in gaps.enumerated() {
      let full = Duration.seconds(min(1 << number, 300))
      #expect(gap >= full * 0.5 && gap <= full + .seconds(1), "gap \(number): \(gap)")
    }
    #expect(world.pendingWords == ["+a"])
    #expect(world.machine.status.sendFailure?.kind == .unreachable)
    #expect(world.machine.status.nextSend != nil)
  }

  /// C05: an app that answers a failure by adding the same again is stopped after five attempts, and the others go on.
  @Test func aRecordThatTheAppKeepsAddingIsHeldAfterFiveAttempts() {
    var world = MachineWorld(automatic: true)
    var attempts = 0
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      if part.records.contains(record("bad")) { attempts += 1 }
      return .recordsSent(
        .success(part.records.map { ItemOutcome($0, $0.name == "bad" ? SyncFailure(.final) : nil) }))
    }
    world.onTell = { notice in
      guard case .sentRecords(let part, _) = notice, part.records.contains(record("bad")) else { return [] }
      return [.add(zones: [], records: [PendingRecordChange(.save, record("bad"))])]
    }
    world.save(record("bad"))
    for number in 0..<90 { world.save(record("r\(number)")) }
    world.pass(.milliseconds(300))
    #expect(attempts == 5)
    #expect(world.pendingWords == ["+bad"])
    #expect(world.machine.status.failedRecords.map(\.record) == [record("bad")])
    // A call is accepted, tries again once, and says so.
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(attempts == 6)
  }

  /// A run ends however many records are in trouble: one that waits for a later run is not forgotten in this one, and
  /// one that the app adds again after each failure is counted.
  @Test(arguments: [(SyncFailure.Kind.zoneBusy, 1), (.final, 5)])
  func aRunEndsWhenMoreRecordsAreInTroubleThanAreRemembered(kind: SyncFailure.Kind, attemptsEach: Int) {
    var world = MachineWorld(automatic: true)
    var attempts: [RecordID: Int] = [:]
    var requests = 0
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      requests += 1
      if requests > 60 { return .recordsSent(.failure(SyncFailure(.cancelled))) }
      for record in part.records { attempts[record, default: 0] += 1 }
      return .recordsSent(.success(part.records.map { ItemOutcome($0, SyncFailure(kind)) }))
    }
    world.onTell = { notice in
      guard kind == .final, case .sentRecords(let part, _) = notice else { return [] }
      return [.add(zones: [], records: part.records.map { PendingRecordChange(.save, $0) })]
    }
    world.handle(.add(zones: [], records: (0..<1_500).map { PendingRecordChange(.save, record("r\($0)")) }))
    world.pass(.milliseconds(300))
    #expect(attempts.values.allSatisfy { $0 <= attemptsEach })
    #expect(kind == .final || requests == 4, "\(requests)")
    #expect(world.pendingWords.count == 1_500)
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(requests <= 60)
  }

  @Test func recordsThatNobodyWaitsForAreForgottenBeyondAThousand() {
    var world = MachineWorld()
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      return .recordsSent(.success(part.records.map { ItemOutcome($0, SyncFailure(.final)) }))
    }
    world.handle(.add(zones: [], records: (0..<1_500).map { PendingRecordChange(.save, record("r\($0)")) }))
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(world.machine.status.failedRecords.map(\.record) == (500..<1_500).map { record("r\($0)") })
  }

  @Test func aZoneThatTheAppKeepsAddingIsHeldAfterFiveAttempts() {
    var world = MachineWorld(automatic: true)
    var requests = 0
    world.answer = { step in
      guard case .sendZones(let changes) = step else { return MachineWorld.success(step) }
      requests += 1
      if requests > 100 { return .zonesSent(.failure(SyncFailure(.cancelled))) }
      return .zonesSent(.success(changes.map { ZoneOutcome($0.zone, $0.zone == diary ? SyncFailure(.final) : nil) }))
    }
    world.onTell = { notice in
      guard case .sentZones = notice else { return [] }
      return [.add(zones: [PendingZoneChange(.save, diary)], records: [])]
    }
    world.handle(.add(zones: [PendingZoneChange(.save, diary)], records: []))
    world.save(record("p", in: photos))
    world.pass(.seconds(100))
    #expect(requests == 5)
    #expect(world.pendingWords.isEmpty)
    #expect(world.machine.state.zoneChanges == [PendingZoneChange(.save, diary)])
    #expect(world.machine.status.sendFailure?.kind == .final)
    world.onTell = { _ in [] }
    world.pass(.seconds(300))
    #expect(requests == 6)
  }

  /// A record whose zone's key this device lacks waits like one whose zone is busy.
  @Test(arguments: [SyncFailure.Kind.zoneBusy, .noAccount])
  func heldRecordsDoNotStandInTheWayOfLaterOnes(kind: SyncFailure.Kind) {
    var world = MachineWorld()
    for number in 0..<400 { world.save(record("busy\(number)")) }
    for number in 0..<50 { world.save(record("free\(number)", in: photos)) }
    var saved = 0
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      saved += part.records.filter { $0.zone == photos }.count
      return .recordsSent(
        .success(part.records.map { ItemOutcome($0, $0.zone == diary ? SyncFailure(kind) : nil) }))
    }
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(saved == 50)
    #expect(world.pendingWords.count == 400)
    #expect(world.pendingWords.first == "+busy0")
  }

  @Test func anAtomicBatchLeavesOutTheWholeZoneOfAHeldRecord() {
    var world = MachineWorld()
    var batches = 0
    world.save(record("a"), record("b"), record("c", in: photos))
    world.answer = { step in
      switch step {
      case .askBatch:
        batches += 1
        return batches > 3
          ? .batch(nil)
          : .batch(BatchPart(saves: [record("a"), record("b"), record("c", in: photos)], deletes: [], isAtomic: true))
      case .sendRecords(let part):
        return .recordsSent(
          .success(part.records.map { ItemOutcome($0, $0.zone == diary ? SyncFailure(.zoneBusy) : nil) }))
      default: return MachineWorld.success(step)
      }
    }
    _ = world.send()
    #expect(world.trace.filter { $0.hasPrefix("records") }.first == "records:3")
    #expect(world.trace.filter { $0.hasPrefix("records") }.dropFirst().allSatisfy { $0 == "records:1" })
  }

  /// A request that is refused as a whole is divided until the culprit is alone.
  @Test(arguments: [SyncFailure.Kind.limitExceeded, .rejected, .broken, .final])
  func aRefusedBatchIsHalvedUntilTheCulpritIsAlone(kind: SyncFailure.Kind) {
    var world = MachineWorld()
    var saved: Set<RecordID> = []
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      if part.records.contains(record("r25")) { return .recordsSent(.failure(SyncFailure(kind))) }
      saved.formUnion(part.records)
      return MachineWorld.success(step)
    }
    for number in 0..<50 { world.save(record("r\(number)")) }
    _ = world.send()
    #expect(saved.count == 49)
    #expect(world.trace.filter { $0.hasPrefix("records") }.count <= 14)
    #expect(world.trace.contains("failedRecords") == (kind != .broken))
    // What the service breaks down on waits; what it refuses is the app's.
    #expect(world.pendingWords == (kind == .broken ? ["+r25"] : []))
  }

  /// A request for zones that is refused as a whole is made again for each zone, so that one does not stop the others.
  @Test(arguments: [SyncFailure.Kind.limitExceeded, .rejected, .final])
  func aRefusedRequestForZonesIsMadeForEachAlone(kind: SyncFailure.Kind) {
    var world = MachineWorld()
    world.answer = { step in
      guard case .sendZones(let changes) = step, changes.contains(where: { $0.zone == photos }) else {
        return MachineWorld.success(step)
      }
      return .zonesSent(.failure(SyncFailure(kind)))
    }
    let third = ZoneID("third", owner: .defaultOwner)
    world.handle(.add(zones: [diary, photos, third].map { PendingZoneChange(.save, $0) }, records: []))
    world.save(record("a"))
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(
      world.trace.filter { $0.contains("ones") } == [
        "zones:diary,photos,third", "zones:diary", "sentZones", "zones:photos", "failedZones", "zones:third",
        "sentZones",
      ])
    #expect(world.machine.state.zoneChanges.isEmpty && world.pendingWords.isEmpty)
  }

  /// A fetch and a send that are due take turns, however many pushes come.
  @Test func steadyPushesDoNotKeepASendWaiting() {
    var world = MachineWorld(automatic: true)
    world.handle(.start)
    world.pass(.seconds(1))
    // Each fetch takes longer than the next push.
    world.answer = { step in
      if case .fetchDatabase = step { return .databasePage(.success(DatabasePage(modified: [], token: "d2"))) }
      return MachineWorld.success(step)
    }
    world.save(record("a"))
    world.take(.push)
    world.now = world.now + .milliseconds(300)
    world.take(.wake)
    var fetches = 0
    while fetches < 20, let step = world.takeStep() {
      if case .sendRecords = step { break }
      if case .fetchDatabase = step {
        fetches += 1
        world.now = world.now + .milliseconds(300)
        world.take(.push)
        world.now = world.now + .milliseconds(30)
      }
      var event = MachineWorld.success(step)
      if case .askBatch(let context) = step { event = world.batch(context) }
      world.take(event)
    }
    #expect(fetches <= 1)
  }

  /// A service that says of single items that they were too many takes them in smaller requests; an item that is too
  /// much by itself is the app's.
  @Test func itemsThatWereTooManyAreSentInSmallerRequests() {
    var world = MachineWorld()
    var sizes: [Int] = []
    world.answer = { step in
      guard case .sendRecords(let part) = step else { return MachineWorld.success(step) }
      sizes.append(part.count)
      return .recordsSent(
        .success(
          part.records.enumerated().map { place, record in
            let isTooMuch = place >= 8 || record.name == "r3"
            return ItemOutcome(record, isTooMuch ? SyncFailure(.limitExceeded) : nil)
          }))
    }
    for number in 0..<20 { world.save(record("r\(number)")) }
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(sizes.first == 20 && sizes.count < 8, "\(sizes)")
    #expect(world.pendingWords.isEmpty && world.machine.status.failedRecords.map(\.record.name) == ["r3"])
  }

  @Test func aServiceThatBreaksDownOnEverythingEndsTheRunSoon() {
    var world = MachineWorld()
    world.answer = { step in
      if case .sendRecords = step { return .recordsSent(.failure(SyncFailure(.broken))) }
      return MachineWorld.success(step)
    }
    for number in 0..<400 { world.save(record("r\(number)")) }
    #expect(world.send() == .some(SyncFailure(.broken)))
    #expect(world.trace.filter { $0.hasPrefix("records") }.count <= 10)
    #expect(world.pendingWords.count == 400)
  }

  @Test func anAtomicBatchOfOneZoneIsHandedOverWhole() {
    var world = MachineWorld()
    world.save(record("a"), record("b"))
    var isAsked = false
    world.answer = { step in
      switch step {
      case .askBatch:
        defer { isAsked = true }
        return .batch(
          isAsked
            ? BatchPart(saves: [], deletes: [])
            : BatchPart(saves: [record("a"), record("b")], deletes: [], isAtomic: true))
      case .sendRecords: return .recordsSent(.failure(SyncFailure(.limitExceeded)))
      default: return MachineWorld.success(step)
      }
    }
    #expect(world.send() == .some(SyncFailure(.partial)))
    #expect(world.trace.contains("failedRecords"))
    #expect(world.pendingWords.isEmpty)
  }

  @Test func untrackedChangesAreAskedForAndTheMarkIsClearedByNoBatch() {
    var world = MachineWorld(automatic: true)
    world.handle(.start)
    world.pass(.seconds(1))
    world.trace = []
    world.handle(.setUntrackedChanges(true))
    world.pass(.seconds(1))
    #expect(world.trace.contains("batch?"))
    #expect(!world.machine.state.hasUntrackedChanges)
  }

  /// Changes that the app does not list are tried again like those that it lists.
  @Test(arguments: [(SyncFailure.Kind.zoneBusy, 1), (.final, 5)])
  func untrackedChangesThatFailAreTriedAgain(kind: SyncFailure.Kind, failures: Int) {
    var world = MachineWorld(automatic: true)
    var attempts = 0
    var isSaved = false
    world.answer = { step in
      switch step {
      case .askBatch: return .batch(isSaved ? nil : BatchPart(saves: [record("unlisted")], deletes: []))
      case .sendRecords(let part):
        attempts += 1
        isSaved = attempts > failures
        return .recordsSent(.success(part.records.map { ItemOutcome($0, isSaved ? nil : SyncFailure(kind)) }))
      default: return MachineWorld.success(step)
      }
    }
    world.handle(.setUntrackedChanges(true))
    world.pass(.milliseconds(400))
    #expect(attempts == failures)
    #expect(world.machine.status.sendFailure?.kind == kind)
    #expect(world.machine.status.nextSend != nil)
    world.pass(.seconds(10))
    #expect(attempts == failures + 1)
    #expect(world.machine.status.sendFailure == nil && !world.machine.state.hasUntrackedChanges)
  }

  /// C26: a cycle in which the app gave nothing while something waits is a failure, and nothing is dropped.
  @Test func pendingChangesWithoutABatchAreAFailureInTheStatus() {
    var world = MachineWorld(automatic: true)
    world.answer = { step in
      if case .askBatch = step { return .batch(BatchPart(saves: [], deletes: [])) }
      return MachineWorld.success(step)
    }
    world.save(record("a"))
    world.pass(.seconds(30))
    #expect(world.pendingWords == ["+a"])
    #expect(world.machine.status.sendFailure?.kind == .unprovided)
    #expect(world.machine.status.lastSend == nil)
    #expect(world.trace.filter { $0 == "batch?" }.count == 1)
  }

  /// C123: 200 edits of 20 records in ten seconds are at most three requests.
  @Test func manyEditsAreFewRequests() {
    var world = MachineWorld(automatic: true)
    for edit in 0..<200 {
      world.save(record("r\(edit % 20)"))
      world.pass(.milliseconds(50))
    }
    world.pass(.seconds(10))
    #expect(world.sendTimes.count <= 3)
    #expect(world.pendingWords.isEmpty)
    #expect(world.sendTimes[0] <= .milliseconds(300))
  }

  /// C123: after the first refusal, requests keep the distance that was asked for.
  @Test func aThrottledEngineKeepsItsDistance() {
    var world = MachineWorld()
    var last: Timestamp?
    var refusals = 0
    var time = world.now
    world.save(record("a"))
    for number in 0..<1_000 { world.save(record("r\(number)")) }
    world.answer = { MachineWorld.success($0) }
    func attempt(_ world: inout MachineWorld) {
      let steps = world.steps.count
      world.take(.send(CallID(1), .all))
      _ = steps
      world.settleTimed { step, now in
        time = now
        guard [.request].contains(step.traffic) else { return MachineWorld.success(step) }
        defer { last = time }
        if let last, time - last < .seconds(1) {
          refusals += 1
          if case .sendRecords = step {
            return .recordsSent(.failure(SyncFailure(.throttled, retryAfter: .seconds(1))))
          }
          if case .checkAccount = step { return .account(.failure(SyncFailure(.throttled, retryAfter: .seconds(1)))) }
        }
        return MachineWorld.success(step)
      }
    }
    for _ in 0..<5 {
      attempt(&world)
      world.now = world.now + .seconds(2)
    }
    #expect(refusals == 1)
    #expect(world.pendingWords.isEmpty)
  }

  /// A lost answer, and then a fetch by which the app learns that the change arrived.
  @Test func aFailureIsForgottenWhenTheAppTakesItsChangesBack() {
    var world = MachineWorld(automatic: true)
    world.answer = { step in
      if case .sendRecords = step { return .recordsSent(.failure(SyncFailure(.unreachable))) }
      return MachineWorld.success(step)
    }
    world.save(record("a"))
    world.pass(.milliseconds(500))
    #expect(world.machine.status.sendFailure != nil)
    world.handle(.remove(zones: [], records: [PendingRecordChange(.save, record("a"))]))
    #expect(world.machine.status.sendFailure == nil)
    let count = world.sendTimes.count
    world.pass(.seconds(600))
    #expect(world.sendTimes.count == count)
  }

  @Test func scopeLimitsWhatIsSentAndTheRestStays() {
    var world = MachineWorld()
    world.handle(.add(zones: [PendingZoneChange(.save, diary), PendingZoneChange(.save, photos)], records: []))
    world.save(record("a"), record("p", in: photos))
    #expect(world.send(.zones([photos])) == .some(nil))
    #expect(world.pendingWords == ["+a"])
    #expect(world.machine.state.zoneChanges == [PendingZoneChange(.save, diary)])
  }

  @Test func cancellingKeepsWhatIsPendingAndAnswersEveryCall() {
    var world = MachineWorld()
    world.save(record("a"))
    world.take(.send(CallID(1), .all))
    world.take(.fetch(CallID(2), .all))
    world.take(.cancel(CallID(3)))
    #expect(world.trace.contains("interrupt"))
    world.settle()
    #expect(world.finished[CallID(1)] == .some(SyncFailure(.cancelled)))
    #expect(world.finished[CallID(2)] == .some(SyncFailure(.cancelled)))
    #expect(world.finished[CallID(3)] == .some(nil))
    #expect(world.pendingWords == ["+a"])
  }

  /// What the service asks for holds whatever the app does with its changes, and whatever becomes of the account.
  @Test(arguments: ["remove and add", "account"])
  func theWaitThatTheServiceAskedForIsKept(event: String) {
    var world = MachineWorld(automatic: true)
    world.answer = { step in
      guard case .sendRecords = step else { return MachineWorld.success(step) }
      return .recordsSent(.failure(SyncFailure(.unreachable, retryAfter: .seconds(60))))
    }
    world.save(record("a"))
    world.pass(.milliseconds(500))
    #expect(world.sendTimes.count == 1)
    if event == "account" {
      world.handle(.accountMayHaveChanged)
    } else {
      world.handle(.remove(zones: [], records: [PendingRecordChange(.save, record("a"))]))
      world.save(record("a"))
    }
    world.pass(.seconds(58))
    #expect(world.sendTimes.count == 1)
    world.pass(.seconds(10))
    #expect(world.sendTimes.count == 2)
  }

  /// Cancelling is over when what ran has ended; what is due next is not waited for.
  @Test(arguments: [false, true])
  func cancellingDoesNotWaitForARunThatItDoesNotCancel(whileOneRuns: Bool) {
    var world = MachineWorld(automatic: true)
    world.handle(.start)
    world.pass(.seconds(1))
    world.save(record("a"))
    if whileOneRuns { world.take(.send(CallID(1), .all)) }
    world.take(.push)
    world.now = world.now + .seconds(1)
    world.take(.cancel(CallID(2)))
    while world.finished[CallID(1)] == nil, whileOneRuns, let step = world.takeStep() {
      world.take(MachineWorld.success(step))
    }
    #expect(world.finished[CallID(2)] == .some(nil))
    world.settle()
    world.pass(.seconds(10))
    #expect(world.pendingWords.isEmpty)
  }

  @Test func withoutAutomaticSyncNothingHappensByItself() {
    var world = MachineWorld()
    world.handle(.start)
    world.save(record("a"))
    world.handle(.push)
    world.pass(.seconds(3_600))
    // The report of the state is the app's to store; it is no traffic.
    #expect(world.trace == ["state"])
  }

  /// C120: the next batch costs the same whether a hundred or ten thousand changes wait.
  @Test func removingFromALongListDoesNotCopyIt() {
    var list = PendingList<RecordID>()
    for number in 0..<10_000 { list.add(.save, record("r\(number)")) }
    for number in 0..<9_990 { list.settle(record("r\(number)"), askedAt: .max) }
    #expect(list.entries.map(\.key.name.rawValue) == (9_990..<10_000).map { "r\($0)" })
    list.add(.delete, record("r9990"))
    #expect(list.count == 10)
  }
}

extension MachineWorld {
  /// Performs steps; the events that a closure gives come in while each is being performed.
  mutating func settleAdding(_ events: () -> [SyncEvent]) {
    settleTimed { _, _ in
      nil
    } extra: {
      events()
    }
  }

  mutating func settleTimed(
    _ answers: (SyncStep, Timestamp) -> SyncEvent?, extra: () -> [SyncEvent] = { [] }
  ) {
    while let step = takeStep() {
      if case .pause(let time) = step { now = max(now, time) }
      if case .tell(let notice) = step { for event in onTell(notice) { take(event) } }
      var event = answers(step, now) ?? answer(step)
      if case .askBatch(let context) = step, case .batch(nil) = event { event = batch(context) }
      for addition in extra() { take(addition) }
      take(event)
    }
  }
}

enum Traffic { case request, local }
extension SyncStep {
  var traffic: Traffic {
    switch self {
    case .checkAccount, .sendZones, .sendRecords, .fetchDatabase, .fetchZone: .request
    default: .local
    }
  }
}

import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaSync

@Suite struct AccountTests {
  @Test func theFirstStartWithAnAccountSignsInAndKeepsWhatWasAdded() {
    var world = MachineWorld()
    world.save(record("a"))
    world.answer = { step in
      if case .askBatch = step { return .batch(BatchPart(saves: [], deletes: [])) }
      return MachineWorld.success(step)
    }
    _ = world.send()
    #expect(world.trace.filter { $0 == "signIn" }.count == 1)
    #expect(world.pendingWords == ["+a"])
    _ = world.send()
    #expect(world.trace.filter { $0 == "signIn" }.count == 1)
  }

  @Test func withoutAnAccountCallsFailAndNoBeginningIsTold() {
    var world = MachineWorld(automatic: true)
    world.answer = { step in
      if case .checkAccount = step { return .account(.success(nil)) }
      return MachineWorld.success(step)
    }
    world.save(record("a"))
    world.handle(.start)
    #expect(world.fetch() == .some(SyncFailure(.noAccount)))
    #expect(!world.trace.contains("willFetch"))
    #expect(!world.trace.contains("didFetch"))
    #expect(world.machine.status.activity == .noAccount)
    world.answer = { MachineWorld.success($0) }
    world.handle(.accountMayHaveChanged)
    world.pass(.seconds(5))
    #expect(world.trace.contains("signIn"))
    #expect(world.pendingWords.isEmpty)
  }

  /// C22: nothing of one user's state is left for another.
  @Test(arguments: [nil, "_bob"] as [UserName?])
  func anotherAccountResetsTheState(next: UserName?) {
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil): .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
      default: MachineWorld.success(step)
      }
    }
    _ = world.fetch()
    world.save(record("a"), record("b"), record("c"))
    world.answer = { step in
      if case .checkAccount = step { return .account(.success(next)) }
      return MachineWorld.success(step)
    }
    world.trace = []
    world.handle(.accountMayHaveChanged)
    var pendingWhenTold: Int?
    world.onTell = { [state = world.machine] notice in
      _ = state
      if case .switchAccounts(let previous, let current) = notice {
        #expect(previous == MachineWorld.alice && current == "_bob")
        pendingWhenTold = 0
      }
      return []
    }
    _ = world.send()
    #expect(world.trace.contains(next == nil ? "signOut" : "switch"))
    #expect(world.pendingWords.isEmpty)
    #expect(world.machine.state.zoneTokens.isEmpty)
    #expect(world.machine.state.databaseToken == nil)
    #expect(world.machine.state.user == next)
    #expect((pendingWhenTold == nil) == (next == nil))
    let told = world.trace.firstIndex(of: next == nil ? "signOut" : "switch") ?? 0
    #expect(world.trace[told + 1] == "state")
  }

  /// C22: the account changes while a batch is on its way; the next one is not sent for the other user.
  @Test func aSwitchInTheMiddleOfARunEndsIt() {
    var world = MachineWorld()
    for number in 0..<1_000 { world.save(record("r\(number)")) }
    var user = MachineWorld.alice
    var events: [SyncEvent] = []
    world.answer = { step in
      if case .sendRecords = step, user == MachineWorld.alice {
        user = "_bob"
        events = [.accountMayHaveChanged]
      }
      if case .checkAccount = step { return .account(.success(user)) }
      return MachineWorld.success(step)
    }
    world.take(.send(CallID(1), .all))
    world.settleAdding {
      defer { events = [] }
      return events
    }
    #expect(world.trace.filter { $0.hasPrefix("records:") } == ["records:400"])
    // What is on its way, or about to be, is cut short: it might leave in the other user's name.
    #expect(world.trace.filter { $0 == "interrupt" }.count == 1)
    #expect(world.trace.contains("switch"))
    #expect(world.trace.last == "didSend")
    #expect(world.pendingWords.isEmpty)
    #expect(world.finished[CallID(1)] == .some(SyncFailure(.cancelled)))
  }

  /// The account changes while it is being asked for: the answer may be the former one's. The question itself may bring
  /// the change up, so it is asked once more and no oftener.
  @Test func aCheckThatTheAccountOvertakesIsMadeAgain() {
    var world = MachineWorld()
    var checks = 0
    world.answer = { step in
      guard case .checkAccount = step else { return MachineWorld.success(step) }
      checks += 1
      return .account(.success(checks == 1 ? MachineWorld.alice : "_bob"))
    }
    world.save(record("a"))
    world.take(.send(CallID(1), .all))
    world.settleTimed { step, _ in
      nil
    } extra: {
      [.accountMayHaveChanged]
    }
    #expect(world.machine.state.user == "_bob")
    #expect(!world.trace.contains("switch"))
  }

  @Test func aRefusedSessionIsCheckedAgainBeforeTheNextRun() {
    var world = MachineWorld()
    var isRefused = true
    world.answer = { step in
      if case .fetchDatabase = step, isRefused { return .databasePage(.failure(SyncFailure(.noAccount))) }
      return MachineWorld.success(step)
    }
    #expect(world.fetch() == .some(SyncFailure(.noAccount)))
    isRefused = false
    world.trace = []
    #expect(world.fetch() == .some(nil))
    #expect(world.trace.first == "account?")
  }
}

@Suite struct StateTests {
  @Test func theStateSurvivesEncoding() throws {
    var world = MachineWorld()
    world.handle(.add(zones: [PendingZoneChange(.save, diary)], records: []))
    world.save(record("b"), record("a"))
    world.handle(.add(zones: [], records: [PendingRecordChange(.delete, record("c"))]))
    world.handle(.setUntrackedChanges(true))
    let data = try JSONEncoder().encode(world.machine.state)
    let state = try JSONDecoder().decode(SyncState.self, from: data)
    #expect(state.recordChanges == world.machine.state.recordChanges)
    #expect(state.zoneChanges == world.machine.state.zoneChanges)
    #expect(state.hasUntrackedChanges)
  }

  /// Apps keep this for years: what one release wrote, each later one reads.
  @Test func theStoredFormIsFixed() throws {
    let stored =
      #"{"databaseToken":"d","recordLines":"+0 b\n-0 a\n","recordZones":[{"name":"diary","owner":"__defaultOwner__"}],"#
      + #""reread":[],"unfetched":[{"name":"photos","owner":"__defaultOwner__"}],"untracked":false,"#
      + #""user":"_alice","version":1,"zoneTokens":[{"token":"t","zone":{"name":"diary","owner":"__defaultOwner__"}}],"#
      + #""zones":[{"kind":"save","zone":{"name":"photos","owner":"__defaultOwner__"}}]}"#
    let state = try JSONDecoder().decode(SyncState.self, from: Data(stored.utf8))
    #expect(
      state.recordChanges == [PendingRecordChange(.save, record("b")), PendingRecordChange(.delete, record("a"))])
    #expect(state.zoneTokens == [diary: "t"])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(state), as: UTF8.self) == stored)
    let older = stored.replacingOccurrences(of: #""recordLines":"+0 b\n-0 a\n""#, with: #""records":["+0 b","-0 a"]"#)
    let same = try JSONDecoder().decode(SyncState.self, from: Data(older.utf8))
    #expect(same.recordChanges == state.recordChanges)
  }

  @Test func missingKeysSurviveEncodingAndAreReadFromATokenOfAFormerRelease() throws {
    let former =
      #"{"version":1,"zoneTokens":[{"token":"t lacks k1,k2","zone":{"name":"diary","owner":"__defaultOwner__"}},"#
      + #"{"token":"u","zone":{"name":"photos","owner":"__defaultOwner__"}}]}"#
    let state = try JSONDecoder().decode(SyncState.self, from: Data(former.utf8))
    #expect(state.zoneTokens == [diary: "t", photos: "u"])
    #expect(state.missingKeys == [diary: ["k1", "k2"]])
    let text = String(decoding: try JSONEncoder().encode(state), as: UTF8.self)
    #expect(!text.contains("lacks"))
    let again = try JSONDecoder().decode(SyncState.self, from: Data(text.utf8))
    #expect(again.missingKeys == state.missingKeys && again.zoneTokens == state.zoneTokens)
  }

  @Test func namesThatNoServiceTakesSurviveEncodingToo() throws {
    var world = MachineWorld()
    world.save(record("a\nb"), record("a b"), record(""), record("é\r\n"), record("\u{0}"))
    let state = try JSONDecoder().decode(SyncState.self, from: JSONEncoder().encode(world.machine.state))
    #expect(Set(state.recordChanges) == Set(world.machine.state.recordChanges))
  }

  /// A state of another release costs at worst a fetch from the beginning, never a pending change that is understood.
  @Test(arguments: [
    ("{}", 0), (#"{"version":9,"future":[1]}"#, 0),
    (
      #"{"version":2,"recordZones":[{"name":"diary","owner":"__defaultOwner__","more":1}],"#
        + #""records":["+0 a b","~0 c","+7 d","+0",7,{"kind":"x"}],"zoneTokens":[7]}"#, 1
    ),
  ])
  func aStateOfAnotherReleaseIsReadAsFarAsItIsUnderstood(json: String, count: Int) throws {
    let state = try JSONDecoder().decode(SyncState.self, from: Data(json.utf8))
    #expect(state.recordChanges.count == count)
    #expect(state.zoneTokens.isEmpty)
  }

  @Test func reportsAreCoalesced() {
    var world = MachineWorld()
    for number in 0..<50 { world.save(record("r\(number)")) }
    world.pass(.milliseconds(99))
    #expect(world.trace.isEmpty)
    world.pass(.milliseconds(1))
    #expect(world.trace == ["state"])
    world.pass(.seconds(10))
    #expect(world.trace == ["state"])
  }

  @Test func theSameSeedGivesTheSameTrace() {
    func trace() -> [String] {
      var world = MachineWorld(automatic: true)
      world.answer = { step in
        if case .sendRecords = step { return .recordsSent(.failure(SyncFailure(.unreachable))) }
        return MachineWorld.success(step)
      }
      world.handle(.start)
      for number in 0..<20 { world.save(record("r\(number)")) }
      world.pass(.seconds(100))
      return world.steps.map { "\($0.time.milliseconds) \($0.step.word)" }
    }
    #expect(trace() == trace())
  }
}

@Suite struct PushListenerTests {
  @Test func theChannelIsOpenedStepByStepAndKeptOpen() {
    var listener = PushListener()
    var random = SplitMix64(seed: 1)
    var now = Timestamp(milliseconds: 0)
    func next(_ event: PushListener.Event) -> PushListener.Decision {
      now = now + .seconds(1)
      return listener.handle(event, at: now, random: &random)
    }
    #expect(next(.start).next == .subscribe)
    #expect(next(.subscribed(.success(()))).next == .createToken)
    #expect(next(.tokenCreated(.success("u"))) == .init(next: .poll(url: "u"), isUp: true))
    #expect(next(.polled(.success(true))) == .init(next: .poll(url: "u"), hasNews: true, isUp: true))
    #expect(next(.polled(.success(false))) == .init(next: .poll(url: "u"), isUp: true))
    guard case .pause = next(.polled(.failure(SyncFailure(.unreachable)))).next else { Issue.record(); return }
    #expect(next(.paused).next == .poll(url: "u"))
    guard case .pause = next(.polled(.failure(SyncFailure(.final)))).next else { Issue.record(); return }
    #expect(next(.paused).next == .subscribe)
  }

  @Test func anAnswerThatComesAtOnceWithoutNewsIsNotPolledInALoop() {
    var listener = PushListener()
    var random = SplitMix64(seed: 1)
    let now = Timestamp(milliseconds: 0)
    _ = listener.handle(.start, at: now, random: &random)
    _ = listener.handle(.subscribed(.success(())), at: now, random: &random)
    _ = listener.handle(.tokenCreated(.success("u")), at: now, random: &random)
    guard case .pause = listener.handle(.polled(.success(false)), at: now, random: &random).next else {
      Issue.record()
      return
    }
  }
}

import Foundation
import Testing
import VirgaModel
import VirgaSync

@Suite struct FetchTests {
  static func page(_ zone: ZoneID, _ count: Int, _ token: String, more: Bool = false) -> SyncEvent {
    .zonePage(.success(ZonePage(zone: zone, count: count, token: token, moreComing: more)))
  }

  @Test func eventsComeInOrderAndTokensAreStoredAfterTheirPages() {
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil):
        .databasePage(.success(DatabasePage(modified: [diary, photos], token: "d1", moreComing: true)))
      case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [], token: "d2")))
      case .fetchZone(diary, nil): Self.page(diary, 200, "1", more: true)
      case .fetchZone(diary, _): Self.page(diary, 3, "2")
      case .fetchZone(let zone, _): Self.page(zone, 0, "9")
      default: MachineWorld.success(step)
      }
    }
    #expect(world.fetch() == .some(nil))
    #expect(
      world.trace == [
        "account?", "signIn", "state", "options?", "willFetch", "database>nil", "database(+2-0)", "state",
        "database>d1", "will diary", "zone diary>nil", "fetched 200", "state", "zone diary>1", "fetched 3",
        "did diary", "state", "will photos", "zone photos>nil", "did photos", "state", "didFetch",
      ])
    #expect(world.machine.state.databaseToken == "d2")
    #expect(world.machine.state.zoneTokens == [diary: "2", photos: "9"])
    #expect(world.machine.state.unfetchedZones.isEmpty)
    #expect(world.machine.status.recordsFetched == 203)
    #expect(world.prefetched == ["diary>1"])
  }

  private static func pages(_ step: SyncStep) -> SyncEvent {
    switch step {
    case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
    case .fetchZone(let zone, nil): page(zone, 200, "1", more: true)
    case .fetchZone(let zone, "1"?): page(zone, 0, "2", more: true)
    case .fetchZone(let zone, "2"?): page(zone, 200, "3", more: true)
    case .fetchZone(let zone, _): page(zone, 1, "4")
    default: MachineWorld.success(step)
    }
  }

  @Test func onlyAPageThatTheAppHandlesIsUsedToFetchTheNext() {
    var world = MachineWorld(answer: Self.pages)
    #expect(world.fetch() == .some(nil))
    #expect(world.prefetched == ["diary>1", "diary>3"])
  }

  @Test func aServiceThatIsBusyIsNotAskedAhead() {
    var isThrottled = false
    var world = MachineWorld { step in
      if case .fetchZone(_, "1"?) = step, !isThrottled {
        isThrottled = true
        return .zonePage(.failure(SyncFailure(.throttled, retryAfter: .seconds(2))))
      }
      return Self.pages(step)
    }
    #expect(world.fetch() == .some(SyncFailure(.throttled, retryAfter: .seconds(2))))
    #expect(world.prefetched == ["diary>1"])
    world.pass(.seconds(3))
    #expect(world.fetch() == .some(nil))
    #expect(world.prefetched == ["diary>1"])
  }

  @Test func aPageThatWasAskedForInAnotherAccountsNameIsDropped() {
    var world = MachineWorld(answer: Self.pages)
    var isToChange = true
    world.onTell = { notice in
      guard case .fetchedRecords = notice, isToChange else { return [] }
      isToChange = false
      return [.accountMayHaveChanged]
    }
    #expect(world.fetch() == .some(nil))
    #expect(world.trace.filter { $0 == "interrupt" }.count == 1)
  }

  @Test func aCancelledFetchAsksForNothingAhead() {
    var world = MachineWorld(answer: Self.pages)
    world.onTell = { notice in
      if case .willFetchZone = notice { [.cancel(CallID(9))] } else { [] }
    }
    #expect(world.fetch() == .some(SyncFailure(.cancelled)))
    #expect(world.prefetched == [])
  }

  @Test func aZoneWhoseKeysAreMissingIsAskedForWithEachFetch() {
    var world = MachineWorld()
    var lacksKeys = true
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil): .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
      case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [], token: "d1")))
      case .fetchZone(diary, nil):
        .zonePage(.success(ZonePage(zone: diary, count: 1, token: "1", missingKeys: lacksKeys ? ["k"] : [])))
      case .fetchZone(diary, _) where !lacksKeys: .zonePage(.failure(SyncFailure(.tokenExpired)))
      case .fetchZone(let zone, _): .zonePage(.success(ZonePage(zone: zone, count: 0, token: "1", missingKeys: ["k"])))
      default: MachineWorld.success(step)
      }
    }
    for _ in 0..<2 {
      #expect(world.fetch() == .some(nil))
      #expect(world.machine.state.unfetchedZones.isEmpty && world.machine.state.keylessZones == [diary])
      #expect(world.machine.state.missingKeys == [diary: ["k"]])
    }
    lacksKeys = false
    #expect(world.fetch() == .some(nil))
    #expect(world.machine.state.unfetchedZones.isEmpty && world.machine.state.keylessZones.isEmpty)
    #expect(world.machine.state.missingKeys.isEmpty)
  }

  /// A zone has a key more whenever a device was removed, and each key would be written with each state.
  @Test func onlySoManyKeysOfAZoneAreWaitedFor() {
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
      case .fetchZone(let zone, let token):
        .zonePage(
          .success(
            ZonePage(
              zone: zone, count: 1, token: token == nil ? "1" : "2", moreComing: token == nil,
              missingKeys: (0..<70).map { KeyID("\(token ?? "0").\($0)") })))
      default: MachineWorld.success(step)
      }
    }
    #expect(world.fetch() == .some(nil))
    #expect(world.machine.state.missingKeys[diary]?.count == 100)
    #expect(world.machine.state.missingKeys[diary]?.last == "1.29")
  }

  @Test func keysThatDoNotComeAreAskedForLessAndLessOftenAndAfterEachLaunch() throws {
    let answer: (SyncStep) -> SyncEvent = { step in
      switch step {
      case .fetchDatabase(nil): .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
      case .fetchZone(let zone, let token):
        .zonePage(.success(ZonePage(zone: zone, count: token == nil ? 1 : 0, token: "1", missingKeys: ["k"])))
      default: MachineWorld.success(step)
      }
    }
    func times(_ world: MachineWorld) -> [Timestamp] {
      world.steps.compactMap { if case .fetchZone = $0.step { $0.time } else { nil } }
    }
    var world = MachineWorld(automatic: true, answer: answer)
    world.handle(.start)
    world.pass(.seconds(6 * 3_600))
    let asked = times(world)
    #expect((10...35).contains(asked.count), "\(asked.count)")
    let gaps = zip(asked, asked.dropFirst()).map { $1.milliseconds - $0.milliseconds }
    #expect(try #require(gaps.first) < 200_000 && gaps.suffix(5).allSatisfy { (900_000...1_000_000).contains($0) })
    #expect(world.machine.status.unfetchedZones == 0 && world.machine.status.keylessZones == 1)
    // A change on the server is read at once, and a call of the app asks at once.
    #expect(world.fetch() == .some(nil))
    #expect(times(world).count == asked.count + 1)
    let state = try JSONDecoder().decode(SyncState.self, from: try JSONEncoder().encode(world.machine.state))
    var next = MachineWorld(state: state, automatic: true, answer: answer)
    next.handle(.start)
    next.pass(.seconds(10))
    #expect(times(next).count == 1)
  }

  /// C118: whatever was reported last, the next process goes on from there.
  @Test func aFetchThatIsCutOffGoesOnFromTheLastPage() throws {
    var world = MachineWorld()
    var asked: [String?] = []
    var isDown = false
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil): return .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
      case .fetchDatabase: return .databasePage(.success(DatabasePage(modified: [], token: "d1")))
      case .fetchZone(let zone, let token):
        asked.append(token)
        let page = token.flatMap { Int($0) } ?? 0
        if page == 5, !isDown {
          isDown = true
          return .zonePage(.failure(SyncFailure(.unreachable)))
        }
        return Self.page(zone, 200, String(page + 1), more: page < 9)
      default: return MachineWorld.success(step)
      }
    }
    #expect(world.fetch() == .some(SyncFailure(.unreachable)))
    #expect(world.trace.suffix(3).contains("did diary!unreachable"))
    let stored = try JSONEncoder().encode(world.machine.state)
    var second = MachineWorld(state: try JSONDecoder().decode(SyncState.self, from: stored), answer: world.answer)
    asked = []
    #expect(second.fetch() == .some(nil))
    #expect(asked.first == "5")
    #expect(asked.count == 5)
  }

  /// C09: one expiry, a second reading from the beginning, and what is pending stays.
  @Test func anExpiredZoneTokenIsToldOnceAndReadAgain() {
    var state = MachineWorld().machine.state
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [diary], token: "d2")))
      case .fetchZone(_, "old"?): .zonePage(.failure(SyncFailure(.tokenExpired)))
      case .fetchZone(let zone, nil): Self.page(zone, 2, "old", more: false)
      default: MachineWorld.success(step)
      }
    }
    _ = world.fetch()
    state = world.machine.state
    world = MachineWorld(state: state, answer: world.answer)
    world.save(record("a"), record("b"))
    #expect(world.fetch() == .some(nil))
    #expect(
      world.trace.filter { $0.contains("diary") || $0.hasPrefix("fetched") } == [
        "will diary", "zone diary>old", "did diary!tokenExpired", "will diary", "zone diary>nil", "fetched 2",
        "did diary",
      ])
    #expect(world.pendingWords == ["+a", "+b"])
    #expect(world.machine.state.rereadZones.isEmpty)
  }

  @Test func aZoneWhoseBeginningIsExpiredTooFailsInsteadOfSpinning() {
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [diary], token: "d2")))
      case .fetchZone: .zonePage(.failure(SyncFailure(.tokenExpired)))
      default: MachineWorld.success(step)
      }
    }
    #expect(world.fetch() == .some(nil))
    #expect(world.trace.filter { $0.hasPrefix("zone ") }.count == 1)
    #expect(world.machine.state.unfetchedZones == [diary])
  }

  @Test func aSecondReadingThatAnEndedProcessBeganIsBegunAnew() throws {
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase(let token):
        .databasePage(.success(DatabasePage(modified: token == nil ? [diary] : [], token: "d1")))
      case .fetchZone(_, "3"?): .zonePage(.failure(SyncFailure(.unreachable)))
      case .fetchZone(let zone, nil): Self.page(zone, 2, "3", more: true)
      default: MachineWorld.success(step)
      }
    }
    _ = world.fetch()
    world.handle(.forgetTokens)
    _ = world.fetch()
    #expect(world.machine.state.rereadZones == [diary])
    #expect(world.machine.state.zoneTokens == [diary: "3"])
    var second = MachineWorld(state: world.machine.state, answer: world.answer)
    _ = second.fetch()
    #expect(
      second.trace.filter { $0.contains("diary") }.prefix(4) == [
        "will diary", "did diary!tokenExpired", "will diary", "zone diary>nil",
      ])
  }

  @Test func zonesThatVanishedWhileTheDatabaseTokenWasTooOldAreDeletions() {
    var world = MachineWorld()
    var isRestored = false
    world.answer = { step in
      switch step {
      case .fetchDatabase(let token):
        isRestored && token != nil
          ? .databasePage(.failure(SyncFailure(.tokenExpired)))
          : .databasePage(.success(DatabasePage(modified: isRestored ? [photos] : [diary, photos], token: "d1")))
      default: MachineWorld.success(step)
      }
    }
    _ = world.fetch()
    isRestored = true
    world.trace = []
    #expect(world.fetch() == .some(nil))
    #expect(world.trace.contains("database(+1-1)"))
    #expect(world.machine.state.zoneTokens.keys.sorted() == [photos])
  }

  /// A zone that the database's feed names with an error is no zone that is gone.
  @Test func aZoneThatTheFeedCannotSpeakOfIsNoDeletion() {
    var world = MachineWorld()
    var isReset = false
    world.answer = { step in
      switch step {
      case .fetchDatabase(let token):
        if isReset, token != nil { return .databasePage(.failure(SyncFailure(.tokenExpired))) }
        return .databasePage(
          .success(
            DatabasePage(modified: isReset ? [photos] : [diary, photos], failed: isReset ? [diary] : [], token: "d")))
      case .fetchZone(diary, _) where isReset: return .zonePage(.failure(SyncFailure(.zoneBusy)))
      default: return MachineWorld.success(step)
      }
    }
    _ = world.fetch()
    isReset = true
    world.trace = []
    #expect(world.fetch() == .some(nil))
    #expect(world.trace.contains("database(+1-0)"))
    #expect(world.trace.contains("did diary!zoneBusy"))
    #expect(world.machine.state.zoneTokens.keys.sorted() == [diary, photos])
    #expect(world.machine.state.unfetchedZones == [diary])
  }

  /// What a push told of is fetched although the app has asked for some zones meanwhile.
  @Test(arguments: [FetchScope.zones([photos]), .all])
  func aCallForSomeZonesDoesNotReplaceAFetchThatIsDue(scope: FetchScope) {
    var world = MachineWorld(automatic: true)
    world.handle(.start)
    world.pass(.seconds(1))
    world.answer = { step in
      if case .fetchDatabase = step {
        return .databasePage(.success(DatabasePage(modified: [diary, photos], token: "e")))
      }
      return MachineWorld.success(step)
    }
    world.handle(.push)
    #expect(world.fetch(scope) == .some(nil))
    #expect(world.machine.state.unfetchedZones == (scope == .all ? [] : [diary]))
    world.answer = { MachineWorld.success($0) }
    world.pass(.seconds(1))
    #expect(world.machine.state.unfetchedZones.isEmpty)
  }

  /// A call for some zones that comes through says nothing of the failure that the others wait for.
  @Test func aCallForSomeZonesEndsNoWait() {
    var world = MachineWorld(automatic: true)
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil): .databasePage(.success(DatabasePage(modified: [diary, photos], token: "d")))
      case .fetchZone(diary, _): .zonePage(.failure(SyncFailure(.zoneBusy, retryAfter: .seconds(20))))
      default: MachineWorld.success(step)
      }
    }
    world.handle(.start)
    let before = world.fetchCount
    #expect(world.fetch(.zones([photos])) == .some(nil))
    #expect(world.machine.status.fetchFailure?.kind == .zoneBusy)
    world.pass(.seconds(19))
    #expect(world.fetchCount == before + 1)
    world.pass(.seconds(5))
    #expect(world.fetchCount == before + 2)
  }

  @Test func prioritizedZonesComeFirstAndScopeLeavesTheRestUnfetched() {
    var world = MachineWorld()
    let third = ZoneID("third", owner: .defaultOwner)
    world.answer = { step in
      switch step {
      case .askFetchOptions: .fetchOptions(.allExcluding([third]), prioritized: [photos])
      case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [diary, photos, third], token: "d1")))
      default: MachineWorld.success(step)
      }
    }
    #expect(world.fetch() == .some(nil))
    #expect(world.trace.filter { $0.hasPrefix("will ") } == ["will photos", "will diary"])
    #expect(world.machine.state.unfetchedZones == [third])
  }

  /// Moments and waits come from other machines: none of them stops the process.
  @Test func momentsBeyondTheLastOneAreTheLast() {
    let (first, last) = (Timestamp(milliseconds: .min), Timestamp(milliseconds: .max))
    #expect(last + .seconds(1) == last && first - .seconds(1) == first)
    #expect(last - first == .milliseconds(Int64.max) && first - last == .milliseconds(Int64.min))
    #expect(Timestamp(milliseconds: 0) + .seconds(Int64.max) == last)
  }

  @Test func theDefaultZoneIsNeverFetched() {
    var world = MachineWorld()
    world.answer = { step in
      if case .fetchDatabase = step {
        return .databasePage(.success(DatabasePage(modified: [ZoneID(.default, owner: .defaultOwner)], token: "d")))
      }
      return MachineWorld.success(step)
    }
    _ = world.fetch()
    #expect(!world.trace.contains { $0.hasPrefix("zone ") })
  }

  @Test func aFailureOfOneZoneLeavesTheOthersAlone() {
    var world = MachineWorld(automatic: true)
    var isBusy = true
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil): .databasePage(.success(DatabasePage(modified: [diary, photos], token: "d")))
      case .fetchZone(diary, _) where isBusy: .zonePage(.failure(SyncFailure(.zoneBusy, retryAfter: .seconds(20))))
      default: MachineWorld.success(step)
      }
    }
    world.handle(.start)
    #expect(world.trace.contains("did diary!zoneBusy"))
    #expect(world.trace.contains("did photos"))
    #expect(world.machine.state.unfetchedZones == [diary])
    #expect(world.machine.status.fetchFailure?.kind == .zoneBusy)
    isBusy = false
    world.pass(.seconds(19))
    #expect(world.machine.state.unfetchedZones == [diary])
    world.pass(.seconds(5))
    #expect(world.machine.state.unfetchedZones.isEmpty)
    #expect(world.machine.status.fetchFailure == nil)
  }

  /// C31: pushes that come together are one fetch; without any, the poll finds the changes.
  @Test func pushesAreCoalescedAndAPollStandsInForThem() {
    var world = MachineWorld(automatic: true)
    world.handle(.start)
    world.handle(.pushChannel(isUp: true))
    world.pass(.seconds(1))
    var before = world.fetchCount
    for _ in 0..<5 { world.handle(.push) }
    world.pass(.seconds(1))
    #expect(world.fetchCount == before + 1)
    before = world.fetchCount
    world.pass(.seconds(301))
    #expect(world.fetchCount == before + 1)
    world.handle(.pushChannel(isUp: false))
    before = world.fetchCount
    world.pass(.seconds(600))
    #expect(world.fetchCount >= before + 5)
  }

  @Test func aPushDuringAFetchCausesAnother() {
    var world = MachineWorld(automatic: true)
    world.handle(.start)
    world.pass(.seconds(1))
    let before = world.fetchCount
    world.take(.push)
    world.pass(.milliseconds(19))
    world.onTell = { if case .willFetch = $0 { [.push] } else { [] } }
    world.pass(.milliseconds(5))
    world.onTell = { _ in [] }
    world.pass(.seconds(1))
    #expect(world.fetchCount == before + 2)
  }

  @Test func forgettingTokensDuringAFetchCountsForTheNext() {
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil): .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
      case .fetchZone(let zone, nil): Self.page(zone, 5, "1", more: true)
      case .fetchZone(let zone, _): Self.page(zone, 5, "2")
      default: MachineWorld.success(step)
      }
    }
    world.onTell = { if case .fetchedRecords = $0 { [.forgetTokens] } else { [] } }
    _ = world.fetch()
    world.onTell = { _ in [] }
    world.trace = []
    _ = world.fetch()
    #expect(world.trace.contains("zone diary>nil"))
    #expect(world.machine.state.rereadZones.isEmpty)
  }

  /// C30: reading everything again touches no pending change.
  @Test func forgettingTokensKeepsPendingChanges() {
    var world = MachineWorld()
    world.answer = { step in
      switch step {
      case .fetchDatabase(nil): .databasePage(.success(DatabasePage(modified: [diary], token: "d1")))
      default: MachineWorld.success(step)
      }
    }
    _ = world.fetch()
    for number in 0..<5 { world.save(record("r\(number)")) }
    world.handle(.forgetTokens)
    #expect(world.pendingWords.count == 5)
    world.trace = []
    _ = world.fetch()
    #expect(world.trace.contains("zone diary>nil"))
    #expect(world.trace.contains("did diary!tokenExpired"))
    #expect(world.pendingWords.count == 5)
  }
}

extension MachineWorld {
  var fetchCount: Int { trace.filter { $0.hasPrefix("database>") }.count }
}

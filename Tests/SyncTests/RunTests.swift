import Foundation
import Testing
import VirgaModel
import VirgaSync

/// Each phase of a send, alone: what comes next, and the phase after it.
@Suite struct SendRunTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var phase: SendRun.Phase
    var facts = SendRun.Facts()
    var step: String?
    var next: SendRun.Phase

    var testDescription: String { "\(phase) with \(facts)" }
  }

  private static let part = BatchPart(saves: [record("a")], deletes: [])
  private static let other = BatchPart(saves: [record("b"), record("c")], deletes: [record("d")])
  private static let zones = [PendingZoneChange(.save, diary)]

  static let rows: [Row] = [
    Row(phase: .opening, step: "willSend", next: .sending([])),
    Row(phase: .opening, facts: .init(isAccountKnown: false), step: "account?", next: .opening),
    Row(phase: .opening, facts: .init(hasFailed: true, hasToReport: true), step: nil, next: .over),
    Row(phase: .sending([]), step: "batch?", next: .sending([])),
    Row(phase: .sending([]), facts: .init(zones: zones), step: "zones:diary", next: .sending([])),
    Row(phase: .sending([part, other]), step: "records:1", next: .sending([other])),
    Row(phase: .sending([other]), step: "records:3", next: .sending([])),
    // A zone that the app adds meanwhile goes before what waits: its records may.
    Row(phase: .sending([part]), facts: .init(zones: zones), step: "zones:diary", next: .sending([part])),
    Row(phase: .sending([part]), facts: .init(isAccountKnown: false), step: "account?", next: .sending([part])),
    Row(phase: .sending([part]), facts: .init(hasFailed: true), step: "didSend", next: .over),
    Row(phase: .sending([part]), facts: .init(hasFailed: true, hasToReport: true), step: "state", next: .closing),
    Row(phase: .closing, step: "didSend", next: .over),
    Row(phase: .closing, facts: .init(hasToReport: true), step: "state", next: .closing),
    // The end needs no account, and nothing is sent any more.
    Row(phase: .closing, facts: .init(isAccountKnown: false, zones: zones), step: "didSend", next: .over),
    Row(phase: .over, facts: .init(hasToReport: true, zones: zones), step: nil, next: .over),
    Row(phase: .over, facts: .init(hasFailed: true), step: nil, next: .over),
  ]

  @Test(arguments: rows) func eachPhaseHasItsStep(row: Row) {
    var run = SendRun(SendContext(call: nil, scope: .all), phase: row.phase)
    #expect(run.next(row.facts)?.word == row.step)
    #expect(run.phase == row.next)
  }

  @Test func aRunThatHasNothingMoreToGiveEndsOnce() {
    var run = SendRun(SendContext(call: nil, scope: .all), phase: .sending([]))
    run.close()
    #expect(run.phase == .closing)
    run.close()
    #expect(run.phase == .closing)
  }
}

/// Each phase of a fetch, alone: what comes next, and the phase after it.
@Suite struct FetchRunTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var phase: FetchRun.Phase
    var facts = FetchRun.Facts()
    /// Whether both feeds were read before.
    var isKnown = true
    var step: String?
    var next: FetchRun.Phase

    var testDescription: String { "\(phase) with \(facts)" }
  }

  private static let failed = FetchRun.Facts(failure: SyncFailure(.unreachable))
  private static let failedAndChanged = FetchRun.Facts(failure: SyncFailure(.unreachable), hasToReport: true)
  private static let nobody = FetchRun.Facts(isAccountKnown: false)
  private static let changed = FetchRun.Facts(hasToReport: true)
  private static let reading = FetchRun.Phase.reading(diary, rest: [photos], isReread: false)

  static let rows: [Row] = [
    Row(phase: .asking, step: "options?", next: .asking),
    Row(phase: .asking, facts: nobody, step: "account?", next: .asking),
    Row(phase: .asking, facts: failedAndChanged, step: nil, next: .over),
    Row(phase: .opening, step: "willFetch", next: .listing(.init())),
    Row(phase: .opening, facts: nobody, step: "account?", next: .opening),
    Row(phase: .opening, facts: failed, step: nil, next: .over),
    Row(phase: .listing(.init()), step: "database>d", next: .listing(.init())),
    Row(phase: .listing(.init()), isKnown: false, step: "database>nil", next: .listing(.init(named: []))),
    Row(
      phase: .listing(.init(named: [diary], token: "x")), isKnown: false, step: "database>x",
      next: .listing(.init(named: [diary], token: "x"))),
    Row(phase: .listing(.init()), facts: nobody, step: "account?", next: .listing(.init())),
    Row(phase: .listing(.init()), facts: failed, step: "didFetch", next: .over),
    Row(phase: .listing(.init()), facts: failedAndChanged, step: "state", next: .closing),
    Row(phase: .betweenZones([diary, photos]), step: "will diary", next: reading),
    Row(phase: .betweenZones([diary]), facts: failed, step: "didFetch", next: .over),
    Row(phase: .betweenZones([]), step: "didFetch", next: .over),
    Row(phase: .betweenZones([]), facts: changed, step: "state", next: .closing),
    Row(phase: reading, step: "zone diary>t", next: reading),
    Row(phase: reading, isKnown: false, step: "zone diary>nil", next: reading),
    Row(phase: reading, facts: nobody, step: "account?", next: reading),
    // The zone's end is told before the run's.
    Row(phase: reading, facts: failedAndChanged, step: "did diary!unreachable", next: .closing),
    Row(phase: .closing, step: "didFetch", next: .over),
    Row(phase: .closing, facts: failedAndChanged, step: "state", next: .closing),
    Row(phase: .over, facts: changed, step: nil, next: .over),
  ]

  @Test(arguments: rows) func eachPhaseHasItsStep(row: Row) throws {
    let json =
      #"{"databaseToken":"d","zoneTokens":[{"token":"t","zone":{"name":"diary","owner":"__defaultOwner__"}}]}"#
    let state = try JSONDecoder().decode(SyncState.self, from: Data((row.isKnown ? json : "{}").utf8))
    var run = FetchRun(FetchContext(call: nil, scope: .all, prioritized: []), phase: row.phase)
    #expect(run.next(row.facts, state)?.word == row.step)
    #expect(run.phase == row.next)
  }

  @Test(
    arguments: [
      (FetchScope.all, [], [diary, photos]), (.all, [photos], [photos, diary]), (.zones([photos]), [], [photos]),
      (.allExcluding([photos]), [photos], [diary]), (.zones([]), [], []),
    ] as [(FetchScope, [ZoneID], [ZoneID])])
  func zonesAreReadInTheOrderThatIsWanted(scope: FetchScope, prioritized: [ZoneID], zones: [ZoneID]) {
    var run = FetchRun(
      FetchContext(call: nil, scope: scope, prioritized: prioritized), phase: .listing(.init()))
    run.read([diary, photos])
    #expect(run.phase == .betweenZones(zones))
  }

  @Test func theEndOfAZoneLeavesTheOthers() {
    var run = FetchRun(FetchContext(call: nil, scope: .all, prioritized: []), phase: Self.reading)
    run.endZone()
    #expect(run.phase == .betweenZones([photos]))
  }
}

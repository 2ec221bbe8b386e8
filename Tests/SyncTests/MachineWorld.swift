import TestSupport
import VirgaModel
import VirgaSync

/// Drives a machine in virtual time: a closure answers each step, and what happened is a list of words.
struct MachineWorld {
  var machine: SyncMachine
  var random = SplitMix64(seed: 7)
  var now = Timestamp(milliseconds: 1_000_000)
  /// What the shell was asked to do, in order.
  var trace: [String] = []
  /// The pages that were asked for ahead of their step.
  var prefetched: [String] = []
  var steps: [(time: Timestamp, step: SyncStep)] = []
  var finished: [CallID: SyncFailure?] = [:]
  /// What the app does while it is told something; its events come before the answer.
  var onTell: (Notice) -> [SyncEvent] = { _ in [] }
  var answer: (SyncStep) -> SyncEvent
  private var wake: Timestamp?
  private var pending: SyncStep?
  private var nextCall: UInt64 = 0

  init(
    state: SyncState = SyncState(), automatic: Bool = false, policy: SyncPolicy = SyncPolicy(),
    answer: @escaping (SyncStep) -> SyncEvent = { MachineWorld.success($0) }
  ) {
    machine = SyncMachine(state: state, isAutomatic: automatic, policy: policy)
    self.answer = answer
  }

  static let alice: UserName = "_alice"

  /// The answers of a service in which everything works and nothing has changed.
  static func success(_ step: SyncStep) -> SyncEvent {
    switch step {
    case .checkAccount: .account(.success(alice))
    case .tell: .told
    case .askFetchOptions(let context): .fetchOptions(context.scope, prioritized: [])
    case .askBatch: .batch(nil)
    case .sendZones(let changes): .zonesSent(.success(changes.map { ZoneOutcome($0.zone) }))
    case .sendRecords(let part): .recordsSent(.success(part.records.map { ItemOutcome($0) }))
    case .fetchDatabase: .databasePage(.success(DatabasePage(modified: [], token: "d1")))
    case .fetchZone(let zone, _): .zonePage(.success(ZonePage(zone: zone, count: 0, token: "z1")))
    case .pause: .paused
    }
  }

  /// Hands in an event and performs what follows, at one moment.
  mutating func handle(_ event: SyncEvent) {
    take(event)
    settle()
  }

  mutating func take(_ event: SyncEvent) {
    for action in machine.handle(event, at: now, random: &random) {
      switch action {
      case .perform(let step):
        precondition(pending == nil, "two steps at once")
        pending = step
        steps.append((now, step))
        trace.append(step.word)
      case .prefetch(let zone, let token): prefetched.append("\(zone.name)>\(token)")
      case .interrupt: trace.append("interrupt")
      case .wake(let time): wake = time
      case .finish(let id, let failure): finished[id] = .some(failure)
      }
    }
  }

  mutating func settle() {
    while let step = pending {
      if case .pause(let time) = step { now = max(now, time) }
      pending = nil
      if case .tell(let notice) = step { for event in onTell(notice) { takeDuringStep(event) } }
      var event = answer(step)
      if case .askBatch(let context) = step, case .batch(nil) = event { event = batch(context) }
      take(event)
    }
  }

  mutating func takeStep() -> SyncStep? {
    defer { pending = nil }
    return pending
  }

  private mutating func takeDuringStep(_ event: SyncEvent) {
    take(event)
    precondition(pending == nil, "a step while another is performed")
  }

  /// Like an app that sends whatever is pending, 400 at a time.
  func batch(_ context: SendContext) -> SyncEvent {
    let wanted = machine.state.recordChanges.filter { context.scope.contains(record: $0.record) }.prefix(400)
    if wanted.isEmpty { return .batch(nil) }
    return .batch(
      BatchPart(
        saves: wanted.filter { $0.kind == .save }.map(\.record),
        deletes: wanted.filter { $0.kind == .delete }.map(\.record)))
  }

  /// Lets time pass, waking the machine when it asked for it.
  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while let time = wake, time <= end {
      wake = nil
      now = max(now, time)
      handle(.wake)
    }
    now = max(now, end)
  }

  mutating func send(_ scope: SendScope = .all) -> SyncFailure?? {
    nextCall += 1
    handle(.send(CallID(nextCall), scope))
    return finished[CallID(nextCall)]
  }

  mutating func fetch(_ scope: FetchScope = .all) -> SyncFailure?? {
    nextCall += 1
    handle(.fetch(CallID(nextCall), scope))
    return finished[CallID(nextCall)]
  }

  mutating func save(_ records: RecordID...) {
    handle(.add(zones: [], records: records.map { PendingRecordChange(.save, $0) }))
  }

  var pendingWords: [String] {
    machine.state.recordChanges.map { ($0.kind == .save ? "+" : "-") + $0.record.name.rawValue }
  }

  /// The times of the requests that sent records, since the beginning.
  var sendTimes: [Duration] {
    steps.compactMap {
      if case .sendRecords = $0.step { $0.time - Timestamp(milliseconds: 1_000_000) } else { nil }
    }
  }
}

extension SyncStep {
  /// A short name for traces.
  var word: String {
    switch self {
    case .checkAccount: "account?"
    case .tell(let notice): notice.word
    case .askFetchOptions: "options?"
    case .askBatch: "batch?"
    case .sendZones(let changes): "zones:\(changes.map(\.zone.name.rawValue).joined(separator: ","))"
    case .sendRecords(let part): "records:\(part.count)"
    case .fetchDatabase(let token): "database>\(token ?? "nil")"
    case .fetchZone(let zone, let token): "zone \(zone.name)>\(token ?? "nil")"
    case .pause: "pause"
    }
  }
}

extension Notice {
  var word: String {
    switch self {
    case .signIn: "signIn"
    case .signOut: "signOut"
    case .switchAccounts: "switch"
    case .stateUpdate: "state"
    case .willSend: "willSend"
    case .sentZones(let failed): failed == nil ? "sentZones" : "failedZones"
    case .sentRecords(_, let failed): failed == nil ? "sentRecords" : "failedRecords"
    case .didSend: "didSend"
    case .willFetch: "willFetch"
    case .fetchedDatabaseChanges(let page): "database(+\(page.modified.count)-\(page.deleted.count))"
    case .willFetchZone(let zone): "will \(zone.name)"
    case .fetchedRecords(let page): "fetched \(page.count)"
    case .didFetchZone(let zone, let failure): "did \(zone.name)\(failure.map { "!\($0.kind)" } ?? "")"
    case .didFetch: "didFetch"
    }
  }
}

let diary = ZoneID("diary", owner: .defaultOwner)
let photos = ZoneID("photos", owner: .defaultOwner)
func record(_ name: String, in zone: ZoneID = diary) -> RecordID { RecordID(RecordName(name), in: zone) }

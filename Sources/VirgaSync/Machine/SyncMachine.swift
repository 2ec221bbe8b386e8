package import VirgaModel

/// The sync engine's decisions: events in, actions out. It holds no clock, no task and no connection.
///
/// Runs follow one another: at most one sends or fetches, and at most one step is being performed. The shell performs
/// the step of `.perform` and hands in its answer, then performs the next. Events of the app and from outside may come
/// at any time between.
package struct SyncMachine: Sendable {
  package internal(set) var state: SyncState
  package let policy: SyncPolicy
  /// Whether additions, pushes and time start runs; without it only the app's calls do.
  package let isAutomatic: Bool

  var schedule = Schedule()
  var account = AccountKnowledge.unknown
  var run: Run?
  var outstanding: SyncStep?
  /// Records that left the pending list since the app was told of the state.
  private var unreportedSettlements = 0
  /// Whether a page was asked for ahead of its step.
  private var isPrefetching = false
  /// The app's calls that wait for their turn, oldest first.
  var calls: [(id: CallID, request: Request)] = []
  var cancellations: [CallID] = []
  var progress = Progress()
  var isPushChannelUp = false
  /// Zones without a feed that the app saves to.
  var feedlessZones: [ZoneID] = []
  /// Zones whose second reading was announced by this process; see `SyncState.rereadZones`.
  var announcedRereads: Set<ZoneID> = []
  /// When the zones of `SyncState.keylessZones` are asked for again; those that are not here, at once.
  var keyWaits: [ZoneID: KeyWait] = [:]

  // Set anew by each event.
  var now = Timestamp(milliseconds: 0)
  var jitter = 0.0
  var actions: [SyncAction] = []
  private var announcedWake: Timestamp?

  enum AccountKnowledge: Sendable { case unknown, none, known }

  enum Request: Sendable {
    case send(SendScope)
    case fetch(FetchScope)
  }

  struct KeyWait: Sendable {
    var length: Duration
    var end: Timestamp
  }

  struct Progress: Sendable {
    var recordsFetched = 0
    var recordsSent = 0
  }

  package init(state: SyncState, isAutomatic: Bool, policy: SyncPolicy = SyncPolicy()) {
    self.state = state
    self.isAutomatic = isAutomatic
    self.policy = policy
  }

  /// Takes one event.
  /// - Parameter random: Drawn from once for each event, whatever it is, so that a seed's trace does not depend on
  ///   which branch needed a number.
  /// - Returns: What to do, in order; at most one `.perform`.
  package mutating func handle(
    _ event: SyncEvent, at now: Timestamp, random: inout some RandomNumberGenerator
  ) -> [SyncAction] {
    self.now = now
    jitter = Double.random(in: 0..<1, using: &random)
    actions = []
    take(event)
    advance()
    let wake = run == nil ? schedule.next : nil
    if wake != announcedWake {
      announcedWake = wake
      actions.append(.wake(at: wake))
    }
    defer { actions = [] }
    return actions
  }

  private mutating func take(_ event: SyncEvent) {
    switch event {
    case .start:
      guard isAutomatic else { return }
      schedule.fetch.request(at: now)
      if hasChangesToSend { schedule.send.request(at: now) }
    case .add(let zones, let records):
      for change in zones { state.zones.add(change.kind, change.zone) }
      for change in records {
        state.records.add(change.kind, change.record)
        state.failedAttempts[change.record]?.isDropped = false
        if change.kind == .save { noteFeedless(change.record.zone) }
      }
      if !zones.isEmpty || !records.isEmpty { noteAddition() }
    case .remove(let zones, let records):
      for change in zones { state.zones.remove(change.kind, change.zone) }
      for change in records {
        state.records.remove(change.kind, change.record)
        if !state.records.contains(change.record) { dropFailedAttempts(change.record) }
      }
      noteStateChange()
      forgetSendFailureIfNothingWaits()
    case .setUntrackedChanges(let value):
      let isNew = value != state.hasUntrackedChanges
      state.hasUntrackedChanges = value
      if case .send(var work)? = run?.work {
        work.untrackedAgain = value
        run?.work = .send(work)
      }
      if value { noteAddition() } else if isNew { noteStateChange() }
      forgetSendFailureIfNothingWaits()
    case .send(let id, let scope): calls.append((id, .send(scope)))
    case .fetch(let id, let scope): calls.append((id, .fetch(scope)))
    case .cancel(let id): cancel(id)
    case .cancelCall(let id): cancelCall(id)
    case .forgetTokens: forgetTokens()
    case .wake: announcedWake = nil
    case .push: if isAutomatic { schedule.fetch.request(at: now + policy.pushDelay) }
    case .pushChannel(let isUp):
      // While the channel was down anything may have been missed.
      if isUp, !isPushChannelUp, isAutomatic { schedule.fetch.request(at: now + policy.pushDelay) }
      isPushChannelUp = isUp
    case .accountMayHaveChanged:
      if outstanding == .checkAccount {
        if run?.accountCheck == .plain { run?.accountCheck = .overtaken }
        return
      }
      account = .unknown
      // A request that has not left yet would be made in the name of whoever has the account by then.
      run?.queue.removeAll(where: \.isRequest)
      if outstanding?.isRequest == true || isPrefetching { actions.append(.interrupt) }
      if isAutomatic {
        schedule.fetch.backoffEnd = nil
        schedule.fetch.request(at: now)
      }
    default: answer(event)
    }
  }

  /// Takes the answer to the outstanding step.
  private mutating func answer(_ event: SyncEvent) {
    guard let step = outstanding else { preconditionFailure("an answer, but nothing was asked") }
    outstanding = nil
    switch (step, event) {
    case (.checkAccount, .account(let result)):
      if run?.accountCheck == .overtaken {
        run?.accountCheck = .repeated
      } else {
        run?.accountCheck = .plain
        learnAccount(result)
      }
    case (.tell(let notice), .told): wasTold(notice)
    case (.pause, .paused): break
    case (.askBatch, .batch(let batch)): takeBatch(batch)
    case (.sendZones(let changes), .zonesSent(let result)): settle(changes, result)
    case (.sendRecords(let part), .recordsSent(let result)): settle(part, result)
    case (.askFetchOptions, .fetchOptions(let scope, let prioritized)): takeOptions(scope, prioritized)
    case (.fetchDatabase(let token), .databasePage(let result)): takeDatabasePage(result, after: token)
    case (.fetchZone(let zone, let token), .zonePage(let result)): takeZonePage(result, zone, after: token)
    default: preconditionFailure("the answer does not fit the step")
    }
  }

  // MARK: Steps

  /// Goes on until a step is outstanding or nothing is left to do.
  private mutating func advance() {
    while outstanding == nil {
      if run == nil {
        // Before anything else begins: what is due next was not to be cancelled.
        actions += cancellations.map { .finish($0, nil) }
        cancellations = []
        guard startRun() else { break }
      }
      if let step = nextStep() { issue(step) } else { endRun() }
    }
  }

  /// The run's next step; `nil` when it is over.
  private mutating func nextStep() -> SyncStep? {
    guard let current = run else { return nil }
    if let queued = current.queue.first {
      run?.queue.removeFirst()
      return queued
    }
    if let due = schedule.report, due <= now || current.reportsNow {
      return report()
    }
    run?.reportsNow = false
    switch current.work {
    case .report: return nil
    case .send: return nextSendStep()
    case .fetch: return nextFetchStep()
    }
  }

  private mutating func issue(_ step: SyncStep) {
    var step = step
    if step.isRequest {
      if let time = schedule.requestTime(at: now) {
        run?.queue.insert(step, at: 0)
        step = .pause(until: time)
      } else {
        schedule.lastRequest = now
        isPrefetching = false
      }
    }
    prefetch(after: step)
    outstanding = step
    actions.append(.perform(step))
  }

  /// The service and the app work at the same time: while one stores a page, the other prepares the next one. At most one
  /// page is ahead. A service that asked for slower requests is not asked ahead of time.
  private mutating func prefetch(after step: SyncStep) {
    guard case .tell(.fetchedRecords(let page)) = step, page.moreComing, run?.failure == nil,
      account == .known, schedule.requestTime(at: now) == nil
    else { return }
    schedule.lastRequest = now
    isPrefetching = true
    actions.append(.prefetch(page.zone, token: page.token))
  }

  /// Tells the app of the state, as far as it does not know it.
  mutating func report() -> SyncStep {
    run?.reportsNow = false
    schedule.report = nil
    unreportedSettlements = 0
    return .tell(.stateUpdate)
  }

  var hasToReport: Bool { schedule.report != nil || unreportedSettlements > 0 }

  /// The state changed and the app has to be told soon.
  mutating func noteStateChange() { noteStateChange(within: policy.reportDelay) }

  private mutating func noteStateChange(within delay: Duration) {
    schedule.report = min(schedule.report ?? now + delay, now + delay)
  }

  /// Records left the pending list. The app writes the whole list each time that it is told, so it is told after a share
  /// of it: told after each request, it would write an amount that grows with the square of the list.
  mutating func noteSettled(_ count: Int) {
    unreportedSettlements += count
    if unreportedSettlements * policy.settlementsPerReport >= state.records.count { noteStateChange() }
  }

  private mutating func noteAddition() {
    // A long list takes long to write, and is not written more often than that is worth.
    noteStateChange(within: policy.reportDelay + .milliseconds(state.records.count / policy.pendingPerMillisecond))
    if isAutomatic { schedule.send.due = schedule.sendTime(forAdditionAt: now, policy: policy) }
  }

  /// A failure whose changes the app took back needs no further try, and nobody has to hear of it. When the next request
  /// may leave does not depend on what it holds.
  private mutating func forgetSendFailureIfNothingWaits() {
    guard !hasChangesToSend else { return }
    schedule.send.due = nil
    schedule.send.failures = 0
    schedule.send.lastFailure = nil
  }

  /// The default zone takes records and has no feed, so that they reach no other device.
  mutating func noteFeedless(_ zone: ZoneID) {
    if zone.name == .default, !feedlessZones.contains(zone) { feedlessZones.append(zone) }
  }

  /// Forgets a failure that the app has settled by taking its change back; while records are sent, at the end of that:
  /// one that is forgotten meanwhile, and added again, might be tried again and again.
  private mutating func dropFailedAttempts(_ record: RecordID) {
    if case .send? = run?.work {
      state.failedAttempts[record]?.isDropped = true
    } else {
      state.failedAttempts[record] = nil
    }
  }

  var hasChangesToSend: Bool { !state.zones.isEmpty || !state.records.isEmpty || state.hasUntrackedChanges }
}

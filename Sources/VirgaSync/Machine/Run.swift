import VirgaModel

/// What is going on: one send, one fetch, or only a report of the state.
struct Run: Sendable {
  enum Work: Sendable {
    case send(SendRun)
    case fetch(FetchRun)
    case report
  }

  enum AccountCheck: Sendable { case plain, overtaken, repeated }

  var work: Work
  var call: CallID?
  /// Steps that are decided already.
  var queue: [SyncStep] = []
  /// Why the run ends early.
  var failure: SyncFailure?
  /// Whether the account may have changed while it was being asked for. The question may itself bring that up, by being the
  /// first request in another account's name, so it is repeated once and then believed.
  var accountCheck = AccountCheck.plain
  /// Whether the state is reported before anything else, without the usual delay.
  var reportsNow = false

  init(_ work: Work, call: CallID?) {
    self.work = work
    self.call = call
  }

  /// Whether the app was told that the run began.
  var isOpened: Bool {
    switch work {
    case .send(let run): run.phase != .opening
    case .fetch(let run): run.phase != .asking && run.phase != .opening
    case .report: false
    }
  }
}

extension SyncMachine {
  /// Starts what is due, if anything is: the app's calls first, then the fetch or the send that has been due for longer, so
  /// that neither keeps the other waiting for ever, then a report.
  mutating func startRun() -> Bool {
    if !calls.isEmpty {
      let (id, request) = calls.removeFirst()
      switch request {
      case .send(let scope): start(.send(SendRun(SendContext(call: id, scope: scope))), call: id)
      case .fetch(let scope):
        let context = FetchContext(call: id, scope: scope, prioritized: [])
        start(.fetch(FetchRun(context)), call: id)
      }
      return true
    }
    if !hasChangesToSend { schedule.send.due = nil }
    let (fetchTime, sendTime) = (schedule.fetch.start, schedule.send.start)
    if let time = fetchTime, time <= now, sendTime.map({ time <= $0 }) ?? true {
      start(.fetch(FetchRun(FetchContext(call: nil, scope: .all, prioritized: []))))
      return true
    }
    if let time = sendTime, time <= now {
      start(.send(SendRun(SendContext(call: nil, scope: .all))))
      return true
    }
    if let time = schedule.report, time <= now {
      start(.report)
      return true
    }
    return false
  }

  private mutating func start(_ work: Run.Work, call: CallID? = nil) {
    run = Run(work, call: call)
    switch work {
    case .send(let send):
      if case .all = send.context.scope { schedule.send.due = nil }
      schedule.send.lastStart = now
      releaseHeld(all: call != nil)
    case .fetch(let fetch):
      // What else has changed is still to be fetched after a fetch of some zones.
      if fetch.context.scope == .all { schedule.fetch.due = nil }
      schedule.fetch.lastStart = now
      progress.recordsFetched = 0
    case .report: break
    }
  }

  /// Lets records that were held be tried again: all of them if the app asks, else those whose time has come. One try
  /// may find a conflict, and a second one send what the app made of it.
  private mutating func releaseHeld(all: Bool) {
    for (record, attempts) in state.failedAttempts.map({ ($0.key, $0.value) }) {
      state.failedAttempts[record]?.isHeldForRun = false
      guard let time = attempts.heldUntil, all || time <= now else { continue }
      state.failedAttempts[record]?.heldUntil = nil
      state.failedAttempts[record]?.count = min(attempts.count, policy.attemptsPerItemMax - 2)
    }
  }

  /// Ends the run, answers the call that asked for it, and sets what is due next.
  mutating func endRun() {
    guard let ended = run else { return }
    run = nil
    var failure = ended.failure
    switch ended.work {
    case .report: break
    case .send(let work):
      scheduleAfterSend(ended, work)
      failure = failure ?? work.failure
    case .fetch(let work):
      if work.forgetsTokens { forgetTokens() }
      scheduleAfterFetch(ended, work)
    }
    if let call = ended.call { actions.append(.finish(call, failure)) }
  }

  private mutating func scheduleAfterSend(_ ended: Run, _ work: SendRun) {
    forgetFailedAttempts()
    let hasUntracked = state.hasUntrackedChanges && work.context.scope == .all
    let pendingInScope =
      state.records.entries.contains { work.context.scope.contains(record: $0.key) }
      || state.zones.entries.contains { work.context.scope.contains(zone: $0.key) }
    if let failure = ended.failure {
      let next = schedule.send.fail(failure, at: now, policy: policy, jitter: jitter)
      if isAutomatic, account != .none, hasChangesToSend { schedule.send.due = next }
      return
    }
    if let failure = work.itemFailure, pendingInScope || hasUntracked {
      schedule.send.lastFailure = failure
    } else if let failure = work.failure {
      schedule.send.lastFailure = failure
    } else if pendingInScope, work.settledCount == 0 {
      schedule.send.lastFailure = SyncFailure(.unprovided)
    } else {
      schedule.send.succeed(at: now)
    }
    guard isAutomatic else { return }
    let held = state.failedAttempts.compactMap { isWaitedFor($0.key) ? $0.value.heldUntil : nil }.min()
    if let held { schedule.send.request(at: held) }
    if work.isManual {
      // What the call left out is sent by the schedule like any other addition.
      if hasLeftOut(work) { schedule.send.due = schedule.sendTime(forAdditionAt: now, policy: policy) }
    } else if state.zones.entries.contains(where: { work.hasGivenUp($0.key, policy) }) {
      schedule.send.request(at: now + policy.backoffMax)
    }
  }

  private func hasLeftOut(_ work: SendRun) -> Bool {
    work.failures.contains { item in
      switch item.key {
      case .record(let record): isWaitedFor(record) && state.failedAttempts[record]?.heldUntil == nil
      case .zone(let zone): state.zones.contains(zone)
      }
    }
  }

  /// Whether a record is to be sent, as far as the engine can know: what the app does not list may be any.
  private func isWaitedFor(_ record: RecordID) -> Bool { state.records.contains(record) || state.hasUntrackedChanges }

  /// Forgets what the app took back, and the oldest beyond a bound of what is not waited for.
  private mutating func forgetFailedAttempts() {
    for (record, attempts) in state.failedAttempts.map({ ($0.key, $0.value) }) where attempts.isDropped {
      state.failedAttempts[record] = nil
    }
    let excess = state.failedAttempts.count - policy.failedRecordsMax
    guard excess > 0 else { return }
    let unlisted = state.failedAttempts.map(\.key).filter { !state.records.contains($0) }
    for record in unlisted.prefix(excess) { state.failedAttempts[record] = nil }
  }

  private mutating func scheduleAfterFetch(_ ended: Run, _ work: FetchRun) {
    if let failure = ended.failure ?? work.zoneFailure {
      let next = schedule.fetch.fail(failure, at: now, policy: policy, jitter: jitter)
      guard isAutomatic else { return }
      // Without an account only its arrival helps; the poll is there in case that nobody tells of it.
      schedule.fetch.due = account == .none ? now + policy.pollIntervalWithoutPush : next
      return
    }
    // A call for some zones is no answer to what was due for all.
    if ended.call == nil || work.context.scope == .all { schedule.fetch.succeed(at: now) }
    guard isAutomatic else { return }
    let interval = isPushChannelUp ? policy.pollInterval : policy.pollIntervalWithoutPush
    schedule.fetch.request(at: now + interval * (0.9 + jitter / 10))
  }

  mutating func cancel(_ id: CallID) {
    cancellations.append(id)
    actions += calls.map { .finish($0.id, SyncFailure(.cancelled)) }
    calls = []
    if run != nil { cancelRun() }
  }

  mutating func cancelCall(_ id: CallID) {
    if run?.call == id {
      cancelRun()
    } else if let place = calls.firstIndex(where: { $0.id == id }) {
      calls.remove(at: place)
      actions.append(.finish(id, SyncFailure(.cancelled)))
    }
  }

  private mutating func cancelRun() {
    if run?.failure == nil { run?.failure = SyncFailure(.cancelled) }
    run?.queue.removeAll(where: \.isRequest)
    actions.append(.interrupt)
  }

  mutating func forgetTokens() {
    if case .fetch(var work)? = run?.work {
      // Tokens of pages that are on their way would be stored over this.
      work.forgetsTokens = true
      run?.work = .fetch(work)
      return
    }
    state.databaseToken = nil
    state.rereadZones.formUnion(state.zoneTokens.keys)
    announcedRereads = []
    for zone in state.rereadZones.sorted() { state.noteUnfetched(zone) }
    noteStateChange()
    if isAutomatic { schedule.fetch.request(at: now) }
  }

  // MARK: Account

  mutating func learnAccount(_ result: Result<UserName?, SyncFailure>) {
    switch result {
    case .failure(let failure): fail(failure)
    case .success(let user):
      account = user == nil ? .none : .known
      if user != nil, isAutomatic, hasChangesToSend {
        schedule.send.backoffEnd = nil
        schedule.send.request(at: now)
      }
      let previous = state.user
      switch (previous, user) {
      case (let previous?, nil):
        resetState(to: nil)
        queue(.tell(.signOut(previous: previous)))
      case (nil, let user?):
        // Nothing belonged to another user, so what the app added before it could know of the account stays.
        state.user = user
        noteStateChange()
        queue(.tell(.signIn(user)))
      case (let previous?, let user?) where previous != user:
        resetState(to: user)
        queue(.tell(.switchAccounts(previous: previous, current: user)))
      default: break
      }
      if previous != user {
        run?.reportsNow = true
        // What a run had begun for one user must not go on for another.
        if previous != nil, run?.isOpened == true { run?.failure = SyncFailure(.cancelled) }
      }
      if user == nil { run?.failure = SyncFailure(.noAccount) }
    }
  }

  private mutating func resetState(to user: UserName?) {
    state.reset(to: user)
    announcedRereads = []
    keyWaits = [:]
    noteStateChange()
  }

  /// Ends the run early. A request that was refused for want of an account makes the account unknown again.
  mutating func fail(_ failure: SyncFailure) {
    if failure.kind == .noAccount { account = .unknown }
    schedule.slowDown(failure, at: now, policy: policy)
    run?.failure = failure
  }

  mutating func queue(_ step: SyncStep) { run?.queue.append(step) }
}

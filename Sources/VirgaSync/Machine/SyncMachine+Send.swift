package import VirgaModel

extension SyncMachine {
  /// Changes the send that is going on. Its steps and their answers come only while it does.
  private mutating func updateSend<Value>(_ change: (inout SendRun) -> Value) -> Value {
    guard case .send(var work)? = run?.work else { preconditionFailure("no send is going on") }
    let value = change(&work)
    run?.work = .send(work)
    return value
  }

  mutating func nextSendStep() -> SyncStep? {
    guard case .send(let work)? = run?.work else { return nil }
    let zones = state.zoneChanges.filter {
      work.context.scope.contains(zone: $0.zone) && !work.hasGivenUp($0.zone, policy)
    }
    let facts = SendRun.Facts(
      isAccountKnown: account == .known, hasFailed: run?.failure != nil, hasToReport: hasToReport,
      zones: Array(zones.prefix(work.sendsZonesAlone ? 1 : policy.itemsPerRequestMax)))
    let step = updateSend { $0.next(facts) }
    switch step {
    case .tell(.stateUpdate): return report()
    case .sendZones:
      let stamp = state.zones.stamp
      updateSend { $0.zonesAskedAt = stamp }
    case .sendRecords(let part): for record in part.saves { noteFeedless(record.zone) }
    case .askBatch:
      let stamp = state.records.stamp
      updateSend {
        $0.recordsAskedAt = stamp
        $0.untrackedAgain = false
      }
      // What was added until now is covered by this run; what comes later sets the time again.
      if case .all = work.context.scope { schedule.send.due = nil }
    default: break
    }
    return step
  }

  mutating func takeBatch(_ batch: BatchPart?) {
    guard case .send(let work)? = run?.work else { return }
    guard let batch, batch.count > 0 else {
      if state.hasUntrackedChanges, !work.untrackedAgain {
        state.hasUntrackedChanges = false
        noteStateChange()
      }
      return updateSend { $0.close() }
    }
    let part = withoutLeftOut(batch, work)
    if part.count > 0 {
      updateSend { $0.phase = .sending([part]) }
    } else {
      // A batch of which nothing may be sent now would be given again and again.
      let failure = batch.records.lazy.filter { !work.leavesOut($0) }
        .compactMap { [state] in state.failedAttempts[$0]?.failure }.first
      updateSend {
        $0.close()
        $0.itemFailure = $0.itemFailure ?? failure
      }
    }
  }

  /// Leaves out records that wait for a later run; of an atomic batch, all of such a record's zone.
  private func withoutLeftOut(_ batch: BatchPart, _ work: SendRun) -> BatchPart {
    func isHeld(_ record: RecordID) -> Bool {
      if work.leavesOut(record) { return true }
      guard let attempts = state.failedAttempts[record] else { return false }
      return attempts.isHeldForRun || (attempts.heldUntil.map { $0 > now } ?? false)
    }
    guard batch.isAtomic else { return batch.filtered { !isHeld($0) } }
    let zones = Set(batch.records.filter(isHeld).map(\.zone))
    return zones.isEmpty ? batch : batch.filtered { !zones.contains($0.zone) }
  }

  /// The records that the present call of the app does not send again.
  package var recordsLeftOut: Set<RecordID> {
    guard case .send(let work)? = run?.work else { return [] }
    return Set(
      work.failures.compactMap { item in
        if case .record(let record) = item.key { record } else { nil }
      })
  }

  // MARK: Outcomes

  mutating func settle(_ changes: [PendingZoneChange], _ result: Result<[ZoneOutcome], SyncFailure>) {
    guard case .send(let work)? = run?.work else { return }
    switch result {
    case .failure(let failure) where failure.mayBeOneItems && failure.kind != .broken:
      guard changes.count == 1 else { return updateSend { $0.sendsZonesAlone = true } }
      settle(changes, changes.map { ZoneOutcome($0.zone, failure) }, askedAt: work.zonesAskedAt)
      queue(.tell(.sentZones(failed: failure)))
    case .failure(let failure): fail(failure)
    case .success(let outcomes):
      settle(changes, outcomes, askedAt: work.zonesAskedAt)
      queue(.tell(.sentZones(failed: nil)))
    }
  }

  private mutating func settle(_ changes: [PendingZoneChange], _ outcomes: [ZoneOutcome], askedAt: UInt64) {
    for outcome in outcomes {
      if let failure = outcome.failure, failure.isRetryable {
        // Its records would only fail for want of their zone.
        fail(failure)
      } else {
        state.zones.settle(outcome.zone, askedAt: askedAt)
        if let failure = outcome.failure {
          let policy = policy
          updateSend {
            $0.zoneFailures[outcome.zone, default: 0] += 1
            $0.note(failure, of: .zone(outcome.zone))
            if $0.hasGivenUp(outcome.zone, policy) { $0.itemFailure = failure }
          }
        } else if changes.contains(PendingZoneChange(.delete, outcome.zone)) {
          state.forget(outcome.zone)
        }
      }
    }
    noteStateChange()
  }

  mutating func settle(_ part: BatchPart, _ result: Result<[ItemOutcome], SyncFailure>) {
    switch result {
    case .success(let outcomes):
      let tooMany = itemsToSendAgain(of: part, outcomes)
      for outcome in outcomes where !tooMany.contains(outcome.record) { settle(outcome) }
      noteSettled(outcomes.count - tooMany.count)
      let settled = part.filtered { !tooMany.contains($0) }
      if settled.count > 0 { queue(.tell(.sentRecords(settled, failed: nil))) }
    case .failure(let failure):
      if !failure.mayBeOneItems {
        fail(failure)
      } else if let parts = part.divided() {
        updateSend { $0.send(first: parts) }
      } else if failure.kind == .broken {
        settleBroken(part, failure)
      } else {
        for record in part.records { settle(ItemOutcome(record, failure)) }
        noteStateChange()
        queue(.tell(.sentRecords(part, failed: failure)))
      }
    }
  }

  /// Takes items that were too much for their request out of it, and sends them in smaller ones: only an item that is
  /// too much alone is the app's to know of.
  private mutating func itemsToSendAgain(of part: BatchPart, _ outcomes: [ItemOutcome]) -> Set<RecordID> {
    let tooMany = Set(outcomes.lazy.filter { $0.failure?.kind == .limitExceeded }.map(\.record))
    guard !tooMany.isEmpty, part.count > 1, !part.isAtomic else { return [] }
    let rest = part.filtered { tooMany.contains($0) }
    let parts = rest.count < part.count ? [rest] : rest.divided() ?? []
    guard !parts.isEmpty else { return [] }
    updateSend { $0.send(first: parts) }
    return tooMany
  }

  /// The service broke down on what cannot be divided further: a record that it cannot take, or it takes none.
  private mutating func settleBroken(_ part: BatchPart, _ failure: SyncFailure) {
    for record in part.records { hold(record, failure) }
    updateSend { work in
      work.itemFailure = failure
      for record in part.records { work.note(failure, of: .record(record)) }
    }
    guard case .send(let work)? = run?.work else { return }
    if work.settledCount == 0 { fail(failure) }
  }

  private mutating func settle(_ outcome: ItemOutcome) {
    guard case .send(let work)? = run?.work else { return }
    guard let failure = outcome.failure else {
      state.failedAttempts[outcome.record] = nil
      progress.recordsSent += 1
      state.records.settle(outcome.record, askedAt: work.recordsAskedAt)
      updateSend { $0.settledCount += 1 }
      return
    }
    schedule.slowDown(failure, at: now, policy: policy)
    if failure.endsRun {
      fail(failure)
      return
    }
    updateSend { $0.note(failure, of: .record(outcome.record)) }
    if failure.isRetryable {
      updateSend { $0.itemFailure = failure }
      hold(outcome.record, failure)
      return
    }
    state.records.settle(outcome.record, askedAt: work.recordsAskedAt)
    updateSend { $0.settledCount += 1 }
    if failure.kind == .collateral { return }
    let count = noteFailedAttempt(outcome.record, failure) { $0.count += 1 }.count
    // From here on the app adds it again, if it does, without making progress with it.
    if count >= policy.attemptsPerItemMax { hold(outcome.record, failure) }
  }

  /// Keeps a record out of requests for a while, and puts it behind the others so that it does not stand in their way.
  private mutating func hold(_ record: RecordID, _ failure: SyncFailure) {
    let (now, jitter, policy) = (now, jitter, policy)
    noteFailedAttempt(record, failure) { attempts in
      attempts.holds += 1
      attempts.isHeldForRun = true
      attempts.heldUntil =
        now + policy.wait(afterFailures: attempts.holds, retryAfter: failure.retryAfter, jitter: jitter)
    }
    state.records.moveToEnd(record)
  }

  @discardableResult
  private mutating func noteFailedAttempt(
    _ record: RecordID, _ failure: SyncFailure, _ change: (inout FailedAttempts) -> Void
  ) -> FailedAttempts {
    var attempts = state.failedAttempts[record] ?? FailedAttempts(failure)
    attempts.failure = failure
    attempts.isDropped = false
    change(&attempts)
    state.failedAttempts[record] = attempts
    return attempts
  }
}

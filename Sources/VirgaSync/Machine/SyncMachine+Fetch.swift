import VirgaModel

extension SyncMachine {
  /// Changes the fetch that is going on. Its steps and their answers come only while it does.
  private mutating func updateFetch<Value>(_ change: (inout FetchRun) -> Value) -> Value {
    guard case .fetch(var work)? = run?.work else { preconditionFailure("no fetch is going on") }
    let value = change(&work)
    run?.work = .fetch(work)
    return value
  }

  mutating func nextFetchStep() -> SyncStep? {
    let facts = FetchRun.Facts(isAccountKnown: account == .known, failure: run?.failure, hasToReport: hasToReport)
    let state = state
    let step = updateFetch { $0.next(facts, state) }
    switch step {
    case .tell(.stateUpdate): return report()
    case .tell(.willFetchZone(let zone)) where state.rereadZones.contains(zone) && !announcedRereads.contains(zone):
      // The app may have forgotten what came before the process ended, so the second reading begins anew.
      queueReread(zone)
    default: break
    }
    return step
  }

  mutating func takeOptions(_ scope: FetchScope, _ prioritized: [ZoneID]) {
    updateFetch { $0.take(scope, prioritized) }
  }

  // MARK: Pages

  mutating func takeDatabasePage(_ result: Result<DatabasePage, SyncFailure>, after token: String?) {
    guard case .fetch(let work)? = run?.work, let listing = work.listing else { return }
    switch result {
    case .success(var page):
      if page.moreComing, page.token == token {
        fail(SyncFailure(.broken))
        return
      }
      // It has no feed, so that nothing which is told of it could be followed.
      page.modified.removeAll { $0.name == .default }
      page.failed.removeAll { $0.name == .default }
      if let named = listing.named {
        let all = named.union(page.modified).union(page.failed)
        updateFetch { $0.listing?.named = all }
        if !page.moreComing {
          // A feed from the beginning names what lives. Zones that were known and are not named are gone.
          let known = Set(state.zoneTokens.keys).union(state.unfetchedZones).union(state.rereadZones)
          let mentioned = all.union(page.deleted.map(\.zone))
          for zone in known.subtracting(mentioned).sorted() { page.deleted.append(.init(zone, .deleted)) }
        }
      }
      if page.modified.isEmpty, page.deleted.isEmpty {
        store(page)
      } else {
        queue(.tell(.fetchedDatabaseChanges(page)))
      }
    case .failure(let failure):
      if failure.kind == .tokenExpired, token != nil, listing.named == nil {
        state.databaseToken = nil
        noteStateChange()
      } else {
        fail(failure)
      }
    }
  }

  mutating func takeZonePage(_ result: Result<ZonePage, SyncFailure>, _ zone: ZoneID, after token: String?) {
    guard case .fetch(let work)? = run?.work else { return }
    switch result {
    case .success(let page):
      if page.moreComing, page.token == token {
        endZone(zone, SyncFailure(.broken))
      } else if page.count > 0 {
        queue(.tell(.fetchedRecords(page)))
      } else {
        store(page)
      }
    case .failure(let failure):
      switch failure.kind {
      case .tokenExpired where token != nil && !work.isRereading: queueReread(zone)
      case .unreachable, .throttled, .noAccount, .cancelled, .barred: fail(failure)
      case .zoneGone:
        state.forget(zone)
        noteStateChange()
        endZone(zone, failure)
      default: endZone(zone, failure)
      }
    }
  }

  /// Reads a zone's feed from the beginning. The feed then names only what lives, so the app is told by the error
  /// that precedes: what it holds of the zone and is not named until the next end without an error is gone.
  private mutating func queueReread(_ zone: ZoneID) {
    state.zoneTokens[zone] = nil
    state.missingKeys[zone] = nil
    state.noteUnfetched(zone)
    state.rereadZones.insert(zone)
    announcedRereads.insert(zone)
    noteStateChange()
    updateFetch { $0.rereadZone() }
    queue(.tell(.didFetchZone(zone, SyncFailure(.tokenExpired))))
    queue(.tell(.willFetchZone(zone)))
  }

  /// Its end is told before the state that says so: an app that clears up then does it again rather than never.
  private mutating func endZone(_ zone: ZoneID, _ failure: SyncFailure?) {
    updateFetch {
      $0.endZone()
      if let failure { $0.zoneFailure = failure }
    }
    queue(.tell(.didFetchZone(zone, failure)))
  }

  // MARK: After the app was told

  /// Stores a token only now that the app has what came before it.
  mutating func wasTold(_ notice: Notice) {
    switch notice {
    case .fetchedDatabaseChanges(let page): store(page)
    case .fetchedRecords(let page):
      progress.recordsFetched += page.count
      store(page)
    default: break
    }
  }

  private mutating func store(_ page: DatabasePage) {
    for deletion in page.deleted { state.forget(deletion.zone) }
    // What became of a zone that the page could not speak of, its own feed says.
    for zone in page.modified + page.failed { state.noteUnfetched(zone) }
    guard case .fetch(let work)? = run?.work else { return }
    if work.listing?.named != nil, page.moreComing {
      updateFetch { $0.listing?.token = page.token }
    } else if state.databaseToken != page.token {
      state.databaseToken = page.token
      noteStateChange()
    }
    if !page.modified.isEmpty || !page.deleted.isEmpty || !page.failed.isEmpty {
      noteStateChange()
      run?.reportsNow = true
    }
    guard !page.moreComing else { return }
    let unfetched =
      state.unfetchedZones
      + state.keylessZones.filter { !state.unfetchedZones.contains($0) && isAskedForKeys($0, work) }
    updateFetch { $0.read(unfetched) }
  }

  /// Whether a zone is read for the keys that it lacked. Keys come without a sign, and may never come.
  private func isAskedForKeys(_ zone: ZoneID, _ work: FetchRun) -> Bool {
    guard work.context.call == nil, let wait = keyWaits[zone] else { return true }
    // A clock that was set back does not make it longer.
    return wait.end <= now || now + wait.length < wait.end
  }

  private mutating func store(_ page: ZonePage) {
    if state.zoneTokens[page.zone] != page.token {
      state.zoneTokens[page.zone] = page.token
      noteStateChange()
    }
    if state.noteMissing(page.missingKeys, in: page.zone, atMost: policy.missingKeysMax) { noteStateChange() }
    if page.count > 0 { run?.reportsNow = true }
    guard !page.moreComing else { return }
    state.unfetchedZones.removeAll { $0 == page.zone }
    state.keylessZones.removeAll { $0 == page.zone }
    if state.missingKeys[page.zone] != nil {
      state.keylessZones.append(page.zone)
      let length = keyWaits[page.zone].map { min($0.length * 2, policy.keyWaitMax) } ?? policy.keyWait
      keyWaits[page.zone] = KeyWait(length: length, end: now + length)
    } else {
      keyWaits[page.zone] = nil
    }
    state.rereadZones.remove(page.zone)
    announcedRereads.remove(page.zone)
    noteStateChange()
    endZone(page.zone, nil)
  }
}

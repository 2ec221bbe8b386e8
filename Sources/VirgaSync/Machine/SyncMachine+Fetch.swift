import VirgaModel

extension SyncMachine {
  /// Changes the fetch that is going on. Its steps and their answers come only while it does.
  private mutating func updateFetch(_ change: (inout FetchWork) -> Void) {
    guard case .fetch(var work)? = run?.work else { preconditionFailure("no fetch is going on") }
    change(&work)
    run?.work = .fetch(work)
  }

  mutating func nextFetchStep(_ work: FetchWork) -> SyncStep? {
    guard let current = run else { return nil }
    if current.isCancelled, current.failure == nil { run?.failure = SyncFailure(.cancelled) }
    if let failure = run?.failure {
      if let zone = work.zone {
        updateFetch { $0.zone = nil }
        return .tell(.didFetchZone(zone, failure))
      }
      return closing(.didFetch(work.context))
    }
    if account != .known { return .checkAccount }
    if !work.hasOptions { return .askFetchOptions(work.context) }
    if !current.isOpened {
      run?.isOpened = true
      return .tell(.willFetch(work.context))
    }
    if !work.isDatabaseRead {
      if state.databaseToken == nil, work.listedZones == nil { updateFetch { $0.listedZones = [] } }
      return .fetchDatabase(token: work.listingToken ?? state.databaseToken)
    }
    if let zone = work.zone { return .fetchZone(zone, token: state.zoneTokens[zone]) }
    guard let zone = work.zones.first else { return closing(.didFetch(work.context)) }
    updateFetch {
      $0.zones.removeFirst()
      $0.zone = zone
      $0.zoneExpired = false
    }
    if state.rereadZones.contains(zone), !announcedRereads.contains(zone) {
      // The app may have forgotten what came before the process ended, so the second reading begins anew.
      queue(.tell(.willFetchZone(zone)))
      queueReread(zone)
      return run?.queue.removeFirst()
    }
    return .tell(.willFetchZone(zone))
  }

  mutating func takeOptions(_ scope: FetchScope, _ prioritized: [ZoneID]) {
    updateFetch {
      $0.hasOptions = true
      $0.context.scope = scope
      $0.context.prioritized = prioritized
    }
  }

  // MARK: Pages

  mutating func takeDatabasePage(_ result: Result<DatabasePage, SyncFailure>, after token: String?) {
    guard case .fetch(let work)? = run?.work else { return }
    switch result {
    case .success(var page):
      if page.moreComing, page.token == token {
        fail(SyncFailure(.broken))
        return
      }
      // It has no feed, so that nothing which is told of it could be followed.
      page.modified.removeAll { $0.name == .default }
      page.failed.removeAll { $0.name == .default }
      if let listed = work.listedZones {
        let all = listed.union(page.modified).union(page.failed)
        updateFetch { $0.listedZones = all }
        if !page.moreComing {
          // A feed from the beginning names what lives. Zones that were known and are not named are gone.
          let known = Set(state.zoneTokens.keys).union(state.unfetchedZones).union(state.rereadZones)
          let named = all.union(page.deleted.map(\.zone))
          for zone in known.subtracting(named).sorted() { page.deleted.append(.init(zone, .deleted)) }
        }
      }
      if page.modified.isEmpty, page.deleted.isEmpty {
        store(page)
      } else {
        queue(.tell(.fetchedDatabaseChanges(page)))
      }
    case .failure(let failure):
      if failure.kind == .tokenExpired, token != nil, work.listedZones == nil {
        state.databaseToken = nil
        updateFetch { $0.listedZones = [] }
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
      case .tokenExpired where token != nil && !work.zoneExpired: queueReread(zone)
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
    state.noteUnfetched(zone)
    state.rereadZones.insert(zone)
    announcedRereads.insert(zone)
    noteStateChange()
    updateFetch { $0.zoneExpired = true }
    queue(.tell(.didFetchZone(zone, SyncFailure(.tokenExpired))))
    queue(.tell(.willFetchZone(zone)))
  }

  /// Its end is told before the state that says so: an app that clears up then does it again rather than never.
  private mutating func endZone(_ zone: ZoneID, _ failure: SyncFailure?) {
    updateFetch {
      $0.zone = nil
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
    if work.listedZones != nil, page.moreComing {
      updateFetch { $0.listingToken = page.token }
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
    updateFetch { work in
      work.isDatabaseRead = true
      work.listingToken = nil
      let first = work.context.prioritized.filter { unfetched.contains($0) }
      let rest = unfetched.filter { !first.contains($0) }
      work.zones = (first + rest).filter { work.context.scope.contains($0) }
    }
  }

  /// Whether a zone is read for the keys that it lacked. Keys come without a sign, and may never come.
  private func isAskedForKeys(_ zone: ZoneID, _ work: FetchWork) -> Bool {
    guard work.context.call == nil, let wait = keyWaits[zone] else { return true }
    // A clock that was set back does not make it longer.
    return wait.end <= now || now + wait.length < wait.end
  }

  private mutating func store(_ page: ZonePage) {
    if state.zoneTokens[page.zone] != page.token {
      state.zoneTokens[page.zone] = page.token
      noteStateChange()
    }
    if page.count > 0 { run?.reportsNow = true }
    guard !page.moreComing else { return }
    state.unfetchedZones.removeAll { $0 == page.zone }
    state.keylessZones.removeAll { $0 == page.zone }
    if page.lacksKeys {
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

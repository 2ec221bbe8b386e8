package import VirgaModel

/// One fetch, from the question what to fetch to the words that it is over. It decides what comes next; what a page says
/// is the machine's to store.
package struct FetchRun: Sendable {
  package enum Phase: Equatable, Sendable {
    /// The app is asked what it wants.
    case asking
    /// The app was not told yet.
    case opening
    /// The database's feed is read.
    case listing(Listing)
    /// These zones are still to be read.
    case betweenZones([ZoneID])
    /// A zone is read, and the others after it. `isReread` if this run reads it from its beginning since its token had
    /// expired.
    case reading(ZoneID, rest: [ZoneID], isReread: Bool)
    /// Nothing more is read: the state is still to be told, and the end.
    case closing
    case over
  }

  package struct Listing: Equatable, Sendable {
    /// Zones that were named since the feed is read from its beginning; `nil` if it goes on from the state's token.
    package var named: Set<ZoneID>?
    /// Where a reading from the beginning stopped. It is kept here until the end, because only a whole list shows what
    /// is missing.
    package var token: String?

    package init(named: Set<ZoneID>? = nil, token: String? = nil) {
      self.named = named
      self.token = token
    }
  }

  /// What the next step depends on besides the phase and the state.
  package struct Facts: Sendable {
    package var isAccountKnown: Bool
    package var failure: SyncFailure?
    /// Whether the app does not know the latest state.
    package var hasToReport: Bool

    package init(isAccountKnown: Bool = true, failure: SyncFailure? = nil, hasToReport: Bool = false) {
      self.isAccountKnown = isAccountKnown
      self.failure = failure
      self.hasToReport = hasToReport
    }
  }

  package var phase = Phase.asking
  var context: FetchContext
  /// The latest failure of one zone.
  var zoneFailure: SyncFailure?
  /// Whether the app asked during the run that everything be read again.
  var forgetsTokens = false

  package init(_ context: FetchContext, phase: Phase = .asking) {
    self.context = context
    self.phase = phase
  }

  /// The next step; `nil` when the run is over.
  package mutating func next(_ facts: Facts, _ state: SyncState) -> SyncStep? {
    if let failure = facts.failure, let step = fail(failure) { return step }
    switch phase {
    case .over: return nil
    case .closing:
      if facts.hasToReport { return .tell(.stateUpdate) }
      phase = .over
      return .tell(.didFetch(context))
    default: break
    }
    if !facts.isAccountKnown { return .checkAccount }
    switch phase {
    case .asking: return .askFetchOptions(context)
    case .opening:
      phase = .listing(Listing())
      return .tell(.willFetch(context))
    case .listing(var listing):
      if state.databaseToken == nil, listing.named == nil { listing.named = [] }
      phase = .listing(listing)
      return .fetchDatabase(token: listing.token ?? state.databaseToken)
    case .reading(let zone, _, _): return .fetchZone(zone, token: state.zoneTokens[zone])
    case .betweenZones(let zones):
      guard let zone = zones.first else {
        phase = .closing
        return next(facts, state)
      }
      phase = .reading(zone, rest: Array(zones.dropFirst()), isReread: false)
      return .tell(.willFetchZone(zone))
    case .closing, .over: return nil
    }
  }

  /// Reads nothing more. An end is told only of what has a beginning that was told: of a zone first.
  private mutating func fail(_ failure: SyncFailure) -> SyncStep? {
    switch phase {
    case .asking, .opening: phase = .over
    case .listing, .betweenZones: phase = .closing
    case .reading(let zone, _, _):
      phase = .closing
      return .tell(.didFetchZone(zone, failure))
    case .closing, .over: break
    }
    return nil
  }

  mutating func take(_ scope: FetchScope, _ prioritized: [ZoneID]) {
    context.scope = scope
    context.prioritized = prioritized
    if phase == .asking { phase = .opening }
  }

  /// The database's feed was read to its end.
  /// - Parameter unfetched: Zones that have changed. Those that are wanted first are read first.
  package mutating func read(_ unfetched: [ZoneID]) {
    let first = context.prioritized.filter { unfetched.contains($0) }
    let rest = unfetched.filter { !first.contains($0) }
    phase = .betweenZones((first + rest).filter { context.scope.contains($0) })
  }

  package mutating func endZone() {
    if case .reading(_, let rest, _) = phase { phase = .betweenZones(rest) }
  }

  mutating func rereadZone() {
    if case .reading(let zone, let rest, _) = phase { phase = .reading(zone, rest: rest, isReread: true) }
  }

  var isRereading: Bool { if case .reading(_, _, true) = phase { true } else { false } }

  var listing: Listing? {
    get { if case .listing(let listing) = phase { listing } else { nil } }
    set { if let newValue { phase = .listing(newValue) } }
  }
}

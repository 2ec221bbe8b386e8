import VirgaModel

/// One send, from the words that it begins to those that it is over. It decides what comes next; what came of a step
/// is the machine's to settle.
package struct SendRun: Sendable {
  package enum Phase: Equatable, Sendable {
    /// The app was not told yet.
    case opening
    /// Changes of zones go first, then these parts of the present batch. After the last one the app is asked for the next
    /// batch.
    case sending([BatchPart])
    /// Nothing more is sent: the state is still to be told, and the end.
    case closing
    case over
  }

  /// What the next step depends on besides the phase.
  package struct Facts: Sendable {
    package var isAccountKnown: Bool
    package var hasFailed: Bool
    /// Whether the app does not know the latest state.
    package var hasToReport: Bool
    /// The changes of zones that may go with one request.
    package var zones: [PendingZoneChange]

    package init(
      isAccountKnown: Bool = true, hasFailed: Bool = false, hasToReport: Bool = false, zones: [PendingZoneChange] = []
    ) {
      self.isAccountKnown = isAccountKnown
      self.hasFailed = hasFailed
      self.hasToReport = hasToReport
      self.zones = zones
    }
  }

  package var phase = Phase.opening
  let context: SendContext
  /// The pending lists' stamps when the zones, and when the batch, was asked for.
  var zonesAskedAt: UInt64 = 0
  var recordsAskedAt: UInt64 = 0
  /// Whether the app set the mark for untracked changes after it was last asked for a batch.
  var untrackedAgain = false
  /// Whether a request for several zones was refused as a whole, so that each goes by itself.
  var sendsZonesAlone = false
  /// How often each zone was refused.
  var zoneFailures: [ZoneID: Int] = [:]
  /// Records that were saved, deleted or handed over.
  var settledCount = 0
  /// The latest failure of an item that stayed pending.
  var itemFailure: SyncFailure?
  /// What failed of that which a call of the app asked for. The call does not send it again, though the app add it
  /// again meanwhile, and throws: an app that is told of its failure by the call decides before the next one.
  private(set) var failures = OrderedTable<SyncFailure.Item.Name, SyncFailure>()

  package init(_ context: SendContext, phase: Phase = .opening) {
    self.context = context
    self.phase = phase
  }

  /// The next step; `nil` when the run is over.
  package mutating func next(_ facts: Facts) -> SyncStep? {
    if facts.hasFailed { close() }
    switch phase {
    case .over: return nil
    case .closing:
      if facts.hasToReport { return .tell(.stateUpdate) }
      phase = .over
      return .tell(.didSend(context))
    case .opening, .sending: break
    }
    if !facts.isAccountKnown { return .checkAccount }
    guard case .sending(let parts) = phase else {
      phase = .sending([])
      return .tell(.willSend(context))
    }
    if !facts.zones.isEmpty { return .sendZones(facts.zones) }
    guard let part = parts.first else { return .askBatch(context) }
    phase = .sending(Array(parts.dropFirst()))
    return .sendRecords(part)
  }

  /// Sends nothing more. An end is told only of a run whose beginning was.
  package mutating func close() {
    switch phase {
    case .opening: phase = .over
    case .sending: phase = .closing
    case .closing, .over: break
    }
  }

  /// Puts parts of a batch before those that wait.
  mutating func send(first parts: [BatchPart]) {
    guard case .sending(let rest) = phase else { return }
    phase = .sending(parts + rest)
  }

  var isManual: Bool { context.call != nil }

  mutating func note(_ failure: SyncFailure, of item: SyncFailure.Item.Name) {
    if isManual { failures[item] = failure }
  }

  /// Whether this run leaves a zone alone that the app adds again after each refusal.
  func hasGivenUp(_ zone: ZoneID, _ policy: SyncPolicy) -> Bool {
    zoneFailures[zone, default: 0] >= (isManual ? 1 : policy.attemptsPerItemMax)
  }

  func leavesOut(_ record: RecordID) -> Bool { failures[.record(record)] != nil }

  var failure: SyncFailure? {
    failures.isEmpty ? nil : SyncFailure(of: failures.map { .init(name: $0.key, failure: $0.value) })
  }
}

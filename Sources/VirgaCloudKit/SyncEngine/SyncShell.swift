import Foundation
import Synchronization
import VirgaModel
import VirgaSync

/// Performs what the machine decides: one step after another in one task, timers, and the answers to calls.
///
/// Everything that can change is in the mutex. Nothing is called while it is held.
final class SyncShell: Sendable {
  struct Core: Sendable {
    var machine: SyncMachine
    var random: SeededGenerator
    var calls: [CallID: Call] = [:]
    var nextCall: UInt64 = 0
    var timer: Task<Void, Never>?
    /// The step that waits for the network or the clock, and can be cut short.
    var request: Task<SyncEvent, Never>?
    /// A page that is fetched while the app handles the one before it.
    var prefetch: Prefetch?
    var isInterrupted = false
    var isShutDown = false
    /// By how much this device's clock is ahead of the service's.
    var clockSkew: Duration?
  }

  struct Prefetch: Sendable {
    let fetch: ZoneFetch
    let task: Task<SyncEvent, Never>
  }

  /// A call of the app that waits for its run.
  struct Call: Sendable {
    var continuation: CheckedContinuation<Void, any Error>?
    var sendOptions: CKSyncEngine.SendChangesOptions?
    var fetchOptions: CKSyncEngine.FetchChangesOptions?
  }

  let service: SyncService
  let environment: SyncEnvironment
  let listener: PushChannel
  private let isAutomatic: Bool
  private let core: Mutex<Core>
  private let references: Mutex<References>
  private let observation = Mutex<Observation?>(nil)

  /// Neither the engine nor the app's side is kept alive by the shell.
  struct References: Sendable {
    weak var engine: CKSyncEngine?
    weak var delegate: (any CKSyncEngineDelegate)?
  }

  /// What the notification centre gave for being told of account changes.
  private struct Observation: @unchecked Sendable {
    // Unchecked because the type is only known as an object; it is handed back and never looked at.
    let token: any NSObjectProtocol
  }

  init(_ configuration: CKSyncEngine.Configuration, environment: SyncEnvironment, policy: SyncPolicy) {
    self.environment = environment
    isAutomatic = configuration.automaticallySync
    service = SyncService(configuration.database, subscriptionID: configuration.subscriptionID)
    listener = PushChannel(service, environment: environment, policy: policy)
    core = Mutex(
      Core(
        machine: SyncMachine(
          state: configuration.stateSerialization?.state ?? SyncState(), isAutomatic: isAutomatic, policy: policy),
        random: SeededGenerator(seed: environment.seed)))
    references = Mutex(References(delegate: configuration.delegate))
  }

  func start(_ engine: CKSyncEngine) {
    references.withLock { $0.engine = engine }
    let token = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
      [weak self] notification in
      // Another server's account is none of this engine's.
      if let service = notification.object as? RemoteService, service !== self?.service.database.service { return }
      self?.submit(.accountMayHaveChanged)
    }
    observation.withLock { $0 = Observation(token: token) }
    submit(.start)
  }

  /// Ends everything; nothing is told any more.
  func shutDown() {
    let calls = core.withLock { core in
      core.isShutDown = true
      core.timer?.cancel()
      core.request?.cancel()
      core.dropPrefetch()
      defer { core.calls = [:] }
      return Array(core.calls.values)
    }
    listener.close()
    if let observation = observation.withLock({ $0 }) {
      NotificationCenter.default.removeObserver(observation.token)
    }
    for call in calls {
      call.continuation?.resume(throwing: CKError(.operationCancelled, "The engine or its delegate is gone."))
    }
  }

  var machineState: SyncState { core.withLock { $0.machine.state } }
  var clockSkew: Duration? { core.withLock { $0.clockSkew } }
  /// The records that the present call of the app does not send again.
  var recordsLeftOut: Set<RecordID> { core.withLock { $0.machine.recordsLeftOut } }
  var status: SyncStatus { core.withLock { $0.machine.status } }

  var participants: (engine: CKSyncEngine, delegate: any CKSyncEngineDelegate)? {
    references.withLock { references in
      guard let engine = references.engine, let delegate = references.delegate else { return nil }
      return (engine, delegate)
    }
  }

  // MARK: Events

  /// Hands in an event and begins what follows from it.
  func submit(_ event: SyncEvent) {
    guard let step = take(event) else { return }
    Task(executorPreference: environment.executor) { await self.perform(from: step) }
  }

  /// Hands in an event; returns the step to perform, if there is one.
  private func take(_ event: SyncEvent) -> SyncStep? {
    var answers: [(CheckedContinuation<Void, any Error>, SyncFailure?)] = []
    let step: SyncStep? = core.withLock { core in
      guard !core.isShutDown else { return nil }
      var step: SyncStep?
      for action in core.machine.handle(event, at: environment.now(), random: &core.random) {
        switch action {
        case .perform(let next):
          step = next
          core.isInterrupted = false
        case .interrupt:
          core.isInterrupted = true
          core.request?.cancel()
          core.dropPrefetch()
        case .prefetch(let zone, let token):
          let fetch = ZoneFetch(zone, token, missingKeys: core.machine.state.missingKeys[zone] ?? [])
          core.dropPrefetch()
          core.prefetch = Prefetch(
            fetch: fetch,
            task: Task(executorPreference: environment.executor) { [service] in await fetch.perform(service) })
        case .wake(let time): setTimer(time, &core)
        case .finish(let id, let failure):
          if let waiting = core.calls.removeValue(forKey: id)?.continuation { answers.append((waiting, failure)) }
        }
      }
      return step
    }
    for (continuation, failure) in answers {
      if let failure { continuation.resume(throwing: failure.error) } else { continuation.resume() }
    }
    return step
  }

  private func setTimer(_ time: Timestamp?, _ core: inout Core) {
    core.timer?.cancel()
    core.timer = time.map { time in
      Task(executorPreference: environment.executor) { [weak self, sleep = environment.sleep] in
        do { try await sleep(time) } catch { return }
        if !Task.isCancelled { self?.submit(.wake) }
      }
    }
  }

  // MARK: Steps

  private func perform(from first: SyncStep) async {
    var performer = StepPerformer(shell: self)
    var next: SyncStep? = first
    while let step = next {
      if core.withLock({ $0.isShutDown }) { return }
      next = take(await answer(to: step, &performer))
    }
  }

  private func answer(to step: SyncStep, _ performer: inout StepPerformer) async -> SyncEvent {
    switch step {
    case .tell(let notice):
      await performer.tell(notice)
      followAccount(notice)
      return .told
    case .askBatch(let context): return await performer.askBatch(context)
    case .askFetchOptions(let context): return await performer.askFetchOptions(context)
    case .checkAccount:
      let event = await interruptible { [service] in .account(await service.currentUser()) }
      if isAutomatic, case .account(.success(_?)) = event { listener.start(for: self) }
      return event
    case .sendZones(let changes):
      let request = ZoneRequest(changes)
      let event = await interruptible { [service] in await request.perform(service) }
      performer.zoneRequest = request
      return event
    case .sendRecords(let part):
      let request = RecordRequest(part, performer.batch)
      let event = await interruptible { [service] in await request.perform(service) }
      performer.recordRequest = request
      if let saved = request.savedAt {
        let skew = environment.now() - saved
        core.withLock { $0.clockSkew = skew }
      }
      return event
    case .fetchDatabase(let token):
      return await interruptible { [service] in .databasePage(await service.databaseChanges(since: token)) }
    case .fetchZone(let zone, let token):
      let ahead = core.withLock { $0.takePrefetch(of: zone, token) }
      let fetch = ahead?.fetch ?? ZoneFetch(zone, token, missingKeys: machineState.missingKeys[zone] ?? [])
      let event =
        if let ahead { await ending(ahead.task) } else {
          await interruptible { [service] in await fetch.perform(service) }
        }
      performer.zoneFetch = fetch
      return event
    case .pause(let time):
      return await interruptible { [sleep = environment.sleep] in
        do { try await sleep(time) } catch { return .paused }
        return .paused
      }
    }
  }

  /// A channel for pushes belongs to one account.
  private func followAccount(_ notice: Notice) {
    switch notice {
    case .signOut: listener.stop()
    case .switchAccounts:
      listener.stop()
      if isAutomatic { listener.start(for: self) }
    default: break
    }
  }

  /// Performs a step that a cancellation cuts short.
  private func interruptible(_ body: @escaping @Sendable () async -> SyncEvent) async -> SyncEvent {
    await ending(Task(executorPreference: environment.executor) { await body() })
  }

  private func ending(_ task: Task<SyncEvent, Never>) async -> SyncEvent {
    core.withLock { core in
      core.request = task
      if core.isInterrupted || core.isShutDown { task.cancel() }
    }
    let event = await task.value
    core.withLock { $0.request = nil }
    return event
  }

  // MARK: Calls

  /// Waits for the run that a call asks for, until its last event was handled.
  func run(_ call: Call, _ event: (CallID) -> SyncEvent) async throws {
    let id = core.withLock { core in
      core.nextCall += 1
      return CallID(core.nextCall)
    }
    let event = event(id)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isShutDown = core.withLock { core in
          if core.isShutDown { return true }
          var call = call
          call.continuation = continuation
          core.calls[id] = call
          return false
        }
        if isShutDown {
          continuation.resume(throwing: CKError(.operationCancelled, "The engine or its delegate is gone."))
        } else {
          submit(event)
          if Task.isCancelled { submit(.cancelCall(id)) }
        }
      }
    } onCancel: {
      submit(.cancelCall(id))
    }
  }

  func options(of call: CallID?) -> Call? { core.withLock { core in call.flatMap { core.calls[$0] } } }
}

extension SyncShell.Core {
  fileprivate mutating func dropPrefetch() {
    prefetch?.task.cancel()
    prefetch = nil
  }

  /// The page of that place, if it was asked for ahead.
  fileprivate mutating func takePrefetch(of zone: ZoneID, _ token: String?) -> SyncShell.Prefetch? {
    guard let ahead = prefetch, ahead.fetch.isOf(zone, token) else {
      dropPrefetch()
      return nil
    }
    prefetch = nil
    return ahead
  }
}

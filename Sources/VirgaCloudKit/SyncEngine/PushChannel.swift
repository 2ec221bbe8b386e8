import Synchronization
import VirgaModel
import VirgaSync

/// Waits for notifications of one engine's database for as long as the engine lives.
final class PushChannel: Sendable {
  private let service: SyncService
  private let environment: SyncEnvironment
  private let policy: SyncPolicy
  private let state = Mutex(State())

  private struct State: Sendable {
    var task: Task<Void, Never>?
    var isClosed = false
  }

  init(_ service: SyncService, environment: SyncEnvironment, policy: SyncPolicy) {
    self.service = service
    self.environment = environment
    self.policy = policy
  }

  /// Begins to listen, unless it does already or was closed.
  func start(for shell: SyncShell) {
    state.withLock { state in
      guard state.task == nil, !state.isClosed else { return }
      state.task = Task(executorPreference: environment.executor) { [weak shell, self] in
        await listen { shell }
      }
    }
  }

  /// Stops; what was subscribed to and created belongs to the former account.
  func stop() {
    state.withLock { state in
      state.task?.cancel()
      state.task = nil
    }
  }

  /// Stops for good: the engine's last step may still be under way, and would start it again.
  func close() {
    state.withLock { $0.isClosed = true }
    stop()
  }

  /// - Parameter shell: Answers nil once nobody is left to tell; the task that listens holds this channel, and would
  ///   otherwise go on for the life of the process.
  private func listen(for shell: () -> SyncShell?) async {
    var listener = PushListener(policy: policy)
    var random = SeededGenerator(seed: environment.seed ^ 0x70_75_73_68)
    var event = PushListener.Event.start
    var isUp = false
    while !Task.isCancelled, shell() != nil {
      let decision = listener.handle(event, at: environment.now(), random: &random)
      if decision.isUp != isUp {
        isUp = decision.isUp
        shell()?.submit(.pushChannel(isUp: isUp))
      }
      if decision.hasNews { shell()?.submit(.push) }
      event = await perform(decision.next)
    }
    if isUp { shell()?.submit(.pushChannel(isUp: false)) }
  }

  private func perform(_ step: PushListener.Step) async -> PushListener.Event {
    switch step {
    case .subscribe: return .subscribed(await service.subscribe())
    case .createToken: return .tokenCreated(await service.createPushToken())
    case .poll(let url): return .polled(await service.poll(url))
    case .pause(let time):
      do { try await environment.sleep(time) } catch { return .paused }
      return .paused
    }
  }
}

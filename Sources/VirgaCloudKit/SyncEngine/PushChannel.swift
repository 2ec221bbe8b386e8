import Synchronization
import VirgaModel
import VirgaSync

/// Waits for notifications of one engine's database for as long as the engine lives.
final class PushChannel: Sendable {
  private let service: SyncService
  private let environment: SyncEnvironment
  private let policy: SyncPolicy
  private let task = Mutex<Task<Void, Never>?>(nil)

  init(_ service: SyncService, environment: SyncEnvironment, policy: SyncPolicy) {
    self.service = service
    self.environment = environment
    self.policy = policy
  }

  /// Begins to listen, unless it does already.
  func start(for shell: SyncShell) {
    task.withLock { task in
      guard task == nil else { return }
      task = Task(executorPreference: environment.executor) { [weak shell, self] in
        await listen { event in shell?.submit(event) }
      }
    }
  }

  /// Stops; what was subscribed to and created belongs to the former account.
  func stop() {
    task.withLock { task in
      task?.cancel()
      task = nil
    }
  }

  private func listen(_ submit: (SyncEvent) -> Void) async {
    var listener = PushListener(policy: policy)
    var random = SeededGenerator(seed: environment.seed ^ 0x70_75_73_68)
    var event = PushListener.Event.start
    var isUp = false
    while !Task.isCancelled {
      let decision = listener.handle(event, at: environment.now(), random: &random)
      if decision.isUp != isUp {
        isUp = decision.isUp
        submit(.pushChannel(isUp: isUp))
      }
      if decision.hasNews { submit(.push) }
      event = await perform(decision.next)
    }
    if isUp { submit(.pushChannel(isUp: false)) }
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

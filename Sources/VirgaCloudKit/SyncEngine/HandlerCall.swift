import Synchronization
import VirgaModel

/// Marks the tasks in which an engine's delegate is being called.
///
/// The next event is delivered only when the handler has returned, so a handler that waits for a run of the same engine
/// would wait for itself. Such a call throws instead.
struct HandlerCall: Sendable {
  @TaskLocal private static var current: HandlerCall?

  private let engine: ObjectIdentifier
  private let state: ObjectIdentifier
  private let task: Int?
  /// What the list of pending changes leaves out during the call.
  private let recordsLeftOut: Set<RecordID>
  private let end = End()

  /// Whether the call has returned.
  private final class End: Sendable {
    let isReached = Atomic(false)
  }

  private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  static func during<Value: Sendable>(
    _ engine: CKSyncEngine, leavingOut records: Set<RecordID> = [], _ body: () async -> Value
  ) async -> Value {
    let call = HandlerCall(
      engine: ObjectIdentifier(engine), state: ObjectIdentifier(engine.state), task: currentTask,
      recordsLeftOut: records)
    defer { call.end.isReached.store(true, ordering: .relaxed) }
    return await $current.withValue(call) { await body() }
  }

  /// The call to the engine's delegate that the present task was started from, if it has not returned yet.
  static func around(_ engine: CKSyncEngine) -> HandlerCall? {
    guard let current, current.engine == ObjectIdentifier(engine), !current.hasReturned else { return nil }
    return current
  }

  /// What the present task, as part of a call to an engine's delegate, does not see of that engine's pending changes.
  static func recordsLeftOut(of state: CKSyncEngine.State) -> Set<RecordID> {
    guard let current, current.state == ObjectIdentifier(state), !current.hasReturned else { return [] }
    return current.recordsLeftOut
  }

  var hasReturned: Bool { end.isReached.load(ordering: .relaxed) }

  /// Whether a delegate's call, to whichever engine's, may be waiting for the present task. Tasks that it started are among
  /// them: who awaits them is not known.
  static var mayBeWaitedFor: Bool { current.map { !$0.hasReturned } ?? false }

  /// Whether the present task is the one that waits for the engine's delegate. Tasks that the handler starts are not:
  /// they may call the engine, and are served after the handler has returned.
  static func isInside(_ engine: CKSyncEngine) -> Bool {
    guard let current = around(engine) else { return false }
    return current.task == currentTask
  }
}

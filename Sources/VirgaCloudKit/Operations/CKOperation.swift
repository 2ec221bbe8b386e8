public import Foundation
import Synchronization

/// Work with a container or a database, with dependencies, cancellation and blocks that tell of it.
///
/// Its blocks run one after another on a queue of its own, never on the main queue, and `completionBlock` runs after them
/// all. Set blocks and settings before the operation is added to a queue: from then on they are the operation's.
open class CKOperation: Operation, @unchecked Sendable {
  // Unchecked because the class is not final: what changes while it runs is in the mutexes; all else is written before
  // the operation is started, and the queue orders that before the reads.
  /// Names an operation.
  public typealias ID = String

  private enum Phase: Sendable { case waiting, executing, finished }

  private struct Running: Sendable {
    var phase = Phase.waiting
    var task: Task<Void, Never>?
  }

  /// Names this operation, in logs and among requests. A new UUID for each.
  public let operationID: ID = UUID().uuidString
  /// What the operation is a part of; its default configuration holds where the operation's own says nothing.
  open var group: CKOperationGroup?
  /// Never called, because no operation goes on after its process: `Configuration.isLongLived` says why.
  open var longLivedOperationWasPersistedBlock: (() -> Void)?
  private let ownConfiguration = Mutex(Configuration())
  private let running = Mutex(Running())
  private let blocks: DispatchQueue

  public override init() {
    blocks = DispatchQueue(label: "virga.operation." + operationID)
    super.init()
  }

  /// How the operation is carried out. A configuration that is set is copied; nil brings back the defaults.
  open var configuration: Configuration! {
    get { ownConfiguration.withLock { $0 } }
    set {
      let copy = newValue.map { Configuration($0.explicit) } ?? Configuration()
      ownConfiguration.withLock { $0 = copy }
    }
  }

  /// What holds for this operation: its own values, else its group's, else the defaults.
  var settings: ConfigurationValues { configuration.explicit.over(group?.defaultConfiguration.explicit) }

  /// The operation's work, with its blocks. Subclasses override it.
  func run() async {}

  /// Runs blocks of the app, and waits for them: a slow reader slows the operation down.
  final func callBack(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { done in
      blocks.async {
        body()
        done.resume()
      }
    }
  }

  /// Runs blocks of the app before all that are called back later, without waiting.
  final func callBackSoon(_ body: @escaping @Sendable () -> Void) { blocks.async(execute: body) }

  /// - Throws: `operationCancelled`.
  final func checkCancellation() throws {
    if isCancelled { throw CKError(.operationCancelled, "The operation was cancelled.") }
  }

  // MARK: As queues see it

  open override var isAsynchronous: Bool { true }
  open override var isExecuting: Bool { running.withLock { $0.phase == .executing } }
  open override var isFinished: Bool { running.withLock { $0.phase == .finished } }

  /// Runs the operation, also one that was cancelled: its blocks then get `operationCancelled`.
  open override func start() {
    let isFirst = running.withLock { running in
      guard running.phase == .waiting else { return false }
      running.phase = .executing
      return true
    }
    guard isFirst else { return }
    willChangeValue(for: \.isExecuting)
    didChangeValue(for: \.isExecuting)
    // An operation queue has no task whose executor could be kept: the global one is the only place to go.
    let task = Task(executorPreference: globalConcurrentExecutor) {
      await self.run()
      self.finish()
    }
    running.withLock { $0.task = task }
    // Whoever comes second, this or `cancel()`, sees what the other has done.
    if isCancelled { task.cancel() }
  }

  open override func cancel() {
    super.cancel()
    running.withLock { $0.task }?.cancel()
  }

  private func finish() {
    willChangeValue(for: \.isExecuting)
    willChangeValue(for: \.isFinished)
    running.withLock { $0 = Running(phase: .finished) }
    didChangeValue(for: \.isExecuting)
    didChangeValue(for: \.isFinished)
  }

  // MARK: The configuration's values

  open override var qualityOfService: QualityOfService {
    get { settings.qualityOfService ?? .default }
    set { configuration.qualityOfService = newValue }
  }

  /// The older way to `configuration.container`.
  open var container: CKContainer? {
    get { settings.container }
    set { configuration.container = newValue }
  }

  /// The older way to `configuration.allowsCellularAccess`.
  open var allowsCellularAccess: Bool {
    get { settings.allowsCellularAccess ?? true }
    set { configuration.allowsCellularAccess = newValue }
  }

  /// The older way to `configuration.isLongLived`.
  open var isLongLived: Bool {
    get { settings.isLongLived ?? false }
    set { configuration.isLongLived = newValue }
  }

  /// The older way to `configuration.timeoutIntervalForRequest`.
  open var timeoutIntervalForRequest: TimeInterval {
    get { settings.timeoutIntervalForRequest ?? ConfigurationValues.requestTimeout }
    set { configuration.timeoutIntervalForRequest = newValue }
  }

  /// The older way to `configuration.timeoutIntervalForResource`.
  open var timeoutIntervalForResource: TimeInterval {
    get { settings.timeoutIntervalForResource ?? ConfigurationValues.resourceTimeout }
    set { configuration.timeoutIntervalForResource = newValue }
  }

  /// All operations that are added to a database or container.
  static let queue: OperationQueue = {
    let queue = OperationQueue()
    queue.name = "virga.operations"
    return queue
  }()
}

import CLinux
import Dispatch
import Glibc
import Synchronization

/// Threads for what takes longer than a connection's loop may be kept from its other connections: reading a large body,
/// and all that follows from it.
///
package final class WorkThreads: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let semaphore = DispatchSemaphore(value: 0)

  /// The threads last as long as the process.
  package init(count: Int) {
    for _ in 0..<count {
      let context = Unmanaged.passRetained(self)
      var handle = pthread_t()
      let code = pthread_create(&handle, nil, runWorkThread, context.toOpaque())
      precondition(code == 0, "the system gives no thread")
      pthread_setname_np(handle, "virga-work")
      pthread_detach(handle)
    }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    semaphore.signal()
  }

  /// Performs `body` on these threads. The caller goes on where it was: the end of a `withTaskExecutorPreference` would
  /// move no task back, so this is a task of its own.
  func run<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
    await withTaskGroup(of: Value.self) { group in
      group.addTask(executorPreference: self, operation: body)
      guard let value = await group.next() else { preconditionFailure("a task gives its value") }
      return value
    }
  }

  fileprivate func run() {
    let executor = asUnownedTaskExecutor()
    while true {
      semaphore.wait()
      // The first that came: they are few, so taking it out of an array costs nothing.
      let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      job?.runSynchronously(on: executor)
    }
  }
}

/// The body of a thread. Signals are left to the threads of the program.
private func runWorkThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  var all = sigset_t()
  sigfillset(&all)
  pthread_sigmask(SIG_SETMASK, &all, nil)
  Unmanaged<WorkThreads>.fromOpaque(context).takeRetainedValue().run()
  return nil
}

import CLinux
import Glibc
import Synchronization

/// A thread that waits on epoll, and runs the jobs of tasks that prefer it as their executor.
///
/// A handler that never waits for anything outside thus runs from the first byte of a request to the last of its answer
/// without a lock or a change of thread. The thread ends once the loop has been drained and the last task is through.
///
/// `@unchecked Sendable`: all state but `inbox` is touched on the loop's own thread only, which `assertOnLoop` checks.
final class EventLoop: TaskExecutor, @unchecked Sendable {
  private enum Errand {
    case job(UnownedJob)
    case work(@Sendable () -> Void)
  }

  /// What other threads leave for the loop.
  private struct Inbox {
    var errands: [Errand] = []
    /// Whether the loop is in, or about to enter, a wait that only the event descriptor ends.
    var isAsleep = false
    var isClosed = false
  }

  private static let eventsPerTurn = 256
  /// Jobs may make new jobs; after so many rounds the sockets get their turn.
  private static let jobRoundsPerTurn = 64
  private static let scratchBytes = 65_536
  /// No source has this slot.
  private static let wakeUp = SourceKey(slot: .max, generation: .max)

  let counters = LoopCounters()
  /// Where sockets are read to before their bytes are looked at; its contents last until the next read.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Where heads of answers are put together.
  var head: [UInt8] = []
  let dates = DateField()
  private(set) var now: Instant
  private(set) var isDraining = false

  private let inbox = Mutex(Inbox())
  private let epoll: Int32
  private let wakeUpDescriptor: Int32
  private let thread = Atomic<UInt>(0)

  private var sources: [(any EventSource)?] = []
  private var generations: [UInt32] = []
  private var freeSlots: [UInt32] = []
  private var sourceCount = 0
  private var jobs: [UnownedJob] = []
  private var errands: [Errand] = []
  private var toRepeat: [SourceKey] = []
  private var toSettle: [SourceKey] = []
  private var deadlines = DeadlineQueue()
  private var tasks = 0
  private var drainEnd = Instant.never
  private var whenDrained: (@Sendable () -> Void)?

  init() throws(HTTPServerError) {
    now = Self.clock()
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw .system(call: "epoll_create1", code: errno) }
    wakeUpDescriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    guard wakeUpDescriptor >= 0 else {
      let code = errno
      Glibc.close(epoll)
      throw .system(call: "eventfd", code: code)
    }
    // Edge-triggered, so that nobody has to read the descriptor.
    watch(wakeUpDescriptor, key: Self.wakeUp, events: EPOLLIN.rawValue | EPOLLET.rawValue)
  }

  deinit {
    scratch.deallocate()
    Glibc.close(epoll)
    Glibc.close(wakeUpDescriptor)
  }

  // MARK: From any thread

  func start() throws(HTTPServerError) {
    let context = Unmanaged.passRetained(self)
    var handle = pthread_t()
    let code = pthread_create(&handle, nil, runLoop, context.toOpaque())
    guard code == 0 else {
      context.release()
      throw .system(call: "pthread_create", code: code)
    }
    pthread_setname_np(handle, "virga-http")
    pthread_detach(handle)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isOnLoop { jobs.append(job) } else { leave(.job(job)) }
  }

  /// Has `work` done on the loop's thread. Work left for a loop that has ended is dropped.
  func post(_ work: @escaping @Sendable () -> Void) { leave(.work(work)) }

  private func leave(_ errand: Errand) {
    let wasAsleep = inbox.withLock { inbox in
      guard !inbox.isClosed else { return false }
      inbox.errands.append(errand)
      defer { inbox.isAsleep = false }
      return inbox.isAsleep
    }
    // Outside the lock, which the loop wants first of all when it wakes.
    guard wasAsleep else { return }
    var one: UInt64 = 1
    // It fails only when the counter is full, and then the loop is awake.
    _ = write(wakeUpDescriptor, &one, MemoryLayout<UInt64>.size)
  }

  var isOnLoop: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

  func assertOnLoop() { precondition(isOnLoop, "called on another thread than the loop's") }

  // MARK: For sources, on the loop

  /// Watches a descriptor that is nonblocking. The source is kept until it is removed.
  @discardableResult
  func add(_ descriptor: Int32, events: UInt32, make: (SourceKey) -> any EventSource) -> SourceKey {
    let slot = freeSlots.popLast() ?? UInt32(sources.count)
    if slot == sources.count {
      sources.append(nil)
      generations.append(0)
    }
    let key = SourceKey(slot: slot, generation: generations[Int(slot)])
    sources[Int(slot)] = make(key)
    sourceCount += 1
    watch(descriptor, key: key, events: events)
    return key
  }

  /// Forgets a source, which closes its descriptor itself.
  func remove(_ key: SourceKey) {
    guard source(key) != nil else { return }
    sources[Int(key.slot)] = nil
    generations[Int(key.slot)] &+= 1
    freeSlots.append(key.slot)
    sourceCount -= 1
  }

  func source(_ key: SourceKey) -> (any EventSource)? {
    guard key.slot < sources.count, generations[Int(key.slot)] == key.generation else { return nil }
    return sources[Int(key.slot)]
  }

  func setEvents(_ events: UInt32, of descriptor: Int32, key: SourceKey) {
    var event = epoll_event(events: events, data: epoll_data_t(u64: key.bits))
    epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
  }

  private func watch(_ descriptor: Int32, key: SourceKey, events: UInt32) {
    var event = epoll_event(events: events, data: epoll_data_t(u64: key.bits))
    let result = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
    precondition(result == 0, "epoll does not take the descriptor")
  }

  func schedule(_ instant: Instant, for key: SourceKey) {
    deadlines.insert(DeadlineQueue.Entry(instant: instant, key: key))
  }

  /// Has `handle` called again in the next turn, after other sources got theirs.
  func handleAgain(_ key: SourceKey) { toRepeat.append(key) }

  /// Has `turnEnded` called when this turn's jobs are through.
  func settleAtTurnEnd(_ key: SourceKey) { toSettle.append(key) }

  /// Runs `operation` as a task that prefers this loop, from its first step on.
  func spawn(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    tasks += 1
    counters.requestsUnderWay.add(1, ordering: .relaxed)
    return Task(executorPreference: self) {
      await operation()
      self.assertOnLoop()
      self.tasks -= 1
      self.counters.requestsUnderWay.subtract(1, ordering: .relaxed)
    }
  }

  /// Lets every source end its work; closes those that are left at `end`. `then` is called once when none is left.
  func drain(until end: Instant, then: @escaping @Sendable () -> Void) {
    assertOnLoop()
    isDraining = true
    drainEnd = end
    whenDrained = then
    for source in sources { source?.drain() }
  }

  static func clock() -> Instant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  // MARK: The thread

  fileprivate func run() {
    thread.store(UInt(pthread_self()), ordering: .relaxed)
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventsPerTurn) { events in
      while !isThrough { turn(events) }
    }
    inbox.withLock { $0.isClosed = true }
  }

  private var isThrough: Bool { isDraining && sourceCount == 0 && tasks == 0 && jobs.isEmpty }

  private func turn(_ events: UnsafeMutableBufferPointer<epoll_event>) {
    let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), timeout())
    now = Self.clock()
    takeErrands()
    for index in 0..<max(0, Int(count)) {
      let key = SourceKey(bits: events[index].data.u64)
      source(key)?.handle(events[index].events)
    }
    repeatSources()
    runJobs()
    settleSources()
    while let entry = deadlines.removeFirst(notAfter: now) { source(entry.key)?.deadlineCame(entry.instant) }
    if isDraining { goOnDraining() }
  }

  /// Milliseconds to wait for events, rounded up so that a deadline is past when the wait ends.
  private func timeout() -> Int32 {
    guard jobs.isEmpty, toRepeat.isEmpty, toSettle.isEmpty else { return 0 }
    let isIdle = inbox.withLock { inbox in
      inbox.isAsleep = inbox.errands.isEmpty
      return inbox.isAsleep
    }
    guard isIdle else { return 0 }
    let next = min(deadlines.earliest ?? .never, drainEnd)
    guard next != .never else { return -1 }
    let wait = (next.nanoseconds - Self.clock().nanoseconds + 999_999) / 1_000_000
    return Int32(clamping: max(0, wait))
  }

  private func takeErrands() {
    inbox.withLock { inbox in
      inbox.isAsleep = false
      swap(&inbox.errands, &errands)
    }
    for errand in errands {
      switch errand {
      case .job(let job): jobs.append(job)
      case .work(let work): work()
      }
    }
    errands.removeAll(keepingCapacity: errands.count <= 1_024)
  }

  private func repeatSources() {
    guard !toRepeat.isEmpty else { return }
    let keys = toRepeat
    toRepeat.removeAll()
    for key in keys { source(key)?.handle(0) }
  }

  private func runJobs() {
    let executor = asUnownedTaskExecutor()
    for _ in 0..<Self.jobRoundsPerTurn where !jobs.isEmpty {
      var batch: [UnownedJob] = []
      swap(&batch, &jobs)
      for job in batch { job.runSynchronously(on: executor) }
      if jobs.isEmpty {
        batch.removeAll(keepingCapacity: batch.count <= 1_024)
        swap(&batch, &jobs)
      }
    }
  }

  private func settleSources() {
    guard !toSettle.isEmpty else { return }
    let keys = toSettle
    toSettle.removeAll(keepingCapacity: true)
    for key in keys { source(key)?.turnEnded() }
  }

  private func goOnDraining() {
    if now >= drainEnd, sourceCount > 0 {
      for source in sources { source?.close() }
    }
    guard sourceCount == 0, let then = whenDrained else { return }
    whenDrained = nil
    drainEnd = .never
    then()
  }
}

/// The body of a loop's thread. Signals are left to the threads of the program.
private func runLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  var all = sigset_t()
  sigfillset(&all)
  pthread_sigmask(SIG_SETMASK, &all, nil)
  Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
  return nil
}

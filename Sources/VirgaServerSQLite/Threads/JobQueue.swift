import Glibc

/// Jobs that wait for a thread, in their order; at most `capacity` of them.
///
/// Who performs the jobs of a queue one at a time takes the turn for it, and ends it afterwards: the queue's thread does
/// so when jobs wait, another one may when there is none.
///
/// `@unchecked`: all stored state is guarded by `mutex`.
final class JobQueue<Job: Sendable>: @unchecked Sendable {
  enum Refusal { case full, closed }

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let capacity: Int
  private var jobs: [Job] = []
  private var head = 0
  private var sleeperCount = 0
  private var isClosed = false
  private var isExclusiveAccessTaken = false

  init(capacity: Int) {
    self.capacity = capacity
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(arrival, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(arrival)
    pthread_mutex_destroy(mutex)
    arrival.deallocate()
    mutex.deallocate()
  }

  private func locked<Value>(_ body: () -> Value) -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Jobs that wait.
  var count: Int { locked { jobs.count - head } }

  /// Adds a job; says why not, if not.
  func push(_ job: Job) -> Refusal? {
    locked {
      if isClosed { return .closed }
      if jobs.count - head >= capacity { return .full }
      jobs.append(job)
      if sleeperCount > 0 { pthread_cond_signal(arrival) }
      return nil
    }
  }

  /// Takes the turn with the oldest job, waiting for both; `nil` only once the queue is closed and all jobs were taken.
  func acquireExclusiveAccess() -> Job? {
    locked {
      while isExclusiveAccessTaken || (jobs.count == head && !isClosed) { sleep(until: nil) }
      guard let job = removeFirst(1).first else { return nil }
      isExclusiveAccessTaken = true
      return job
    }
  }

  /// Takes the turn if nobody has it and no job waits for it.
  func tryExclusiveAccess() -> Bool {
    locked {
      guard !isExclusiveAccessTaken && !isClosed && jobs.count == head else { return false }
      isExclusiveAccessTaken = true
      return true
    }
  }

  func releaseExclusiveAccess() {
    locked {
      isExclusiveAccessTaken = false
      if sleeperCount > 0 && (jobs.count > head || isClosed) { pthread_cond_signal(arrival) }
    }
  }

  /// Takes the oldest jobs, waiting for one; empty only once the queue is closed and all jobs were taken.
  func take(atMost count: Int) -> [Job] {
    locked {
      while jobs.count == head && !isClosed { sleep(until: nil) }
      return removeFirst(count)
    }
  }

  /// Takes the oldest jobs, waiting for one no longer than `duration`.
  func take(atMost count: Int, waiting duration: Duration) -> [Job] {
    locked {
      if jobs.count == head && !isClosed && duration > .zero {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let (seconds, attoseconds) = duration.components
        let nanoseconds = deadline.tv_nsec + Int(attoseconds / 1_000_000_000)
        deadline.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        while jobs.count == head && !isClosed && sleep(until: deadline) {}
      }
      return removeFirst(count)
    }
  }

  /// Refuses jobs from now on; those that wait are still given out.
  func close() {
    locked {
      isClosed = true
      pthread_cond_broadcast(arrival)
    }
  }

  /// Answers false once the deadline has passed.
  @discardableResult
  private func sleep(until deadline: timespec?) -> Bool {
    sleeperCount += 1
    defer { sleeperCount -= 1 }
    guard var deadline else { return pthread_cond_wait(arrival, mutex) == 0 }
    return pthread_cond_timedwait(arrival, mutex, &deadline) == 0
  }

  private func removeFirst(_ count: Int) -> [Job] {
    let waiting = jobs.count - head
    if waiting <= count {
      let all = head == 0 ? jobs : Array(jobs[head...])
      jobs = []
      head = 0
      return all
    }
    let taken = Array(jobs[head..<head + count])
    head += count
    // The part already given out is dropped once it is the greater one, so that each job moves once at most.
    if head > jobs.count / 2 {
      jobs.removeFirst(head)
      head = 0
    }
    return taken
  }
}

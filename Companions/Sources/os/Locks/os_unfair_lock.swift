import Glibc

/// A lock as a plain value. As on Apple's systems its address must not change while it is used: keep it behind a pointer, or use
/// `OSAllocatedUnfairLock`.
public struct os_unfair_lock_s {
  /// A mutex of the C library that knows its thread: it refuses to be locked twice by one, and to be unlocked by another.
  fileprivate var mutex = pthread_mutex_t()

  /// As `PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP` does it, a macro that Swift does not see.
  public init() { mutex.__data.__kind = Int32(PTHREAD_MUTEX_ERRORCHECK_NP) }
}

public typealias os_unfair_lock = os_unfair_lock_s
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock_s>

public func os_unfair_lock_lock(_ lock: os_unfair_lock_t) {
  let status = pthread_mutex_lock(&lock.pointee.mutex)
  precondition(status != EDEADLK, "this thread holds the lock already")
  precondition(status == 0, "the lock cannot be taken")
}

public func os_unfair_lock_trylock(_ lock: os_unfair_lock_t) -> Bool {
  pthread_mutex_trylock(&lock.pointee.mutex) == 0
}

public func os_unfair_lock_unlock(_ lock: os_unfair_lock_t) {
  let status = pthread_mutex_unlock(&lock.pointee.mutex)
  precondition(status == 0, "another thread holds the lock, or none does")
}

/// Stops the process unless this thread holds the lock.
public func os_unfair_lock_assert_owner(_ lock: os_unfair_lock_t) {
  precondition(isHeldByThisThread(lock), "this thread does not hold the lock")
}

/// Stops the process if this thread holds the lock.
public func os_unfair_lock_assert_not_owner(_ lock: os_unfair_lock_t) {
  precondition(!isHeldByThisThread(lock), "this thread holds the lock")
}

/// Asks for the lock with a deadline that is past: the holder is refused for a reason of its own.
private func isHeldByThisThread(_ lock: os_unfair_lock_t) -> Bool {
  var past = timespec()
  let status = pthread_mutex_timedlock(&lock.pointee.mutex, &past)
  if status == 0 { pthread_mutex_unlock(&lock.pointee.mutex) }
  return status == EDEADLK
}

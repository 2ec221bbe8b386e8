/// A lock on the heap, with the state that it guards.
///
/// Locking it again in the thread that holds it, or unlocking it elsewhere, stops the process, as on Apple's systems.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  // The state is reached only while the lock is held; who passes `uncheckedState` vouches for what leaves the closure.
  private let storage: Storage

  private final class Storage {
    var state: State
    let lock = UnsafeMutablePointer<os_unfair_lock_s>.allocate(capacity: 1)

    init(_ state: State) {
      self.state = state
      lock.initialize(to: os_unfair_lock_s())
    }

    deinit { lock.deallocate() }
  }

  public enum Ownership: Hashable, Sendable {
    case owner
    case notOwner
  }

  public init(uncheckedState initialState: State) { storage = Storage(initialState) }

  public func withLockUnchecked<R>(_ body: (inout State) throws -> R) rethrows -> R {
    os_unfair_lock_lock(storage.lock)
    defer { os_unfair_lock_unlock(storage.lock) }
    return try body(&storage.state)
  }

  public func withLock<R: Sendable>(_ body: @Sendable (inout State) throws -> R) rethrows -> R {
    try withLockUnchecked(body)
  }

  /// Returns nil, without a call of the closure, if somebody else holds the lock.
  public func withLockIfAvailableUnchecked<R>(_ body: (inout State) throws -> R) rethrows -> R? {
    guard os_unfair_lock_trylock(storage.lock) else { return nil }
    defer { os_unfair_lock_unlock(storage.lock) }
    return try body(&storage.state)
  }

  public func withLockIfAvailable<R: Sendable>(_ body: @Sendable (inout State) throws -> R) rethrows -> R? {
    try withLockIfAvailableUnchecked(body)
  }

  /// Stops the process unless this thread holds the lock, or does not.
  public func precondition(_ condition: Ownership) {
    switch condition {
    case .owner: os_unfair_lock_assert_owner(storage.lock)
    case .notOwner: os_unfair_lock_assert_not_owner(storage.lock)
    }
  }
}

extension OSAllocatedUnfairLock where State: Sendable {
  public init(initialState: State) { self.init(uncheckedState: initialState) }
}

extension OSAllocatedUnfairLock where State == Void {
  public init() { self.init(uncheckedState: ()) }

  public func lock() { os_unfair_lock_lock(storage.lock) }
  public func unlock() { os_unfair_lock_unlock(storage.lock) }
  public func lockIfAvailable() -> Bool { os_unfair_lock_trylock(storage.lock) }

  public func withLockUnchecked<R>(_ body: () throws -> R) rethrows -> R { try withLockUnchecked { _ in try body() } }
  public func withLock<R: Sendable>(_ body: @Sendable () throws -> R) rethrows -> R {
    try withLockUnchecked { _ in try body() }
  }
  public func withLockIfAvailableUnchecked<R>(_ body: () throws -> R) rethrows -> R? {
    try withLockIfAvailableUnchecked { _ in try body() }
  }
  public func withLockIfAvailable<R: Sendable>(_ body: @Sendable () throws -> R) rethrows -> R? {
    try withLockIfAvailableUnchecked { _ in try body() }
  }
}

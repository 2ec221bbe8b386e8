import Foundation
import Testing
import os

@Suite struct LockTests {
  @Test func oneThreadAtATime() async {
    let lock = OSAllocatedUnfairLock(initialState: 0)
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<10_000 { lock.withLock { $0 += 1 } } }
      }
    }
    #expect(lock.withLock { $0 } == 80_000)
  }

  @Test func aHeldLockIsNotAvailable() {
    let lock = OSAllocatedUnfairLock()
    lock.lock()
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      #expect(!lock.lockIfAvailable() && lock.withLockIfAvailable { 1 } == nil)
      done.signal()
    }
    done.wait()
    lock.precondition(.owner)
    lock.unlock()
    lock.precondition(.notOwner)
    #expect(lock.withLockIfAvailable { 1 } == 1)
  }

  @Test func anErrorLeavesTheLockFree() {
    struct Stop: Error {}
    let lock = OSAllocatedUnfairLock(initialState: 1)
    #expect(throws: Stop.self) { try lock.withLock { _ in throw Stop() } }
    #expect(lock.withLockIfAvailable { $0 } == 1)
  }

  @Test func lockingTwiceStopsTheProcess() async {
    await #expect(processExitsWith: .failure) {
      let lock = OSAllocatedUnfairLock()
      lock.lock()
      lock.lock()
    }
  }

  @Test func unlockingWhatOneDoesNotHoldStopsTheProcess() async {
    await #expect(processExitsWith: .failure) { OSAllocatedUnfairLock().unlock() }
    await #expect(processExitsWith: .failure) { OSAllocatedUnfairLock().precondition(.owner) }
  }

  @Test func thePlainLockWorksBehindAPointer() {
    let lock = os_unfair_lock_t.allocate(capacity: 1)
    lock.initialize(to: os_unfair_lock())
    defer { lock.deallocate() }
    os_unfair_lock_lock(lock)
    os_unfair_lock_assert_owner(lock)
    #expect(!os_unfair_lock_trylock(lock))
    os_unfair_lock_unlock(lock)
    os_unfair_lock_assert_not_owner(lock)
    #expect(os_unfair_lock_trylock(lock))
    os_unfair_lock_unlock(lock)
  }
}

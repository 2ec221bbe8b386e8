// Shows the thread sanitizer what it cannot see of Swift's Mutex (module Synchronization).
//
// The fast ways through a mutex are atomic operations in the caller's code, which the sanitizer instruments. The slow
// ones are these two functions of the runtime's library: there the kernel writes the word (priority-inheriting futex),
// and the order of who had the mutex before is lost. Loaded before the library, these take the place of its functions.
// Observed with Swift 6.3.1: four threads that append to an array in a mutex are reported as a race without this.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
// Synchronization._MutexHandle._lockSlow(UInt32) -> () and ._unlockSlow() -> ()
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// There in programs that are built with the sanitizer, and only there.
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK);

typedef SWIFT void (*lock_function)(uint32_t thread, SELF void *mutex);
typedef SWIFT void (*unlock_function)(SELF void *mutex);

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
  // Two threads may look it up at once, and find the same.
  static lock_function real;
  lock_function function = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (!function) {
    function = (lock_function)dlsym(RTLD_NEXT, LOCK);
    __atomic_store_n(&real, function, __ATOMIC_RELAXED);
  }
  function(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
  static unlock_function real;
  unlock_function function = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (!function) {
    function = (unlock_function)dlsym(RTLD_NEXT, UNLOCK);
    __atomic_store_n(&real, function, __ATOMIC_RELAXED);
  }
  if (__tsan_release) __tsan_release(mutex);
  function(mutex);
}

#include "allocations.h"
#include <stdatomic.h>
#include <stddef.h>

// glibc's own names, which the replaced functions hand over to.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);

static atomic_long made;
static _Thread_local long made_by_thread;

long allocations_so_far(void) { return atomic_load_explicit(&made, memory_order_relaxed); }
long allocations_of_thread(void) { return made_by_thread; }

static void count_call(void) {
  atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
  made_by_thread += 1;
}

void *malloc(size_t size) {
  count_call();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  count_call();
  return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size) {
  count_call();
  return __libc_realloc(pointer, size);
}

// What Swift's Glibc module leaves out: epoll, eventfd, accept4, sendfile, signalfd, memmem, mallopt,
// sync_file_range, renameat2, thread names.
// Without _GNU_SOURCE, as Glibc's own module is built: with it, types that both define would differ.
#pragma once
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

extern void *memmem(const void *haystack, size_t haystack_length, const void *needle, size_t needle_length);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern int sync_file_range(int descriptor, off_t start, off_t count, unsigned int flags);
extern int renameat2(int oldFolder, const char *old, int newFolder, const char *new_, unsigned int flags);

// Has the disk begin to write pages, and does not wait for it: SYNC_FILE_RANGE_WRITE.
static inline int clinux_begin_writing_back(int descriptor, off_t start, off_t count) {
  return sync_file_range(descriptor, start, count, 2);
}

// Fails with EEXIST where there is a file of the new name: RENAME_NOREPLACE.
static inline int clinux_rename_without_replacing(const char *old, const char *new_) {
  return renameat2(AT_FDCWD, old, AT_FDCWD, new_, 1);
}

// A freed buffer of 100 KB goes back to the kernel and is faulted in again unless these thresholds are raised;
// that costs two to five times the CPU for bodies of that size.
static inline void clinux_keep_freed_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

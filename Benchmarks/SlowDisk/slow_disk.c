// Loaded before the C library by `make bench DISK_MS=…`: what makes bytes durable takes so many milliseconds more, in the
// baseline as in the server. So the ratios of a usual disk can be seen on a machine with a quick one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_for_disk(void) {
  const char *text = getenv("VIRGA_BENCH_DISK_MS");
  long nanoseconds = text ? (long)(atof(text) * 1e6) : 0;
  struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  nanosleep(&time, NULL);
}

int fdatasync(int file) {
  static int (*next)(int);
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_for_disk();
  return next(file);
}

int fsync(int file) {
  static int (*next)(int);
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_for_disk();
  return next(file);
}

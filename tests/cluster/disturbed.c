// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process, it shifts the clock that tells the time of day, and makes writing into one folder slow or fail as on a
// full disk. What it does is in a file of three numbers, which may change at any time (DISTURBED_BY): seconds, milliseconds, 0 or 1.
// The folder is DISTURBED_FOLDER.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct Disturbance {
  int64_t clock_s, write_ms, full;
};
static const volatile struct Disturbance* disturbance;
static char folder[PATH_MAX];

__attribute__((constructor)) static void begin(void) {
  const char* const path = getenv("DISTURBED_BY");
  const char* const where = getenv("DISTURBED_FOLDER");
  if (path == NULL || where == NULL || realpath(where, folder) == NULL) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const memory = mmap(NULL, sizeof(struct Disturbance), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) disturbance = memory;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && disturbance != NULL && clock == CLOCK_REALTIME) now->tv_sec += disturbance->clock_s;
  return (int)failed;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (now != NULL) *now = exact.tv_sec;
  return exact.tv_sec;
}

// Whether a write to the file goes on; it is slow, if that is told.
static int may_write(int file) {
  if (disturbance == NULL || (disturbance->write_ms == 0 && disturbance->full == 0)) return 1;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 1;
  path[length] = '\0';
  if (strncmp(path, folder, strlen(folder)) != 0) return 1;
  if (disturbance->write_ms > 0) usleep((useconds_t)disturbance->write_ms * 1000);
  if (disturbance->full == 0) return 1;
  errno = ENOSPC;
  return 0;
}

ssize_t write(int file, const void* bytes, size_t count) {
  return may_write(file) ? syscall(SYS_write, file, bytes, count) : -1;
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  return may_write(file) ? syscall(SYS_writev, file, parts, count) : -1;
}
int fsync(int file) { return may_write(file) ? (int)syscall(SYS_fsync, file) : -1; }

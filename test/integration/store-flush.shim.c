// Preloaded into a process (LD_PRELOAD), it records each write to a file below TRACED_DIRECTORY, and each flush, in
// TRACE_FILE, one line per call, in their order. While FAIL_FLUSHES_FILE exists, each flush fails as on a broken disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static int trace_fd = -1;
static const char *directory;

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("TRACE_FILE");
  directory = getenv("TRACED_DIRECTORY");
  if (file && directory) trace_fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

// Returns whether the file is traced.
static int record(const char *call, int fd) {
  char link[64], path[1024], line[1200];
  if (trace_fd < 0 || fd == trace_fd) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (strncmp(path, directory, strlen(directory)) != 0) return 0;
  int size = snprintf(line, sizeof line, "%s %s\n", call, path + strlen(directory));
  ((ssize_t(*)(int, const void *, size_t))real("write"))(trace_fd, line, size);
  return 1;
}

// A write to a file that was opened with O_DSYNC is durable when it returns.
static void record_write(int fd) {
  int flags = fcntl(fd, F_GETFL);
  record(flags >= 0 && (flags & O_DSYNC) ? "durable-write" : "write", fd);
}

static int flush(const char *name, int fd) {
  const char *fail = getenv("FAIL_FLUSHES_FILE");
  if (record("flush", fd) && fail && access(fail, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))real(name))(fd);
}

int fsync(int fd) { return flush("fsync", fd); }
int fdatasync(int fd) { return flush("fdatasync", fd); }

ssize_t write(int fd, const void *bytes, size_t size) {
  record_write(fd);
  return ((ssize_t(*)(int, const void *, size_t))real("write"))(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  record_write(fd);
  return ((ssize_t(*)(int, const struct iovec *, int))real("writev"))(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) {
  record_write(fd);
  return ((ssize_t(*)(int, const void *, size_t, off64_t))real("pwrite64"))(fd, bytes, size, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  record_write(fd);
  return ((ssize_t(*)(int, const void *, size_t, off_t))real("pwrite"))(fd, bytes, size, offset);
}

// What Embedded Swift has of glibc: the functions that the small program calls. Those that take a variable number of
// arguments, and errno, have to be wrapped for Swift.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static inline int glibc_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int glibc_openat(int folder, const char *path, int flags, mode_t mode) {
    return openat(folder, path, flags, mode);
}
static inline int glibc_fcntl(int descriptor, int command, int value) { return fcntl(descriptor, command, value); }
static inline int glibc_errno(void) { return errno; }
static inline void glibc_set_errno(int number) { errno = number; }

static inline sighandler_t glibc_ignore_signal(int number) { return signal(number, SIG_IGN); }

/// Keeps other processes of the user out of this one's memory; 0 when it worked.
static inline int glibc_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/// The words that the program was started with; the one behind the last is `NULL`.
char **fast_arguments(void);
/// How many they are.
int fast_argument_count(void);

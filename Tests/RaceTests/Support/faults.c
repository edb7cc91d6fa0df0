// Makes single calls of the C library fail, or tell another time; each by a variable. For LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/// FAULT_FLOCK=unsupported: locks are refused; =none: every lock is granted at once.
int flock(int file, int operation) {
    const char *fault = getenv("FAULT_FLOCK");
    if (fault && strcmp(fault, "none") == 0) return 0;
    if (fault) {
        errno = ENOLCK;
        return -1;
    }
    int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    return real(file, operation);
}

/// FAULT_STOP=record: who is about to give a file the name of an account's record stands still, once, as by SIGSTOP.
static void stand_still(const char *name) {
    static int stood;
    if (stood || !getenv("FAULT_STOP") || strlen(name) != 16) return;
    for (const char *digit = name; *digit; digit++)
        if (!isxdigit((unsigned char)*digit)) return;
    stood = 1;
    raise(SIGSTOP);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
    stand_still(new);
    int (*real)(int, const char *, int, const char *, int) =
        (int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat");
    return real(from, old, to, new, flags);
}

/// FAULT_RENAME=NAME: no new file can be given that name, as if the disk were full; room set aside for it can.
int renameat(int from, const char *old, int to, const char *new) {
    stand_still(new);
    const char *fault = getenv("FAULT_RENAME");
    if (fault && strcmp(fault, new) == 0 && strstr(old, ".tmp")) {
        errno = ENOSPC;
        return -1;
    }
    int (*real)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
    return real(from, old, to, new);
}

/// FAULT_RESERVE=1: no room can be set aside.
int posix_fallocate(int file, off_t offset, off_t size) {
    if (getenv("FAULT_RESERVE")) return ENOSPC;
    int (*real)(int, off_t, off_t) = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    return real(file, offset, size);
}

/// FAULT_CLOCK=SECONDS: the wall clock is that much ahead.
int clock_gettime(clockid_t clock, struct timespec *time) {
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    const char *fault = getenv("FAULT_CLOCK");
    if (result == 0 && fault && clock == CLOCK_REALTIME) time->tv_sec += atol(fault);
    return result;
}

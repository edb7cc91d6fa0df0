// The supervisor: it starts the plugin, waits, and ends all that came of it.

#define _GNU_SOURCE
#include "supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "temporary.h"
#include "walls.h"

enum { STATUS_UNKNOWN = -1, STATUS_STOPPED = 128 + SIGTERM };

/// Signals that are no reason to end.
static const int harmless[] = {SIGCHLD, SIGCONT, SIGWINCH, SIGURG, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};

static long long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// MARK: The plugin's side

/// The caller's environment, with the temporary folder of this run.
static char **with_temporary(char **environment, const char *folder) {
    size_t count = 0, kept = 0;
    while (environment[count]) count++;
    char **result = calloc(count + 2, sizeof *result);
    char *entry = NULL;
    if (!result || asprintf(&entry, "TMPDIR=%s", folder) < 0) return NULL;
    for (size_t index = 0; index < count; index++) {
        if (strncmp(environment[index], "TMPDIR=", 7) != 0) result[kept++] = environment[index];
    }
    result[kept] = entry;
    return result;
}

/// In the child: the walls, and the program. Does not return.
__attribute__((noreturn)) static void become(
    const struct plan *plan, const struct walls *walls, char **environment, pid_t supervisor) {
    char text[32];
    setsid();
    if (!plan->is_unconfined) {
        const char *fault = walls_enter(walls, plan);
        if (fault) {
            report("wall", fault);
            _exit(126);
        }
    }
    // Last: a change of credentials would clear it. It fires when the supervisor, which has one thread, ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != supervisor) _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(plan->program[0], plan->program, environment);
    snprintf(text, sizeof text, "%d", errno);
    report("start", text);
    _exit(126);
}

// MARK: The end

/// The parent of a process; 0 where it has gone.
static pid_t parent_of(long process) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return 0;
    text[size] = 0;
    // The name before may hold anything, brackets too.
    const char *place = strrchr(text, ')');
    int parent = 0;
    return place && sscanf(place, ") %*c %d", &parent) == 1 ? parent : 0;
}

/// Sends SIGKILL to every child by a look at every process, where the kernel keeps no lists of children.
static void kill_children_slowly(void) {
    DIR *folder = opendir("/proc");
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        long process = strtol(entry->d_name, NULL, 10);
        if (process > 1 && parent_of(process) == getpid()) kill((pid_t)process, SIGKILL);
    }
    closedir(folder);
}

/// Sends SIGKILL to every child of this process. None is waited for meanwhile, so that their numbers are theirs.
static void kill_children(void) {
    char path[64], list[8192];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return kill_children_slowly();
    ssize_t size = read(file, list, sizeof list - 1);
    close(file);
    if (size <= 0) return;
    // A list that is longer than the buffer goes on the next time; the number that was cut off does not count.
    while (size > 0 && list[size - 1] != ' ') size--;
    list[size] = 0;
    for (char *place = list, *end; *place; place = end) {
        long child = strtol(place, &end, 10);
        if (end == place) break;
        if (child > 1) kill((pid_t)child, SIGKILL);
    }
}

/// Kills every descendant until none is left. Those of a killed child come to this process, which is their subreaper.
static void end_all(void) {
    for (;;) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {}
        if (ended < 0 && errno == ECHILD) return;
        kill_children();
        // The list of children may leave out one that comes while it is read (proc(5)), so a wait for the next death could
        // last for ever: it is looked at again after a millisecond.
        struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
}

// MARK: The supervisor's side

struct watch {
    int signals;
    int caller;
    pid_t plugin;
    long long deadline;
};

static void block_signals(struct watch *watch) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    watch->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool is_harmless(int number) {
    for (size_t index = 0; index < sizeof harmless / sizeof *harmless; index++) {
        if (harmless[index] == number) return true;
    }
    return false;
}

/// Reads the signals that came.
///
/// Returns: whether one of them ends everything.
static bool is_asked_to_end(const struct watch *watch) {
    struct signalfd_siginfo facts;
    bool result = false;
    while (read(watch->signals, &facts, sizeof facts) == sizeof facts) {
        if (!is_harmless((int)facts.ssi_signo)) result = true;
    }
    return result;
}

/// Waits until the plugin has ended or must end.
///
/// Returns: its wait status, or STATUS_UNKNOWN.
static int wait_for(const struct watch *watch, const struct plan *plan) {
    for (;;) {
        // The signals first: what ends after this look at the children makes the descriptor readable again.
        if (is_asked_to_end(watch)) return STATUS_UNKNOWN;
        int status;
        pid_t ended;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
            if (ended == watch->plugin) return status;
        }
        long long left = watch->deadline - milliseconds();
        if (left <= 0 || getppid() != plan->caller) return STATUS_UNKNOWN;
        struct pollfd polled[] = {{watch->signals, POLLIN, 0}, {watch->caller, POLLIN, 0}};
        // A kernel without descriptors of processes is asked now and then.
        if (watch->caller < 0 && left > 50) left = 50;
        poll(polled, 2, left > INT_MAX ? INT_MAX : (int)left);
        if (polled[1].revents) return STATUS_UNKNOWN;
    }
}

/// Ends as the plugin did.
static int end_like(int status) {
    if (status == STATUS_UNKNOWN) return STATUS_STOPPED;
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    sigset_t none;
    sigemptyset(&none);
    signal(WTERMSIG(status), SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int supervise(const struct plan *plan, char **environment) {
    struct watch watch = {.deadline = milliseconds() + plan->seconds * 1000LL};
    struct walls walls = {.files = -1};
    struct rlimit no_core = {0, 0};
    char temporary[64];
    block_signals(&watch);
    fcntl(CONFINE_REPORT, F_SETFD, FD_CLOEXEC);
    setrlimit(RLIMIT_CORE, &no_core);
    report(CONFINE_VERSION, NULL);
    watch.caller = (int)syscall(SYS_pidfd_open, plan->caller, 0);
    // Only now: a caller that had ended before would be somebody else's number.
    if (getppid() != plan->caller) return STATUS_STOPPED;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
        report("wall", "subreaper");
        return 126;
    }
    if (!temporary_make(temporary, sizeof temporary)) {
        report("wall", "temporary");
        return 126;
    }
    char **variables = with_temporary(environment, temporary);
    walls_look(&walls);
    int status = 126 << 8;
    if (variables && (plan->is_unconfined || walls_prepare(&walls, plan, temporary))) {
        pid_t supervisor = getpid();
        watch.plugin = fork();
        if (watch.plugin == 0) become(plan, &walls, variables, supervisor);
        // The plugin alone has its streams: it sees the end of what it reads, and its reader the end of what it writes.
        for (int number = 0; number < 3; number++) close(number);
        if (watch.plugin > 0) status = wait_for(&watch, plan);
    }
    end_all();
    temporary_remove(temporary);
    return end_like(status);
}

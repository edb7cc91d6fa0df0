// The supervisor: it starts the plugin, waits, and ends all that came of it.

#define _GNU_SOURCE
#include "supervisor.h"

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

#include "containment.h"
#include "processes.h"
#include "temporary.h"
#include "tracing.h"
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

/// The supervisor's values that the plugin's side needs.
struct start {
    const struct plan *plan;
    const struct walls *walls;
    char **environment;
    pid_t supervisor;
};

/// In the plugin's process: the walls, and the program. Does not return.
static void become(struct containment *containment, void *context) {
    const struct start *start = context;
    const struct plan *plan = start->plan;
    char text[32];
    setsid();
    if (!plan->is_unconfined) {
        const char *fault = walls_enter(start->walls, plan);
        if (fault) {
            report("wall", fault);
            _exit(126);
        }
    } else if (
        containment->has_user_namespace
        && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !walls_drop_capabilities())) {
        // In a new user namespace a process has every capability, and programs can bring it some.
        report("wall", "capabilities");
        _exit(126);
    }
    containment_enter(containment, plan);
    // Last: a change of credentials would clear it. It fires when the parent, which has one thread, ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // The parent of a namespace's init is outside of it; the init's own child has number 1 as its parent.
    if (getppid() != (containment->has_namespace ? 1 : start->supervisor)) _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(plan->program[0], plan->program, start->environment);
    snprintf(text, sizeof text, "%d", errno);
    report("start", text);
    _exit(126);
}

// MARK: The supervisor's side

struct watch {
    int signals;
    int caller;
    /// The plugin, or the init of its namespace.
    pid_t child;
    struct containment containment;
    struct tracing tracing;
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

/// The result of a look at children.
enum look { LOOK_NOTHING, LOOK_SOMETHING, LOOK_END };

/// Looks whether a child has ended or stopped; any of them for -1.
static enum look look_at(struct watch *watch, pid_t child, int *status) {
    child = waitpid(child, status, WNOHANG | __WALL);
    if (child <= 0) return LOOK_NOTHING;
    tracing_note(&watch->tracing, child, *status);
    if (WIFSTOPPED(*status) || child != watch->child) return LOOK_SOMETHING;
    // An init that has not said how the plugin ended was killed.
    bool is_known = !watch->containment.has_namespace || containment_has_ended(&watch->containment, status);
    if (!is_known) *status = STATUS_UNKNOWN;
    return LOOK_END;
}

/// Looks at what has happened to the children, at a part of it if that is much.
///
/// Returns: whether the plugin has ended, and then how, as waitpid(2) has it, in `status`.
static enum look look(struct watch *watch, int *status) {
    if (containment_has_ended(&watch->containment, status)) return LOOK_END;
    enum look found = LOOK_SOMETHING;
    for (int round = 0; round < PROCESS_LIMIT; round++) {
        found = look_at(watch, -1, status);
        if (found != LOOK_SOMETHING) return found;
    }
    // The kernel names children before what is traced only, and those that come before those that wait. Every one gets a turn.
    const struct tracing all = watch->tracing;
    for (int place = 0; place < all.count; place++) {
        if (look_at(watch, all.processes[place], status) == LOOK_END) return LOOK_END;
    }
    return LOOK_SOMETHING;
}

/// Waits until the plugin has ended or must end.
///
/// Returns: its wait status, or STATUS_UNKNOWN.
static int wait_for(struct watch *watch, const struct plan *plan) {
    for (;;) {
        int status;
        // The signals first: what ends after this look at the children makes the descriptor readable again.
        if (is_asked_to_end(watch)) return STATUS_UNKNOWN;
        enum look found = look(watch, &status);
        if (found == LOOK_END) return status;
        long long left = watch->deadline - milliseconds();
        if (left <= 0 || getppid() != plan->caller) return STATUS_UNKNOWN;
        struct pollfd polled[] = {
            {watch->signals, POLLIN, 0}, {watch->caller, POLLIN, 0}, {watch->containment.link, POLLIN, 0}};
        // A kernel without descriptors of processes is asked now and then.
        if (watch->caller < 0 && left > 50) left = 50;
        if (found == LOOK_SOMETHING) left = 0;
        poll(polled, sizeof polled / sizeof *polled, left > INT_MAX ? INT_MAX : (int)left);
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
    struct watch watch = {
        .deadline = milliseconds() + plan->seconds * 1000LL, .containment.link = -1};
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
        struct start start = {plan, &walls, variables, getpid()};
        watch.child = containment_start(&watch.containment, plan, become, &start);
        // The plugin alone has its streams: it sees the end of what it reads, and its reader the end of what it writes.
        for (int number = 0; number < 3; number++) close(number);
        if (watch.containment.is_traced) watch.tracing = (struct tracing){{watch.child}, 1};
        if (watch.child > 0) status = wait_for(&watch, plan);
    }
    processes_end();
    temporary_remove(temporary);
    return end_like(status);
}

// The containment of a plugin's processes: a PID namespace, whose end is theirs, or else the supervisor that
// traces them.

#define _GNU_SOURCE
#include "containment.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracing.h"
#include "walls.h"

// MARK: The link

static bool open_link(int link[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) == 0; }

static bool say(int link, const void *word, size_t size) {
    return send(link, word, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/// Waits for the other side's next step.
///
/// Returns: its letter; 0 where the other side has ended.
static char wait_for_step(int link) {
    char step;
    return recv(link, &step, sizeof step, 0) == sizeof step ? step : 0;
}

bool containment_has_ended(struct containment *containment, int *status) {
    ssize_t size = recv(containment->link, status, sizeof *status, MSG_DONTWAIT);
    if (size == 0) {
        // Nothing more can come.
        close(containment->link);
        containment->link = -1;
    }
    return size == sizeof *status;
}

// MARK: The init of a namespace

/// Starts the plugin, waits for all that comes of it, passes signals on, and ends when the plugin does: then the kernel
/// kills all others. Does not return.
__attribute__((noreturn)) static void be_init(
    struct containment *containment, void (*become)(struct containment *, void *), void *context) {
    // The signal comes from outside of the namespace, so that an init obeys it. Only then the supervisor is told, which lets
    // this process go on: one that had ended before would never.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    // A signal to the supervisor's process group is for the supervisor.
    setsid();
    // A program that nobody may read (mode 0711) has its files in /proc closed to its own user, who must write there now.
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (!say(containment->link, "r", 1) || !wait_for_step(containment->link)) _exit(126);
    pid_t plugin = fork();
    if (plugin == 0) become(containment, context);
    // A plugin without walls must not get in here by ptrace(2).
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    // The plugin alone has its streams: it sees the end of what it reads, and its reader the end of what it writes.
    for (int number = 0; number <= CONFINE_REPORT; number++) close(number);
    int status = 126 << 8;
    for (bool is_over = plugin < 0; !is_over;) {
        pid_t ended;
        int last;
        while (!is_over && (ended = waitpid(-1, &last, WNOHANG)) > 0) {
            if (ended == plugin) {
                status = last;
                is_over = true;
            }
        }
        if (is_over) break;
        int number = sigwaitinfo(&all, NULL);
        if (number > 0 && number != SIGCHLD) kill(plugin, number);
    }
    say(containment->link, &status, sizeof status);
    _exit(0);
}

static bool write_map(pid_t process, const char *name, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t size = strlen(text);
    bool is_done = write(file, text, size) == (ssize_t)size;
    close(file);
    return is_done;
}

/// Maps the user and the group to themselves, and nobody else.
static bool map_user(pid_t init) {
    char user[64], group[64];
    snprintf(user, sizeof user, "%u %u 1", geteuid(), geteuid());
    snprintf(group, sizeof group, "%u %u 1", getegid(), getegid());
    return write_map(init, "setgroups", "deny") && write_map(init, "gid_map", group)
        && write_map(init, "uid_map", user);
}

/// Starts the init of a new PID namespace, in a new user namespace where the caller may not do it otherwise.
static pid_t start_init(
    struct containment *containment, bool has_user_namespace, void (*become)(struct containment *, void *),
    void *context) {
    int link[2];
    if (!open_link(link)) return -1;
    containment->has_namespace = true;
    containment->has_user_namespace = has_user_namespace;
    // Not unshare(2): the supervisor itself stays outside.
    pid_t init = (pid_t)syscall(
        SYS_clone, CLONE_NEWPID | SIGCHLD | (has_user_namespace ? CLONE_NEWUSER : 0), NULL, NULL, NULL, NULL);
    if (init == 0) {
        close(link[0]);
        containment->link = link[1];
        be_init(containment, become, context);
    }
    close(link[1]);
    containment->link = link[0];
    if (init > 0 && wait_for_step(link[0]) && (!has_user_namespace || map_user(init)) && say(link[0], "g", 1)) {
        return init;
    }
    if (init > 0) {
        kill(init, SIGKILL);
        waitpid(init, NULL, 0);
    }
    close(link[0]);
    return -1;
}

// MARK: Both sides

/// Whether RLIMIT_NPROC counts the processes of a user namespace, and not all of the user's: since Linux 5.14.
static bool counts_by_namespace(void) {
    struct utsname machine;
    int major, minor;
    if (uname(&machine) != 0 || sscanf(machine.release, "%d.%d", &major, &minor) != 2) return false;
    return major > 5 || (major == 5 && minor >= 14);
}

/// Starts the plugin as a child that this process traces, where that is wanted and goes.
static pid_t start_child(
    struct containment *containment, bool traces, void (*become)(struct containment *, void *), void *context) {
    int link[2];
    if (!open_link(link)) return -1;
    *containment = (struct containment){.link = -1};
    pid_t plugin = fork();
    if (plugin == 0) {
        close(link[0]);
        // As for an init: the user must get at this process.
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        char step = say(link[1], "r", 1) ? wait_for_step(link[1]) : 0;
        if (!step) _exit(126);
        close(link[1]);
        containment->is_traced = step == 't';
        become(containment, context);
    }
    close(link[1]);
    bool is_there = plugin > 0 && wait_for_step(link[0]);
    containment->is_traced = traces && is_there && tracing_begin(plugin);
    say(link[0], containment->is_traced ? "t" : "g", 1);
    close(link[0]);
    return plugin;
}

pid_t containment_start(
    struct containment *containment, const struct plan *plan, void (*become)(struct containment *, void *),
    void *context) {
    for (int user = 0; user < 2 && !plan->refuses_namespace; user++) {
        *containment = (struct containment){.link = -1};
        pid_t init = start_init(containment, user, become, context);
        if (init > 0) return init;
    }
    return start_child(containment, !plan->refuses_tracing, become, context);
}

static void limit(int resource, rlim_t value) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return;
    if (now.rlim_max < value) value = now.rlim_max;
    struct rlimit lower = {value, value};
    setrlimit(resource, &lower);
}

void containment_enter(struct containment *containment, const struct plan *plan) {
    limit(RLIMIT_AS, (rlim_t)plan->memory << 20);
    // The init counts too.
    if (containment->has_user_namespace && counts_by_namespace()) limit(RLIMIT_NPROC, PROCESS_LIMIT + 1);
    if (containment->is_traced) tracing_enclose();
}

// MARK: A trial

static void try_out(struct containment *containment, void *context) {
    (void)context;
    if (containment->has_namespace) _exit(0);
    _exit(containment->is_traced && tracing_enclose() ? 0 : 1);
}

bool containment_works(const struct plan *plan) {
    struct containment containment;
    int status;
    pid_t child = containment_start(&containment, plan, try_out, NULL);
    if (child < 0) return false;
    if (containment.link >= 0) close(containment.link);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

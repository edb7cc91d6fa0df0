// The supervisor as the tracer of the plugin (ptrace(2)), where there is no PID namespace to end at once: it hears of each
// new process before that has done anything.
//
// seccomp's user notification would ask it before each fork. But a signal that comes meanwhile has the call fail with EINTR,
// which fork(2) does not know of, and which no shell expects: of a shell's pipelines one in fourteen failed.

#define _GNU_SOURCE
#include "tracing.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// MARK: The plugin's side

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define NATIVE AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

/// clone(2) of the 32-bit architectures, i386 and ARM, which a plugin without walls may use: the same on both. clone3(2) has
/// one number everywhere.
enum { FOREIGN_CLONE = 120 };

/// Calls of x32 are those of x86-64 with this bit; AArch64 has no such calls.
#define X32 0x40000000u

#define LOAD(place) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(place))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))

static struct sock_filter filter[] = {
    LOAD(offsetof(struct seccomp_data, arch)),
    IF_EQUAL(NATIVE, 4, 0),
    IF_EQUAL(FOREIGN, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(offsetof(struct seccomp_data, nr)),
    BPF_STMT(BPF_JMP | BPF_JA, 3),
    // The calls of this architecture.
    LOAD(offsetof(struct seccomp_data, nr)),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~X32),
    IF_EQUAL(SYS_clone, 3, 1),
    // Those of the foreign one.
    IF_EQUAL(FOREIGN_CLONE, 2, 0),
    IF_EQUAL(SYS_clone3, 0, 4),
    // Its arguments are in memory, out of a filter's sight; programs go back to clone(2) where it is missing.
    ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
    // The low half of the first argument of clone(2): the architectures are little-endian.
    LOAD(offsetof(struct seccomp_data, args)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_UNTRACED, 0, 1),
    ANSWER(SECCOMP_RET_ERRNO | EPERM),
    ANSWER(SECCOMP_RET_ALLOW),
};

bool tracing_enclose(void) {
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) return true;
    return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

// MARK: The supervisor's side

bool tracing_begin(pid_t process) {
    return ptrace(
               PTRACE_SEIZE, process, NULL,
               PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)
        == 0;
}

/// Whether a thread is the first one of its process, which has the number of the process.
static bool is_process(pid_t thread) { return syscall(SYS_tgkill, thread, thread, 0) == 0; }

/// The index of a process among those that live; -1 if it is none of them.
static int place_of(const struct tracing *tracing, pid_t process) {
    int place = tracing->count - 1;
    while (place >= 0 && tracing->processes[place] != process) place--;
    return place;
}

/// Whether a thread that has just come may go on.
static bool may_live(struct tracing *tracing, pid_t thread) {
    // One that was stopped by a signal comes here, too, when it is continued.
    if (!is_process(thread) || place_of(tracing, thread) >= 0) return true;
    if (tracing->count == PROCESS_LIMIT) return false;
    tracing->processes[tracing->count++] = thread;
    return true;
}

void tracing_note(struct tracing *tracing, pid_t thread, int status) {
    if (!WIFSTOPPED(status)) {
        int place = place_of(tracing, thread);
        if (place >= 0) tracing->processes[place] = tracing->processes[--tracing->count];
        return;
    }
    int event = status >> 16, number = WSTOPSIG(status);
    if (event == 0) {
        // A signal is about to be delivered.
        ptrace(PTRACE_CONT, thread, NULL, number);
    } else if (event == PTRACE_EVENT_STOP && number != SIGTRAP) {
        // The process was stopped by a signal, and stays so.
        ptrace(PTRACE_LISTEN, thread, NULL, NULL);
    } else if (event == PTRACE_EVENT_STOP && !may_live(tracing, thread)) {
        kill(thread, SIGKILL);
    } else {
        // A new thread or process, or one that has just started such.
        ptrace(PTRACE_CONT, thread, NULL, NULL);
    }
}

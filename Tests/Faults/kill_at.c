// kill_at REPORT caller|worker COUNT PROGRAM ARGUMENTS…
//
// Runs a program and kills one process of it with SIGKILL as it enters its COUNT-th system call: the program itself
// (caller), or the first process that it starts (worker). With COUNT 0 nobody is killed. Writes into the
// file REPORT how many system calls that process made, and the number of the one it died at or -1. Exits as the program does, with 128
// plus the number of a signal.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>
#include <errno.h>

enum { MAXIMUM = 256 };
static struct { pid_t thread, process; int is_inside; } known[MAXIMUM];
static int count_known;

static int find(pid_t thread) {
    for (int i = 0; i < count_known; i++) if (known[i].thread == thread) return i;
    return -1;
}

static int add(pid_t thread, pid_t process) {
    int place = find(thread);
    if (place < 0 && count_known < MAXIMUM) place = count_known++;
    if (place >= 0) known[place].thread = thread, known[place].process = process, known[place].is_inside = 0;
    return place;
}

static pid_t process_of(pid_t thread) {
    char path[64], line[256];
    pid_t process = thread;
    snprintf(path, sizeof path, "/proc/%d/status", thread);
    FILE *file = fopen(path, "r");
    if (!file) return process;
    while (fgets(line, sizeof line, file)) if (sscanf(line, "Tgid: %d", &process) == 1) break;
    fclose(file);
    return process;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    int wants_worker = strcmp(argv[2], "worker") == 0;
    long limit = atol(argv[3]), calls = 0, died_at = -1;
    pid_t caller = fork(), worker = 0;
    if (caller == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execv(argv[4], argv + 4);
        _exit(127);
    }
    int status, result = 1;
    waitpid(caller, &status, 0);
    ptrace(PTRACE_SETOPTIONS, caller, 0,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC);
    add(caller, caller);
    ptrace(PTRACE_SYSCALL, caller, 0, 0);
    int is_execed = 0;
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) {
            if (errno == EINTR) continue;
            break;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == caller) result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int place = find(thread), signal = WSTOPSIG(status), event = status >> 16, sent = 0;
        if (place < 0) {
            pid_t process = process_of(thread);
            place = add(thread, process);
            if (process == thread && process != caller && worker == 0) worker = process;
        }
        if (place < 0) return 2;
        pid_t wanted = wants_worker ? worker : caller;
        if (event == PTRACE_EVENT_EXEC) {
            if (thread == caller) is_execed = 1;
            known[place].is_inside = 1;
        } else if (signal == (SIGTRAP | 0x80)) {
            known[place].is_inside = !known[place].is_inside;
            if (known[place].is_inside && known[place].process == wanted && (is_execed || wants_worker)) {
                calls++;
                if (calls == limit) {
                    struct user_regs_struct registers;
                    if (ptrace(PTRACE_GETREGS, thread, 0, &registers) == 0) died_at = registers.orig_rax;
                    kill(wanted, SIGKILL);
                    continue;
                }
            }
        } else if (event == 0 && signal != SIGSTOP && signal != SIGTRAP) {
            sent = signal;
        }
        ptrace(PTRACE_SYSCALL, thread, 0, sent);
    }
    FILE *report = fopen(argv[1], "w");
    if (!report) return 2;
    fprintf(report, "%ld %ld\n", calls, died_at);
    fclose(report);
    return result;
}

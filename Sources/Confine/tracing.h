#pragma once

#include <stdbool.h>
#include <sys/types.h>

/// The most processes that a plugin has at a time, itself included.
enum { PROCESS_LIMIT = 64 };

/// The processes that are traced and live.
struct tracing {
    pid_t processes[PROCESS_LIMIT];
    int count;
};

/// Traces a process and all that comes of it: each new one stops before its first instruction, until it is let go on, and
/// all of them end with this process.
///
/// Returns: false where the kernel or the machine's rules do not allow it.
bool tracing_begin(pid_t process);

/// Closes the way by which a process could start one that is not traced, for this process and all that comes of it.
///
/// Returns: whether it is closed.
bool tracing_enclose(void);

/// Takes notice of what waitpid(2) tells of a thread: one that has stopped goes on, a new process only up to the limit.
void tracing_note(struct tracing *tracing, pid_t thread, int status);

#pragma once

#include <stdbool.h>
#include <sys/types.h>

/// The version of the arguments and of the report; the caller refuses a supervisor of another.
#define CONFINE_VERSION "confine 2"

/// Where the caller hears how the start went, unless it only wants to know what the kernel lacks.
enum { CONFINE_REPORT = 3 };

/// The address space of each process in MiB, where the plan names none.
enum { CONFINE_MEMORY = 2048 };

/// What the caller asks for, as its arguments say.
struct plan {
    /// The options, which name the paths: `--read`, `--write`, `--keep-out`.
    char **options;
    /// How many words the options are.
    int option_count;
    /// The program and its arguments, ended by a null pointer; the first is the program's path.
    char **program;
    /// The caller, with whose end everything ends.
    pid_t caller;
    /// After how many seconds everything ends, though the caller should not say so.
    long seconds;
    /// The most address space that each process has, in MiB.
    long memory;
    /// Whether it has no walls: the user's configuration trusts the plugin.
    bool is_unconfined;
    /// Whether to do without a PID namespace, and without tracing, as machines do that lack them.
    bool refuses_namespace, refuses_tracing;
    /// Whether it may use the Internet protocols.
    bool has_ipv4, has_ipv6;
};

/// One line of the report: "WORD" and, where it is not null, " TEXT".
void report(const char *word, const char *text);

/// Reads the arguments after `__confine`.
///
/// Returns: whether they hold.
bool plan_read(struct plan *plan, int count, char **words);

/// Reads what of a plan a question about the machine may name: what to do without.
///
/// Returns: whether the arguments hold.
bool plan_read_refusals(struct plan *plan, int count, char **words);

/// The value of the option `name` after the position, which goes on; null where there is none.
const char *plan_next(const struct plan *plan, const char *name, int *position);

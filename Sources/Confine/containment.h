#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "plan.h"

/// How it is made sure that nothing a plugin starts outlives it.
struct containment {
    /// Whether the plugin is in a PID namespace: its init is the supervisor's child, and ends it with all the others.
    bool has_namespace;
    /// Whether it is in a user namespace too, as it must be where the caller is not root.
    bool has_user_namespace;
    /// Whether the supervisor traces it, where it has no namespace.
    bool is_traced;
    /// The socket between the supervisor and the plugin's side; each has one end.
    int link;
};

/// Starts a process of the plugin by the surest way that the machine has and the plan allows.
///
/// - become: what that process does; it never returns.
///
/// Returns: the child: the plugin, or the init of its namespace; -1 where there is none.
pid_t containment_start(
    struct containment *containment, const struct plan *plan, void (*become)(struct containment *, void *), void *context);

/// In the plugin, behind its walls: what it is limited to.
void containment_enter(struct containment *containment, const struct plan *plan);

/// The init's message, without a wait.
///
/// Returns: whether the plugin has ended, and then how, as waitpid(2) has it, in `status`.
bool containment_has_ended(struct containment *containment, int *status);

/// Whether the machine ends everything that a plugin can start, tried out.
bool containment_works(const struct plan *plan);

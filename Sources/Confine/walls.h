#pragma once

#include "plan.h"

/// The walls, made ready but not around anybody yet.
struct walls {
    /// The Landlock rules: a descriptor, or -1 where the kernel has none.
    int files;
    /// The version of Landlock; 0 where the kernel has none.
    int landlock;
    /// Whether the kernel filters system calls.
    bool filters_calls;
    /// Whether the kernel has session keyrings.
    bool has_keyrings;
};

/// Finds out what the kernel has.
void walls_look(struct walls *walls);

/// Makes the rules for files: what every plugin may read, what the plan names, and the temporary folder.
///
/// Returns: false, after a report, for a path that must be kept out of, or a fault of the system.
bool walls_prepare(struct walls *walls, const struct plan *plan, const char *temporary);

/// Puts the walls around this process and all that it starts.
///
/// Returns: null, or the name of the wall that could not be put up, with the reason in `errno`.
const char *walls_enter(const struct walls *walls, const struct plan *plan);

/// Gives up every capability, also of the administrator.
///
/// Returns: whether they are gone.
bool walls_drop_capabilities(void);

/// Filters the system calls of this process and all that it starts (filter.c).
///
/// Returns: 0, or -1 with the reason in `errno`.
int filter_calls(const struct plan *plan, int landlock);

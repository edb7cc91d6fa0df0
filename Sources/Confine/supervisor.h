#pragma once

#include "plan.h"

/// Runs the program of the plan and ends all that it started: when it ends itself, when the caller ends, on a signal,
/// and when the time is over.
///
/// Returns: the exit status of the program; where a signal ended it, this process ends by the same.
int supervise(const struct plan *plan, char **environment);

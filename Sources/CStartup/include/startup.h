#pragma once

// Two parts of the Swift runtime that run before `main` in every process, done without. The functions and the variable here
// take the place of the runtime's of the same name, and the linker then leaves the object files that hold those out of the
// static archive. A runtime that needs more of such a file fails to link, with these named twice.

/// The arguments and, in `count`, how many there are.
///
/// The runtime finds them by reading /proc/self/maps and searching the stack: a tenth of a cached `credmgr token`, and
/// nothing where /proc is not mounted. glibc hands them to each constructor.
char **_swift_stdlib_getUnsafeArgvArgc(int *count);

/// Replaces the arguments.
void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count);

/// The settings of the reporter of crashes, all off: it shows registers and stack, where a token may be. The runtime would
/// look for its program in eight places. Larger than the runtime's own.
extern char _swift_backtraceSettings[512];

/// Of use to that reporter only.
_Bool _swift_backtrace_isThunkFunction(const char *name);

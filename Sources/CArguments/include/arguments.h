#pragma once

// The arguments of the process, for Swift's `CommandLine`.
//
// The Swift runtime finds them by reading /proc/self/maps and searching the stack, before `main` and in every process:
// 0.1 ms of a cached `credmgr token`, and nothing where /proc is not mounted. glibc hands them to each constructor. The
// two functions here take the place of the runtime's, whose object file the linker then leaves out of the static
// archive; a runtime that needs more of that file fails to link, with these two named twice.

/// The arguments and, in `count`, how many there are.
char **_swift_stdlib_getUnsafeArgvArgc(int *count);

/// Replaces the arguments.
void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count);

#include "startup.h"

static char **process_arguments;
static int process_count;

__attribute__((constructor)) static void keep(int count, char **arguments, char **environment) {
    (void)environment;
    _swift_stdlib_overrideUnsafeArgvArgc(arguments, count);
}

char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
    *count = process_count;
    return process_arguments;
}

void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count) {
    process_arguments = arguments;
    process_count = count;
}

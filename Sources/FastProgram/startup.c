// What the runtime of Embedded Swift leaves to the program.

#include <stdlib.h>

static int count;
static char **arguments;

__attribute__((constructor)) static void keep(int given_count, char **given, char **environment) {
    (void)environment;
    count = given_count;
    arguments = given;
}

char **fast_arguments(void) { return arguments; }

int fast_argument_count(void) { return count; }

// Swift's reading of numbers with a fraction. The locale is "C", as nothing sets another one.
const char *_swift_stdlib_strtod_clocale(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return *end ? NULL : end;
}

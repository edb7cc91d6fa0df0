#include "startup.h"

char _swift_backtraceSettings[512];

_Bool _swift_backtrace_isThunkFunction(const char *name) {
    (void)name;
    return 0;
}

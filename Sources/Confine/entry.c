// The way in: the arguments, and what is said to the caller.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"
#include "supervisor.h"
#include "temporary.h"
#include "walls.h"

// The first priority that programs have: before the constructors of the Swift and C++ runtimes.
__attribute__((constructor(101))) static void enter(int count, char **words, char **environment) {
    if (count < 2 || strcmp(words[1], "__confine") != 0) return;
    struct plan plan;
    // No line is lost in a buffer: `_exit` writes none out.
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count == 3 && strcmp(words[2], "--lacks") == 0) {
        struct walls walls;
        walls_look(&walls);
        puts(CONFINE_VERSION);
        if (walls.landlock == 0) puts("files");
        if (walls.landlock < 6) puts("signals");
        if (!walls.filters_calls) puts("calls");
        if (!walls.has_keyrings) puts("keyring");
        _exit(0);
    }
    if (!plan_read(&plan, count - 2, words + 2)) {
        fputs("credmgr: __confine is for credmgr itself\n", stderr);
        _exit(2);
    }
    _exit(supervise(&plan, environment));
}

void report(const char *word, const char *text) {
    if (text) {
        dprintf(CONFINE_REPORT, "%s %s\n", word, text);
    } else {
        dprintf(CONFINE_REPORT, "%s\n", word);
    }
}

/// Options that are followed by a value.
static const char *const valued[] = {"--caller", "--seconds", "--network", "--read", "--write", "--keep-out"};

static bool takes_value(const char *option) {
    for (size_t index = 0; index < sizeof valued / sizeof *valued; index++) {
        if (strcmp(option, valued[index]) == 0) return true;
    }
    return false;
}

/// A positive number, or 0.
static long number(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    return *text && !*end && value > 0 ? value : 0;
}

bool plan_read(struct plan *plan, int count, char **words) {
    *plan = (struct plan){.options = words};
    for (int index = 0; index < count; index++) {
        const char *word = words[index];
        if (strcmp(word, "--") == 0) {
            plan->option_count = index;
            plan->program = words + index + 1;
            return plan->program[0] && plan->program[0][0] == '/' && plan->caller && plan->seconds;
        }
        if (strcmp(word, "--unconfined") == 0) {
            plan->is_unconfined = true;
            continue;
        }
        if (!takes_value(word) || ++index == count) return false;
        const char *value = words[index];
        if (strcmp(word, "--caller") == 0) {
            plan->caller = (pid_t)number(value);
        } else if (strcmp(word, "--seconds") == 0) {
            plan->seconds = number(value);
        } else if (strcmp(word, "--network") == 0) {
            if (strcmp(value, "ipv4") == 0) {
                plan->has_ipv4 = true;
            } else if (strcmp(value, "ipv6") == 0) {
                plan->has_ipv6 = true;
            } else {
                return false;
            }
        } else if (value[0] != '/') {
            return false;
        }
    }
    return false;
}

const char *plan_next(const struct plan *plan, const char *name, int *position) {
    while (*position < plan->option_count) {
        const char *word = plan->options[(*position)++];
        if (!takes_value(word)) continue;
        const char *value = plan->options[(*position)++];
        if (strcmp(word, name) == 0) return value;
    }
    return NULL;
}

// The way in: the arguments, and what is said to the caller.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "containment.h"
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
    if (count > 2 && strcmp(words[2], "--lacks") == 0 && plan_read_refusals(&plan, count - 3, words + 3)) {
        struct walls walls;
        walls_look(&walls);
        puts(CONFINE_VERSION);
        if (walls.landlock == 0) puts("files");
        if (walls.landlock < 6) puts("signals");
        if (!walls.filters_calls) puts("calls");
        if (!walls.has_keyrings) puts("keyring");
        if (!containment_works(&plan)) puts("processes");
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
static const char *const valued[] = {
    "--caller", "--seconds", "--memory", "--without", "--network", "--read", "--write", "--keep-out",
};

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

/// Reads what to do without.
static bool read_refusal(struct plan *plan, const char *value) {
    if (strcmp(value, "namespace") == 0) {
        plan->refuses_namespace = true;
    } else if (strcmp(value, "tracing") == 0) {
        plan->refuses_tracing = true;
    } else {
        return false;
    }
    return true;
}

bool plan_read_refusals(struct plan *plan, int count, char **words) {
    *plan = (struct plan){.memory = CONFINE_MEMORY};
    for (int index = 0; index < count; index += 2) {
        if (index + 1 == count || strcmp(words[index], "--without") != 0) return false;
        if (!read_refusal(plan, words[index + 1])) return false;
    }
    return true;
}

bool plan_read(struct plan *plan, int count, char **words) {
    *plan = (struct plan){.options = words, .memory = CONFINE_MEMORY};
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
        } else if (strcmp(word, "--memory") == 0) {
            if (!(plan->memory = number(value))) return false;
        } else if (strcmp(word, "--without") == 0) {
            if (!read_refusal(plan, value)) return false;
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

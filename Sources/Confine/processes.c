// The end of all that comes of this process.

#define _GNU_SOURCE
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// The parent of a process; 0 where it has gone, or its parent is out of sight.
static pid_t parent_of(long process) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return 0;
    text[size] = 0;
    // The name before may hold anything, brackets too.
    const char *place = strrchr(text, ')');
    int parent = 0;
    return place && sscanf(place, ") %*c %d", &parent) == 1 ? parent : 0;
}

// MARK: The end

/// Sends SIGKILL to every child by a look at every process, where the kernel keeps no lists of children.
static void kill_children_slowly(void) {
    DIR *folder = opendir("/proc");
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        long process = strtol(entry->d_name, NULL, 10);
        if (process > 1 && parent_of(process) == getpid()) kill((pid_t)process, SIGKILL);
    }
    closedir(folder);
}

/// Sends SIGKILL to every child of this process. None is waited for meanwhile, so that their numbers are theirs.
static void kill_children(void) {
    char path[64], list[8192];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return kill_children_slowly();
    ssize_t size = read(file, list, sizeof list - 1);
    close(file);
    if (size <= 0) return;
    // A list that is longer than the buffer goes on the next time; the number that was cut off does not count.
    while (size > 0 && list[size - 1] != ' ') size--;
    list[size] = 0;
    for (char *place = list, *end; *place; place = end) {
        long child = strtol(place, &end, 10);
        if (end == place) break;
        if (child > 1) kill((pid_t)child, SIGKILL);
    }
}

void processes_end(void) {
    for (;;) {
        pid_t ended;
        int status;
        while ((ended = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
            if (WIFSTOPPED(status)) kill(ended, SIGKILL);
        }
        if (ended < 0 && errno == ECHILD) return;
        kill_children();
        // The list of children may leave out one that comes while it is read (proc(5)), so a wait for the next death could
        // last for ever: it is looked at again after a millisecond.
        struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
}

// The private temporary folder of one run.

#define _GNU_SOURCE
#include "temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const places[] = {"/dev/shm", "/tmp", "/var/tmp"};

bool temporary_make(char *path, size_t size) {
    for (size_t index = 0; index < sizeof places / sizeof *places; index++) {
        snprintf(path, size, "%s/credmgr-plugin-XXXXXX", places[index]);
        if (mkdtemp(path)) return true;
    }
    return false;
}

/// Opens a folder to read it, whatever mode the plugin gave it; -1 for anything else.
static int open_folder(int parent, const char *name) {
    struct stat status;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode)) return -1;
    fchmodat(parent, name, 0700, 0);
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Removes what can be removed in `folder`; folders in it become folders of `top`, under names of their own, so that a
/// tree of any depth needs three descriptors.
///
/// Returns: how many entries were removed or moved.
static int flatten(int folder, int top, bool is_top) {
    static unsigned moved;
    DIR *entries = fdopendir(folder);
    int count = 0;
    if (!entries) {
        close(folder);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (unlinkat(dirfd(entries), name, 0) == 0) {
            count++;
        } else if (is_top) {
            int inner = open_folder(top, name);
            if (inner >= 0) count += flatten(inner, top, false);
            count += unlinkat(top, name, AT_REMOVEDIR) == 0;
        } else {
            char free_name[32];
            snprintf(free_name, sizeof free_name, ".moved-%u", moved++);
            // A folder that moves is written to: its parent stands in it.
            fchmodat(dirfd(entries), name, 0700, 0);
            count += renameat2(dirfd(entries), name, top, free_name, RENAME_NOREPLACE) == 0;
        }
    }
    closedir(entries);
    return count;
}

void temporary_remove(const char *path) {
    int changed;
    chmod(path, 0700);
    do {
        int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (top < 0) return;
        int reading = fcntl(top, F_DUPFD_CLOEXEC, 0);
        changed = reading < 0 ? 0 : flatten(reading, top, true);
        close(top);
        // Another round for what was moved up, as long as there is less each time.
        if (rmdir(path) == 0) return;
    } while (changed > 0);
}

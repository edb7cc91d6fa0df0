// What a plugin may open (Landlock), and what is taken from it before it starts: new privileges, capabilities, the
// session's keyring.

#define _GNU_SOURCE
#include "walls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: Landlock, beyond the header of Linux 6.1

enum {
    LANDLOCK_VERSION_FLAG = 1,
    LANDLOCK_PATH_BENEATH = 1,
    SCOPES = 1 << 0 | 1 << 1,  // abstract sockets, signals
};

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_CHAR = 1 << 6,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    MAKE_BLOCK = 1 << 11,
    ALL_OF_1 = (1 << 13) - 1,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
};

/// `struct landlock_ruleset_attr` of Linux 6.12; an older kernel is told a shorter size.
struct rules {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
};

struct rule {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

static const uint64_t reading = READ_FILE | READ_DIR;
static const uint64_t running = EXECUTE | READ_FILE | READ_DIR;
static const uint64_t writing = (ALL_OF_1 & ~(uint64_t)(EXECUTE | MAKE_CHAR | MAKE_BLOCK)) | REFER | TRUNCATE;
static const uint64_t of_files = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

/// Programs and libraries.
static const char *const programs[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/// What a program needs to find its libraries, a host, the time and whom to trust. Private keys stand in /etc/ssl too,
/// hence the parts.
static const char *const settings[] = {
    "/etc/ld.so.cache", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf",
    "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/ca-certificates", "/etc/ssl/certs",
    "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust/extracted", "/etc/crypto-policies", "/var/lib/ca-certificates",
};

static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

#define COUNT(list) (sizeof list / sizeof *list)

void walls_look(struct walls *walls) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
    uint32_t action = SECCOMP_RET_ERRNO;
    walls->files = -1;
    walls->landlock = version > 0 ? (int)version : 0;
    walls->filters_calls = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
    // A question about the keyring of this thread, which need not be there.
    long keyring = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
    walls->has_keyrings = keyring >= 0 || (errno != ENOSYS && errno != EPERM);
}

/// What this version of Landlock knows of.
static uint64_t handled(int version) {
    uint64_t all = ALL_OF_1;
    if (version >= 2) all |= REFER;
    if (version >= 3) all |= TRUNCATE;
    if (version >= 5) all |= IOCTL_DEV;
    return all;
}

/// Whether one path is the other or below it.
static bool is_below(const char *path, const char *folder) {
    size_t size = strlen(folder);
    if (strcmp(folder, "/") == 0) return true;
    return strncmp(path, folder, size) == 0 && (path[size] == 0 || path[size] == '/');
}

/// Whether an opened path has anything in common with what must be kept out of. Its real name counts: a link may have
/// been put in its place.
static bool is_kept_out(const struct plan *plan, int file) {
    char link[64], path[PATH_MAX], kept[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return true;
    path[size] = 0;
    const char *folder;
    for (int position = 0; (folder = plan_next(plan, "--keep-out", &position));) {
        // What is not there is kept out by its name.
        const char *real = realpath(folder, kept) ? kept : folder;
        if (is_below(path, real) || is_below(real, path)) return true;
    }
    return false;
}

/// Allows something at a path; one that is not there is left out.
static bool allow(const struct walls *walls, const char *path, uint64_t rights, const struct plan *asked) {
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return true;
    if (asked && is_kept_out(asked, file)) {
        report("kept-out", path);
        close(file);
        return false;
    }
    struct stat status;
    bool is_folder = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
    struct rule rule = {.allowed = rights & handled(walls->landlock) & (is_folder ? ~0ULL : of_files), .folder = file};
    bool is_done = syscall(SYS_landlock_add_rule, walls->files, LANDLOCK_PATH_BENEATH, &rule, 0) == 0;
    if (!is_done) report("wall", "files");
    close(file);
    return is_done;
}

/// Allows what the plan names.
static bool allow_named(const struct walls *walls, const struct plan *plan, const char *name, uint64_t rights) {
    const char *path;
    for (int position = 0; (path = plan_next(plan, name, &position));) {
        if (!allow(walls, path, rights, plan)) return false;
    }
    return true;
}

/// Allows the folder that the program stands in.
static bool allow_own(const struct walls *walls, const struct plan *plan) {
    char path[PATH_MAX];
    size_t size = (size_t)(strrchr(plan->program[0], '/') - plan->program[0]);
    if (size >= sizeof path) return false;
    memcpy(path, plan->program[0], size);
    path[size] = 0;
    return allow(walls, path, running, NULL);
}

bool walls_prepare(struct walls *walls, const struct plan *plan, const char *temporary) {
    if (!walls->landlock) return true;
    struct rules rules = {.files = handled(walls->landlock), .scopes = walls->landlock >= 6 ? SCOPES : 0};
    size_t size = walls->landlock < 4 ? 8 : walls->landlock < 6 ? 16 : 24;
    walls->files = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (walls->files < 0) {
        report("wall", "files");
        return false;
    }
    for (size_t index = 0; index < COUNT(programs); index++) {
        if (!allow(walls, programs[index], running, NULL)) return false;
    }
    for (size_t index = 0; index < COUNT(settings); index++) {
        if (!allow(walls, settings[index], reading, NULL)) return false;
    }
    for (size_t index = 0; index < COUNT(devices); index++) {
        if (!allow(walls, devices[index], READ_FILE | WRITE_FILE | TRUNCATE, NULL)) return false;
    }
    return allow_own(walls, plan) && allow(walls, temporary, writing, NULL)
        && allow_named(walls, plan, "--read", running) && allow_named(walls, plan, "--write", writing);
}

// A new one must not get round the rules that the sandbox relies on.
bool walls_drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2];
    memset(none, 0, sizeof none);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) == 0;
}

const char *walls_enter(const struct walls *walls, const struct plan *plan) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "privileges";
    // An empty session keyring: of the caller's nothing is possessed any more. The user may have as many keys as the
    // quota allows already; the filter of calls then keeps this program from the old one.
    if (walls->has_keyrings && syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0
        && !(errno == EDQUOT && walls->filters_calls)) {
        return "keyring";
    }
    if (!walls_drop_capabilities()) return "capabilities";
    if (walls->files >= 0 && syscall(SYS_landlock_restrict_self, walls->files, 0) != 0) return "files";
    if (walls->filters_calls && filter_calls(plan, walls->landlock) != 0) return "calls";
    return NULL;
}

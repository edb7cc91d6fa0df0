#pragma once

// What Swift's Glibc module lacks: it is built without _GNU_SOURCE, and Swift cannot call variadic functions.
// Everything here is `static inline`, so the module needs no code of its own.

#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

// MARK: GNU functions that the headers hide without _GNU_SOURCE

extern char **environ;
extern int pipe2(int descriptors[2], int flags);
extern int signalfd(int descriptor, const sigset_t *mask, int flags);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

/// The environment of the process, ended by a null pointer.
static inline char *const *linux_environment(void) { return environ; }

// MARK: Process

/// Whether other processes of the user may read this one's memory, and whether it can leave a core.
static inline int linux_set_dumpable(int value) { return prctl(PR_SET_DUMPABLE, value, 0, 0, 0); }

/// The value of PR_GET_DUMPABLE.
static inline int linux_get_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

/// Bytes of the kernel's generator: how many were written, or -1.
static inline ssize_t linux_random(void *buffer, size_t count) { return getrandom(buffer, count, 0); }

/// A pipe whose ends no child inherits.
static inline int linux_pipe(int descriptors[2]) { return pipe2(descriptors, O_CLOEXEC); }

/// A descriptor that becomes readable when the process ends (Linux 5.3), or -1.
static inline int linux_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

/// A descriptor that becomes readable when one of the signals, all blocked, is pending.
static inline int linux_signalfd(const sigset_t *mask) { return signalfd(-1, mask, O_CLOEXEC); }

// MARK: Spawning

/// POSIX_SPAWN_SETSID
static const short linux_spawn_setsid = 0x80;

/// The child goes on in `path`.
static inline int linux_spawn_add_chdir(posix_spawn_file_actions_t *actions, const char *path) {
    return posix_spawn_file_actions_addchdir_np(actions, path);
}

/// The child closes every descriptor from `from` on.
static inline int linux_spawn_add_closefrom(posix_spawn_file_actions_t *actions, int from) {
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

// MARK: Kernel keyrings (keyrings(7)); glibc has no wrappers for them

/// The number of a key.
typedef int32_t linux_key;

/// The keyring of the user, shared by all sessions.
static const linux_key linux_user_keyring = KEY_SPEC_USER_KEYRING;

/// The keyring of this process; it goes with the process.
static const linux_key linux_process_keyring = KEY_SPEC_PROCESS_KEYRING;

/// Adds a `user` key, or replaces the payload of one with the same description.
static inline linux_key linux_add_user_key(
    const char *description, const void *payload, size_t count, linux_key keyring) {
    return (linux_key)syscall(SYS_add_key, "user", description, payload, count, keyring);
}

/// Finds a `user` key in a keyring.
static inline linux_key linux_search_user_key(linux_key keyring, const char *description) {
    return (linux_key)syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, "user", description, 0);
}

/// Reads a payload; gives its whole size, also when the buffer is too small and nothing was copied.
static inline long linux_read_key(linux_key key, void *buffer, size_t count) {
    return syscall(SYS_keyctl, KEYCTL_READ, key, buffer, count);
}

/// Reads "type;uid;gid;permissions;description"; gives the size with the zero at its end.
static inline long linux_describe_key(linux_key key, char *buffer, size_t count) {
    return syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, buffer, count);
}

/// The key expires after `seconds`.
static inline long linux_set_key_timeout(linux_key key, unsigned seconds) {
    return syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds);
}

/// Sets who may do what with a key.
static inline long linux_set_key_permissions(linux_key key, uint32_t permissions) {
    return syscall(SYS_keyctl, KEYCTL_SETPERM, key, permissions);
}

/// Links a key into a keyring, in place of one with the same type and description.
static inline long linux_link_key(linux_key key, linux_key keyring) {
    return syscall(SYS_keyctl, KEYCTL_LINK, key, keyring);
}

/// Unlinks a key from a keyring.
static inline long linux_unlink_key(linux_key key, linux_key keyring) {
    return syscall(SYS_keyctl, KEYCTL_UNLINK, key, keyring);
}

/// Makes a key unusable at once, wherever it is linked.
static inline long linux_invalidate_key(linux_key key) {
    return syscall(SYS_keyctl, KEYCTL_INVALIDATE, key);
}

#pragma once

// What Swift's Glibc module lacks: it is built without _GNU_SOURCE, and Swift cannot call variadic functions.
// Everything here is `static inline`, so the module needs no code of its own.
//
// No header of the C library is included: its types would then belong to this module as well as to Glibc, and with
// MemberImportVisibility it would be chance which of the two a file has to import. The functions are declared under
// names of our own instead, with the types of x86-64 and AArch64 Linux.

#include <linux/keyctl.h>
#include <linux/magic.h>
#include <linux/prctl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

// MARK: Functions of the C library

extern char **linux_libc_environ __asm__("environ");
extern long linux_libc_syscall(long number, ...) __asm__("syscall");
extern int linux_libc_prctl(int option, ...) __asm__("prctl");
extern int linux_libc_mallopt(int parameter, int value) __asm__("mallopt");
extern long linux_libc_getrandom(void *buffer, size_t count, unsigned flags) __asm__("getrandom");
extern int linux_libc_pipe2(int descriptors[2], int flags) __asm__("pipe2");
extern int linux_libc_signalfd(int descriptor, const void *mask, int flags) __asm__("signalfd");
extern int linux_libc_spawn_addchdir(void *actions, const char *path)
    __asm__("posix_spawn_file_actions_addchdir_np");
extern int linux_libc_spawn_addclosefrom(void *actions, int from)
    __asm__("posix_spawn_file_actions_addclosefrom_np");
extern int linux_libc_spawn_addtcsetpgrp(void *actions, int terminal)
    __asm__("posix_spawn_file_actions_addtcsetpgrp_np");

extern char *linux_libc_bindtextdomain(const char *domain, const char *folder) __asm__("bindtextdomain");
extern char *linux_libc_bind_textdomain_codeset(const char *domain, const char *codeset)
    __asm__("bind_textdomain_codeset");
extern char *linux_libc_dgettext(const char *domain, const char *key) __asm__("dgettext");
extern char *linux_libc_dngettext(const char *domain, const char *one, const char *other, unsigned long count)
    __asm__("dngettext");
extern void *linux_libc_newlocale(int categories, const char *name, void *base) __asm__("newlocale");
extern void *linux_libc_uselocale(void *locale) __asm__("uselocale");
extern char *linux_libc_nl_langinfo_l(int item, void *locale) __asm__("nl_langinfo_l");

/// LC_CTYPE_MASK and LC_MESSAGES_MASK of <locale.h>.
static const int linux_locale_of_messages = 1 << 0 | 1 << 5;
/// CODESET of <langinfo.h>.
static const int linux_locale_codeset = 14;

/// O_CLOEXEC, which is also SFD_CLOEXEC.
static const int linux_close_on_exec = 02000000;

/// The environment of the process, ended by a null pointer.
static inline char *const *linux_environment(void) { return linux_libc_environ; }

// MARK: Process

/// Whether other processes of the user may read this one's memory, and whether it can leave a core.
static inline int linux_set_dumpable(int value) { return linux_libc_prctl(PR_SET_DUMPABLE, value, 0, 0, 0); }

/// The value of PR_GET_DUMPABLE.
static inline int linux_get_dumpable(void) { return linux_libc_prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

/// Makes all threads allocate from one arena: M_ARENA_MAX of glibc's <malloc.h>.
static inline void linux_limit_arenas_to_one(void) { linux_libc_mallopt(-8, 1); }

/// Has freed memory filled with a byte: M_PERTURB of glibc's <malloc.h>.
static inline void linux_overwrite_freed_memory(void) { linux_libc_mallopt(-6, 0x5A); }

/// Bytes of the kernel's generator: how many were written, or -1.
static inline long linux_random(void *buffer, size_t count) { return linux_libc_getrandom(buffer, count, 0); }

/// A pipe whose ends no child inherits.
static inline int linux_pipe(int descriptors[2]) { return linux_libc_pipe2(descriptors, linux_close_on_exec); }

/// A descriptor that becomes readable when the process ends (Linux 5.3), or -1.
static inline int linux_pidfd_open(int process) { return (int)linux_libc_syscall(SYS_pidfd_open, process, 0); }

/// A descriptor that becomes readable when one of the signals of a `sigset_t`, all blocked, is pending.
static inline int linux_signalfd(const void *mask) { return linux_libc_signalfd(-1, mask, linux_close_on_exec); }

// MARK: Files

/// Whether the file system lets nobody change what `path` names, or only at its end (chattr(1)), links not followed.
static inline int linux_is_immutable(const char *path) {
    struct statx facts;
    // AT_FDCWD and AT_SYMLINK_NOFOLLOW of <fcntl.h>.
    if (linux_libc_syscall(SYS_statx, -100, path, 0x100, STATX_TYPE, &facts) != 0) return 0;
    return (facts.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
}

/// Whether an open file is on a file system that is in memory: tmpfs or ramfs.
static inline int linux_is_in_memory(int descriptor) {
    // `struct statfs` begins with the type, and has less than 256 bytes.
    long facts[32];
    if (linux_libc_syscall(SYS_fstatfs, descriptor, facts) != 0) return 0;
    return facts[0] == TMPFS_MAGIC || facts[0] == (long)RAMFS_MAGIC;
}

/// O_PATH: a descriptor that names a directory which may be searched, but not read.
static const int linux_open_path = 0x200000;

/// Whether an open directory is of `/proc`, where links lead to the open files of a process.
static inline int linux_is_of_processes(int descriptor) {
    long facts[32];
    if (linux_libc_syscall(SYS_fstatfs, descriptor, facts) != 0) return 0;
    return facts[0] == PROC_SUPER_MAGIC;
}

/// Whether a file of an open directory is mounted by itself (statx(2), STATX_ATTR_MOUNT_ROOT in stx_attributes).
static inline int linux_is_mounted(int directory, const char *name) {
    unsigned long long facts[32] = {0};
    const int no_link = 0x100;
    if (linux_libc_syscall(SYS_statx, directory, name, no_link, 0, facts) != 0) return 0;
    return (facts[1] & 0x2000) != 0;
}

// MARK: Sockets of this machine

/// `struct iovec`, `struct msghdr` and the head of a control message, as on x86-64 and AArch64.
struct linux_piece { void *start; size_t count; };
struct linux_message {
    void *name;
    unsigned name_size;
    struct linux_piece *pieces;
    size_t piece_count;
    void *control;
    size_t control_size;
    int flags;
};
struct linux_control { size_t size; int level; int type; };

extern long linux_libc_recvmsg(int socket, struct linux_message *message, int flags) __asm__("recvmsg");
extern int linux_libc_close(int descriptor) __asm__("close");
extern int linux_libc_accept4(int socket, void *address, void *size, int flags) __asm__("accept4");

/// Reads from a socket; closes each descriptor that came with the bytes (SCM_RIGHTS of unix(7)).
///
/// Gives the number of bytes, -1 for an error, or -2 if a descriptor came.
static inline long linux_receive(int socket, void *buffer, size_t count) {
    // Room for 253 descriptors, the most that the kernel passes at once.
    long room[256];
    struct linux_piece piece = {buffer, count};
    struct linux_message message = {0};
    message.pieces = &piece;
    message.piece_count = 1;
    message.control = room;
    message.control_size = sizeof room;
    // MSG_CMSG_CLOEXEC
    long received = linux_libc_recvmsg(socket, &message, 0x40000000);
    if (received < 0) return received;
    int came = (message.flags & 0x8) != 0;
    size_t place = 0;
    while (place + sizeof(struct linux_control) <= message.control_size) {
        struct linux_control *head = (struct linux_control *)((char *)room + place);
        if (head->size < sizeof *head || head->size > message.control_size - place) break;
        if (head->level == 1 && head->type == 1) {
            int *descriptors = (int *)(head + 1);
            size_t number = (head->size - sizeof *head) / sizeof(int);
            for (size_t index = 0; index < number; index++) linux_libc_close(descriptors[index]);
            came = 1;
        }
        place += (head->size + sizeof(long) - 1) & ~(sizeof(long) - 1);
    }
    return came ? -2 : received;
}

extern int linux_libc_bind(int socket, const void *address, unsigned size) __asm__("bind");
extern int linux_libc_connect(int socket, const void *address, unsigned size) __asm__("connect");

/// bind(2), whose address has another type with _GNU_SOURCE than without.
static inline int linux_bind(int socket, const void *address, unsigned size) {
    return linux_libc_bind(socket, address, size);
}

/// connect(2), as linux_bind().
static inline int linux_connect(int socket, const void *address, unsigned size) {
    return linux_libc_connect(socket, address, size);
}

/// Accepts a connection that no child inherits.
static inline int linux_accept(int socket) { return linux_libc_accept4(socket, 0, 0, linux_close_on_exec); }

/// The process and the user at the other end of a socket, as they were when it was connected (SO_PEERCRED).
static inline int linux_peer(int socket, int *process, unsigned *user) {
    int facts[3] = {0, -1, -1};
    unsigned size = sizeof facts;
    if (linux_libc_syscall(SYS_getsockopt, socket, 1, 17, facts, &size) != 0) return -1;
    *process = facts[0];
    *user = (unsigned)facts[1];
    return 0;
}

#include "sockets.h"

// MARK: Spawning

/// POSIX_SPAWN_SETSID
static const short linux_spawn_setsid = 0x80;

/// The child goes on in `path`. The actions are a `posix_spawn_file_actions_t`.
static inline int linux_spawn_add_chdir(void *actions, const char *path) {
    return linux_libc_spawn_addchdir(actions, path);
}

/// The child puts its process group into the foreground of `terminal`, before it runs anything.
static inline int linux_spawn_add_tcsetpgrp(void *actions, int terminal) {
    return linux_libc_spawn_addtcsetpgrp(actions, terminal);
}

/// The child closes every descriptor from `from` on.
static inline int linux_spawn_add_closefrom(void *actions, int from) {
    return linux_libc_spawn_addclosefrom(actions, from);
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
    return (linux_key)linux_libc_syscall(SYS_add_key, "user", description, payload, count, keyring);
}

/// Finds a `user` key in a keyring.
static inline linux_key linux_search_user_key(linux_key keyring, const char *description) {
    return (linux_key)linux_libc_syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, "user", description, 0);
}

/// Reads a payload; gives its whole size, also when the buffer is too small and nothing was copied.
static inline long linux_read_key(linux_key key, void *buffer, size_t count) {
    return linux_libc_syscall(SYS_keyctl, KEYCTL_READ, key, buffer, count);
}

/// Reads "type;uid;gid;permissions;description"; gives the size with the zero at its end.
static inline long linux_describe_key(linux_key key, char *buffer, size_t count) {
    return linux_libc_syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, buffer, count);
}

/// Sets who may do what with a key.
static inline long linux_set_key_permissions(linux_key key, uint32_t permissions) {
    return linux_libc_syscall(SYS_keyctl, KEYCTL_SETPERM, key, permissions);
}

/// Links a key into a keyring, in place of one with the same type and description.
static inline long linux_link_key(linux_key key, linux_key keyring) {
    return linux_libc_syscall(SYS_keyctl, KEYCTL_LINK, key, keyring);
}

/// Unlinks a key from a keyring.
static inline long linux_unlink_key(linux_key key, linux_key keyring) {
    return linux_libc_syscall(SYS_keyctl, KEYCTL_UNLINK, key, keyring);
}

/// Moves a key into a keyring, and fails where that has one with the same type and description (Linux 5.3).
static inline long linux_move_new_key(linux_key key, linux_key from, linux_key to) {
    return linux_libc_syscall(SYS_keyctl, KEYCTL_MOVE, key, from, to, KEYCTL_MOVE_EXCL);
}

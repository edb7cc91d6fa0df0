// Which system calls a plugin has: all but those that reach past the other walls (seccomp_filter(2)).

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "walls.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "the filter of system calls is written for x86-64 and AArch64"
#endif

/// Calls beyond the headers of Linux 6.1. New calls have the same number everywhere.
enum {
    FCHMODAT2 = 452,
    /// The last call that was looked at for this filter: mseal, of Linux 6.10. What came later is not there (ENOSYS).
    LAST_KNOWN = 462,
};

/// Calls that are refused whatever their arguments are (EPERM).
static const unsigned short refused[] = {
    // They open files and sockets on a thread of the kernel, past this filter.
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    // Other processes: their memory, their descriptors.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_pidfd_getfd, SYS_kcmp,
    // Keys of the user's other programs, among them the token cache's.
    SYS_keyctl, SYS_add_key, SYS_request_key,
    // Memory and messages that other processes of the user share.
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl, SYS_msgget, SYS_msgsnd,
    SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
    // The kernel itself.
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module,
    SYS_finit_module, SYS_delete_module,
    // Other views of the machine; in a namespace of its own it would have every capability.
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr,
    // By a handle a file is opened without its path.
    SYS_open_by_handle_at,
    // Landlock does not know of these: they change a file that cannot be opened, or was opened for reading only.
    SYS_fchmodat, FCHMODAT2, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr,
    SYS_fchmod, SYS_fchown, SYS_fsetxattr, SYS_fremovexattr,
#ifdef __x86_64__
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

/// The flags of clone(2) that make a namespace.
static const unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER
    | CLONE_NEWPID | CLONE_NEWNET;

/// Calls of x32 have this bit and the number of the architecture; AArch64 has no such calls.
enum { X32 = 0x40000000 };

/// Commands of ioctl(2) that change the attributes of a file that was opened for reading only.
static const unsigned attributes[] = {FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION};

static struct sock_filter filter[384];
static unsigned short size;

static void add(unsigned short code, unsigned value, unsigned char if_true, unsigned char if_false) {
    filter[size++] = (struct sock_filter){code, if_true, if_false, value};
}

static void load(size_t place) { add(BPF_LD | BPF_W | BPF_ABS, (unsigned)place, 0, 0); }

/// The low half of an argument: both architectures are little-endian.
static void load_argument(unsigned index, unsigned high) {
    load(offsetof(struct seccomp_data, args) + index * 8 + high * 4);
}

/// What comes next counts only if the accumulator is the value, else `otherwise` instructions are passed over.
static void if_equal(unsigned value, unsigned char otherwise) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, otherwise); }

static void answer(unsigned action) { add(BPF_RET | BPF_K, action, 0, 0); }

static void refuse(unsigned error) { answer(SECCOMP_RET_ERRNO | error); }

static void refuse_call(unsigned number, unsigned error) {
    if_equal(number, 1);
    refuse(error);
}

/// Sockets of the families that the plugin may use. None of the local ones: the session's bus is behind such.
static void filter_sockets(const struct plan *plan, unsigned number) {
    unsigned char families = (unsigned char)(plan->has_ipv4 + plan->has_ipv6);
    if_equal(number, (unsigned char)(2 + 2 * families));
    load_argument(0, 0);
    if (plan->has_ipv4) {
        if_equal(AF_INET, 1);
        answer(SECCOMP_RET_ALLOW);
    }
    if (plan->has_ipv6) {
        if_equal(AF_INET6, 1);
        answer(SECCOMP_RET_ALLOW);
    }
    refuse(EACCES);
}

/// A call that names a process by its number: this process alone, by 0 or its own. Those that it starts have their own number
/// for 0 only: a filter holds numbers that do not change.
static void filter_named_process(unsigned number, unsigned index) {
    if_equal(number, 6);
    load_argument(index, 0);
    if_equal(0, 1);
    answer(SECCOMP_RET_ALLOW);
    if_equal((unsigned)getpid(), 1);
    answer(SECCOMP_RET_ALLOW);
    refuse(EPERM);
}

/// A call whose first argument says what the second one names: a process, a group or a user.
static void filter_named_target(unsigned number, unsigned process) {
    if_equal(number, 9);
    load_argument(0, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, process, 1, 0);
    refuse(EPERM);
    load_argument(1, 0);
    if_equal(0, 1);
    answer(SECCOMP_RET_ALLOW);
    if_equal((unsigned)getpid(), 1);
    answer(SECCOMP_RET_ALLOW);
    refuse(EPERM);
}

int filter_calls(const struct plan *plan, int landlock) {
    size = 0;
    load(offsetof(struct seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0);
    answer(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(struct seccomp_data, nr));
    add(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    answer(SECCOMP_RET_KILL_PROCESS);
    add(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1);
    refuse(ENOSYS);
    for (size_t index = 0; index < sizeof refused / sizeof *refused; index++) refuse_call(refused[index], EPERM);
    // Its arguments are in memory, out of a filter's sight; programs go back to clone(2) where it is missing.
    refuse_call(SYS_clone3, ENOSYS);
    // Before version 3 Landlock does not know of it.
    if (landlock < 3) refuse_call(SYS_truncate, EPERM);
    filter_sockets(plan, SYS_socket);
    filter_sockets(plan, SYS_socketpair);
    // The time that other programs get, on the processor and on the disk. Go, Java and Node set their own.
    filter_named_target(SYS_setpriority, PRIO_PROCESS);
    filter_named_target(SYS_ioprio_set, IOPRIO_WHO_PROCESS);
    filter_named_process(SYS_sched_setaffinity, 0);
    filter_named_process(SYS_sched_setscheduler, 0);
    filter_named_process(SYS_sched_setparam, 0);
    filter_named_process(SYS_sched_setattr, 0);
    // ioctl(2): its command is an int, the low half.
    enum { COMMANDS = sizeof attributes / sizeof *attributes };
    if_equal(SYS_ioctl, 2 + 2 * COMMANDS);
    load_argument(1, 0);
    for (size_t index = 0; index < COMMANDS; index++) refuse_call(attributes[index], EPERM);
    answer(SECCOMP_RET_ALLOW);
    // clone(2): each branch ends, for the accumulator holds an argument now.
    if_equal(SYS_clone, 4);
    load_argument(0, 0);
    add(BPF_JMP | BPF_JSET | BPF_K, namespaces, 0, 1);
    refuse(EPERM);
    answer(SECCOMP_RET_ALLOW);
    // prlimit64(2): of this process only.
    if_equal(SYS_prlimit64, 4);
    load_argument(0, 0);
    if_equal(0, 1);
    answer(SECCOMP_RET_ALLOW);
    refuse(EPERM);
    // utimensat(2): the times of a descriptor, without a path.
    if_equal(SYS_utimensat, 6);
    load_argument(1, 0);
    if_equal(0, 3);
    load_argument(1, 1);
    if_equal(0, 1);
    answer(SECCOMP_RET_ALLOW);
    refuse(EPERM);
    answer(SECCOMP_RET_ALLOW);
    struct sock_fprog program = {size, filter};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

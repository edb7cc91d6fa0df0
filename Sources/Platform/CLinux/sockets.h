#pragma once

// Sockets of a relay: a TCP listener on the loopback address. Part of shim.h. Addresses are written byte by byte,
// so that no header of the C library is needed. Each function returns -1 with `errno` if it fails.

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stddef.h>
#include <stdint.h>

extern int linux_libc_socket(int family, int type, int protocol) __asm__("socket");
extern int linux_libc_bind(int descriptor, const void *address, unsigned size) __asm__("bind");
extern int linux_libc_listen(int descriptor, int backlog) __asm__("listen");
extern int linux_libc_getsockname(int descriptor, void *address, unsigned *size) __asm__("getsockname");
extern int linux_libc_getpeername(int descriptor, void *address, unsigned *size) __asm__("getpeername");
extern int linux_libc_setsockopt(int descriptor, int level, int option, const void *value, unsigned size)
    __asm__("setsockopt");
extern long linux_libc_send(int descriptor, const void *bytes, size_t count, int flags) __asm__("send");
extern long linux_libc_recv(int descriptor, void *bytes, size_t count, int flags) __asm__("recv");
extern int linux_libc_ioctl(int descriptor, unsigned long request, ...) __asm__("ioctl");
extern void *linux_libc_signal(int number, void *action) __asm__("signal");
extern int *linux_libc_errno(void) __asm__("__errno_location");

enum {
    linux_af_inet = 2,
    linux_af_netlink = 16,
    linux_sock_stream = 1,
    linux_sock_dgram = 2,
    linux_sock_raw = 3,
    linux_sock_nonblock = 04000,
    linux_sock_cloexec = 02000000,
    linux_tcp = 6,
};

/// An address of IPv4, as `struct sockaddr_in` has it; port and address in the byte order of the network.
struct linux_ipv4 {
    uint16_t family;
    uint16_t port;
    uint8_t address[4];
    uint8_t rest[8];
};

/// Closes a socket after a failure, keeps `errno`.
static inline int linux_abandon(int descriptor) {
    int number = *linux_libc_errno();
    linux_libc_close(descriptor);
    *linux_libc_errno() = number;
    return -1;
}

/// A socket that listens on 127.0.0.1 and does not block. A port of 0 is any free one; `port` becomes the chosen one.
static inline int linux_listen_on_loopback(uint16_t *port) {
    struct linux_ipv4 place = {linux_af_inet, __builtin_bswap16(*port), {127, 0, 0, 1}, {0}};
    int on = 1;
    unsigned size = sizeof place;
    int listener =
        linux_libc_socket(linux_af_inet, linux_sock_stream | linux_sock_nonblock | linux_sock_cloexec, 0);
    if (listener < 0) return -1;
    // SOL_SOCKET, SO_REUSEADDR: a port that is named can be used again at once.
    linux_libc_setsockopt(listener, 1, 2, &on, sizeof on);
    if (linux_libc_bind(listener, &place, sizeof place) != 0 || linux_libc_listen(listener, 128) != 0 ||
        linux_libc_getsockname(listener, &place, &size) != 0)
        return linux_abandon(listener);
    *port = __builtin_bswap16(place.port);
    return listener;
}

/// Limits how long connect(2) and blocking sends of a socket wait (SO_SNDTIMEO); at least one millisecond.
static inline int linux_limit_sending(int socket, int milliseconds) {
    long limit[2] = {milliseconds / 1000, (milliseconds % 1000) * 1000L};
    return linux_libc_setsockopt(socket, 1, 21, limit, sizeof limit);
}

/// The next connection of a listener; its socket sends at once (TCP_NODELAY).
static inline int linux_accept_program(int listener) {
    int on = 1;
    int socket = linux_accept(listener);
    if (socket >= 0) linux_libc_setsockopt(socket, linux_tcp, 1, &on, sizeof on);
    return socket;
}

/// The user whose program holds the other end of a TCP connection over IPv4 on this machine (sock_diag(7)); -1 if that is
/// unknown, as for a program that has closed its end.
static inline int64_t linux_owner_of_peer(int socket) {
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } question = {{sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0}, {0}};
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer;
    struct linux_ipv4 ours, theirs;
    unsigned size = sizeof ours;
    int64_t owner = -1;
    int link;
    if (linux_libc_getsockname(socket, &ours, &size) != 0 || ours.family != linux_af_inet) return -1;
    size = sizeof theirs;
    if (linux_libc_getpeername(socket, &theirs, &size) != 0 || theirs.family != linux_af_inet) return -1;
    question.body.sdiag_family = linux_af_inet;
    question.body.sdiag_protocol = linux_tcp;
    question.body.idiag_states = ~0u;
    question.body.id.idiag_sport = theirs.port;
    question.body.id.idiag_dport = ours.port;
    __builtin_memcpy(question.body.id.idiag_src, theirs.address, 4);
    __builtin_memcpy(question.body.id.idiag_dst, ours.address, 4);
    question.body.id.idiag_cookie[0] = question.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    link = linux_libc_socket(linux_af_netlink, linux_sock_raw | linux_sock_cloexec, NETLINK_SOCK_DIAG);
    if (link < 0) return -1;
    if (linux_libc_send(link, &question, sizeof question, 0) == (long)sizeof question) {
        long count = linux_libc_recv(link, &answer, sizeof answer, 0);
        const struct inet_diag_msg *facts = NLMSG_DATA(&answer.head);
        if (count >= (long)NLMSG_LENGTH(sizeof *facts) && answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
            facts->id.idiag_sport == theirs.port && facts->id.idiag_dport == ours.port && facts->idiag_inode != 0)
            owner = facts->idiag_uid;
    }
    linux_libc_close(link);
    return owner;
}

/// Sets the interface `lo` of this network namespace up, if it is down and this process may do that.
static inline void linux_set_loopback_up(void) {
    // `struct ifreq`: the name, and the flags behind it.
    union {
        char name[40];
        struct {
            char name[16];
            int16_t flags;
        } parts;
    } request = {"lo"};
    int socket = linux_libc_socket(linux_af_inet, linux_sock_dgram | linux_sock_cloexec, 0);
    if (socket < 0) return;
    // SIOCGIFFLAGS, IFF_UP, SIOCSIFFLAGS.
    if (linux_libc_ioctl(socket, 0x8913, &request) == 0 && !(request.parts.flags & 1)) {
        request.parts.flags |= 1;
        linux_libc_ioctl(socket, 0x8914, &request);
    }
    linux_libc_close(socket);
}

/// Ignores SIGPIPE: a write to a reader that has gone fails with EPIPE.
static inline void linux_ignore_broken_pipes(void) { linux_libc_signal(13, (void *)1); }

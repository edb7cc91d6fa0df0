import CredentialCore
import Glibc

/// The loopback addresses that a server listens on.
package enum LoopbackAddresses: Sendable, Hashable {
    /// `127.0.0.1`.
    case ipv4
    /// `::1`.
    case ipv6
    /// `127.0.0.1` and, if the machine has it, `::1` with the same port.
    case both
}

/// Sockets on localhost only.
enum LoopbackSocket {
    /// A listening socket on each of the addresses, with the same port.
    ///
    /// - Parameter port: 0 for any free one.
    /// - Throws: ``ErrorCode/temporary`` when the port is taken on either address: the program that holds the other
    ///   one would receive our requests.
    static func listen(
        port: UInt16, at addresses: LoopbackAddresses
    ) throws(CredentialError) -> (port: UInt16, sockets: [Int32]) {
        var lastError = EADDRINUSE
        // A free port of one address may be taken on the other: then another one.
        for _ in 0..<(port == 0 ? 32 : 1) {
            guard let first = listener(ipv6: addresses == .ipv6, port: port, error: &lastError) else { continue }
            let bound = boundPort(first)
            guard addresses == .both else { return (bound, [first]) }
            if let second = listener(ipv6: true, port: bound, error: &lastError) {
                return (bound, [first, second])
            }
            if [EAFNOSUPPORT, EADDRNOTAVAIL].contains(lastError) { return (bound, [first]) }
            close(first)
            if lastError != EADDRINUSE { break }
        }
        let place = port == 0 ? "a loopback port" : "port \(port) of the loopback"
        let isTaken = port != 0 && lastError == EADDRINUSE
        throw CredentialError(
            .temporary, "cannot listen on \(place): \(String(errorNumber: lastError))",
            hint: isTaken ? "find the program that uses the port, and stop it: ss -ltnp 'sport = :\(port)'" : nil)
    }

    /// A socket that is connected to a port, with a limit for each read and write.
    ///
    /// - Throws: ``ErrorCode/temporary`` when no program listens there.
    static func connect(port: UInt16, ipv6: Bool, seconds: Int) throws(CredentialError) -> Int32 {
        let socket = make(ipv6: ipv6)
        guard socket >= 0 else {
            throw CredentialError(.temporary, "cannot create a socket: \(String(errorNumber: errno))")
        }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        let status = unsafe withAddress(ipv6: ipv6, port: port) { unsafe Glibc.connect(socket, $0, $1) }
        guard status == 0 else {
            let error = errno
            close(socket)
            throw CredentialError(
                .temporary, "cannot reach port \(port) on localhost: \(String(errorNumber: error))")
        }
        return socket
    }

    private static func make(ipv6: Bool) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return socket(ipv6 ? AF_INET6 : AF_INET, type, 0)
    }

    private static func listener(ipv6: Bool, port: UInt16, error: inout Int32) -> Int32? {
        let socket = make(ipv6: ipv6)
        guard socket >= 0 else {
            error = errno
            return nil
        }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        if ipv6 { unsafe setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, size) }
        let isBound = unsafe withAddress(ipv6: ipv6, port: port) { unsafe bind(socket, $0, $1) } == 0
        guard isBound, Glibc.listen(socket, 128) == 0 else {
            error = errno
            close(socket)
            return nil
        }
        return socket
    }

    private static func boundPort(_ socket: Int32) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe getsockname(socket, pointer, &size)
            }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : 0
    }

    private static func withAddress(
        ipv6: Bool, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        func pass<Address>(_ address: Address) -> Int32 {
            unsafe withUnsafePointer(to: address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        if ipv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            unsafe address.sin6_addr.__in6_u.__u6_addr8.15 = 1
            return pass(address)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return pass(address)
    }
}

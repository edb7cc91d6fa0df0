import CredentialCore
import Glibc

/// Opens the sockets that listen on the loopback, and on nothing else.
enum LoopbackSocket {
    /// One listening socket on `127.0.0.1` and, if asked and the machine has it, one on `::1` with the same port.
    ///
    /// - Parameter port: 0 for any free one.
    /// - Throws: ``ErrorCode/temporary`` when the port is taken on either address: whoever holds the other one
    ///   would receive what is meant for us.
    static func pair(port: UInt16, ipv6: Bool) throws(CredentialError) -> (port: UInt16, sockets: [Int32]) {
        var lastError = EADDRINUSE
        // A free port of one address may be taken on the other: then another one.
        for _ in 0..<(port == 0 ? 32 : 1) {
            guard let first = open(AF_INET, port: port, error: &lastError) else { continue }
            let bound = boundPort(first)
            guard ipv6 else { return (bound, [first]) }
            if let second = open(AF_INET6, port: bound, error: &lastError) { return (bound, [first, second]) }
            if lastError != EADDRINUSE { return (bound, [first]) }
            close(first)
        }
        let place = port == 0 ? "a loopback port" : "port \(port) of the loopback"
        throw CredentialError(.temporary, "cannot listen on \(place): \(String(errorNumber: lastError))")
    }

    private static func open(_ family: Int32, port: UInt16, error: inout Int32) -> Int32? {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(family, type, 0)
        guard socket >= 0 else {
            error = errno
            return nil
        }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        if family == AF_INET6 { unsafe setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, size) }
        guard bind(socket, family, port), listen(socket, 128) == 0 else {
            error = errno
            close(socket)
            return nil
        }
        return socket
    }

    private static func bind(_ socket: Int32, _ family: Int32, _ port: UInt16) -> Bool {
        if family == AF_INET6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            unsafe address.sin6_addr.__in6_u.__u6_addr8.15 = 1
            return bind(socket, &address)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return bind(socket, &address)
    }

    private static func bind<Address>(_ socket: Int32, _ address: inout Address) -> Bool {
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Glibc.bind(socket, pointer, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
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
}

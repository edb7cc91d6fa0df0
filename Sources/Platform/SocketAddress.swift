package import CredentialCore
package import Glibc

/// A numeric address that a socket connects to.
package struct SocketAddress: Sendable {
    /// How near to this machine it is.
    package let reach: AddressAuthor.Reach
    /// The address as text, without a port.
    package let text: String

    /// Reads an address of libc; `nil` for one that is not of the internet protocols.
    package init?(_ address: UnsafePointer<sockaddr>) {
        let size: Int
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            size = MemoryLayout<sockaddr_in>.size
            reach = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                AddressAuthor.Reach(ipv4: UInt32(bigEndian: unsafe $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            size = MemoryLayout<sockaddr_in6>.size
            reach = unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { place in
                unsafe withUnsafeBytes(of: place.pointee.sin6_addr) { AddressAuthor.Reach(ipv6: unsafe Array($0)) }
            }
        default: return nil
        }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let length = socklen_t(text.count)
        let result = unsafe getnameinfo(address, socklen_t(size), &text, length, nil, 0, NI_NUMERICHOST)
        self.text = result == 0 ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self) : "?"
    }

    /// The addresses that a host resolves to; empty if it does not resolve.
    package static func all(of host: String) -> [SocketAddress] {
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, nil, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var entry = unsafe list
        while let current = unsafe entry {
            if let address = unsafe current.pointee.ai_addr, let read = unsafe SocketAddress(address) {
                found.append(read)
            }
            unsafe entry = current.pointee.ai_next
        }
        return found
    }
}

import Glibc

/// The other end of a connection over the loopback: both addresses, by which the kernel's tables know the socket
/// there.
///
/// The owner of a connection is looked up while the connection is open. A program that sends and closes leaves a
/// socket without an owner behind, which the tables show as root's with the inode 0: that counts as unknown.
package struct LoopbackPeer: Sendable, Hashable {
    /// The peer's address and port, then ours, as `/proc/net/tcp` writes them.
    private let ends: String
    /// The same of a peer whose socket is of IPv6 and connected to an IPv4 address: the other table has it.
    private let mappedEnds: String?

    /// The tables of this network namespace (proc_net(5)).
    private static let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
    /// An address of IPv4 as one of IPv6 begins so (RFC 4291 §2.5.5.2).
    private static let mapping = "0000000000000000FFFF0000"
    private static let established: Substring = "01"

    /// The two ends of a connected socket; `nil` if it is not connected any more.
    init?(_ socket: Int32) {
        guard let ours = unsafe Self.name(of: socket, getsockname),
            let theirs = unsafe Self.name(of: socket, getpeername)
        else {
            return nil
        }
        ends = "\(theirs) \(ours)"
        mappedEnds = theirs.utf8.count < 32 ? "\(Self.mapping)\(theirs) \(Self.mapping)\(ours)" : nil
    }

    /// The user whose program holds the other end now; `nil` if that cannot be known.
    package func owner() -> UInt32? {
        for table in Self.tables {
            guard let text = Self.read(table) else { continue }
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ", maxSplits: 10, omittingEmptySubsequences: true)
                guard words.count > 9, words[3] == Self.established, words[9] != "0" else { continue }
                let pair = "\(words[1]) \(words[2])"
                if pair == ends || pair == mappedEnds { return UInt32(words[7]) }
            }
        }
        return nil
    }

    private typealias Question = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32

    /// An address as the tables write it: words of the machine's byte order, the port as it is read.
    private static func name(of socket: Int32, _ question: Question) -> String? {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe question(socket, $0, &size) }
        }
        guard status == 0 else { return nil }
        let port = hex(UInt32(UInt16(bigEndian: address.sin6_port)), digits: 4)
        switch Int32(address.sin6_family) {
        // The address of IPv4 is at the place of the flow label of IPv6.
        case AF_INET: return hex(address.sin6_flowinfo, digits: 8) + ":" + port
        case AF_INET6:
            let words = unsafe address.sin6_addr.__in6_u.__u6_addr32
            return [words.0, words.1, words.2, words.3].map { hex($0, digits: 8) }.joined() + ":" + port
        default: return nil
        }
    }

    private static func hex(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private static func read(_ path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe Glibc.read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? String(decoding: all, as: UTF8.self) : nil }
            all += piece[..<count]
        }
    }
}

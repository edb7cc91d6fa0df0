import Glibc

/// The journal of systemd, by its native protocol: one datagram for each entry.
package struct SystemJournal: Sendable {
    private static let path = "/run/systemd/journal/socket"
    private let path: String

    /// Names the socket; it does not open it.
    package init(path: String? = nil) { self.path = path ?? Self.path }

    /// Sends an entry. The entry is dropped if the machine has no journal, or if the journal does not accept it.
    ///
    /// - Parameter fields: names in upper case and values without a newline; others are left out.
    package func send(_ fields: [(name: String, value: String)]) {
        var address = sockaddr_un()
        let place = Array(path.utf8)
        guard place.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        let file = FileDescriptor(owning: socket)
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: place) }
        let message = fields.filter { !$0.value.utf8.contains(0x0A) }
            .flatMap { Array("\($0.name)=\($0.value)\n".utf8) }
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe sendto(
                    file.number, message, message.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL),
                    address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

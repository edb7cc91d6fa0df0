import CLinux
package import CredentialCore
import Glibc

/// A connected socket whose calls do not wait.
struct StreamSocket {
    /// The outcome of a call.
    enum Outcome: Equatable {
        /// So many bytes were moved; 0 is the end of the peer's data.
        case bytes(Int)
        /// The call would have to wait.
        case full
        /// The peer has gone.
        case gone
    }

    private let connection: UnixConnection

    /// MSG_DONTWAIT, and MSG_NOSIGNAL beside it.
    private static let receiving: Int32 = 0x40
    private static let sending: Int32 = 0x4040

    /// Takes a connected socket.
    init(_ connection: UnixConnection) { self.connection = connection }

    /// The descriptor.
    var number: Int32 { connection.number }

    /// Sends as much as the peer takes now.
    func send(_ bytes: ArraySlice<UInt8>) -> Outcome {
        Self.outcome {
            unsafe bytes.withUnsafeBytes { unsafe Glibc.send(number, $0.baseAddress, $0.count, Self.sending) }
        }
    }

    /// Receives the available bytes, at most the size of `buffer`.
    func receive(into buffer: inout [UInt8]) -> Outcome {
        let size = buffer.count
        return unsafe buffer.withUnsafeMutableBytes { place in
            Self.outcome { unsafe recv(number, place.baseAddress, size, Self.receiving) }
        }
    }

    /// Tells the peer that no more bytes come.
    func endSending() { _ = shutdown(number, 1) }

    private static func outcome(_ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            if count >= 0 { return .bytes(count) }
            if errno == EAGAIN { return .full }
            if errno != EINTR { return .gone }
        }
    }
}

/// The socket at which a relay waits for the programs of its sandbox: TCP on 127.0.0.1.
package struct LoopbackDoor: ~Copyable, Sendable {
    /// The descriptor.
    let descriptor: FileDescriptor
    /// The port.
    package let port: UInt16
    private let checksUser: Bool

    /// Listens, and sets the interface `lo` up before, if this process may do that.
    ///
    /// - Parameters:
    ///   - port: 0 for any free port.
    ///   - checksUser: whether only programs of this process's user are let in.
    /// - Throws: ``ErrorCode/inputOutput``.
    package init(port: UInt16, checksUser: Bool) throws(CredentialError) {
        linux_set_loopback_up()
        var chosen = port
        let number = unsafe linux_listen_on_loopback(&chosen)
        guard number >= 0 else { throw .system("cannot listen on", "127.0.0.1:\(port)", number: errno) }
        descriptor = FileDescriptor(owning: number)
        self.port = chosen
        self.checksUser = checksUser
    }

    /// The result of ``next()``.
    enum Visit {
        /// A program has connected.
        case program(StreamSocket)
        /// Another user's program has connected, or one that has gone already.
        case stranger
        /// There is none.
        case none
        /// The system has no descriptor for it now.
        case exhausted
    }

    /// Lets the next program in.
    borrowing func next() -> Visit {
        let number = linux_accept_program(descriptor.number)
        guard number >= 0 else {
            switch errno {
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            case ECONNABORTED, EINTR: return .stranger
            default: return .none
            }
        }
        let socket = StreamSocket(UnixConnection(FileDescriptor(owning: number)))
        guard checksUser else { return .program(socket) }
        return linux_owner_of_peer(number) == Int64(geteuid()) ? .program(socket) : .stranger
    }
}

/// The network namespace of this process.
package enum NetworkNamespace {
    /// Its name, as `readlink /proc/self/ns/net`; `nil` without `/proc`.
    package static var own: String? {
        let path = unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, initialized in
            unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let base = buffer.baseAddress else { return }
                initialized = unsafe max(0, readlink("/proc/self/ns/net", base, buffer.count))
            }
        }
        return path.isEmpty ? nil : String(validating: path, as: UTF8.self)
    }
}

/// The effect of a write to a reader that has gone.
package enum BrokenPipes {
    /// Makes such a write an error, and no end of this process.
    package static func ignore() { linux_ignore_broken_pipes() }
}

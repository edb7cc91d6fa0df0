import CLinux
package import CredentialCore
import Glibc
import Synchronization

/// A server on a socket of this machine, with a thread for each connection.
package final class UnixServer: Sendable {
    /// The rules of a server, which are asked before each use.
    package struct Rules: Sendable {
        /// How many connections are open at most.
        package var connections: @Sendable () -> Int
        /// The milliseconds until the server ends by itself without activity; `nil` for never.
        package var remaining: @Sendable (_ open: Int, _ idleMilliseconds: Int64) -> Int64?

        /// Makes rules.
        package init(
            connections: @escaping @Sendable () -> Int,
            remaining: @escaping @Sendable (_ open: Int, _ idleMilliseconds: Int64) -> Int64?
        ) {
            self.connections = connections
            self.remaining = remaining
        }
    }

    /// Why a server ended.
    package enum Ending: Sendable, Equatable {
        /// A signal, by its number.
        case signal(Int32)
        /// A request by ``end()``, or through the control socket.
        case request
        /// The rules.
        case rules
    }

    private let listener: FileDescriptor
    private let control: SharedDescriptor
    private let rules: Rules
    private let isPassed: Bool
    private let wake: Pipe
    private let state = Mutex(State())

    private struct State {
        var connections: [Int: UnixConnection] = [:]
        var next = 0
        var isEnding = false
        var lastUse: Int64 = 0
        /// The connections of those that wait for the end.
        var waiting: [UnixConnection] = []
    }

    /// Makes a server; it accepts no connection before ``run(signals:_:)``.
    ///
    /// - Parameters:
    ///   - listener: a listening socket.
    ///   - control: a listening socket on which the user's other processes ask for the end; they wait until it is
    ///     closed.
    ///   - isPassed: whether the parent process has passed the listener, as systemd does.
    /// - Throws: ``ErrorCode/inputOutput``.
    package init(
        listener: consuming FileDescriptor, control: consuming FileDescriptor, rules: Rules, isPassed: Bool = false
    ) throws(CredentialError) {
        self.listener = listener
        self.control = SharedDescriptor(control)
        self.rules = rules
        self.isPassed = isPassed
        wake = try Pipe()
        state.withLock { $0.lastUse = SystemTime.sinceBoot }
    }

    /// Blocks the signals that end a server, for this thread and those that it starts later.
    package static func blockSignals() {
        var set = endingSignals
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// The network namespace of this process, as `readlink /proc/self/ns/net` prints it.
    package static var networkNamespace: String? {
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe readlink("/proc/self/ns/net", &text, text.count)
        return count > 0 ? String(decoding: text[..<count].map(UInt8.init), as: UTF8.self) : nil
    }

    private static var endingSignals: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&set, number) }
        return set
    }

    /// Asks the server to end; ``run(signals:_:)`` returns soon.
    package func end() {
        state.withLock { $0.isEnding = true }
        wake.write()
    }

    /// Accepts connections until the end, then ends all of them. An end by request is for good: the listener's path
    /// goes, and so do the connections in its queue.
    ///
    /// - Parameters:
    ///   - signals: whether signals that are blocked end the server.
    ///   - serve: serves a connection on a thread of its own; the connection is closed when it returns.
    /// - Throws: ``ErrorCode/inputOutput``.
    package func run(
        signals: Bool, _ serve: @escaping @Sendable (UnixConnection) -> Void
    ) throws(CredentialError) -> Ending {
        // systemd passes a socket without its path, too: a sandbox may have mounted it as a file.
        let ending = isGone ? Ending.request : try waitForEnd(signals: signals, serve)
        if ending == .request { retire() }
        return ending
    }

    private func waitForEnd(
        signals: Bool, _ serve: @escaping @Sendable (UnixConnection) -> Void
    ) throws(CredentialError) -> Ending {
        var set = Self.endingSignals
        let signalNumber = signals ? unsafe linux_signalfd(&set) : -1
        defer {
            if signalNumber >= 0 { close(signalNumber) }
            endConnections()
        }
        while true {
            let (open, idle, isEnding) = state.withLock { state in
                (
                    state.connections.count, state.connections.isEmpty ? SystemTime.sinceBoot - state.lastUse : 0,
                    state.isEnding
                )
            }
            if isEnding { return .request }
            let left = rules.remaining(open, idle)
            // The rules may have asked for the end.
            if let left, left <= 0 { return state.withLock { $0.isEnding } ? .request : .rules }
            var entries = [listener.number, control.number, wake.reader, signalNumber].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            let status = unsafe poll(&entries, nfds_t(entries.count), left.map { Int32(clamping: $0) } ?? -1)
            if status < 0, errno != EINTR { throw .system("cannot wait for connections", "", number: errno) }
            if status <= 0 { continue }
            if entries[3].revents != 0 { return .signal(Self.signal(from: signalNumber)) }
            if entries[2].revents != 0 { wake.drain() }
            if entries[1].revents != 0 { takeControl() }
            if entries[0].revents != 0 { accept(serve) }
        }
    }

    /// Lets those go who wait for the end. To be called when no token can be released any more.
    package func releaseWaiting() { state.withLock { $0.waiting = [] } }

    private func accept(_ serve: @escaping @Sendable (UnixConnection) -> Void) {
        let number = linux_accept(listener.number)
        guard number >= 0 else {
            // Without a free descriptor the loop would turn without a pause.
            if errno == EMFILE || errno == ENFILE { SystemTime.pause(milliseconds: 20) }
            return
        }
        let connection = UnixConnection(FileDescriptor(owning: number))
        let limit = rules.connections()
        let place: Int? = state.withLock { state in
            guard state.connections.count < limit, !state.isEnding else { return nil }
            state.next += 1
            state.connections[state.next] = connection
            return state.next
        }
        guard let place else { return connection.shutDown() }
        do throws(CredentialError) {
            try DeadlineThread.start { [self] in
                serve(connection)
                connection.shutDown()
                remove(place)
            }
        } catch {
            connection.shutDown()
            remove(place)
        }
    }

    private func remove(_ place: Int) {
        let isLast = state.withLock { state in
            state.connections[place] = nil
            state.lastUse = SystemTime.sinceBoot
            return state.connections.isEmpty
        }
        // The loop computes its own end again.
        if isLast { wake.write() }
    }

    /// Takes a request for the end, of the user's own processes and root's.
    private func takeControl() {
        let number = linux_accept(control.number)
        guard number >= 0 else { return }
        let connection = UnixConnection(FileDescriptor(owning: number))
        guard let peer = try? connection.peer(), peer.user == geteuid() || peer.user == 0 else { return }
        state.withLock { state in
            state.waiting.append(connection)
            state.isEnding = true
        }
    }

    // MARK: The end of the socket

    /// The number of queued connections that are closed at most; the queue of a listener is shorter.
    private static let queueLimit = 8_192

    /// Removes the path and closes the connections that wait: systemd, which may have passed the listener, would
    /// start another server for each of them.
    private func retire() {
        if let path = Self.path(of: listener.number) { _ = unsafe unlink(path) }
        for _ in 0..<Self.queueLimit {
            var entry = pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&entry, 1, 0) > 0 else { return }
            let number = linux_accept(listener.number)
            guard number >= 0 else { return }
            close(number)
        }
    }

    /// Whether the listener has lost its path. A directory that this process cannot see is no sign of that.
    private var isGone: Bool {
        guard let path = Self.path(of: listener.number), unsafe access(path, F_OK) != 0, errno == ENOENT else {
            return false
        }
        let directory = UnixSocket.directory(of: path)
        guard unsafe access(directory, F_OK) == 0 else { return false }
        // A unit of systemd may have a `/tmp` of its own, which lacks the socket.
        return !isPassed || MountTable.isShared(directory, with: getppid())
    }

    /// The path of a socket; `nil` if it has no path.
    private static func path(of socket: Int32) -> String? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe getsockname(socket, pointer, &size)
            }
        }
        guard status == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &address.sun_path) { unsafe Array($0.prefix { $0 != 0 }) }
        guard let path = String(validating: bytes, as: UTF8.self), !path.isEmpty else { return nil }
        return path
    }

    /// Bytes that were not written before this call reach no peer.
    private func endConnections() {
        let connections = state.withLock { state in
            state.isEnding = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.shutDown() }
    }

    private static func signal(from descriptor: Int32) -> Int32 {
        // `struct signalfd_siginfo` has 128 bytes and begins with the number.
        var facts = [UInt32](repeating: 0, count: 32)
        let count = unsafe Glibc.read(descriptor, &facts, 128)
        return count == 128 ? Int32(bitPattern: facts[0]) : SIGTERM
    }
}

/// A pipe that wakes a thread which waits in poll(2).
private struct Pipe: Sendable {
    private let readEnd: SharedDescriptor
    private let writeEnd: SharedDescriptor

    init() throws(CredentialError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe linux_pipe(&ends) == 0 else { throw .system("cannot make a pipe", "", number: errno) }
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        readEnd = SharedDescriptor(FileDescriptor(owning: ends[0]))
        writeEnd = SharedDescriptor(FileDescriptor(owning: ends[1]))
    }

    var reader: Int32 { readEnd.number }

    func write() {
        // A full pipe wakes as well.
        var byte: UInt8 = 0
        _ = unsafe Glibc.write(writeEnd.number, &byte, 1)
    }

    func drain() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while unsafe Glibc.read(reader, &bytes, bytes.count) > 0 {}
    }
}

private final class SharedDescriptor: Sendable {
    private let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
    var number: Int32 { descriptor.number }
}

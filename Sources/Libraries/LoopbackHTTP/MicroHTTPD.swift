import CMicroHTTPD
import CredentialCore
import Glibc
import Platform
import Synchronization

/// The functions of libmicrohttpd that are used, looked up when the first server starts.
@safe private struct Library: @unchecked Sendable {
    // Immutable after `init`, and the library is never closed.
    let start: UnsafeMutableRawPointer
    let connectionInfo: UnsafeMutableRawPointer
    let stop: credmgr_mhd_stop
    let queue: credmgr_mhd_queue_response
    let create: credmgr_mhd_create_response
    let createSlow: credmgr_mhd_create_response_from_callback
    let destroy: credmgr_mhd_destroy_response
    let addHeader: credmgr_mhd_add_response_header
    let values: credmgr_mhd_get_connection_values

    init() throws(CredentialError) {
        let library = try DynamicLibrary("libmicrohttpd.so.12", package: "libmicrohttpd12")
        unsafe start = try library.symbol("MHD_start_daemon")
        unsafe connectionInfo = try library.symbol("MHD_get_connection_info")
        unsafe stop = unsafeBitCast(try library.symbol("MHD_stop_daemon"), to: credmgr_mhd_stop.self)
        unsafe queue = unsafeBitCast(
            try library.symbol("MHD_queue_response"), to: credmgr_mhd_queue_response.self)
        unsafe create = unsafeBitCast(
            try library.symbol("MHD_create_response_from_buffer"), to: credmgr_mhd_create_response.self)
        unsafe createSlow = unsafeBitCast(
            try library.symbol("MHD_create_response_from_callback"),
            to: credmgr_mhd_create_response_from_callback.self)
        unsafe destroy = unsafeBitCast(
            try library.symbol("MHD_destroy_response"), to: credmgr_mhd_destroy_response.self)
        unsafe addHeader = unsafeBitCast(
            try library.symbol("MHD_add_response_header"), to: credmgr_mhd_add_response_header.self)
        unsafe values = unsafeBitCast(
            try library.symbol("MHD_get_connection_values"), to: credmgr_mhd_get_connection_values.self)
    }
}

/// The part of a request that has arrived so far. Only its connection's thread touches it.
private final class PendingRequest {
    let target: String
    var body: [UInt8] = []
    var headersSeen = false
    var afterSent: (@Sendable () -> Void)?

    init(target: String) { self.target = target }
}

/// A body that trickles out in ten pieces. Only its connection's thread touches it.
private final class ThrottledBody {
    let bytes: [UInt8]
    let pause: UInt32

    init(_ response: ServerResponse) {
        bytes = response.body
        pause = UInt32(clamping: response.trickleMilliseconds.multipliedReportingOverflow(by: 100).partialValue)
    }
}

/// One listening socket served by libmicrohttpd, a thread per connection, so that a handler may block.
@safe final class MicroHTTPD: @unchecked Sendable {
    // `daemon` is guarded by `running`; the rest does not change after `init`.
    private let desk: ServerState
    private var daemon: OpaquePointer?
    private let running = Mutex(true)

    /// Serves `listener`, which belongs to the daemon from then on, also when this throws.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when the library is missing or will not start.
    init(
        listener: Int32, limits: ServerLimits, handler: @escaping @Sendable (ServerRequest) -> ServerResponse
    ) throws(CredentialError) {
        do {
            desk = ServerState(library: try Library(), limits: limits, handler: handler)
        } catch {
            close(listener)
            throw error
        }
        // At its own limit the library hangs up on newcomers; ended connections count until their threads are gone.
        let connections = UInt32(clamping: limits.connections.multipliedReportingOverflow(by: 16).partialValue)
        let context = unsafe Unmanaged.passUnretained(desk).toOpaque()
        // The library's threads take no signals: who waits for one, to set the terminal right, gets it.
        var all = sigset_t(), before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let started = unsafe credmgr_mhd_start(
            desk.library.start, listener, limits.connectionBytes, connections,
            UInt32(clamping: limits.idleSeconds),
            { unsafe ServerState.answer($0, $1, $3, $5, $6, $7) },
            { context, uri, _ in unsafe ServerState.begin(context, uri) },
            { _, _, pending, _ in unsafe ServerState.finish(pending) },
            { context, connection, _, event in unsafe ServerState.notice(context, connection, event) },
            context)
        guard let started = unsafe started else {
            close(listener)
            throw CredentialError(.internalFault, "libmicrohttpd did not start: \(String(errorNumber: errno))")
        }
        unsafe daemon = started
    }

    /// Stops listening, ends the connections and waits for their handlers. Must not be called from a handler.
    func stop() {
        running.withLock { running in
            guard running, let daemon = unsafe daemon else { return }
            running = false
            unsafe desk.library.stop(daemon)
        }
    }

    deinit { stop() }
}

/// The object that the library's threads work with.
///
/// The threads hold references to it while they run, so it must be an object apart from the one whose end stops
/// them. A thread that dropped the last reference to that one would wait for itself.
private final class ServerState: Sendable {
    let library: Library
    let limits: ServerLimits
    let handler: @Sendable (ServerRequest) -> ServerResponse
    /// The open connections, oldest first, with duplicates of their sockets: libmicrohttpd closes its own before it
    /// reports that, and the number may belong to another file by then.
    let connections = Mutex<[(connection: UInt, socket: Int32)]>([])

    init(library: Library, limits: ServerLimits, handler: @escaping @Sendable (ServerRequest) -> ServerResponse) {
        self.library = library
        self.limits = limits
        self.handler = handler
    }
}

// MARK: - What libmicrohttpd calls

extension ServerState {
    private static func server(_ context: UnsafeMutableRawPointer?) -> ServerState? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue()
    }

    /// The request line is there: keeps the target as sent, before the library decodes it.
    static func begin(
        _ context: UnsafeMutableRawPointer?, _ uri: UnsafePointer<CChar>?
    ) -> UnsafeMutableRawPointer? {
        guard let uri = unsafe uri else { return nil }
        return unsafe Unmanaged.passRetained(PendingRequest(target: String(cString: uri))).toOpaque()
    }

    /// The reply was sent, or the connection is gone.
    static func finish(_ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) {
        guard let slot = unsafe slot, let pointer = unsafe slot.pointee else { return }
        unsafe slot.pointee = nil
        let pending = unsafe Unmanaged<PendingRequest>.fromOpaque(pointer).takeRetainedValue()
        pending.afterSent?()
    }

    /// A connection came or went. When there are too many, the oldest is closed, so that clients that send no
    /// request, or send slowly for ever, cannot block others.
    static func notice(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ event: MHD_ConnectionNotificationCode
    ) {
        guard let server = unsafe server(context), let connection = unsafe connection else { return }
        let name = UInt(bitPattern: connection)
        let socket = unsafe credmgr_mhd_connection_socket(server.library.connectionInfo, connection)
        server.connections.withLock { open in
            guard event == .CONNECTION_NOTIFY_STARTED else {
                if let index = open.firstIndex(where: { $0.connection == name }) {
                    close(open.remove(at: index).socket)
                }
                return
            }
            if open.count >= server.limits.connections, !open.isEmpty {
                let oldest = open.removeFirst().socket
                shutdown(oldest, Int32(SHUT_RDWR))
                close(oldest)
            }
            let duplicate = fcntl(socket, F_DUPFD_CLOEXEC, 0)
            if duplicate >= 0 { open.append((name, duplicate)) }
        }
    }

    /// Called with the header, then with each piece of the body, then once more without one.
    static func answer(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ method: UnsafePointer<CChar>?,
        _ data: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>?,
        _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result {
        guard let server = unsafe server(context), let connection = unsafe connection,
            let method = unsafe method, let size = unsafe size, let slot = unsafe slot,
            let pointer = unsafe slot.pointee
        else { return .NO }
        let pending = unsafe Unmanaged<PendingRequest>.fromOpaque(pointer).takeUnretainedValue()
        if !pending.headersSeen {
            pending.headersSeen = true
            let length = unsafe server.headers(of: connection).first { $0.name == "content-length" }?.value
            guard let length, let number = Int(length), number > server.limits.bodyBytes else { return .YES }
            return unsafe server.send(.text(413, "the request is too large"), on: connection)
        }
        let count = unsafe size.pointee
        if count > 0, let data = unsafe data {
            guard pending.body.count + count <= server.limits.bodyBytes else { return .NO }
            let bytes = unsafe UnsafeRawBufferPointer(start: data, count: count)
            unsafe pending.body.append(contentsOf: bytes)
            unsafe size.pointee = 0
            return .YES
        }
        let parts = pending.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let request = unsafe ServerRequest(
            method: String(cString: method), path: parts.first.map(String.init) ?? "",
            query: parts.count > 1 ? String(parts[1]) : nil, headers: server.headers(of: connection),
            body: pending.body,
            peer: LoopbackPeer(credmgr_mhd_connection_socket(server.library.connectionInfo, connection)))
        let response = server.handler(request)
        pending.afterSent = response.afterSent
        return unsafe server.send(response, on: connection)
    }

    private func headers(of connection: OpaquePointer) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        _ = unsafe withUnsafeMutablePointer(to: &headers) { list in
            unsafe library.values(
                connection, .HEADER_KIND,
                { list, _, name, value in
                    guard let list = unsafe list, let name = unsafe name else { return .YES }
                    let field = unsafe (
                        name: String(cString: name).lowercased(),
                        value: value.map { unsafe String(cString: $0) } ?? ""
                    )
                    unsafe list.assumingMemoryBound(to: [(name: String, value: String)].self).pointee.append(field)
                    return .YES
                }, list)
        }
        return headers
    }

    private func send(_ response: ServerResponse, on connection: OpaquePointer) -> MHD_Result {
        let made = unsafe response.trickleMilliseconds > 0 ? makeSlow(response) : make(response.body)
        guard let reply = unsafe made else { return .NO }
        defer { unsafe library.destroy(reply) }
        for header in response.headers { _ = unsafe library.addHeader(reply, header.name, header.value) }
        return unsafe library.queue(connection, UInt32(clamping: response.status), reply)
    }
}

// MARK: - Bodies

extension ServerState {
    private func make(_ body: [UInt8]) -> OpaquePointer? {
        var body = body
        let size = body.count
        return unsafe body.withUnsafeMutableBytes { bytes in
            unsafe library.create(size, bytes.baseAddress, .RESPMEM_MUST_COPY)
        }
    }

    private func makeSlow(_ response: ServerResponse) -> OpaquePointer? {
        let body = unsafe Unmanaged.passRetained(ThrottledBody(response)).toOpaque()
        return unsafe library.createSlow(
            UInt64(response.body.count), 4096,
            { context, position, buffer, size in
                guard let context = unsafe context, let buffer = unsafe buffer else { return -1 }
                let body = unsafe Unmanaged<ThrottledBody>.fromOpaque(context).takeUnretainedValue()
                guard let start = Int(exactly: position), start < body.bytes.count else { return -1 }
                usleep(body.pause)
                let count = min(size, max(1, body.bytes.count / 10), body.bytes.count - start)
                unsafe UnsafeMutableRawPointer(buffer).copyMemory(
                    from: Array(body.bytes[start..<start + count]), byteCount: count)
                return count
            }, body,
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<ThrottledBody>.fromOpaque(context).release()
            })
    }
}

extension String {
    /// The text of an error number.
    init(errorNumber: Int32) {
        guard let text = unsafe strerror(errorNumber) else {
            self = "error \(errorNumber)"
            return
        }
        unsafe self.init(cString: text)
    }
}

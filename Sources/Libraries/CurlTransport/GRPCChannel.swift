package import CredentialCore
import Glibc
import Platform
import Synchronization

/// gRPC over libcurl's HTTP/2: a frame of five bytes and a message each way, the status in the trailer.
///
/// A channel keeps its connection for the next call. libcurl sends a request again if a kept connection turns out
/// to be closed before any byte came back; the called methods must allow that.
package final class GRPCChannel: GRPCClient {
    /// How a channel is opened.
    package struct Endpoint: Sendable, Hashable {
        /// `https://HOST:PORT`; plain HTTP for the loopback only.
        package var address: URI
        /// A PEM file of certificate authorities; the system's own if it is `nil`.
        package var authorities: String?
        /// The client certificate of the caller.
        package var certificate: ClientCertificate?

        package init(address: URI, authorities: String? = nil, certificate: ClientCertificate? = nil) {
            self.address = address
            self.authorities = authorities
            self.certificate = certificate
        }
    }

    private let endpoint: Endpoint
    private let transport: CurlTransport
    private let kept = Mutex(Kept())
    private let hasAnswered = Mutex(false)

    /// The largest answer, in bytes: etcd's own limit is 1.5 MiB for a request, and a listing may have many
    /// records.
    private static let maximumAnswer = 64 << 20
    private static let connectSeconds = 3

    /// Makes a channel and opens no connection yet.
    ///
    /// - Parameter transport: whose libcurl is used.
    package init(_ endpoint: Endpoint, transport: CurlTransport) {
        self.endpoint = endpoint
        self.transport = transport
    }

    package func call(
        _ method: String, _ message: [UInt8], milliseconds: Int
    ) throws(GRPCError) -> [UInt8] {
        // One call at a time on the kept connection; the lock is not held while it lasts.
        let idle = kept.withLock { $0.take() }
        let transfer = if let idle { idle } else { try opened() }
        let answer = GRPCResponse(limit: Self.maximumAnswer)
        try perform(transfer, method, message, answer, milliseconds: milliseconds)
        kept.withLock { $0.put(transfer) }
        guard let message = answer.messages.first else {
            throw .broken(CredentialError(.temporary, "\(host) returned an empty response"))
        }
        return message
    }

    package func stream(
        _ method: String, _ message: [UInt8], metadata: [String], isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(GRPCError) {
        let answer = GRPCResponse(limit: Self.maximumAnswer, take: take, isWanted: isWanted)
        try perform(opened(metadata), method, message, answer, milliseconds: nil)
    }

    private var host: String { String(endpoint.address.origin.dropFirst("\(endpoint.address.scheme)://".count)) }

    private func opened(_ metadata: [String] = []) throws(GRPCError) -> CurlTransfer {
        do throws(CredentialError) {
            guard endpoint.address.scheme == "https" || endpoint.address.isLoopback else {
                throw CredentialError(
                    .denied, "\(endpoint.address.origin) is not encrypted", hint: "use https://\(host)")
            }
            let transfer = try CurlTransfer(try transport.openLibrary())
            try transfer.setHTTP2(encrypted: endpoint.address.scheme == "https")
            try transfer.set(.protocols, endpoint.address.scheme)
            try transfer.set(.noSignal, 1)
            // On a stream without traffic, only keep-alive packets show that a router on the way has forgotten the
            // connection.
            try transfer.set(.keepAlive, 1)
            try transfer.set(.followRedirects, 0)
            try transfer.set(.proxy, "")
            try transfer.set(.connectTimeout, Self.connectSeconds)
            try transfer.set(.verifyPeer, 1)
            try transfer.set(.verifyHost, 2)
            if let authorities = endpoint.authorities { try transfer.set(.certificateFile, authorities) }
            if let certificate = endpoint.certificate { try transfer.setClientCertificate(certificate) }
            try transfer.setHeaders(["Content-Type: application/grpc", "TE: trailers", "Expect:"] + metadata)
            return transfer
        } catch { throw .unreached(error) }
    }

    private func perform(
        _ transfer: CurlTransfer, _ method: String, _ message: [UInt8], _ answer: GRPCResponse,
        milliseconds: Int?
    ) throws(GRPCError) {
        let failure: CurlFailure?
        do throws(CredentialError) {
            try transfer.set(.url, endpoint.address.origin + method)
            try transfer.set(.timeoutMilliseconds, milliseconds ?? 0)
            try answer.attach(to: transfer)
            failure = try unsafe GRPCResponse.frame(message).withUnsafeBufferPointer {
                (buffer) throws(CredentialError) in
                try unsafe transfer.setBody(UnsafeRawBufferPointer(buffer))
                return withExtendedLifetime(answer) { BrokenPipeSignal.held { transfer.perform() } }
            }
        } catch { throw .unreached(error) }
        if answer.wasStopped { return }
        if let failure {
            // A node that cannot show who it is is one that is not there: another may be.
            if failure.isOutdated {
                throw .unreached(
                    CredentialError(
                        .temporary,
                        "the certificate of \(host) has expired or is not valid yet: "
                            + "\(UntrustedText.shown(failure.text))"
                    ))
            }
            let error = error(of: failure)
            throw failure.isBeforeRequest ? .unreached(error) : .broken(error)
        }
        hasAnswered.withLock { $0 = true }
        guard let status = answer.status else {
            throw .broken(CredentialError(.temporary, "\(host) does not support gRPC: its response has no status"))
        }
        if status != 0 { throw .status(status, UntrustedText.shown(answer.statusText)) }
    }
}

extension GRPCChannel {
    /// The error of a call, in the words of who has named the node and this host's certificate.
    private func error(of failure: CurlFailure) -> CredentialError {
        var request = HTTPRequest(address: endpoint.address)
        request.clientCertificate = endpoint.certificate
        let error = failure.error(host: host, request: request, certificateFile: endpoint.authorities)
        let words = UntrustedText.shown(failure.text), code: ErrorCode, message: LocalizedMessage,
            hint: LocalizedMessage?
        if failure.isMisnamed {
            (code, message) = (.denied, "the certificate of \(host) has different names: \(words)")
            hint = "use the names in the nodes' certificates for --etcd of 'groups share' or 'groups join'"
        } else if failure.isUntrusted {
            code = .denied
            if let file = endpoint.authorities {
                message = "the certificate of \(host) is not valid for the authorities in \(file): \(words)"
            } else {
                message = "the certificate of \(host) is not valid for the system's authorities: \(words)"
            }
            hint = "set --ca of 'groups share' or 'groups join' to the authority of the cluster's nodes"
        } else if failure.isWithoutTLS {
            (code, message, hint) = (.temporary, "\(host) does not support TLS", nil)
        } else if failure.isClosed, !hasAnswered.withLock({ $0 }) {
            code = .temporary
            hint = nil
            if endpoint.address.scheme != "https" {
                message = "\(host) has closed the connection: it may require https://\(host)"
            } else if let file = endpoint.certificate?.certificateFile {
                message =
                    "\(host) has closed the connection: it may not accept the certificate \(file) of this "
                    + "host"
            } else {
                message =
                    "\(host) has closed the connection: it may require a certificate of this host (--cert, --key)"
            }
        } else {
            return error
        }
        return CredentialError(code, message, hint: hint, details: error.details)
    }
}

/// A transfer with its connection, between two calls; no other call has it then.
private struct Kept: @unchecked Sendable {
    private var transfer: CurlTransfer?

    mutating func take() -> CurlTransfer? {
        defer { transfer = nil }
        return transfer
    }

    mutating func put(_ transfer: CurlTransfer) { self.transfer = transfer }
}

/// The response to a call: frames of the body, and the status in the head or the trailer.
final class GRPCResponse {
    private let limit: Int
    private let take: (([UInt8]) -> Bool)?
    private let isWanted: (() -> Bool)?
    private var rest: [UInt8] = []
    private(set) var messages: [[UInt8]] = []
    private(set) var status: Int?
    private(set) var statusText = ""
    /// Whether the caller has had enough.
    private(set) var wasStopped = false

    private static let headSize = 5

    init(limit: Int, take: (([UInt8]) -> Bool)? = nil, isWanted: (() -> Bool)? = nil) {
        self.limit = limit
        self.take = take
        self.isWanted = isWanted
    }

    /// A message as it is sent: not compressed, its length in four bytes.
    static func frame(_ message: [UInt8]) -> [UInt8] {
        var frame: [UInt8] = [0]
        for shift in stride(from: 24, through: 0, by: -8) {
            frame.append(UInt8(truncatingIfNeeded: message.count >> shift))
        }
        return frame + message
    }

    func attach(to transfer: CurlTransfer) throws(CredentialError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try unsafe transfer.setReceivers(head: Self.headCallback, body: Self.bodyCallback, context: context)
        if isWanted != nil { try unsafe transfer.setProgress(Self.progressCallback, context: context) }
    }

    /// Takes a line of the head or the trailer.
    func takeLine(_ line: [UInt8]) {
        let text = String(decoding: line, as: UTF8.self)
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = text[..<colon].lowercased()
        var value = text[text.utf8.index(after: colon)...]
        while let first = value.first, first.isWhitespace { value.removeFirst() }
        while let last = value.last, last.isWhitespace { value.removeLast() }
        if name == "grpc-status" { status = Int(value) }
        if name == "grpc-message" { statusText = Self.percentDecoded(value.utf8) }
    }

    /// Takes a piece of the body; gives whether more is wanted.
    func takePiece(_ piece: [UInt8]) -> Bool {
        rest.append(contentsOf: piece)
        guard rest.count <= limit else { return false }
        while rest.count >= Self.headSize {
            let length = rest[1..<Self.headSize].reduce(0) { $0 << 8 | Int($1) }
            // A compressed frame was not asked for.
            guard rest[0] == 0, length <= limit else { return false }
            guard rest.count >= Self.headSize + length else { return true }
            let message = Array(rest[Self.headSize..<Self.headSize + length])
            rest.removeFirst(Self.headSize + length)
            guard let take else {
                messages.append(message)
                continue
            }
            if !take(message) {
                wasStopped = true
                return false
            }
        }
        return true
    }

    private static func percentDecoded(_ text: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func answer(_ context: UnsafeMutableRawPointer?) -> GRPCResponse? {
        unsafe context.map { unsafe Unmanaged<GRPCResponse>.fromOpaque($0).takeUnretainedValue() }
    }

    // libcurl takes any count other than the one it gave as the order to stop.
    private static let refused = -1

    private static let headCallback: CurlDataCallback = { memory, size, count, context in
        guard let answer = unsafe answer(context) else { return refused }
        answer.takeLine(unsafe Array(UnsafeRawBufferPointer(start: memory, count: size * count)))
        return size * count
    }

    private static let bodyCallback: CurlDataCallback = { memory, size, count, context in
        guard let answer = unsafe answer(context),
            answer.takePiece(unsafe Array(UnsafeRawBufferPointer(start: memory, count: size * count)))
        else { return refused }
        return size * count
    }

    private static let progressCallback: CurlProgressCallback = { context, _, _, _, _ in
        guard let answer = unsafe answer(context), answer.isWanted?() ?? true else {
            unsafe answer(context)?.wasStopped = true
            return 1
        }
        return 0
    }
}

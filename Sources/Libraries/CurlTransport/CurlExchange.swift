import CredentialCore
import Glibc

/// One request on its way: the state that libcurl's callbacks read from and write to.
///
/// The callbacks get it as their context; it must outlive ``CurlTransfer/perform()``. After a callback has failed,
/// ``failure`` says why.
final class CurlExchange {
    private let host: String
    private let maximumReplySize: Int?
    private let takesFaultyReply: Bool
    private let observer: TransferObserver
    private var file: BodyFile?
    private var head = ResponseHead()
    private var body = ZeroizingBuffer()
    private var bodySize = 0
    private var progress = TransferProgress(sent: 0, toSend: 0, received: 0, toReceive: 0)
    private var nextReport = UInt64(0)
    /// Why a callback ended the transfer.
    private(set) var failure: CredentialError?

    /// Prepares for the reply of `host` to a request, and for sending `file` if there is one.
    init(host: String, request: HTTPRequest, observer: TransferObserver, file: consuming BodyFile?) {
        self.host = host
        maximumReplySize = request.maximumReplySize
        takesFaultyReply = request.takesFaultyReply
        self.observer = observer
        self.file = file
    }

    /// The reply; to be asked for when the transfer has succeeded.
    ///
    /// - Throws: ``ErrorCode/temporary`` when the connection ended within its head, which libcurl takes for
    ///   success; ``ErrorCode/malformedReply`` for a compressed body that is too large.
    func reply() throws(CredentialError) -> HTTPResponse {
        guard head.isComplete else { throw CurlFailure.cutOff(host) }
        var reply = HTTPResponse(status: head.status, headers: head.fields, body: body.bytes)
        try decompress(&reply)
        if let fault = reply.fault, !takesFaultyReply { throw fault }
        return reply
    }

    /// The reply as far as it came, after the transfer has failed; `nil` unless the request takes it so, and it is
    /// one of success.
    func faultyReply(_ fault: CredentialError) -> HTTPResponse? {
        guard takesFaultyReply, head.isComplete, (200..<300).contains(head.status) else { return nil }
        var reply = HTTPResponse(status: head.status, headers: head.fields, body: body.bytes)
        // Without zlib the reply is as it came.
        do throws(CredentialError) { try decompress(&reply) } catch { reply.fault = error }
        reply.fault = fault
        return reply
    }

    /// Decompresses a body that the server has compressed with gzip or deflate, unasked.
    private func decompress(_ reply: inout HTTPResponse) throws(CredentialError) {
        let coding = reply.value(of: "content-encoding")
        guard let limit = maximumReplySize, observer.sink == nil,
            let form = Compression(of: reply.body, coding: coding),
            form != .gzip || takesFaultyReply || coding?.lowercased().hasSuffix("gzip") == true
        else { return }
        let (bytes, isWhole) = try form.decompressed(reply.body, limit: limit)
        // A body that nothing marks as compressed may be plain.
        if form == .deflate, !isWhole, bytes.count < limit { return }
        reply.body = bytes
        if !isWhole { reply.fault = bytes.count < limit ? unsound() : CurlFailure.tooLarge(host, limit) }
    }

    /// Tells the observer the last state of the transfer.
    func reportEnd() { observer.progress?(progress) }

    /// Lets the transfer call this exchange.
    func attach(to transfer: CurlTransfer) throws(CredentialError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try unsafe transfer.setReceivers(head: Self.headCallback, body: Self.bodyCallback, context: context)
        if file != nil { try unsafe transfer.setReader(Self.readCallback, context: context) }
        if observer.progress != nil || observer.isGivenUp != nil {
            try unsafe transfer.setProgress(Self.progressCallback, context: context)
        }
    }

    private func unsound() -> CredentialError {
        CredentialError(.malformedReply, "the response of \(host) is not valid HTTP")
    }

    private func takeHead(_ line: UnsafeRawBufferPointer) throws(CredentialError) {
        let isComplete: Bool
        do throws(ResponseHead.Malformed) { isComplete = try unsafe head.take(line) } catch { throw unsound() }
        if isComplete { observer.head?(HTTPResponse(status: head.status, headers: head.fields)) }
    }

    private func takeBody(_ piece: UnsafeRawBufferPointer) throws(CredentialError) {
        bodySize += piece.count
        if let limit = maximumReplySize, bodySize > limit {
            if takesFaultyReply {
                unsafe body.append(UnsafeRawBufferPointer(rebasing: piece.prefix(max(0, limit - body.count))))
            }
            throw CurlFailure.tooLarge(host, limit)
        }
        if let sink = observer.sink { try sink(unsafe Array(piece)) } else { unsafe body.append(piece) }
    }

    /// Runs a callback's work; gives `nil` and keeps the error when it fails.
    private func attempt<Result>(_ work: () throws(CredentialError) -> Result) -> Result? {
        guard failure == nil else { return nil }
        do throws(CredentialError) { return try work() } catch {
            failure = error
            return nil
        }
    }

    private static func exchange(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
        unsafe context.map { unsafe Unmanaged<CurlExchange>.fromOpaque($0).takeUnretainedValue() }
    }

    // libcurl takes any count other than the one it gave as the order to stop.
    private static let refused = -1

    private static let headCallback: CurlDataCallback = { memory, size, count, context in
        let line = unsafe UnsafeRawBufferPointer(start: memory, count: size * count)
        guard let exchange = unsafe exchange(context) else { return refused }
        let done: Void? = exchange.attempt { () throws(CredentialError) in try unsafe exchange.takeHead(line) }
        return done == nil ? refused : line.count
    }

    private static let bodyCallback: CurlDataCallback = { memory, size, count, context in
        let piece = unsafe UnsafeRawBufferPointer(start: memory, count: size * count)
        guard let exchange = unsafe exchange(context) else { return refused }
        let done: Void? = exchange.attempt { () throws(CredentialError) in try unsafe exchange.takeBody(piece) }
        return done == nil ? refused : piece.count
    }

    private static let readCallback: CurlDataCallback = { memory, size, count, context in
        let room = unsafe UnsafeMutableRawBufferPointer(start: memory, count: size * count)
        let abort = 0x1000_0000  // CURL_READFUNC_ABORT
        guard let exchange = unsafe exchange(context) else { return abort }
        let read = exchange.attempt { () throws(CredentialError) in
            try unsafe exchange.file?.read(into: room) ?? 0
        }
        return read ?? abort
    }

    private static let progressCallback: CurlProgressCallback = { context, toReceive, received, toSend, sent in
        guard let exchange = unsafe exchange(context) else { return 1 }
        if exchange.observer.isGivenUp?() == true {
            if exchange.failure == nil { exchange.failure = CurlFailure.late(exchange.host) }
            return 1
        }
        exchange.progress = TransferProgress(
            sent: Int64(sent), toSend: Int64(toSend), received: Int64(received), toReceive: Int64(toReceive))
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let milliseconds = UInt64(now.tv_sec) * 1_000 + UInt64(now.tv_nsec) / 1_000_000
        guard milliseconds >= exchange.nextReport else { return 0 }
        exchange.nextReport = milliseconds + 200
        exchange.observer.progress?(exchange.progress)
        return 0
    }
}

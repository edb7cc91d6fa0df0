import CredentialCore

/// The output of `request`: the response goes to standard output or a file, as it arrives.
///
/// A response that is not a success is held back until it is known to be the last: a second try may follow a 401,
/// and another response a redirect.
final class RequestOutput {
    private let session: CommandSession
    private let path: String?
    private let showsHead: Bool
    private var head: HTTPResponse?
    private var held: [UInt8] = []
    private var file: (any OutputFile)?
    private var filter = TerminalFilter()
    private var lastShown: Timestamp?
    private let startedAt: Timestamp

    /// How much of a reply that is held back is kept, in bytes.
    private static let holdLimit = 16 << 20

    init(_ session: CommandSession, path: String?, showsHead: Bool) {
        self.session = session
        self.path = path
        self.showsHead = showsHead
        startedAt = session.context.clock.now
    }

    /// Returns the observer of the transport.
    func observer() -> TransferObserver {
        TransferObserver(
            head: { self.head = $0 },
            sink: { (piece) throws(CredentialError) in try self.receive(piece) },
            progress: session.context.console.noticeIsTerminal
                && TerminalCapabilities.repaints(session.context.environment) ? { self.show($0) } : nil)
    }

    /// Ends the output, and writes the buffered rest.
    func finish() throws(CredentialError) {
        let body = held
        held = []
        try write(body)
        let rest = filter.finish()
        if !rest.isEmpty { try session.context.console.writeResult(rest) }
        endProgress()
        try file?.close()
    }

    private func endProgress() {
        if lastShown != nil { session.context.console.writeNotice("\n") }
        lastShown = nil
    }

    private func receive(_ piece: [UInt8]) throws(CredentialError) {
        if let head, (200..<300).contains(head.status) { return try write(piece) }
        guard held.count + piece.count <= Self.holdLimit else {
            throw CredentialError(.malformedReply, "the error response of the service is larger than 16 MiB")
        }
        held += piece
    }

    private func write(_ bytes: [UInt8]) throws(CredentialError) {
        if showsHead, let head {
            self.head?.headers = []
            let lines = head.headers.map { "\($0.name): \(UntrustedText.shown($0.value, limit: 8_000))\n" }
            if !lines.isEmpty { try session.print("HTTP \(head.status)\n" + lines.joined() + "\n") }
        }
        guard let path else {
            if bytes.isEmpty { return }
            guard session.context.console.resultIsTerminal else {
                return try session.context.console.writeResult(bytes)
            }
            endProgress()
            // The API's bytes could control the terminal.
            return try session.context.console.writeResult(filter.shown(bytes))
        }
        if file == nil { file = try session.context.programs.createFile(path) }
        try file?.write(bytes)
    }

    /// Shows how far a transfer is that takes longer than a second; not in the midst of a body on the same
    /// terminal.
    private func show(_ progress: TransferProgress) {
        let now = session.context.clock.now
        guard lastShown != now, now.seconds(since: startedAt) > 0 else { return }
        guard path != nil || progress.received == 0 || !session.context.console.resultIsTerminal else { return }
        lastShown = now
        func amount(_ done: Int64, of all: Int64) -> String {
            all > 0 ? "\(done) of \(all) bytes" : "\(done) bytes"
        }
        session.context.console.writeNotice(
            "\rsent \(amount(progress.sent, of: progress.toSend)), "
                + "received \(amount(progress.received, of: progress.toReceive))")
    }
}

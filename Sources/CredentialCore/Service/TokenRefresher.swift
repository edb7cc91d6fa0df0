/// Refreshes tokens under the account's lock.
///
/// ``InProcessRefresher`` does it in this process; the command line hands it to a process of its own, so that the
/// reply is persisted even if the caller is killed meanwhile.
package protocol TokenRefresher: Sendable {
    /// Reads the store, and unless it holds a fresh token by now, refreshes and persists.
    ///
    /// - Parameter lock: the account's lock.
    /// - Throws: ``ErrorCode/signInRequired`` when the grant is gone (the account is marked so);
    ///   ``ErrorCode/temporary`` when the account is unchanged; the errors of the store.
    func refresh(
        _ request: TokenService.Request, holding lock: any HeldLock
    ) throws(CredentialError) -> TokenService.Answer
}

/// Hands a refresh to a process of its own, so that the reply is persisted even when the caller is killed, its
/// terminal closes or its script's time is up.
package struct WorkerRefresher: TokenRefresher {
    private let programs: any ProcessRunner
    private let seconds: Int
    private let waiting: any ProgressDisplay
    private let note: @Sendable (String) -> Void
    private let warn: @Sendable (LocalizedMessage) -> Void

    /// Makes a refresher that waits at most `seconds` for the worker; the worker is not ended by that.
    ///
    /// - Parameters:
    ///   - waiting: tells that the provider takes long.
    ///   - note: takes the worker's notes for `--verbose`.
    ///   - warn: takes a sentence for the user.
    package init(
        programs: any ProcessRunner, seconds: Int, waiting: any ProgressDisplay = NoWaitingDisplay(),
        note: @escaping @Sendable (String) -> Void = { _ in },
        warn: @escaping @Sendable (LocalizedMessage) -> Void = { _ in }
    ) {
        self.programs = programs
        self.seconds = seconds
        self.waiting = waiting
        self.note = note
        self.warn = warn
    }

    package func refresh(
        _ request: TokenService.Request, holding lock: any HeldLock
    ) throws(CredentialError) -> TokenService.Answer {
        let answer = try waiting.during({ Self.place(of: request.type) }) { () throws(CredentialError) in
            try programs.refreshWorker(RefreshWorkerProtocol.encode(request), holding: lock, seconds: seconds) {
                warn(
                    "the refresh takes longer than \(seconds) s; credmgr waits for it, because this container ends with the command"
                )
            }
        }
        for line in RefreshWorkerProtocol.notes(in: answer) { note(line) }
        return try RefreshWorkerProtocol.decodeAnswer(answer)
    }

    /// Returns the name of the host that answers a refresh, for messages.
    private static func place(of type: AccountType) -> LocalizedMessage {
        let address = type.endpoints[.token] ?? type.issuer ?? type.authority
        guard let host = address.flatMap({ URI($0)?.host }) else {
            return "the provider of account type \(type.name)"
        }
        return LocalizedMessage(verbatim: UntrustedText.shown(host, limit: 100))
    }
}

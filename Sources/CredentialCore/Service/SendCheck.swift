import Synchronization

/// Checks again, directly before a refresh token is sent, that it may be sent, if the last check is long past.
///
/// A process may pause at any place: stopped, suspended with its machine, or waiting for a provider's metadata.
/// Meanwhile another one may have taken over, and have used the token up.
package final class SendCheck: Sendable {
    /// How long a check counts, in milliseconds.
    package static let validity: Int64 = 5_000
    /// How often it is looked at: a look may itself take too long.
    private static let attempts = 3

    private let clock: any BootClock
    private let look: @Sendable () throws(CredentialError) -> Void
    private let seen: Mutex<Int64>

    /// Prepares the check.
    ///
    /// - Parameters:
    ///   - clock: goes on while a process is stopped and the machine sleeps.
    ///   - milliseconds: when all was looked at, by this clock.
    ///   - look: looks again, and throws if anything has changed.
    package init(
        _ clock: any BootClock, lookedAt milliseconds: Int64,
        look: @escaping @Sendable () throws(CredentialError) -> Void
    ) {
        self.clock = clock
        self.look = look
        seen = Mutex(milliseconds)
    }

    /// Checks again if that is due.
    ///
    /// - Throws: the errors of the check; ``ErrorCode/temporary`` if each check takes too long.
    package func run() throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let began = clock.milliseconds
            guard began - seen.withLock({ $0 }) > Self.validity else { return }
            try look()
            seen.withLock { $0 = began }
        }
        guard clock.milliseconds - seen.withLock({ $0 }) <= Self.validity else {
            throw CredentialError(
                .temporary, "this machine is too slow to refresh safely: credmgr sent nothing", hint: "try again")
        }
    }
}

/// Runs a check before each request that may carry a refresh token. Metadata is fetched without it.
struct CheckedTransport: HTTPTransport {
    let base: any HTTPTransport
    let check: SendCheck

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        if request.method != "GET" { try check.run() }
        return try base.send(request, observer: observer)
    }

    func prepare() { base.prepare() }
}

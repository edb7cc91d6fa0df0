public import CredentialCore
import StrictJSON
import Synchronization

/// One running broker: the entries, the rules for their release, and its end.
public final class BrokerService: Sendable {
    /// The parts outside the broker.
    public struct Parts: Sendable {
        /// The host's code for tokens.
        public var issuer: any TokenIssuer
        /// The audit log.
        public var log: any AuditWriter
        /// Asks the user.
        public var consent: any ConsentDecider
        /// The configuration file.
        public var file: any BrokerFile
        /// The clock.
        public var clock: any WallClock
        /// Receives the configuration after each narrowing.
        public var narrowed: @Sendable (BrokerConfiguration) -> Void
        /// Takes a warning for the user of the server.
        public var warn: @Sendable (CredentialError) -> Void

        /// Makes the parts.
        public init(
            issuer: any TokenIssuer, log: any AuditWriter, consent: any ConsentDecider, file: any BrokerFile,
            clock: any WallClock, narrowed: @escaping @Sendable (BrokerConfiguration) -> Void = { _ in },
            warn: @escaping @Sendable (CredentialError) -> Void = { _ in }
        ) {
            self.issuer = issuer
            self.log = log
            self.consent = consent
            self.file = file
            self.clock = clock
            self.narrowed = narrowed
            self.warn = warn
        }
    }

    let parts: Parts
    /// The configuration at the start.
    let start: BrokerConfiguration
    let state: Mutex<State>
    /// Held while the file is read and its narrowing stored, so that an older file never replaces a newer one.
    private let reading = Mutex(())

    struct State: Sendable {
        var current: BrokerConfiguration
        /// Why the replaced file cannot be used.
        var fault: CredentialError?
        var firstConnection: Timestamp?
        var hasEnded = false
        var minute = RequestWindow()
        var denials = DenialWindow()
        /// When each entry was refreshed because of a refusal.
        var refusals: [String: Timestamp] = [:]
        /// The requests of released tokens.
        var orders = IssuedOrders()
        /// The refreshes of this run, by the kind of token.
        var history = OrderHistory()
        /// The tokens to revoke at the end.
        var released = ReleasedTokens()
        var whenFinished: (@Sendable () -> Void)?
    }

    /// Makes a broker.
    public init(_ configuration: BrokerConfiguration, _ parts: Parts) {
        start = configuration
        self.parts = parts
        state = Mutex(State(current: configuration))
    }

    /// The broker's name.
    public var name: String { start.name }

    /// The configuration that applies now.
    public var configuration: BrokerConfiguration { state.withLock { $0.current } }

    // MARK: Its end

    /// Notes a connection, for `for`.
    public func noteConnection() {
        let now = parts.clock.now
        state.withLock { state in if state.firstConnection == nil { state.firstConnection = now } }
    }

    /// When the broker ends; `nil` if it has no end.
    public var end: Timestamp? {
        state.withLock { state in
            let byLifetime = state.current.lifetime.flatMap { state.firstConnection?.adding($0) }
            guard let until = state.current.until else { return byLifetime }
            return byLifetime.map { min($0, until) } ?? until
        }
    }

    /// Whether no token is released any more.
    public var hasEnded: Bool {
        if state.withLock({ $0.hasEnded }) { return true }
        guard let end, parts.clock.now >= end else { return false }
        state.withLock { $0.hasEnded = true }
        return true
    }

    /// Ends the broker: no token is released after this call.
    public func finish() {
        let (told, suppressed) = state.withLock { state in
            state.hasEnded = true
            return (state.whenFinished, state.denials.takeSuppressed())
        }
        write(suppressed: suppressed)
        told?()
    }

    /// Takes a function that is called when the broker ends by its file or by the user's answer.
    public func whenFinished(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenFinished = body }
    }

    /// Reads a replaced file again. It narrows what applies now: a wider file applies at the next start.
    ///
    /// A concurrent call returns after the first one has stored its result.
    public func readAgain() { reading.withLock { _ in readUnderLock() } }

    private func readUnderLock() {
        switch parts.file.look() {
        case .same: return
        case .replaced(let newer):
            let current = configuration.narrowed(to: newer, defaults: parts.issuer.defaults(ofType:))
            state.withLock { state in
                state.current = current
                state.fault = nil
            }
            parts.narrowed(current)
        case .unusable(let error):
            state.withLock { $0.fault = error }
            parts.warn(error)
        case .removed: finish()
        }
    }

    // MARK: Choice

    /// Returns the entry that a request names. An account chooses among several entries only: the rules of the one
    /// entry decide whether the account is its own.
    func entry(name: String?, type: String?, account: String? = nil) throws(BrokerFailure) -> BrokerEntry {
        let entries = configuration.entries
        var found = entries.filter { entry in
            (name.map { $0 == entry.name } ?? true) && (type.map { $0 == entry.type } ?? true)
        }
        if found.count > 1, let account {
            found = found.filter { $0.account == account || self.account(of: $0)?.isCalled(account) == true }
        }
        guard let first = found.first else { throw .denied(.notInBroker) }
        guard found.count == 1 else { throw BrokerFailure(.ambiguous) }
        return first
    }

    /// Refuses a request that comes after the end, or one too many in a minute.
    func admit() throws(BrokerFailure) {
        readAgain()
        if hasEnded { throw BrokerFailure(.ended) }
        let now = parts.clock.now
        let (fault, wait, suppressed) = state.withLock { state in
            (
                state.fault, state.minute.admit(at: now, limit: state.current.perMinute),
                state.denials.end(at: now)
            )
        }
        write(suppressed: suppressed)
        if fault != nil { throw BrokerFailure(.failed, reason: "configuration") }
        if let wait { throw BrokerFailure(.rate, retryAfter: wait) }
    }

    /// Writes a line for a request that is refused before this service sees it.
    ///
    /// - Parameter counts: whether the request counts for `per_minute`. A scan of the relay's port must not: the
    ///   callers that may have tokens would get none.
    public func refuse(_ reason: String, _ caller: Caller, counts: Bool = false) {
        if counts {
            let now = parts.clock.now
            // The reply is a refusal in any case.
            state.withLock { state in _ = state.minute.admit(at: now, limit: state.current.perMinute) }
        }
        deny(AuditEvent(.deny, caller: caller, reason: reason))
    }

    /// Writes a line for a request that is refused, and returns the failure.
    ///
    /// - Parameter account: the ID of the entry's account, if it is known.
    func refused(
        _ failure: BrokerFailure, _ entry: String?, _ origin: String?, _ why: String?, _ caller: Caller,
        account: String? = nil
    ) -> BrokerFailure {
        deny(
            AuditEvent(
                .deny, entry: entry, account: account, origin: origin, caller: caller, why: why,
                reason: failure.reason ?? failure.error.rawValue))
        return failure
    }

    /// Writes a line for a denial, unless the minute has too many.
    private func deny(_ event: AuditEvent) {
        let now = parts.clock.now
        let (suppressed, hasLine) = state.withLock { state in
            (state.denials.end(at: now), state.denials.admit(at: now, limit: state.current.perMinute))
        }
        write(suppressed: suppressed)
        if hasLine { write(event) }
    }

    /// Writes one line for denials that have no line of their own.
    private func write(suppressed count: Int) {
        if count > 0 { write(AuditEvent(.deny, reason: "suppressed:\(count)")) }
    }

    /// Writes a line of a denial. No token is released, so that the reply does not depend on the line.
    private func write(_ event: AuditEvent) {
        do throws(CredentialError) { try parts.log.write(event.bounded) } catch { parts.warn(error) }
    }

    /// Writes a line that must precede a reply.
    ///
    /// - Throws: `temporary` if it cannot be written, unless the configuration says `continue`.
    func record(_ event: AuditEvent) throws(BrokerFailure) {
        do throws(CredentialError) { try parts.log.write(event.bounded) } catch {
            parts.warn(error)
            guard configuration.audit.continuesOnFailure else {
                throw BrokerFailure(.temporary, reason: "audit", retryAfter: 5)
            }
        }
    }
}

/// The requests of the last minute.
struct RequestWindow: Sendable {
    private var times: [Int64] = []

    /// Counts a request.
    ///
    /// - Returns: in how many seconds the next one is possible if the limit is reached; else `nil`.
    mutating func admit(at now: Timestamp, limit: Int) -> Int? {
        let time = now.epochSeconds
        // A clock that was set back leaves no request in the future.
        times.removeAll { $0 <= time - 60 || $0 > time }
        guard times.count >= limit, let first = times.first else {
            times.append(time)
            return nil
        }
        return max(1, Int(first + 60 - time))
    }
}

/// The denials of a minute. Only the first ones have lines of the log: a caller could otherwise cause lines until
/// the log's retention drops the older ones.
struct DenialWindow: Sendable {
    private var start: Timestamp?
    private var count = 0
    private var suppressed = 0

    /// Ends the minute, if it has passed.
    ///
    /// - Returns: the number of its denials without a line.
    mutating func end(at now: Timestamp) -> Int {
        // A clock that was set back ends the minute, too.
        guard let start, !(0..<60).contains(now.seconds(since: start)) else { return 0 }
        let suppressed = suppressed
        self = DenialWindow()
        return suppressed
    }

    /// Counts a denial.
    ///
    /// - Returns: whether it has a line.
    mutating func admit(at now: Timestamp, limit: Int) -> Bool {
        if start == nil { start = now }
        count += 1
        if count <= limit { return true }
        suppressed += 1
        return false
    }

    /// Takes the number of denials without a line before their minute has passed.
    mutating func takeSuppressed() -> Int {
        let taken = suppressed
        suppressed = 0
        return taken
    }
}

extension BrokerFailure {
    /// The reply for an error of the host's code, with the exit status that the command would have.
    public init(_ error: CredentialError) {
        switch error.code {
        case .signInRequired, .noSuchAccount: self.init(.signInRequired)
        case .ambiguousAccount: self.init(.ambiguous)
        case .storeLocked, .storeUnavailable, .storeDamaged: self.init(.locked, retryAfter: 5)
        case .temporary, .lockTimeout: self.init(.temporary, retryAfter: 5)
        case .denied, .cancelled, .validationFailed: self.init(.denied)
        default: self.init(.failed, reason: error.code.rawValue)
        }
    }
}

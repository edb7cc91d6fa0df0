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
        /// When each entry was refreshed because of a refusal.
        var refusals: [String: Timestamp] = [:]
        /// The requests of released tokens.
        var orders = IssuedOrders()
        var refusedRequests = 0
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
        let told = state.withLock { state in
            state.hasEnded = true
            return state.whenFinished
        }
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
            let current = configuration.narrowed(to: newer, typeScope: parts.issuer.scope(ofType:))
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

    /// Returns the entry that a request names.
    func entry(name: String?, type: String?) throws(BrokerFailure) -> BrokerEntry {
        let entries = configuration.entries
        let found = entries.filter { entry in
            (name.map { $0 == entry.name } ?? true) && (type.map { $0 == entry.type } ?? true)
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
        let (fault, wait) = state.withLock { state in
            (state.fault, state.minute.admit(at: now, limit: state.current.perMinute))
        }
        if fault != nil { throw BrokerFailure(.failed, reason: "configuration") }
        if let wait { throw BrokerFailure(.rate, retryAfter: wait) }
    }

    /// Writes a line for a request that is refused, and returns the failure.
    func refused(
        _ failure: BrokerFailure, _ entry: String?, _ origin: String?, _ why: String?, _ caller: Caller
    ) -> BrokerFailure {
        state.withLock { $0.refusedRequests += 1 }
        let event = AuditEvent(
            .deny, entry: entry, origin: origin, caller: caller, why: why,
            reason: failure.reason ?? failure.error.rawValue)
        // No token is released, so that the reply does not depend on the line.
        do throws(CredentialError) { try parts.log.write(event) } catch { parts.warn(error) }
        return failure
    }

    /// Writes a line that must precede a reply.
    ///
    /// - Throws: `temporary` if it cannot be written, unless the configuration says `continue`.
    func record(_ event: AuditEvent) throws(BrokerFailure) {
        do throws(CredentialError) { try parts.log.write(event) } catch {
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

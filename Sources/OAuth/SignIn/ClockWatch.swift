package import CredentialCore
import Synchronization

/// Compares this machine's clock with those of the servers that answer, by the `Date` of their responses (RFC 9110
/// §6.6.1).
package final class ClockWatch: Sendable {
    /// By how many seconds clocks may differ before credmgr warns.
    package static let tolerance: Int64 = 300

    private let heard = Mutex<[(origin: String, ahead: Int64)]>([])

    /// Makes a watch without any response yet.
    package init() {}

    /// Notes the date of a response.
    package func note(_ response: HTTPResponse, from origin: String, now: Timestamp) {
        guard let date = response.value(of: "date").flatMap(Timestamp.init(httpDate:)) else { return }
        // A response that a cache has kept is as old as it says (RFC 9111 §5.1).
        let age = response.value(of: "age").flatMap { Int64($0) } ?? 0
        guard (0...86_400).contains(age) else { return }
        let ahead = now.seconds(since: date.adding(age))
        heard.withLock { heard in
            heard.removeAll { $0.origin == origin }
            heard.append((origin, ahead))
        }
    }

    /// The warning: which clock is probably wrong, and by how much; `nil` while all clocks agree with this
    /// machine's.
    package var warning: LocalizedMessage? { finding?.message }

    /// The same, with whether it is this machine's clock.
    ///
    /// Two servers that agree against this machine's clock, or one alone, have it wrong; one server that another
    /// one and this machine agree against is wrong itself.
    package var finding: (message: LocalizedMessage, isOwn: Bool)? {
        let heard = heard.withLock { $0 }
        guard let (origin, ahead) = heard.last(where: { abs($0.ahead) > Self.tolerance }) else { return nil }
        let isAgainstOthers = heard.contains { abs($0.ahead) <= Self.tolerance }
        let span = DurationText.approximate(abs(ahead))
        let message: LocalizedMessage =
            switch (isAgainstOthers, ahead > 0) {
            case (false, true): "this machine's clock is probably wrong: it is \(span) ahead of that of \(origin)"
            case (false, false): "this machine's clock is probably wrong: it is \(span) behind that of \(origin)"
            case (true, true): "the clock of \(origin) is probably wrong: it is \(span) behind this machine's"
            case (true, false): "the clock of \(origin) is probably wrong: it is \(span) ahead of this machine's"
            }
        return (message, !isAgainstOthers)
    }
}

extension AdapterContext {
    /// The same context, whose responses a watch notes.
    package func watched(by watch: ClockWatch) -> AdapterContext {
        sending { [clock] in WatchedTransport(transport: $0, watch: watch, clock: clock) }
    }
}

/// Sends requests, and tells a watch of each response.
private struct WatchedTransport: HTTPTransport {
    let transport: any HTTPTransport
    let watch: ClockWatch
    let clock: any WallClock

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        let response = try transport.send(request, observer: observer)
        watch.note(response, from: request.address.origin, now: clock.now)
        return response
    }

    func prepare() { transport.prepare() }
}

import CredentialCore
import Platform

/// A transport that reports its work: the host that it waits for, and with `--verbose` each request.
///
/// Told are method, host, path, status, time and the server's own number of the request. Never the query, a header
/// field of ours or a body: secrets may be in any of them.
struct LoggingTransport: HTTPTransport {
    let base: any HTTPTransport
    let waiting: any ProgressDisplay
    /// Receives a line per request; `nil` if the lines are not wanted.
    let tell: (@Sendable (String) -> Void)?

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        let notice = waiting.begin {
            LocalizedMessage(verbatim: UntrustedText.shown(request.address.host, limit: 100))
        }
        defer { notice.end() }
        let watch = Stopwatch()
        do throws(CredentialError) {
            let response = try base.send(request, observer: Self.ending(notice, observer))
            tell?(
                "\(Self.shown(request)): \(response.status) in \(watch.elapsed) ms"
                    + (Self.number(of: response).map { ", \($0)" } ?? ""))
            return response
        } catch {
            tell?("\(Self.shown(request)): no reply in \(watch.elapsed) ms: \(error.code.rawValue)")
            throw error
        }
    }

    func prepare() { base.prepare() }

    /// The observer shows the transfer from its first byte on, in a way of its own.
    private static func ending(_ notice: any ProgressItem, _ observer: TransferObserver) -> TransferObserver {
        var ending = observer
        if let head = observer.head {
            ending.head = {
                notice.end()
                head($0)
            }
        }
        if let sink = observer.sink {
            ending.sink = { (piece) throws(CredentialError) in
                notice.end()
                try sink(piece)
            }
        }
        if let progress = observer.progress {
            ending.progress = {
                if $0.sent + $0.received > 0 { notice.end() }
                progress($0)
            }
        }
        return ending
    }

    private static func shown(_ request: HTTPRequest) -> String {
        let port = request.address.port.map { ":\($0)" } ?? ""
        return "\(request.method) \(UntrustedText.shown(request.address.host, limit: 100))\(port)"
            + UntrustedText.shown(request.address.path, limit: 300)
    }

    /// Returns the ID by which the server's operators find the request in their logs.
    private static func number(of response: HTTPResponse) -> String? {
        let names = [
            "x-ms-request-id", "x-correlation-id", "x-request-id", "request-id", "x-github-request-id",
            "x-okta-request-id",
        ]
        for name in names {
            if let value = response.value(of: name) { return "\(name) \(UntrustedText.shown(value, limit: 100))" }
        }
        return nil
    }
}

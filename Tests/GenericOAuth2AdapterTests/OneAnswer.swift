import CredentialCore
import Synchronization

/// A network that gives every request the same answer; no answer for `nil`.
final class OneAnswer: HTTPTransport {
    private let status: Int?
    private let headers: [(name: String, value: String)]
    private let sent = Mutex<[HTTPRequest]>([])

    init(status: Int?, headers: [(name: String, value: String)] = []) {
        (self.status, self.headers) = (status, headers)
    }

    /// The request that was sent.
    var requests: [HTTPRequest] { sent.withLock { $0 } }

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        sent.withLock { $0.append(request) }
        guard let status else { throw CredentialError(.temporary, "no answer") }
        return HTTPResponse(status: status, headers: headers)
    }
}

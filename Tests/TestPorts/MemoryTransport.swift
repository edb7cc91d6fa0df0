import CredentialCore
import Synchronization

/// A network in memory: it answers what a test has listed, in that order, and nothing else.
package final class MemoryTransport: HTTPTransport {
    private struct State {
        var replies: [Result<HTTPResponse, CredentialError>] = []
        var requests: [HTTPRequest] = []
    }

    private let state = Mutex(State())

    /// Makes a network without an answer.
    package init() {}

    /// What was sent.
    package var requests: [HTTPRequest] { state.withLock(\.requests) }

    /// Lists the next answer.
    package func answer(_ reply: Result<HTTPResponse, CredentialError>) {
        state.withLock { $0.replies.append(reply) }
    }

    package func send(
        _ request: HTTPRequest, observer: TransferObserver
    ) throws(CredentialError) -> HTTPResponse {
        let reply = state.withLock { state in
            state.requests.append(request)
            return state.replies.isEmpty ? nil : state.replies.removeFirst()
        }
        guard let reply else { throw unexpected("a request to \(request.address)") }
        var response = try reply.get()
        observer.head?(HTTPResponse(status: response.status, headers: response.headers))
        if let sink = observer.sink {
            try sink(response.body)
            response.body = []
        }
        return response
    }
}

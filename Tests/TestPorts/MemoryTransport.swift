import CredentialCore
import Synchronization

/// A network in memory: it gives only the answers that a test has listed, in that order.
package final class MemoryTransport: HTTPTransport {
    private struct State {
        var replies: [Result<HTTPResponse, CredentialError>] = []
        var served: [String: Result<HTTPResponse, CredentialError>] = [:]
        var requests: [HTTPRequest] = []
    }

    private let state = Mutex(State())

    /// Makes a network without an answer.
    package init() {}

    /// The requests that were sent.
    package var requests: [HTTPRequest] { state.withLock(\.requests) }

    /// Lists the next answer.
    package func answer(_ reply: Result<HTTPResponse, CredentialError>) {
        state.withLock { $0.replies.append(reply) }
    }

    /// Answers every request to an address, with any query, from now on.
    package func serve(_ address: String, _ reply: Result<HTTPResponse, CredentialError>) {
        state.withLock { $0.served[address] = reply }
    }

    /// Serves JSON.
    package func serve(_ address: String, json: String, status: Int = 200) {
        serve(
            address,
            .success(
                HTTPResponse(
                    status: status, headers: [("content-type", "application/json")], body: Array(json.utf8))))
    }

    package func send(
        _ request: HTTPRequest, observer: TransferObserver
    ) throws(CredentialError) -> HTTPResponse {
        let reply = state.withLock { state -> Result<HTTPResponse, CredentialError>? in
            state.requests.append(request)
            if let served = state.served[request.address.origin + request.address.path] { return served }
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

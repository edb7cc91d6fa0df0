import CredentialCore
import Platform

/// The transport of a refresh worker: a provider that is slow gets the worker's whole life to respond.
///
/// A caller may give up before. The worker does not: the provider may have rotated the refresh token already, and
/// its response holds the only valid one.
struct WorkerTransport: HTTPTransport {
    let base: any HTTPTransport
    let life: WorkerLife
    /// Whether requests may take longer than their own limit. In a group that hosts share, another host may take a
    /// refresh over once its intent has ended, so a request keeps its limit there.
    let isPatient: Bool

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        // Metadata and keys are fetched before anything is at stake.
        guard request.method == "POST" else { return try base.send(request, observer: observer) }
        var request = request, observer = observer
        if isPatient {
            request.timeout = nil
            observer.isGivenUp = { [life] in life.remaining == 0 }
        }
        let response = try base.send(request, observer: observer)
        life.responseArrived()
        return response
    }

    func prepare() { base.prepare() }
}

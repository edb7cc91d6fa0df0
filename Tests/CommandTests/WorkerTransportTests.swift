import CredentialCore
import Platform
import TestPorts
import Testing

@testable import Commands

/// The limits of a worker's requests.
@Suite struct WorkerTransportTests {
    private final class Recorder: HTTPTransport, @unchecked Sendable {
        // One thread uses it.
        var limits: [Int?] = [], isGivenUp: [Bool] = []

        func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
            limits.append(request.timeout)
            isGivenUp.append(observer.isGivenUp?() ?? false)
            return HTTPResponse(status: 200)
        }
    }

    private let base = Recorder()
    private let life = WorkerLife(limit: 12)

    private func send(_ method: String, isPatient: Bool = true) throws {
        let address = try #require(URI("https://login.example.com/token"))
        _ = try WorkerTransport(base: base, life: life, isPatient: isPatient)
            .send(HTTPRequest(method: method, address: address))
    }

    @Test func `a token request has no limit but the worker's life`() throws {
        try send("POST")
        for _ in 0..<2 { life.tick() }
        try send("POST")
        #expect(base.limits == [nil, nil] && base.isGivenUp == [false, true])
    }

    @Test func `the response to a token request keeps the worker alive until it is saved`() throws {
        try send("POST")
        for _ in 0..<100 { life.tick() }
        #expect(!life.isOver)
    }

    @Test func `metadata and shared groups keep the limit of the request`() throws {
        try send("GET")
        for _ in 0..<12 { life.tick() }
        #expect(life.isOver)
        try send("POST", isPatient: false)
        #expect(base.limits == [30, 30] && base.isGivenUp == [false, false])
        #expect(!life.isOver)
    }
}

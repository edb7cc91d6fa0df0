import CredentialCore
import Foundation
import TestSupport
import Testing

@testable import Platform

/// Locks and control sockets of brokers.
@Suite struct BrokerPlacesTests {
    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    private var places: BrokerPlaces { BrokerPlaces(runtime: temporary.path) }

    @Test func `stop fails when a starting server makes no control socket in time`() throws {
        let lock = try places.lock("b")
        let error = #expect(throws: CredentialError.self) { try places.stop("b", milliseconds: 100) }
        #expect(error?.code == .temporary)
        lock.release()
        #expect(try !places.stop("b", milliseconds: 100))
    }

    @Test func `stop waits for the control socket when a server has just taken the lock`() throws {
        let lock = try places.lock("b"), places = places
        let isDone = DispatchSemaphore(value: 0)
        Thread {
            // The server ends at once: it closes its control socket with the connections in its queue.
            if let control = try? places.control("b") {
                close(accept(control.number, nil, nil))
            }
            isDone.signal()
        }.start()
        #expect(try places.stop("b", milliseconds: 20_000))
        #expect(isDone.wait(timeout: .now() + 20) == .success)
        lock.release()
    }
}

import CredentialCore
import Foundation
import Platform
import Testing

@Suite struct ThreadTaskTests {
    @Test func `the result or error of a call can be read more than once`() throws {
        let deadline = Deadline(milliseconds: 10_000)
        let call = try ThreadTask { "done" }
        #expect(call.result(until: deadline) == .success("done"))
        #expect(call.result(until: deadline) == .success("done"))
        let failing = try ThreadTask { () throws(CredentialError) -> Int in throw CredentialError(.denied, "no")
        }
        #expect(failing.result(until: deadline) == .failure(CredentialError(.denied, "no")))
    }

    @Test func `a call goes on while its maker does something else`() throws {
        let gate = DispatchSemaphore(value: 0)
        let call = try ThreadTask {
            gate.wait()
            return true
        }
        #expect(call.result(until: Deadline(milliseconds: 50)) == nil)
        #expect(!call.end(until: Deadline(milliseconds: 1)))
        gate.signal()
        #expect(call.result(until: Deadline(milliseconds: 10_000)) == .success(true))
    }

    @Test func `after its end a call holds nothing that it was given`() throws {
        for _ in 0..<200 {
            var witness: Witness? = Witness()
            let weakly = Weak(witness)
            let call = try ThreadTask { [witness] in witness == nil }
            witness = nil
            #expect(call.end(until: Deadline(milliseconds: 10_000)))
            #expect(weakly.object == nil)
        }
    }

    private final class Witness: Sendable {}

    private struct Weak {
        weak var object: Witness?
        init(_ object: Witness?) { self.object = object }
    }
}

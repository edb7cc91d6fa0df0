import CredentialCore
import Synchronization
import Testing

/// Does the same thing again and again, each time on a machine of its own, and each time with something happening
/// at another call of the ports: the process ends there, or another one acts.
package enum PortWalk {
    /// The place of an event.
    package struct Place: Sendable, CustomStringConvertible {
        /// The number of the call, counted from 1.
        package let number: Int
        /// Before or after its effect.
        package let moment: PortTrace.Moment
        /// The call, as it is without the disturbance.
        package let name: String

        package var description: String { "\(moment) \(name), call \(number)" }
    }

    /// Ends the process at every call.
    ///
    /// - Parameters:
    ///   - scene: makes a machine.
    ///   - act: the work of the process; its failure is its own business.
    ///   - check: the rules once it has ended there; it may start other processes.
    package static func ending<Scene>(
        _ scene: () throws -> Scene, _ act: (Scene, PortTrace) throws -> Void,
        check: (Scene, Place) throws -> Void
    ) throws {
        for place in try places(scene, act) {
            let scene = try scene(), trace = PortTrace()
            trace.end(at: place.number, place.moment)
            _ = try? act(scene, trace)
            #expect(trace.isEnded, "it does not come to \(place)")
            trace.end()
            try check(scene, place)
        }
    }

    /// Lets another process act at every call. If the other process has to wait for a lock, it acts when the first
    /// is done.
    ///
    /// - Parameters:
    ///   - peer: the work of the other process.
    ///   - check: the rules when both are done. Its argument is the error that the first one threw.
    package static func meeting<Scene: Sendable>(
        _ scene: () throws -> Scene, _ act: (Scene, PortTrace) throws -> Void,
        peer: @escaping @Sendable (Scene) throws -> Void, check: (Scene, Place, (any Error)?) throws -> Void
    ) throws {
        for place in try places(scene, act) {
            let scene = try scene(), trace = PortTrace()
            let late = Late()
            trace.act(at: place.number, place.moment) {
                do { try peer(scene) } catch { late.fail(error) }
            }
            var failure: (any Error)?
            do { try act(scene, trace) } catch { failure = error }
            switch late.failure {
            case nil: break
            case let error as CredentialError where error.code == .lockTimeout: try peer(scene)
            case let error?: Issue.record("the other one failed \(place): \(error)")
            }
            try check(scene, place, failure)
        }
    }

    /// The calls of an undisturbed process.
    private static func places<Scene>(
        _ scene: () throws -> Scene, _ act: (Scene, PortTrace) throws -> Void
    ) throws -> [Place] {
        let trace = PortTrace()
        try act(try scene(), trace)
        #expect(!trace.calls.isEmpty, "nothing is touched")
        return trace.calls.enumerated().flatMap { index, name in
            PortTrace.Moment.allCases.map { Place(number: index + 1, moment: $0, name: name) }
        }
    }
}

/// Why the other process did not get through at once.
private final class Late: Sendable {
    private let error = Mutex<(any Error)?>(nil)

    var failure: (any Error)? { error.withLock { $0 } }

    func fail(_ error: any Error) { self.error.withLock { $0 = error } }
}

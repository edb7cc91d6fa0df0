import CredentialCore
import Foundation
import Synchronization

/// Random numbers that a seed gives again (SplitMix64).
struct SeededRandom {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func chance(_ one: Int, in many: Int) -> Bool { below(many) < one }
}

/// Threads of which one runs at a time; who goes on after each step is drawn from a seed, so a seed gives the same run again.
final class Schedule: @unchecked Sendable {
    // All is touched by the one thread that runs.
    var random: SeededRandom
    private var waiting: [(name: Int, semaphore: DispatchSemaphore)] = []
    private let turn = DispatchSemaphore(value: 0)
    private(set) var steps = 0

    init(seed: UInt64) { random = SeededRandom(seed) }

    /// Runs all to their ends.
    ///
    /// - Parameter between: called between two steps, with nobody running.
    func run(_ bodies: [() -> Void], between: () -> Void) {
        for (name, body) in bodies.enumerated() {
            let start = DispatchSemaphore(value: 0)
            waiting.append((name, start))
            let work = UncheckedWork(body)
            let thread = Thread { [self] in
                start.wait()
                work.body()
                turn.signal()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
        while !waiting.isEmpty {
            between()
            let next = waiting.remove(at: random.below(waiting.count))
            steps += 1
            next.semaphore.signal()
            turn.wait()
        }
    }

    /// Lets another go on.
    func step(_ name: Int) {
        let mine = DispatchSemaphore(value: 0)
        waiting.append((name, mine))
        turn.signal()
        mine.wait()
    }
}

private struct UncheckedWork: @unchecked Sendable {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}

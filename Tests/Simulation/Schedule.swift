import Dispatch
import Foundation

/// Random numbers that a seed gives again (SplitMix64).
package struct SeededRandom {
    private var state: UInt64

    /// Begins at a seed.
    package init(_ seed: UInt64) { state = seed }

    /// The next number.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// Whether an event that happens once in so many times happens now; 0 is never.
    package mutating func once(in many: Int) -> Bool { many > 0 && below(many) == 0 }
}

/// Threads of which one runs at a time; who goes on after each step is drawn from a seed, so a seed gives the same
/// run again.
final class Schedule: @unchecked Sendable {
    // All is touched by the one thread that runs.
    var random: SeededRandom
    private var waiting: [Waiter] = []
    private var between: () -> Void = {}
    private(set) var isRunning = false
    private(set) var steps = 0
    private let end = DispatchSemaphore(value: 0)

    private struct Waiter {
        let turn: DispatchSemaphore
        /// The step before which it does not go on, while anybody else can.
        var from = 0
    }

    /// How many steps one goes on before another may, on average. Some mistakes show only if all take turns, some
    /// only if one does much while another is stopped.
    private let stay: Int
    /// The only steps at which another goes on, if there are few of them. A mistake that needs one or two certain
    /// changes is found sooner by these alone (probabilistic concurrency testing). Empty if any step may be one.
    private let changes: Set<Int>

    init(seed: UInt64) {
        random = SeededRandom(seed)
        stay = [1, 2, 5, 12][random.below(4)]
        var changes: Set<Int> = []
        if random.once(in: 3) {
            let length = [60, 150, 300][random.below(3)]
            for _ in 0...random.below(4) { changes.insert(random.below(length)) }
        }
        self.changes = changes
    }

    /// Runs all to their ends.
    ///
    /// - Parameter between: called between two steps.
    func run(_ bodies: [() -> Void], between: @escaping () -> Void = {}) {
        self.between = between
        waiting = bodies.map { _ in Waiter(turn: DispatchSemaphore(value: 0)) }
        isRunning = true
        for (body, start) in zip(bodies, waiting.map(\.turn)) {
            let work = UncheckedWork { [self] in
                start.wait()
                body()
                if waiting.isEmpty { end.signal() } else { next().signal() }
            }
            Crew.shared.run(work)
        }
        next().signal()
        end.wait()
        isRunning = false
        self.between = {}
    }

    /// Lets another go on, or the same.
    func step() {
        guard isRunning else { return }
        steps += 1
        between()
        guard changes.isEmpty ? random.below(stay) == 0 : changes.contains(steps) else { return }
        let ready = self.ready, choices = ready.count + (changes.isEmpty ? 1 : 0)
        guard choices > 0 else { return }
        let place = random.below(choices)
        guard place < ready.count else { return }
        wait(for: ready[place], until: 0)
    }

    /// Stops the running one while the others go on for so many steps, as far as they have so many.
    func stop(_ many: Int) {
        guard isRunning, !waiting.isEmpty else { return }
        wait(for: nextPlace, until: steps + many)
    }

    private func wait(for place: Int, until step: Int) {
        let chosen = waiting[place], mine = Waiter(turn: DispatchSemaphore(value: 0), from: step)
        waiting[place] = mine
        chosen.turn.signal()
        mine.turn.wait()
    }

    /// The places of those that are not stopped.
    private var ready: [Int] { waiting.indices.filter { waiting[$0].from <= steps } }

    private var nextPlace: Int {
        let ready = self.ready
        if !ready.isEmpty { return ready[random.below(ready.count)] }
        return waiting.indices.min { waiting[$0].from < waiting[$1].from } ?? 0
    }

    private func next() -> DispatchSemaphore { waiting.remove(at: nextPlace).turn }
}

struct UncheckedWork: @unchecked Sendable {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}

/// Threads that are used again, as making one takes longer than many a step.
private final class Crew: @unchecked Sendable {
    static let shared = Crew()
    private let lock = NSLock()
    private var idle: [Hand] = []

    func run(_ work: UncheckedWork) {
        let hand = lock.withLock { idle.popLast() } ?? Hand()
        hand.start(work) { [self] in lock.withLock { idle.append(hand) } }
    }
}

private final class Hand: @unchecked Sendable {
    private let start = DispatchSemaphore(value: 0)
    private var work: UncheckedWork?
    private var done: (() -> Void)?

    init() {
        let thread = Thread { [self] in
            while true {
                start.wait()
                let (work, done) = (work, done)
                // It is free again for the next work after the last signal.
                work?.body()
                done?()
            }
        }
        thread.stackSize = 4 << 20
        thread.start()
    }

    func start(_ work: UncheckedWork, done: @escaping () -> Void) {
        self.work = work
        self.done = done
        start.signal()
    }
}

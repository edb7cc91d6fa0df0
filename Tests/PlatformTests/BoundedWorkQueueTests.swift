import Foundation
import Platform
import Synchronization
import Testing

@Suite struct BoundedWorkQueueTests {
    @Test(arguments: [1, 3, 64])
    func `results are taken in the order of the items, for any number of threads`(_ limit: Int) {
        let underWay = Atomic(0), most = Mutex(0)
        var taken: [Int] = []
        BoundedWorkQueue.run(Array(0..<100), atMost: limit, lane: { _ in "one" }) { number, _ in
            let count = underWay.add(1, ordering: .relaxed).newValue
            most.withLock { $0 = max($0, count) }
            underWay.subtract(1, ordering: .relaxed)
            return number * 2
        } take: {
            taken.append($0)
        }
        #expect(taken == (0..<100).map { $0 * 2 })
        #expect(most.withLock { $0 } <= limit)
    }

    @Test func `as many as are allowed are under way at once`() {
        // No work ends before all have begun.
        let begun = DispatchSemaphore(value: 0), gate = DispatchSemaphore(value: 0), count = Atomic(0)
        var taken = 0
        BoundedWorkQueue.run([1, 2, 3, 4], atMost: 4, lane: { _ in "one" }) { _, _ in
            if count.add(1, ordering: .relaxed).newValue == 4 { for _ in 0..<4 { gate.signal() } }
            begun.signal()
            gate.wait()
            return true
        } take: { _ in
            taken += 1
        }
        #expect(taken == 4)
    }

    @Test func `a lane that does not go on keeps the other from nothing`() {
        // The first of the slow lane waits for the last of the quick one.
        let gate = DispatchSemaphore(value: 0)
        let items = ["slow 1", "slow 2", "slow 3", "quick 1", "quick 2"]
        var taken: [String] = []
        BoundedWorkQueue.run(items, atMost: 2, lane: { String($0.prefix { $0 != " " }) }) { item, _ in
            if item == "slow 1" { gate.wait() }
            if item == "quick 2" { gate.signal() }
            return item
        } take: {
            taken.append($0)
        }
        #expect(taken == items)
    }

    @Test(arguments: [1, 2])
    func `an item that must wait is retried once, when all others have begun`(_ limit: Int) {
        let order = Mutex<[String]>([])
        var taken: [String] = []
        BoundedWorkQueue.run(["held", "a", "b", "c"], atMost: limit, lane: { _ in "one" }) { item, mayPutOff in
            if item == "held", mayPutOff { return nil }
            order.withLock { $0.append("\(item) \(mayPutOff)") }
            return item
        } take: {
            taken.append($0)
        }
        #expect(taken == ["held", "a", "b", "c"])
        if limit == 1 { #expect(order.withLock { $0 } == ["a true", "b true", "c true", "held false"]) }
        #expect(order.withLock { $0 }.count == 4)
    }

    private func caution(_ unproven: Int = 2) -> BoundedWorkQueue<Int, String>.Caution {
        BoundedWorkQueue.Caution(
            unproven: unproven,
            verdict: { $0.hasPrefix("works") ? .works : $0.hasPrefix("broken") ? .isBroken : .unknown },
            leaveOut: { "\($0) left out" })
    }

    @Test func `until a lane has proven itself few are under way, and then as many as are allowed`() {
        let underWay = Atomic(0), most = Mutex((before: 0, after: 0)), isProven = Atomic(false)
        // After the proof, no work ends before four are under way.
        let gate = DispatchSemaphore(value: 0)
        var taken = 0
        BoundedWorkQueue.run(Array(0..<12), atMost: 4, lane: { _ in "one" }, caution: caution()) { number, _ in
            let count = underWay.add(1, ordering: .sequentiallyConsistent).newValue
            let wasProven = isProven.load(ordering: .sequentiallyConsistent)
            most.withLock {
                if wasProven { $0.after = max($0.after, count) } else { $0.before = max($0.before, count) }
            }
            if wasProven, count == 4 { for _ in 0..<12 { gate.signal() } }
            if wasProven { _ = gate.wait(timeout: .now() + 60) }
            // The fifth is the first to say that the lane works.
            if number == 4 { isProven.store(true, ordering: .sequentiallyConsistent) }
            underWay.subtract(1, ordering: .sequentiallyConsistent)
            return number >= 4 ? "works" : "unknown"
        } take: { _ in
            taken += 1
        }
        #expect(taken == 12)
        #expect(most.withLock { $0.before } <= 2 && most.withLock { $0.after } == 4)
    }

    @Test(arguments: [1, 8])
    func `a broken lane begins nothing more, and the others go on`(_ limit: Int) {
        let begun = Mutex<Set<Int>>([])
        var taken: [String] = []
        BoundedWorkQueue.run(
            Array(0..<20), atMost: limit, lane: { $0.isMultiple(of: 2) ? "broken" : "other" }, caution: caution()
        ) { number, _ in
            begun.withLock { _ = $0.insert(number) }
            return number.isMultiple(of: 2) ? "broken" : "works"
        } take: {
            taken.append($0)
        }
        #expect(taken.count == 20)
        #expect((1...2).contains(begun.withLock { $0.count { $0.isMultiple(of: 2) } }))
        #expect(begun.withLock { $0.count { !$0.isMultiple(of: 2) } } == 10)
        #expect(taken.count { $0.hasSuffix("left out") } == 10 - taken.count { $0 == "broken" })
    }

    @Test func `a deferred item is left out, too, when its lane breaks`() {
        var taken: [String] = []
        BoundedWorkQueue.run([0, 1, 2], atMost: 1, lane: { _ in "one" }, caution: caution()) { number, mayPutOff in
            number == 0 && mayPutOff ? nil : "broken"
        } take: {
            taken.append($0)
        }
        #expect(taken == ["0 left out", "broken", "2 left out"])
    }

    @Test func `without an item nothing is done`() {
        BoundedWorkQueue.run([Int](), atMost: 8, lane: { _ in "one" }) { _, _ in
            Issue.record("there was none")
            return 0
        } take: { _ in
            Issue.record("there was none")
        }
    }
}

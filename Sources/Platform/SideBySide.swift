import CredentialCore
import Synchronization

/// Does many pieces of work side by side, on a bounded number of threads, and takes what came of them in their order.
///
/// Each piece stands in a lane, for what it waits for: a provider. The next one comes from the lane where the fewest are
/// under way, so that one that does not answer keeps the others from nothing but its own. A piece that has to wait for
/// somebody else may be put off once: it comes again when all others have been begun.
@safe package final class SideBySide<Item: Sendable, Outcome: Sendable>: Sendable {
    private struct Lane {
        /// The items not begun yet, the next one last.
        var waiting: [Int]
        var underWay = 0
    }

    private struct Queue {
        var lanes: [Lane]
        /// What was put off, the next one last.
        var putOff: [Int] = []
    }

    private let items: [Item]
    private let laneOfItem: [Int]
    private let work: @Sendable (Item, _ mayPutOff: Bool) -> Outcome?
    private let queue: Mutex<Queue>
    private let outcomes: [Handover<Outcome, Never>]

    private init(
        _ items: [Item], lane: (Item) -> String, _ work: @escaping @Sendable (Item, _ mayPutOff: Bool) -> Outcome?
    ) {
        var numbers: [String: Int] = [:]
        let laneOfItem = items.map { item in
            let name = lane(item)
            if let known = numbers[name] { return known }
            let next = numbers.count
            numbers[name] = next
            return next
        }
        var lanes = [Lane](repeating: Lane(waiting: []), count: numbers.count)
        for index in items.indices.reversed() { lanes[laneOfItem[index]].waiting.append(index) }
        self.items = items
        self.laneOfItem = laneOfItem
        self.work = work
        queue = Mutex(Queue(lanes: lanes))
        outcomes = items.map { _ in Handover() }
    }

    /// Does `work` for each item and gives each outcome to `take`, on this thread and in the order of the items.
    ///
    /// - Parameters:
    ///   - limit: how many are under way at once, at most.
    ///   - lane: what an item waits for.
    ///   - work: what is to be done; `nil` puts the item off, where that is allowed.
    package static func run(
        _ items: [Item], atMost limit: Int, lane: (Item) -> String,
        _ work: @escaping @Sendable (Item, _ mayPutOff: Bool) -> Outcome?, take: (Outcome) -> Void
    ) {
        let all = SideBySide(items, lane: lane, work)
        var threads = 0
        if items.count > 1 {
            while threads < min(max(1, limit), items.count) {
                // Where the system gives no more threads, those that are there do it, or this one.
                do throws(CredentialError) { try DeadlineThread.start { all.turn() } } catch { break }
                threads += 1
            }
        }
        if threads == 0 { all.turn() }
        for outcome in all.outcomes {
            while true {
                guard case .success(let value)? = outcome.take(until: Deadline(milliseconds: .max)) else {
                    continue
                }
                take(value)
                break
            }
        }
    }

    /// Does one after the other until none is left.
    private func turn() {
        while let (index, mayPutOff) = next() {
            let outcome = work(items[index], mayPutOff)
            queue.withLock { queue in
                queue.lanes[laneOfItem[index]].underWay -= 1
                if outcome == nil { queue.putOff.insert(index, at: 0) }
            }
            if let outcome { outcomes[index].put(.success(outcome)) }
        }
    }

    private func next() -> (index: Int, mayPutOff: Bool)? {
        queue.withLock { queue in
            let idlest = queue.lanes.indices.filter { !queue.lanes[$0].waiting.isEmpty }
                .min { queue.lanes[$0].underWay < queue.lanes[$1].underWay }
            let index = idlest.flatMap { queue.lanes[$0].waiting.popLast() } ?? queue.putOff.popLast()
            guard let index else { return nil }
            queue.lanes[laneOfItem[index]].underWay += 1
            return (index, idlest != nil)
        }
    }
}

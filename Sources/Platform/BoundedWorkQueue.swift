import CredentialCore
import Synchronization

/// Does many pieces of work in parallel, on a bounded number of threads, and takes the outcomes in their order.
///
/// Each piece is in a lane, which names the provider that it waits for. The next piece comes from the lane with the
/// fewest pieces under way, so that a provider that does not respond blocks only its own lane. A piece that has to
/// wait for another process may be put off once: it runs when all others have been begun.
///
/// A ``Caution`` has a lane prove itself with few pieces, and closes one that turns out to be broken.
@safe package final class BoundedWorkQueue<Item: Sendable, Outcome: Sendable>: Sendable {
    /// The judgement of an outcome on its lane.
    package enum Verdict: Sendable {
        /// The lane works.
        case works
        /// Nothing.
        case unknown
        /// Each further piece would do harm.
        case isBroken
    }

    /// How lanes are tried if a broken one does harm.
    package struct Caution: Sendable {
        /// How many pieces of a lane are under way until one outcome says that it works.
        let unproven: Int
        let verdict: @Sendable (Outcome) -> Verdict
        let leaveOut: @Sendable (Item) -> Outcome

        /// Makes a rule.
        ///
        /// - Parameters:
        ///   - unproven: how many pieces of a lane are under way, at most, until one outcome says that it works.
        ///   - verdict: the state of the lane by an outcome.
        ///   - leaveOut: the outcome of a piece that is not begun, as its lane is broken.
        package init(
            unproven: Int, verdict: @escaping @Sendable (Outcome) -> Verdict,
            leaveOut: @escaping @Sendable (Item) -> Outcome
        ) {
            self.unproven = unproven
            self.verdict = verdict
            self.leaveOut = leaveOut
        }
    }

    private struct Lane {
        /// The items not begun yet, the next one last.
        var waiting: [Int]
        var underWay = 0
        /// Whether an outcome has said that it works.
        var works = false
        var isBroken = false
    }

    private struct Queue {
        var lanes: [Lane]
        /// The items that were put off, the next one last.
        var putOff: [Int] = []
        /// How many threads take pieces.
        var threads = 0
    }

    private let items: [Item]
    private let laneOfItem: [Int]
    private let work: @Sendable (Item, _ mayPutOff: Bool) -> Outcome?
    private let limit: Int
    private let caution: Caution?
    private let queue: Mutex<Queue>
    private let outcomes: [OneShot<Outcome, Never>]

    private init(
        _ items: [Item], _ limit: Int, lane: (Item) -> String, _ caution: Caution?,
        _ work: @escaping @Sendable (Item, _ mayPutOff: Bool) -> Outcome?
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
        self.limit = min(max(1, limit), items.count)
        self.caution = caution
        queue = Mutex(Queue(lanes: lanes))
        outcomes = items.map { _ in OneShot() }
    }

    /// Does `work` for each item and gives each outcome to `take`, on this thread and in the order of the items.
    ///
    /// - Parameters:
    ///   - limit: how many are under way at once, at most.
    ///   - lane: the lane of an item.
    ///   - caution: how lanes are tried; all are taken to work without it.
    ///   - work: the work for an item; `nil` puts the item off, if that is allowed.
    package static func run(
        _ items: [Item], atMost limit: Int, lane: (Item) -> String, caution: Caution? = nil,
        _ work: @escaping @Sendable (Item, _ mayPutOff: Bool) -> Outcome?, take: (Outcome) -> Void
    ) {
        let all = BoundedWorkQueue(items, limit, lane: lane, caution, work)
        // If the system gives no thread, this thread does the work.
        if items.count <= 1 || !all.startThreads() { all.turn() }
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

    /// Starts threads up to the limit; if the system gives no more, the existing ones do the work.
    ///
    /// - Returns: whether there is a thread.
    @discardableResult private func startThreads() -> Bool {
        while queue.withLock({ $0.threads < limit }) {
            queue.withLock { $0.threads += 1 }
            do throws(CredentialError) {
                try DeadlineThread.start { [self] in turn() }
            } catch {
                return queue.withLock { queue in
                    queue.threads -= 1
                    return queue.threads > 0
                }
            }
        }
        return true
    }

    /// Does one piece after the other until there is no piece left for this thread.
    private func turn() {
        while let (index, mayPutOff) = next() {
            let outcome = work(items[index], mayPutOff)
            let verdict = outcome.flatMap { caution?.verdict($0) } ?? .unknown
            let (leftOut, isProven) = queue.withLock { queue in
                let lane = laneOfItem[index], isProven = verdict == .works && !queue.lanes[lane].works
                queue.lanes[lane].underWay -= 1
                if verdict == .works { queue.lanes[lane].works = true }
                if outcome == nil { queue.putOff.insert(index, at: 0) }
                guard verdict == .isBroken || queue.lanes[lane].isBroken else { return ([Int](), isProven) }
                return (close(lane, in: &queue), false)
            }
            if let outcome { outcomes[index].put(.success(outcome)) }
            for index in leftOut {
                if let caution { outcomes[index].put(.success(caution.leaveOut(items[index]))) }
            }
            // The threads that were idle while the lane was tried have ended.
            if isProven { startThreads() }
        }
    }

    /// Begins no more pieces of a lane.
    ///
    /// - Returns: the pieces that were not begun.
    private func close(_ lane: Int, in queue: inout Queue) -> [Int] {
        queue.lanes[lane].isBroken = true
        let leftOut = queue.lanes[lane].waiting + queue.putOff.filter { laneOfItem[$0] == lane }
        queue.lanes[lane].waiting = []
        queue.putOff.removeAll { laneOfItem[$0] == lane }
        return leftOut
    }

    /// Whether another piece of a lane may be begun.
    private func isOpen(_ lane: Lane) -> Bool {
        guard let caution, !lane.works else { return true }
        return lane.underWay < caution.unproven
    }

    private func next() -> (index: Int, mayPutOff: Bool)? {
        queue.withLock { queue in
            let idlest = queue.lanes.indices.filter { !queue.lanes[$0].waiting.isEmpty && isOpen(queue.lanes[$0]) }
                .min { queue.lanes[$0].underWay < queue.lanes[$1].underWay }
            var index = idlest.flatMap { queue.lanes[$0].waiting.popLast() }
            if index == nil, let place = queue.putOff.lastIndex(where: { isOpen(queue.lanes[laneOfItem[$0]]) }) {
                index = queue.putOff.remove(at: place)
            }
            guard let index else {
                queue.threads -= 1
                return nil
            }
            queue.lanes[laneOfItem[index]].underWay += 1
            return (index, idlest != nil)
        }
    }
}

package import CredentialCore
import Glibc

/// Joins the programs of a sandbox to a broker's socket while a command runs, on one thread.
package struct RelayLoop: ~Copyable {
    private let door: LoopbackDoor
    private let address: BrokerAddress
    private let greeting: [UInt8]
    private let errands: [RelayErrand]
    private let warn: (CredentialError) -> Void
    private var pairs: [RelayPair] = []
    private var hasWarned = false
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    /// The most connections at a time: those of a broker.
    private static let most = 64
    /// How long no program is let in after the system had no descriptor, in milliseconds.
    private static let pause: Int64 = 100

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - greeting: the bytes with which each connection to the broker begins.
    ///   - errands: the relay's own requests.
    ///   - warn: receives, once, the reason why a program was not joined.
    package init(
        _ door: consuming LoopbackDoor, to address: BrokerAddress, greeting: [UInt8], errands: [RelayErrand],
        warn: @escaping (CredentialError) -> Void
    ) {
        self.door = door
        self.address = address
        self.greeting = greeting
        self.errands = errands
        self.warn = warn
    }

    /// Serves until the command has ended.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the system cannot report signals.
    package mutating func run(beside command: borrowing ForegroundChild) throws(CredentialError)
        -> TerminationStatus
    {
        let signals = try command.signals()
        var pausedUntil: Int64 = 0
        while true {
            let start = SystemTime.sinceBoot
            var polled = [
                pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
                pollfd(
                    fd: pairs.count < Self.most && start >= pausedUntil ? door.descriptor.number : -1,
                    events: Int16(POLLIN), revents: 0),
            ]
            polled += errands.map { $0.polled }
            let firstPair = polled.count
            for pair in pairs {
                let entries = pair.polled
                polled += [entries.program, entries.broker]
            }
            // Before the wait: the command may have ended before its signals were watched.
            if let ending = command.ending(within: 0) { return ending }
            let count = unsafe poll(&polled, nfds_t(polled.count), timeout(start, pausedUntil))
            let now = SystemTime.sinceBoot
            if count < 0 { for index in polled.indices { polled[index].revents = 0 } }
            for (index, errand) in errands.enumerated() {
                errand.move(polled[2 + index].revents, now: now, address, buffer: &buffer)
            }
            for (index, pair) in pairs.enumerated() {
                let events = (polled[firstPair + 2 * index].revents, polled[firstPair + 2 * index + 1].revents)
                if events != (0, 0) { pair.move(events, now: now, buffer: &buffer) }
                pair.check(now: now)
            }
            pairs.removeAll { $0.isOver }
            if polled[1].revents != 0, !letIn() { pausedUntil = now + Self.pause }
        }
    }

    /// Lets a program in.
    ///
    /// - Returns: whether the system has descriptors.
    private mutating func letIn() -> Bool {
        switch door.next() {
        case .program(let program):
            do throws(CredentialError) {
                pairs.append(RelayPair(program, try address.connect(), greeting: greeting))
            } catch {
                // The program sees the end of its connection. The broker may be there again for the next.
                if !hasWarned { warn(error) }
                hasWarned = true
            }
            return true
        case .stranger, .none: return true
        case .exhausted: return false
        }
    }

    /// How long to wait at most, in milliseconds.
    private func timeout(_ now: Int64, _ pausedUntil: Int64) -> Int32 {
        var next = now + 60_000
        if pausedUntil > now { next = min(next, pausedUntil) }
        for errand in errands { next = min(next, errand.due) }
        for pair in pairs { if let end = pair.end { next = min(next, end) } }
        return Int32(clamping: max(next - now, 0))
    }
}

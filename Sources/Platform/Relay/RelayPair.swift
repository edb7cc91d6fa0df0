import CredentialCore
import Glibc

/// A program's connection and the broker's, joined: each gets the bytes that the other sends, and learns of its
/// end.
///
/// One of the two may end, break off or stop reading at any time. That ends this pair at most.
final class RelayPair {
    private let program: StreamSocket
    private let broker: StreamSocket
    private var toBroker: Pending
    private var toProgram = Pending()
    private var programHasEnded = false
    private var brokerHasEnded = false
    private var isBroken = false
    /// When the pair is given up, in milliseconds; `nil` if only its peers decide that.
    private(set) var end: Int64?

    /// The most that waits in each direction, in bytes.
    private static let limit = 64 << 10
    /// How long a program may take to read a reply or to close after the broker has, in milliseconds.
    private static let patience: Int64 = 60_000

    /// Bytes that wait until a peer takes them.
    private struct Pending {
        var bytes: [UInt8] = []
        var isEnded = false
        var hasToldEnd = false
        var isEmpty: Bool { bytes.isEmpty }
    }

    /// Joins two sockets.
    ///
    /// - Parameter greeting: the first bytes that the broker gets.
    init(_ program: StreamSocket, _ broker: StreamSocket, greeting: [UInt8]) {
        self.program = program
        self.broker = broker
        toBroker = Pending(bytes: greeting)
        push()
    }

    /// Whether the pair has no work left.
    var isOver: Bool { isBroken || programHasEnded && brokerHasEnded && toProgram.isEmpty }

    /// The two entries for `poll(2)`.
    var polled: (program: pollfd, broker: pollfd) {
        (
            Self.entry(
                program, reads: !programHasEnded && (brokerHasEnded || toBroker.bytes.count < Self.limit),
                writes: !toProgram.isEmpty),
            Self.entry(
                broker, reads: !brokerHasEnded && toProgram.bytes.count < Self.limit, writes: !toBroker.isEmpty)
        )
    }

    /// Moves the bytes that can be moved.
    ///
    /// - Parameters:
    ///   - events: the results of `poll(2)`, in the order of ``polled``.
    ///   - buffer: for received bytes.
    func move(_ events: (program: Int16, broker: Int16), now: Int64, buffer: inout [UInt8]) {
        if events.program != 0, !programHasEnded {
            switch program.receive(into: &buffer) {
            case .bytes(0): programHasEnded = true
            // After the broker has closed, the bytes that the program still sends have no reader.
            case .bytes(let count): if !brokerHasEnded { toBroker.bytes += buffer[..<count] }
            case .full: break
            case .gone: isBroken = true
            }
        }
        let waited = toProgram.bytes.count
        if events.broker != 0, !brokerHasEnded {
            switch broker.receive(into: &buffer) {
            case .bytes(0), .gone: brokerHasEnded = true
            case .bytes(let count): toProgram.bytes += buffer[..<count]
            case .full: break
            }
        }
        let had = toProgram.bytes.count
        push()
        if toProgram.isEmpty, !brokerHasEnded {
            end = nil
        } else if end == nil || toProgram.bytes.count < had || waited == 0 && had > 0 {
            end = now + Self.patience
        }
    }

    /// Gives the pair up if its time is over.
    func check(now: Int64) { if let end, now >= end { isBroken = true } }

    private func push() {
        toBroker.isEnded = programHasEnded
        toProgram.isEnded = brokerHasEnded
        // A broker that takes no more may have sent a reply that explains it.
        if !Self.push(&toBroker, to: broker) { toBroker = Pending(isEnded: true, hasToldEnd: true) }
        if !Self.push(&toProgram, to: program) { isBroken = true }
    }

    /// Returns whether the peer still takes bytes.
    private static func push(_ pending: inout Pending, to socket: StreamSocket) -> Bool {
        while !pending.isEmpty {
            switch socket.send(pending.bytes[...]) {
            case .bytes(let count): pending.bytes.removeFirst(count)
            case .full: return true
            case .gone: return false
            }
        }
        if pending.isEnded, !pending.hasToldEnd {
            pending.hasToldEnd = true
            socket.endSending()
        }
        return true
    }

    private static func entry(_ socket: StreamSocket, reads: Bool, writes: Bool) -> pollfd {
        let events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0)
        // poll(2) reports a hang-up again and again, even without a request; it ignores the descriptor -1.
        return pollfd(fd: events == 0 ? -1 : socket.number, events: Int16(events), revents: 0)
    }
}

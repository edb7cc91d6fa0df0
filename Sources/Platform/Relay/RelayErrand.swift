import CredentialCore
import Glibc

/// A request line to the broker that a relay repeats for itself, beside its programs' connections.
package final class RelayErrand {
    /// The line to send, with its newline.
    private let line: [UInt8]
    /// Takes the reply without its newline, or `nil` without a reply, and returns after how many milliseconds to
    /// ask again.
    private let take: ([UInt8]?) -> Int64
    private var socket: StreamSocket?
    private var unsent: ArraySlice<UInt8> = []
    private var reply: [UInt8] = []
    /// When to ask again, or when to give up waiting for the reply; in milliseconds.
    private(set) var due: Int64

    /// The most that a reply has, in bytes.
    static let limit = 64 << 10
    /// For how long a reply is waited for, in milliseconds: the user may be asked.
    private static let patience: Int64 = 120_000

    /// Makes an errand.
    ///
    /// - Parameter due: when to ask first, in milliseconds.
    package init(_ line: [UInt8], due: Int64, take: @escaping ([UInt8]?) -> Int64) {
        self.line = line
        self.due = due
        self.take = take
    }

    /// The entry for `poll(2)`.
    var polled: pollfd {
        pollfd(fd: socket?.number ?? -1, events: Int16(unsent.isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0)
    }

    /// Does the next step that is possible now.
    func move(_ events: Int16, now: Int64, _ address: BrokerAddress, buffer: inout [UInt8]) {
        let socket: StreamSocket
        if let connected = self.socket {
            socket = connected
        } else {
            guard now >= due else { return }
            guard let connected = try? address.connect() else { return finish(nil, now) }
            socket = connected
            self.socket = connected
            unsent = line[...]
            due = now + Self.patience
        }
        if now >= due { return finish(nil, now) }
        if !unsent.isEmpty {
            switch socket.send(unsent) {
            case .bytes(let count): unsent = unsent.dropFirst(count)
            case .full: break
            case .gone: return finish(nil, now)
            }
        }
        guard events != 0 else { return }
        switch socket.receive(into: &buffer) {
        case .bytes(0), .gone: finish(nil, now)
        case .full: break
        case .bytes(let count):
            reply += buffer[..<count]
            if let end = reply.firstIndex(of: 0x0A) {
                finish(Array(reply[..<end]), now)
            } else if reply.count > Self.limit {
                finish(nil, now)
            }
        }
    }

    private func finish(_ line: [UInt8]?, _ now: Int64) {
        socket = nil
        reply = []
        unsent = []
        due = now + max(take(line), 1)
    }
}

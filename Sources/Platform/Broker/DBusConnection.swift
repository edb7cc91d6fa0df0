package import CredentialCore
import Glibc

/// A connection to a message bus that exists; it starts no bus.
package final class DBusConnection {
    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"
    /// The number of signals that are kept while a reply is awaited.
    private static let signalLimit = 256

    private let socket: FileDescriptor
    private var serial: UInt32 = 0
    private var input: [UInt8] = []
    private var signals: [DBusMessage] = []

    /// Connects, authenticates as this user and introduces itself.
    ///
    /// - Parameters:
    ///   - address: the addresses of the bus ("Server Addresses" of the specification); only Unix sockets are used.
    ///   - deadline: the end of the attempt.
    /// - Throws: ``ErrorCode/temporary`` if no address answers.
    package init(_ address: String, deadline: Deadline) throws(CredentialError) {
        guard let socket = Self.connect(address) else { throw Self.failure("cannot connect") }
        self.socket = FileDescriptor(owning: socket)
        let user = Array(String(geteuid()).utf8).map { String($0, radix: 16) }.joined()
        try send([0] + Array("AUTH EXTERNAL \(user)\r\n".utf8), deadline)
        guard try line(deadline).hasPrefix("OK ") else { throw Self.failure("the bus refused this user") }
        try send(Array("BEGIN\r\n".utf8), deadline)
        _ = try call(Self.busMethod("Hello"), deadline)
    }

    /// Subscribes to the signals of one sender, of one interface.
    ///
    /// - Throws: ``ErrorCode/temporary``.
    package func subscribe(to sender: String, interface: String, deadline: Deadline) throws(CredentialError) {
        let rule = "type='signal',sender='\(sender)',interface='\(interface)'"
        _ = try call(Self.busMethod("AddMatch", [.string(rule)]), deadline)
    }

    /// Subscribes to the change of a name's owner: see ``isLoss(of:from:_:)``.
    ///
    /// - Throws: ``ErrorCode/temporary``.
    package func subscribeToOwner(of name: String, deadline: Deadline) throws(CredentialError) {
        let rule =
            "type='signal',sender='\(Self.busName)',interface='\(Self.busName)',member='NameOwnerChanged',"
            + "arg0='\(name)'"
        _ = try call(Self.busMethod("AddMatch", [.string(rule)]), deadline)
    }

    /// Whether a signal says that a name has another owner than `owner`.
    package func isLoss(of name: String, from owner: String, _ signal: DBusMessage) -> Bool {
        signal.sender == Self.busName && signal.member == "NameOwnerChanged" && signal.body.count == 3
            && signal.body[0].string == name && signal.body[2].string != owner
    }

    /// Sends a message without waiting for a reply.
    ///
    /// - Throws: ``ErrorCode/temporary``.
    package func send(_ message: DBusMessage) throws(CredentialError) {
        var message = message
        serial += 1
        message.serial = serial
        try send(message.bytes, Deadline(milliseconds: 1_000))
    }

    /// The unique name of the owner of a name; `nil` if the name has no owner, and the bus cannot start one.
    ///
    /// - Throws: ``ErrorCode/temporary``.
    package func owner(of name: String, deadline: Deadline) throws(CredentialError) -> String? {
        let question = Self.busMethod("GetNameOwner", [.string(name)])
        let now = try reply(to: question, deadline)
        if now.kind == .reply { return now.body.first?.string }
        // A name without an owner may be one of a service that the bus starts.
        let start = try reply(to: Self.busMethod("StartServiceByName", [.string(name), .uint32(0)]), deadline)
        return start.kind == .reply ? try call(question, deadline).body.first?.string : nil
    }

    /// Calls a method and waits for its reply.
    ///
    /// - Returns: the reply, whose sender is the one that was called.
    /// - Throws: ``ErrorCode/temporary``, also for an error of the receiver.
    package func call(_ message: DBusMessage, _ deadline: Deadline) throws(CredentialError) -> DBusMessage {
        let reply = try reply(to: message, deadline)
        guard reply.kind == .reply else { throw Self.failure(reply.errorName ?? "error") }
        return reply
    }

    /// The next signal; `nil` at the deadline.
    ///
    /// - Throws: ``ErrorCode/temporary`` if the bus closes the connection.
    package func nextSignal(_ deadline: Deadline) throws(CredentialError) -> DBusMessage? {
        while true {
            if !signals.isEmpty { return signals.removeFirst() }
            guard let message = try receive(deadline) else { return nil }
            if message.kind == .signal { return message }
        }
    }

    private func reply(to message: DBusMessage, _ deadline: Deadline) throws(CredentialError) -> DBusMessage {
        var message = message
        serial += 1
        message.serial = serial
        try send(message.bytes, deadline)
        while true {
            guard let answer = try receive(deadline) else { throw Self.failure("the bus does not answer") }
            if answer.kind == .signal, signals.count < Self.signalLimit { signals.append(answer) }
            guard answer.kind == .reply || answer.kind == .error, answer.replySerial == serial else { continue }
            // Any client can send a reply with a number that it guesses; the bus names the real sender.
            guard
                message.destination == Self.busName || message.destination?.hasPrefix(":") != true
                    || answer.sender == message.destination
            else { continue }
            return answer
        }
    }

    private static func busMethod(_ member: String, _ body: [DBusValue] = []) -> DBusMessage {
        DBusMessage(
            .call, path: busPath, interface: busName, member: member, destination: busName, body: body)
    }

    private static func failure(_ reason: String) -> CredentialError {
        CredentialError(.temporary, "cannot use the session bus: \(UntrustedText.shown(reason))")
    }

    // MARK: Bytes

    private func receive(_ deadline: Deadline) throws(CredentialError) -> DBusMessage? {
        while true {
            if input.count >= DBusMessage.fixedSize {
                guard let size = DBusMessage.size(input) else { throw Self.failure("the bus broke its protocol") }
                if input.count >= size {
                    let message = DBusMessage(Array(input[..<size]))
                    input.removeFirst(size)
                    // The client skips a message with types that notifications do not use.
                    guard let message else { continue }
                    return message
                }
            }
            guard try fill(deadline) else { return nil }
        }
    }

    private func line(_ deadline: Deadline) throws(CredentialError) -> String {
        while true {
            if let end = input.firstIndex(of: 0x0A) {
                let line = String(decoding: input[..<end], as: UTF8.self)
                input.removeSubrange(...end)
                return line
            }
            guard input.count < 4_096, try fill(deadline) else { throw Self.failure("the bus does not answer") }
        }
    }

    /// Reads the available bytes.
    ///
    /// - Returns: `false` at the deadline.
    private func fill(_ deadline: Deadline) throws(CredentialError) -> Bool {
        guard wait(Int16(POLLIN), deadline) else { return false }
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        let count = unsafe chunk.withUnsafeMutableBytes {
            unsafe recv(socket.number, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
        }
        if count < 0, errno == EAGAIN || errno == EINTR { return true }
        guard count > 0 else { throw Self.failure("the bus closed the connection") }
        input += chunk[..<count]
        return true
    }

    private func send(_ bytes: [UInt8], _ deadline: Deadline) throws(CredentialError) {
        var sent = 0
        while sent < bytes.count {
            guard wait(Int16(POLLOUT), deadline) else { throw Self.failure("the bus does not answer") }
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(
                    socket.number, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            guard count > 0 else { throw Self.failure("the bus closed the connection") }
            sent += count
        }
    }

    private func wait(_ events: Int16, _ deadline: Deadline) -> Bool {
        while true {
            var polled = pollfd(fd: socket.number, events: events, revents: 0)
            let ready = unsafe poll(&polled, 1, deadline.remainingMilliseconds)
            if ready > 0 { return true }
            if ready == 0 || errno != EINTR { return false }
        }
    }

    private static func connect(_ address: String) -> Int32? {
        for one in address.split(separator: ";") where one.hasPrefix("unix:") {
            for pair in one.dropFirst(5).split(separator: ",") {
                guard let equals = pair.firstIndex(of: "=") else { continue }
                let value = unescaped(pair[pair.index(after: equals)...])
                let name: [UInt8]? =
                    switch pair[..<equals] {
                    case "path": value
                    case "abstract": [0] + value
                    default: nil
                    }
                if let name, let socket = connect(to: name) { return socket }
            }
        }
        return nil
    }

    private static func connect(to name: [UInt8]) -> Int32? {
        var address = sockaddr_un()
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        let number = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        // The length of an abstract name is part of it; that of a path has a zero at its end.
        let length = MemoryLayout<sa_family_t>.size + name.count + (name.first == 0 ? 0 : 1)
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(number, $0, socklen_t(length))
            }
        }
        if status == 0 { return number }
        close(number)
        return nil
    }

    private static func unescaped(_ text: Substring) -> [UInt8] {
        var result: [UInt8] = [], bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "%"), bytes.count >= 2,
                let value = UInt8(String(decoding: bytes.prefix(2), as: UTF8.self), radix: 16)
            {
                result.append(value)
                bytes = bytes.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

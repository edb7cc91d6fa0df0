import Glibc

/// One question on the terminal, with a time limit.
package enum TerminalChoice {
    /// The result of a question.
    package enum Outcome: Sendable, Equatable {
        /// A line that was accepted, without its end.
        case line(String)
        /// No accepted line came in time.
        case timedOut
        /// There is no terminal, or another program has it.
        case unavailable
    }

    /// The greatest length of a line in bytes.
    private static let limit = 256

    /// Shows a text and reads lines until one is accepted. Input from before the question is dropped, so that it
    /// cannot answer.
    ///
    /// - Parameters:
    ///   - text: the text; its last line is repeated after a line that is not accepted.
    ///   - path: the terminal.
    package static func ask(
        _ text: [String], on path: String = "/dev/tty", until deadline: Deadline, accepts: (String) -> Bool
    ) -> Outcome {
        let number = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard number >= 0 else { return .unavailable }
        let terminal = FileDescriptor(owning: number)
        // Reading in the background would stop this process.
        guard isatty(number) == 1, tcgetpgrp(number) == getpgrp() else { return .unavailable }
        _ = tcflush(number, TCIFLUSH)
        guard terminal.writeAll(Array(text.joined(separator: "\n").utf8)) == 0 else { return .unavailable }
        var line: [UInt8] = []
        while true {
            var polled = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&polled, 1, deadline.remainingMilliseconds)
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else {
                _ = terminal.writeAll([0x0A])
                return .timedOut
            }
            var chunk = [UInt8](repeating: 0, count: limit)
            let count = unsafe read(number, &chunk, chunk.count)
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            // The end of input is not an answer.
            guard count > 0 else { return .timedOut }
            for byte in chunk[..<count] {
                guard byte == 0x0A || byte == 0x0D else {
                    if line.count < limit { line.append(byte) }
                    continue
                }
                let answer = String(decoding: line, as: UTF8.self)
                if accepts(answer) { return .line(answer) }
                line = []
                _ = terminal.writeAll(Array((text.last ?? "").utf8))
            }
        }
    }
}

import Foundation

/// A program that stops itself, and waits to be told to go on.
public final class StoppedProcess: Sendable {
    /// Its number.
    public let id: pid_t

    /// Starts it, and comes back when it has stopped.
    ///
    /// - Throws: if it does not start, or ends without stopping.
    public init(_ program: String, _ arguments: [String]) throws {
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var variables: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), nil]
        defer { free(variables[0]) }
        var started: pid_t = 0
        let failure = posix_spawn(&started, program, nil, nil, &words, &variables)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
        id = started
        let status = try Self.wait(started, WUNTRACED)
        // WIFSTOPPED
        guard status & 0xFF == 0x7F else { throw Ended(status: status) }
    }

    /// It has ended without stopping.
    public struct Ended: Error {
        /// As `waitpid` gave it.
        public let status: Int32
    }

    /// Lets it go on, and waits for its end.
    ///
    /// - Returns: its exit status, or 128 plus the signal's number.
    ///
    /// - Throws: ``ProcessFailure`` when it does not end.
    public func end() throws -> Int32 {
        kill(id, SIGCONT)
        let status = try Self.wait(id, 0)
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    private static func wait(_ id: pid_t, _ options: Int32) throws -> Int32 {
        try Background {
            var status: Int32 = 0
            while waitpid(id, &status, options) < 0, errno == EINTR {}
            return status
        }.value(within: 60)
    }
}

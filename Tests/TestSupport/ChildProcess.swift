import Foundation

/// A program run by a test: its arguments, its whole environment, and what came of it.
public struct ChildProcess: Sendable {
    /// What a program printed and how it ended.
    public struct Outcome: Sendable {
        /// Standard output.
        public let standardOutput: String
        /// Standard error.
        public let standardError: String
        /// The exit status, or 128 plus the signal's number.
        public let exitStatus: Int32
    }

    /// The program's path, or a name looked up in `/usr/bin`.
    public var program: String
    /// Its arguments.
    public var arguments: [String]
    /// Its whole environment: nothing of the test's own gets through.
    public var environment: [String: String]

    /// Names a program.
    public init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) {
        self.program = program.contains("/") ? program : "/usr/bin/" + program
        self.arguments = arguments
        self.environment = environment
    }

    /// Runs the program to its end, or kills it after `seconds`, with what it has started.
    ///
    /// - Throws: also when it is `credmgr` and shows a secret that ``Canary`` watches over.
    public func run(input: String = "", seconds: Double = 180) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = environment
        let input = (pipe: Pipe(), text: Data(input.utf8))
        let output = Pipe(), errors = Pipe()
        process.standardInput = input.pipe
        process.standardOutput = output
        process.standardError = errors
        let collected = Collected()
        let group = DispatchGroup()
        try Self.withSignals { try process.run() }
        for (handle, isError) in [(output.fileHandleForReading, false), (errors.fileHandleForReading, true)] {
            DispatchQueue.global().async(group: group) {
                collected.add(handle.readDataToEndOfFile(), isError: isError)
            }
        }
        DispatchQueue.global().async {
            signal(SIGPIPE, SIG_IGN)
            try? input.pipe.fileHandleForWriting.write(contentsOf: input.text)
            try? input.pipe.fileHandleForWriting.close()
        }
        let timer = DispatchSource.makeTimerSource()
        let pid = process.processIdentifier
        timer.schedule(deadline: .now() + seconds)
        // It leads a group: what it has started would otherwise hold the pipes open, and this call, for ever.
        timer.setEventHandler { if kill(-pid, SIGKILL) != 0 { kill(pid, SIGKILL) } }
        timer.resume()
        process.waitUntilExit()
        group.wait()
        timer.cancel()
        let status = process.terminationStatus
        let outcome = Outcome(
            standardOutput: collected.text(isError: false), standardError: collected.text(isError: true),
            exitStatus: process.terminationReason == .uncaughtSignal ? 128 + status : status)
        if program.hasSuffix("/credmgr") { try Canary.check(outcome, of: arguments) }
        return outcome
    }

    /// Does something, starting a program, with no signal blocked: a program inherits what its caller blocks, the runner of
    /// the tests blocks them all, and some wait for a SIGCHLD that would never come.
    private static func withSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t(), before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    private final class Collected: @unchecked Sendable {
        private let lock = NSLock()
        private var output = Data(), errors = Data()

        func add(_ data: Data, isError: Bool) {
            lock.withLock { if isError { errors.append(data) } else { output.append(data) } }
        }

        func text(isError: Bool) -> String {
            lock.withLock { String(decoding: isError ? errors : output, as: UTF8.self) }
        }
    }
}

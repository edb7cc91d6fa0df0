import Foundation

/// A program run by a test: its arguments, its whole environment, and its result.
public struct ChildProcess: Sendable {
    /// The output of a program and how it ended.
    public struct Outcome: Sendable {
        /// Standard output.
        public let standardOutput: String
        /// Standard error.
        public let standardError: String
        /// The exit status, or 128 plus the signal's number.
        public let exitStatus: Int32
        /// The signal that ended it; `nil` when it exited.
        public let signal: Int32?
    }

    /// The program's path, or a name looked up in `/usr/bin`.
    public var program: String
    /// Its arguments.
    public var arguments: [String]
    /// Its whole environment: no variable of the test's own gets through.
    public var environment: [String: String]
    /// Its working directory; the test's own when `nil`.
    public var directory: String?

    /// Names a program.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], directory: String? = nil
    ) {
        self.program = program.contains("/") ? program : "/usr/bin/" + program
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
    }

    /// Starts the program, to run beside the test.
    ///
    /// - Throws: ``ProcessFailure`` if it cannot be started.
    public func start(input: RunningProcess.Input = .none) throws -> RunningProcess {
        try RunningProcess(self, input: input)
    }

    /// Runs the program to its end.
    ///
    /// - Throws: ``ProcessFailure`` when it, or a child that holds its output open, does not end within `seconds`;
    ///   it is killed then, with its process group. Also when it is `credmgr` and shows a secret that ``Canary``
    ///   watches over.
    public func run(input: String = "", seconds: Double = 180) throws -> Outcome {
        let process = try start(input: .pipe)
        let data = Data(input.utf8)
        // A pipe accepts this much from a writer before any read.
        if data.count <= 4_096 {
            try process.write(data, within: seconds)
            process.closeInput()
            return try process.outcome(within: seconds)
        }
        let writing = Background {
            defer { process.closeInput() }
            try process.write(data, within: seconds)
        }
        let outcome = try process.outcome(within: seconds)
        try writing.value(within: seconds)
        return outcome
    }

    /// Runs the program, and kills it with its process group after `seconds` unless it has ended.
    public func run(killedAfter seconds: Double) throws -> Outcome {
        let process = try start()
        if (try? process.status(within: seconds)) == nil { process.kill() }
        return try process.outcome()
    }

    /// The call, for a failure.
    var shown: String { ([program] + arguments).joined(separator: " ") }
}

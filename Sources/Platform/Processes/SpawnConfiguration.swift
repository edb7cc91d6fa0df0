import CLinux
package import CredentialCore
import Glibc

/// How to start a program: everything it gets is named here, and it gets no more.
///
/// It is started with `posix_spawn(3)`, never `fork`. Its signals have their default actions, unless configured
/// otherwise, and no signal is blocked; every descriptor that is not named here is closed.
package struct SpawnConfiguration: Sendable {
    /// The target of a standard descriptor.
    package enum Stream: Sendable {
        /// `/dev/null`.
        case null
        /// The parent's own.
        case inherit
        /// A pipe whose other end the parent has.
        case pipe
    }

    /// The program's path; no search in `PATH`.
    package var program: String
    /// Its arguments, without the program's name.
    package var arguments: [String]
    /// Its whole environment.
    package var environment: [String: String]
    /// The directory to start in; the parent's if there is no directory.
    package var directory: String?
    /// Its standard input.
    package var standardInput = Stream.null
    /// Its standard output.
    package var standardOutput = Stream.null
    /// Its standard error.
    package var standardError = Stream.null
    /// Descriptors of the parent that it gets as 3, 4 and so on.
    package var inherited: [Int32] = []
    /// Whether it starts a session of its own, away from the terminal and its signals.
    package var startsSession = false
    /// Whether it leads a process group of its own, which ends with it: the processes that it has started and left
    /// behind end, too, unless they have left the group, as daemons do. If this process has the terminal, the
    /// program has it meanwhile, like a job of a shell.
    package var endsItsGroup = false
    /// The terminal whose foreground the program's group takes as it starts.
    var terminal: Int32?
    /// Whether signals that this process was started to ignore stay ignored, as `nohup` wants it; else all have
    /// their default action.
    package var keepsIgnoredSignals = false

    /// The settings of the caller that the program gets back; without them, the program has the settings of this
    /// process.
    package var callerSettings: InheritedSettings?

    /// Names a program.
    package init(_ program: String, _ arguments: [String] = [], environment: [String: String]) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
    }

    /// Starts the program.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    package func start() throws(CredentialError) -> RunningProgram {
        let words = [program] + arguments + environment.flatMap { [$0.key, $0.value] } + [directory ?? ""]
        if words.contains(where: { $0.utf8.contains(0) }) { throw failure(EINVAL) }
        var input = try Endpoint(standardInput, childReads: true, self)
        var output = try Endpoint(standardOutput, childReads: false, self)
        var errors = try Endpoint(standardError, childReads: false, self)
        let actions = try SpawnActions(self)
        try actions.place(input.childNumber(0), at: 0)
        try actions.place(output.childNumber(1), at: 1)
        try actions.place(errors.childNumber(2), at: 2)
        for (index, number) in inherited.enumerated() { try actions.place(number, at: 3 + Int32(index)) }
        let process = try actions.spawn()
        return RunningProgram(
            process: process, leadsGroup: startsSession || endsItsGroup, endsGroup: endsItsGroup,
            input: input.takeParentEnd(), output: output.takeParentEnd(), errors: errors.takeParentEnd())
    }

    func failure(_ number: Int32) -> CredentialError { .system("cannot start", program, number: number) }
}

/// One standard descriptor of a child: the pipe's two ends, or the file, or no change.
private struct Endpoint: ~Copyable {
    private let child: FileDescriptor?
    private var parent: FileDescriptor?

    init(_ stream: SpawnConfiguration.Stream, childReads: Bool, _ launch: SpawnConfiguration)
        throws(CredentialError)
    {
        switch stream {
        case .inherit:
            child = nil
            parent = nil
        case .null:
            let number = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
            if number < 0 { throw launch.failure(errno) }
            child = FileDescriptor(owning: number)
            parent = nil
        case .pipe:
            var ends: (Int32, Int32) = (-1, -1)
            let result = unsafe withUnsafeMutableBytes(of: &ends) {
                unsafe linux_pipe($0.assumingMemoryBound(to: Int32.self).baseAddress)
            }
            if result != 0 { throw launch.failure(errno) }
            child = FileDescriptor(owning: childReads ? ends.0 : ends.1)
            parent = FileDescriptor(owning: childReads ? ends.1 : ends.0)
        }
    }

    /// The parent's descriptor that becomes the child's `number`.
    func childNumber(_ number: Int32) -> Int32 {
        switch child {
        case .some(let file): file.number
        case .none: number
        }
    }

    mutating func takeParentEnd() -> FileDescriptor? { parent.take() }
}

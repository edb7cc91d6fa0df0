import CLinux
package import CredentialCore
import Glibc

/// Runs a program to its end: feeds it, collects its output, and does not wait for ever.
package struct ChildProgram: Sendable {
    /// How a run ended.
    package enum Ending: Sendable, Hashable {
        /// The program ended by itself or by a signal.
        case ended(TerminationStatus)
        /// It took too long and was killed.
        case timedOut
        /// It printed more than the limit and was killed.
        case outputTooLarge
        /// It took too long or printed too much, was asked to end, and has not: it was left to itself, under this
        /// number.
        case left(process: Int32)
    }

    /// The outcome of a run.
    package struct Outcome: Sendable {
        /// How it ended.
        package let ending: Ending
        /// The bytes that the program printed on standard output, at most the limit.
        package let output: [UInt8]
        /// The beginning of its output on standard error, at most the limit.
        package let errorOutput: [UInt8]
    }

    /// The program to start; its three streams are pipes, even if the launch names others.
    package var launch: SpawnConfiguration
    /// The most to take from standard output, in bytes; more ends the program. Of standard error the rest is
    /// thrown away.
    package var limit: Int
    /// The time it may take.
    package var seconds: Int
    /// How long a program that was asked to end (SIGTERM) may take until SIGKILL, or until it is left, in
    /// milliseconds.
    private let grace: Int64
    /// Whether SIGKILL ends it after that time; else it is left.
    private let isKilled: Bool

    /// Describes a run.
    package init(
        _ launch: SpawnConfiguration, limit: Int = 1 << 20, seconds: Int, grace: Int64 = 1_000,
        isKilled: Bool = true
    ) {
        self.launch = launch
        self.limit = limit
        self.seconds = seconds
        self.grace = grace
        self.isKilled = isKilled
    }

    /// Runs the program. SIGPIPE must be ignored (``ProcessHardening/harden()``).
    ///
    /// It is over when the program itself has ended, even if a child of it still holds the pipes; such children
    /// end, too, if the launch requires it (``SpawnConfiguration/endsItsGroup``).
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    package func run(input: [UInt8] = []) throws(CredentialError) -> Outcome {
        var launch = launch
        launch.standardInput = .pipe
        launch.standardOutput = .pipe
        launch.standardError = .pipe
        let loan = ForegroundProcessGroup(if: launch.endsItsGroup)
        defer { loan.end() }
        launch.terminal = loan.descriptor
        var session = RunningChild(try launch.start(), input: input, limit: limit)
        let allowed = Int64(clamping: max(0, seconds))
        return session.run(
            milliseconds: allowed > .max / 1000 ? .max : allowed * 1000, grace: grace, kills: isKilled)
    }
}

/// The state of one run.
private struct RunningChild: ~Copyable {
    private var program: RunningProgram
    private let end: FileDescriptor?
    private let input: [UInt8]
    private var fed = 0
    private var output: OutputCollector
    private var errors: OutputCollector

    init(_ program: consuming RunningProgram, input: [UInt8], limit: Int) {
        let number = linux_pidfd_open(program.process)
        end = number < 0 ? nil : FileDescriptor(owning: number)
        self.input = input
        output = OutputCollector(program.output.take(), limit: limit)
        errors = OutputCollector(program.errors.take(), limit: limit)
        let feeding = FileDescriptor.number(of: program.input)
        _ = fcntl(feeding, F_SETFL, fcntl(feeding, F_GETFL) | O_NONBLOCK)
        self.program = program
    }

    mutating func run(milliseconds: Int64, grace: Int64, kills: Bool) -> ChildProgram.Outcome {
        let watch = Stopwatch()
        var deadline = milliseconds
        var failure: ChildProgram.Ending?
        var isKilled = false
        while true {
            turn(waiting: max(0, deadline - watch.elapsed))
            if let ending = program.endingNow() {
                output.drain()
                errors.drain()
                if failure == nil, output.isOverfull { failure = .outputTooLarge }
                return outcome(failure ?? .ended(ending))
            }
            if failure == nil, output.isOverfull || watch.elapsed >= deadline {
                failure = output.isOverfull ? .outputTooLarge : .timedOut
                program.send(signal: SIGTERM)
                deadline = watch.elapsed + grace
            } else if failure != nil, !kills, watch.elapsed >= deadline {
                let process = program.process
                RunningProgram.waitAside(for: process)
                return outcome(.left(process: process))
            } else if failure != nil, !isKilled, watch.elapsed >= deadline {
                program.send(signal: SIGKILL)
                isKilled = true
                deadline = .max
            }
        }
    }

    private func outcome(_ ending: ChildProgram.Ending) -> ChildProgram.Outcome {
        ChildProgram.Outcome(ending: ending, output: output.bytes, errorOutput: errors.bytes)
    }

    /// Waits for something to do, and does it.
    private mutating func turn(waiting milliseconds: Int64) {
        if fed == input.count { program.input = nil }
        let ending = FileDescriptor.number(of: end)
        var polled = [
            pollfd(fd: FileDescriptor.number(of: program.input), events: Int16(POLLOUT), revents: 0),
            pollfd(fd: output.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: ending, events: Int16(POLLIN), revents: 0),
        ]
        // Without a descriptor for its end (an old container runtime) its end is looked for now and then.
        let longest: Int64 = ending < 0 ? 20 : Int64(Int32.max)
        guard unsafe poll(&polled, nfds_t(polled.count), Int32(min(milliseconds, longest))) > 0 else { return }
        if polled[0].revents != 0 { feed() }
        if polled[1].revents != 0 { _ = output.take() }
        if polled[2].revents != 0 { _ = errors.take() }
    }

    private mutating func feed() {
        let number = FileDescriptor.number(of: program.input)
        let fed = fed
        let written = unsafe input.withUnsafeBytes { buffer in
            unsafe write(number, buffer.baseAddress.map { unsafe $0 + fed }, input.count - fed)
        }
        // A program that does not want its input may still have something to say.
        if written > 0 { self.fed += written } else if errno != EAGAIN && errno != EINTR { self.fed = input.count }
    }
}

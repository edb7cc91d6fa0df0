import CLinux
package import CredentialCore
import Glibc

/// Runs programs in the sandbox of `credmgr __confine`, the supervisor (`Sources/Confine`): each process that the
/// program started ends when it ends, when its time is over, and when this process ends.
package struct SandboxedProgram: Sendable {
    /// The first message of the supervisor; another version has another text.
    private static let greeting = "confine 2"
    private static let command = "__confine"
    /// How many seconds later than this process the supervisor ends the program by itself: only when this process
    /// is stopped, or its machine was.
    private static let supervisorPatience = 5

    /// The path of a `credmgr`, whose `__confine` is the supervisor.
    private let supervisor: String
    private let refused: Set<ContainmentWay>
    private let patience: Int64

    /// Names the supervisor.
    ///
    /// - Parameters:
    ///   - supervisor: the path of a `credmgr`.
    ///   - refused: the features to do without, as on a machine that does not have them.
    ///   - patience: how long to wait for the supervisor after it was asked to end the program, in milliseconds.
    package init(supervisor: String, without refused: Set<ContainmentWay> = [], patience: Int64 = 30_000) {
        self.supervisor = supervisor
        self.refused = refused
        self.patience = patience
    }

    /// The words of `credmgr __confine` for the means to do without.
    private var refusals: [String] {
        ContainmentWay.allCases.filter(refused.contains).flatMap { ["--without", $0.rawValue] }
    }

    /// Runs a program to its end, as ``ChildProgram`` does.
    ///
    /// - Parameters:
    ///   - launch: the program; it starts in `/`, in a session of its own.
    ///   - limit: the most to take from standard output, in bytes.
    ///   - seconds: the time it may take.
    /// - Returns: its outcome; ``ChildProgram/Ending/left(process:)`` when the supervisor, which that names, is
    ///   still ending it after ``patience``.
    /// - Throws: ``ErrorCode/inputOutput`` when it, or the supervisor, cannot be started;
    ///   ``ErrorCode/configuration`` when the confinement names a directory that must be kept out, with the path
    ///   alone as its detail.
    package func run(
        _ launch: SpawnConfiguration, in confinement: SandboxProfile, input: [UInt8], limit: Int, seconds: Int
    ) throws(CredentialError) -> ChildProgram.Outcome {
        var ends: (Int32, Int32) = (-1, -1)
        let result = unsafe withUnsafeMutableBytes(of: &ends) {
            unsafe linux_pipe($0.assumingMemoryBound(to: Int32.self).baseAddress)
        }
        if result != 0 { throw launch.failure(errno) }
        let reading = FileDescriptor(owning: ends.0)
        let writing = FileDescriptor(owning: ends.1)
        var supervised = launch
        supervised.program = supervisor
        supervised.arguments =
            [Self.command, "--caller", String(getpid()), "--seconds", String(seconds + Self.supervisorPatience)]
            + refusals + confinement.options + ["--", launch.program] + launch.arguments
        supervised.directory = "/"
        supervised.startsSession = true
        supervised.inherited = [writing.number]
        // SIGTERM has the supervisor end everything, which takes as long as the machine needs. SIGKILL is never
        // sent: without a PID namespace, it would leave the processes that the program started.
        let program = ChildProgram(supervised, limit: limit, seconds: seconds, grace: patience, isKilled: false)
        let outcome = try program.run(input: input)
        var report = OutputCollector(reading, limit: 4096)
        _ = report.take()
        try check(report.bytes, launch)
        return outcome
    }

    /// The walls that this machine does not have.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when the supervisor cannot be asked.
    package func lacking() throws(CredentialError) -> [SandboxFeature] {
        let launch = SpawnConfiguration(supervisor, [Self.command, "--lacks"] + refusals, environment: [:])
        let outcome = try ChildProgram(launch, limit: 4096, seconds: 10).run()
        let lines = Self.lines(outcome.output)
        guard outcome.ending == .ended(.exited(0)), lines.first == Self.greeting else { throw stranger() }
        return lines.dropFirst().compactMap(SandboxFeature.init(rawValue:))
    }

    /// Reads the supervisor's report of the start.
    private func check(_ report: [UInt8], _ launch: SpawnConfiguration) throws(CredentialError) {
        var lines = Self.lines(report)
        guard !lines.isEmpty, lines.removeFirst() == Self.greeting else { throw stranger() }
        guard let line = lines.first else { return }
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let value = words.count > 1 ? words[1] : ""
        switch words.first {
        case "start": throw launch.failure(Int32(value) ?? 0)
        case "kept-out":
            throw CredentialError(
                .configuration,
                "\(UntrustedText.shown(launch.program)) must not have \(UntrustedText.shown(value)): "
                    + "credmgr keeps its own files there", details: [value])
        default:
            throw CredentialError(
                .inputOutput, "cannot confine \(launch.program): no \(value)", hint: "credmgr doctor")
        }
    }

    private func stranger() -> CredentialError {
        CredentialError(
            .inputOutput, "\(supervisor) is not a credmgr that can sandbox plugins for this program",
            hint: "install the credmgr of the same version")
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }
}

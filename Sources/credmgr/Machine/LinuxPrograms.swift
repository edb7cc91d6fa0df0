import CredentialCore
import CredmgrCommands
import Glibc
import LinuxPlatform
import SecretServiceStore

/// Other programs, started by this process.
struct LinuxPrograms: Programs {
    /// The environment of this process.
    let environment: [String: String]

    func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProgramResult {
        let outcome = try ChildProgram(try launch(words), seconds: seconds).run()
        guard case .ended(let ending) = outcome.ending else {
            throw CredentialError(.inputOutput, "the command \(words.first ?? "") did not end within \(seconds) s")
        }
        return ProgramResult(output: outcome.output, exitStatus: ending.exitStatus)
    }

    func launch(_ words: [String]) throws(CredentialError) {
        var launch: ProgramLaunch = try self.launch(words)
        launch.startsSession = true
        _ = try launch.start()
    }

    func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int
    ) throws(CredentialError) -> [UInt8] {
        var environment = environment
        // The bus that this process uses: the worker then has no reason to set the variable, which libraries that are
        // opened on another thread read.
        if let bus = SessionBus.address(environment: environment) { environment["DBUS_SESSION_BUS_ADDRESS"] = bus }
        let launch = ProgramLaunch(ExecutablePath.itself, [RefreshWorker.command], environment: environment)
        return try DetachedWorker(launch).run(input, holding: lock, seconds: seconds)
    }

    func createFile(_ path: String) throws(CredentialError) -> any OutputFile { try UserFile(path) }

    func pause(seconds: Int) {
        var wanted = timespec(tv_sec: seconds, tv_nsec: 0)
        var left = timespec()
        while unsafe nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
    }

    private func launch(_ words: [String]) throws(CredentialError) -> ProgramLaunch {
        guard let word = words.first, let path = ExecutablePath.find(word, environment: environment) else {
            throw CredentialError(.inputOutput, "no program '\(ForeignText.shown(words.first ?? ""))' in PATH")
        }
        return ProgramLaunch(path, Array(words.dropFirst()), environment: cleaned)
    }

    /// The environment without what only this program needs: the passphrase is nobody else's business.
    private var cleaned: [String: String] { environment.filter { !$0.key.hasPrefix("CREDMGR_PASSPHRASE") } }
}

extension UserFile: OutputFile {}

package import CredentialCore
import Glibc
package import Platform
package import Relay
import SecretServiceStore

/// Other programs, started by this process.
package struct LinuxPrograms: ProcessRunner, BrowserLauncher {
    /// The environment of this process.
    package let environment: [String: String]
    /// The settings that this process changed for itself and that the user's programs get back.
    let caller: InheritedSettings?
    /// The directory for private files that belong in memory, if the machine has no place for such files.
    let runtimeFallback: String
    /// The `credmgr` that refreshes in a process of its own.
    let worker: String

    package func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult {
        var launch: SpawnConfiguration = try launch(words)
        launch.endsItsGroup = true
        let outcome = try ChildProgram(launch, seconds: seconds).run()
        if outcome.ending == .ended(.killed(signal: SIGINT)) { throw CredentialError(.interrupted, "interrupted") }
        guard case .ended(let ending) = outcome.ending else {
            throw CredentialError(.inputOutput, "the command \(words.first ?? "") did not end within \(seconds) s")
        }
        return ProcessResult(output: outcome.output, exitStatus: ending.exitStatus)
    }

    package func launch(_ words: [String]) throws(CredentialError) {
        var launch: SpawnConfiguration = try self.launch(words)
        launch.startsSession = true
        launch.callerSettings = caller
        // If a program is not waited for, the kernel keeps an entry as long as this process lives. In a host of the
        // library that is long, and a caller that waits for any child finds it.
        try launch.start().waitAside()
    }

    package func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
    ) throws(CredentialError) -> [UInt8] {
        var environment = environment
        // The bus that this process uses: the worker then has no reason to set the variable, which libraries that
        // are opened on another thread read.
        if let bus = SessionBus.address(environment: environment) { environment["DBUS_SESSION_BUS_ADDRESS"] = bus }
        let launch = SpawnConfiguration(worker, [RefreshWorkerProtocol.command], environment: environment)
        return try DetachedWorker(launch).run(
            input, holding: lock, seconds: seconds, outlivesCaller: !PIDNamespace.endsWithThisProcess,
            whenLate: whenLate)
    }

    /// Whether this program's own file cannot be read: then no other process looks into it as it starts.
    package var isUnreadable: Bool { unsafe access(ExecutablePath.itself, R_OK) != 0 }

    /// Whether `word` is a program that can be run.
    package func isProgram(_ word: String) -> Bool { ExecutablePath.find(word, environment: environment) != nil }

    /// Runs a program in the place of this process, with our streams, the whole environment and `variables`.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    package func accompany(
        _ words: [String], variables: [String: String], meanwhile: @escaping @Sendable () -> Void,
        unattended: (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus {
        var launch: SpawnConfiguration = try launch(words)
        // It is the user's own command: it gets all that the user's shell would give it.
        launch.environment = environment.merging(variables) { $1 }
        launch.callerSettings = caller
        return try ForegroundChild(starting: launch).end(meanwhile: meanwhile, unattended: unattended)
    }

    package func relay(
        _ arguments: RelayArguments, warn: @escaping (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus {
        try Relay(arguments, environment: environment, warn: warn).run(caller: caller)
    }

    package var endsWithThisProcess: Bool { PIDNamespace.endsWithThisProcess }

    package func isChild(_ process: Int32) -> Bool { ForegroundChild.isChild(process) }

    package func accompany(
        _ process: Int32, meanwhile: @escaping @Sendable () -> Void, unattended: (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus {
        ForegroundChild(of: process).end(meanwhile: meanwhile, unattended: unattended)
    }

    /// Ends this process as a program that it ran has ended.
    package func end(like ending: TerminationStatus) -> Never { ending.endThisProcess() }

    package func runtimeFile(_ prefix: String, suffix: String) throws(CredentialError) -> any PrivateFile {
        try RuntimeFile(
            prefix: prefix, suffix: suffix, runtime: environment["XDG_RUNTIME_DIR"], otherwise: runtimeFallback)
    }

    package func execTokenFile() throws(CredentialError) -> (any PrivateFile)? {
        try ExecTokenFile(runtime: environment["XDG_RUNTIME_DIR"])
    }

    package func execTokenFile(
        takenOver directory: String, lock: Int32
    ) throws(CredentialError) -> any PrivateFile {
        try ExecTokenFile(takenOver: directory, lock: lock, runtime: environment["XDG_RUNTIME_DIR"])
    }

    package func pause(seconds: Int) { SystemTime.pause(milliseconds: Int64(seconds) * 1_000) }

    private func launch(_ words: [String]) throws(CredentialError) -> SpawnConfiguration {
        guard let word = words.first, let path = ExecutablePath.find(word, environment: environment) else {
            throw CredentialError(.inputOutput, "no program '\(UntrustedText.shown(words.first ?? ""))' in PATH")
        }
        return SpawnConfiguration(path, Array(words.dropFirst()), environment: cleaned)
    }

    /// The environment without the variables that only this program needs: no other program may see the passphrase.
    private var cleaned: [String: String] { environment.filter { !$0.key.hasPrefix("CREDMGR_PASSPHRASE") } }
}

extension RuntimeFile: PrivateFile {}
extension ExecTokenFile: PrivateFile {}

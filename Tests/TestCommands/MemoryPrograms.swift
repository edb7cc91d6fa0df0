import Commands
import CredentialCore
import Platform
package import Relay
import Synchronization
import TestPorts

/// Programs and the user's files in memory. A program that a test has not installed is not there; the test defines
/// its behaviour, or it is unexpected.
package final class MemoryPrograms: ProcessPort {
    /// The behaviour of a program with its words and, if it is run in our place, with the variables that it is
    /// given.
    package typealias Behaviour = @Sendable (_ words: [String], _ variables: [String: String]) -> ProcessResult

    private struct State {
        var installed: [String: Behaviour] = [:]
        var refused: [String: CredentialError] = [:]
        var started: [[String]] = []
        var links: [String: String] = [:]
        var made = 0
        var removed: [String] = []
        var ending: TerminationStatus?
        var isWithoutMemory = false
        var whenPaused: @Sendable (Int) -> Void = { _ in }
    }

    private let state = Mutex(State())
    private let machine: MemoryMachine
    private let worker: MemoryWorker

    /// Makes them on a machine.
    package init(_ machine: MemoryMachine, _ worker: MemoryWorker) {
        self.machine = machine
        self.worker = worker
    }

    // MARK: What a test says and asks

    /// Installs a program.
    package func install(_ word: String, _ behaviour: @escaping Behaviour) {
        state.withLock { $0.installed[word] = behaviour }
    }

    /// Lets a program not start.
    package func refuse(_ word: String, with error: CredentialError) { state.withLock { $0.refused[word] = error } }

    /// The action at a pause, in addition to the clock's advance.
    package func whenPaused(_ action: @escaping @Sendable (_ seconds: Int) -> Void) {
        state.withLock { $0.whenPaused = action }
    }

    /// Has no directory in memory from now on.
    package func loseMemory() { state.withLock { $0.isWithoutMemory = true } }

    /// The words of each program that was started.
    package var started: [[String]] { state.withLock(\.started) }

    /// Like which program this process has ended.
    package var ending: TerminationStatus? { state.withLock(\.ending) }

    /// The private files that were removed.
    package var removed: [String] { state.withLock(\.removed) }

    // MARK: Programs

    private func start(_ words: [String], _ variables: [String: String]) throws(CredentialError) -> ProcessResult {
        if let error = words.first.flatMap({ word in state.withLock { $0.refused[word] } }) { throw error }
        let behaviour = state.withLock { state in
            state.started.append(words)
            return words.first.flatMap { state.installed[$0] }
        }
        guard let behaviour else { throw unexpected("the program \(words)") }
        return behaviour(words, variables)
    }

    package func relay(
        _ arguments: RelayArguments, warn: @escaping (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus {
        .exited(try start(arguments.command, ["CREDMGR_SOCK": arguments.socket ?? ""]).exitStatus)
    }

    package func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult {
        try start(words, [:])
    }

    package func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
    ) throws(CredentialError) -> [UInt8] {
        try worker.refreshWorker(input, holding: lock, seconds: seconds, whenLate: whenLate)
    }

    package func launch(_ words: [String]) throws(CredentialError) { _ = try start(words, [:]) }

    package let isUnreadable = true

    package func isProgram(_ word: String) -> Bool { state.withLock { $0.installed[word] != nil } }

    package func accompany(
        _ words: [String], variables: [String: String], meanwhile: @escaping @Sendable () -> Void,
        unattended: (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus {
        .exited(try start(words, variables).exitStatus)
    }

    package let endsWithThisProcess = false

    package func isChild(_ process: Int32) -> Bool { false }

    package func accompany(
        _ process: Int32, meanwhile: @escaping @Sendable () -> Void, unattended: (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus {
        throw unexpected("the process \(process)")
    }

    package func execTokenFile() throws(CredentialError) -> (any PrivateFile)? {
        guard !state.withLock(\.isWithoutMemory) else { return nil }
        return try runtimeFile("credmgr-exec.", suffix: "/token")
    }

    package func execTokenFile(
        takenOver directory: String, lock: Int32
    ) throws(CredentialError) -> any PrivateFile {
        throw unexpected("the directory \(directory)")
    }

    package func end(like ending: TerminationStatus) throws(CredentialError) -> Never {
        state.withLock { $0.ending = ending }
        throw CredentialError(.interrupted, "this process has ended")
    }

    package func otherProgram(_ word: String) -> String? { isProgram(word) ? word : nil }

    package let ownPath = "/memory/bin/credmgr"

    package func pause(seconds: Int) {
        machine.clock.pass(Int64(seconds))
        state.withLock(\.whenPaused)(seconds)
    }

    // MARK: Files

    private var files: any DefinitionStore { machine.process().typeFiles }

    package func isThere(_ path: String) -> Bool {
        path == ownPath || linkTarget(path) != nil || machine.file(path) != nil
    }

    package func linkTarget(_ path: String) -> String? { state.withLock { $0.links[path] } }

    package func link(_ path: String, to target: String) throws(CredentialError) {
        guard machine.file(path) == nil else {
            throw CredentialError(.inputOutput, "\(path) is there and is no link")
        }
        state.withLock { $0.links[path] = target }
    }

    package func readFile(_ path: String) throws(CredentialError) -> [UInt8]? { try files.read(path)?.bytes }

    package func replaceFile(
        _ path: String, _ bytes: [UInt8], isProgram: Bool, isSecret: Bool
    ) throws(CredentialError) {
        try files.write(bytes, to: path)
    }

    package func removeFile(_ path: String) throws(CredentialError) {
        state.withLock { $0.links[path] = nil }
        try files.remove(path)
    }

    package func withdrawFile(_ path: String) throws(CredentialError) { try removeFile(path) }

    package func removeFolder(_ path: String) {}

    package func createFile(_ path: String) throws(CredentialError) -> any OutputFile {
        try files.write([], to: path)
        return Output(path: path, files: files)
    }

    package func runtimeFile(_ prefix: String, suffix: String) throws(CredentialError) -> any PrivateFile {
        let number = state.withLock { state in
            state.made += 1
            return state.made
        }
        return Private(path: "/memory/run/\(prefix)\(number)\(suffix)", programs: self)
    }

    private struct Private: PrivateFile {
        let path: String
        let programs: MemoryPrograms

        func write(_ bytes: [UInt8]) throws(CredentialError) { try programs.files.write(bytes, to: path) }

        func remove() throws(CredentialError) {
            programs.state.withLock { $0.removed.append(path) }
            try programs.files.remove(path)
        }
    }

    private struct Output: OutputFile {
        let path: String
        let files: any DefinitionStore

        func write(_ bytes: [UInt8]) throws(CredentialError) {
            try files.write((try files.read(path)?.bytes ?? []) + bytes, to: path)
        }

        func close() throws(CredentialError) {}
    }
}

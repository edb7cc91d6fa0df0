import CredentialCore
import Synchronization

/// The installed `credmgr`, which refreshes in a process of its own; asked for its version once.
final class WorkerExecutable: Sendable {
    private let path: String?
    private let programs: any ProcessRunner
    private let warn: @Sendable (LocalizedMessage) -> Void
    private let known = Mutex<Bool?>(nil)

    /// How long it may take to say its version, in seconds.
    private static let patience = 5

    init(_ path: String?, programs: any ProcessRunner, warn: @escaping @Sendable (LocalizedMessage) -> Void) {
        self.path = path
        self.programs = programs
        self.warn = warn
    }

    /// Whether there is a worker of this library's version; if there is not, it is reported once.
    func isThere() -> Bool {
        known.withLock { known in
            if let known { return known }
            let reason = reason()
            if let reason {
                warn(
                    "credmgr refreshes tokens in this process, because \(reason): if the process is killed during "
                        + "a refresh, a grant may be lost")
            }
            known = reason == nil
            return reason == nil
        }
    }

    /// Why it cannot be used.
    private func reason() -> String? {
        guard let path else { return "no credmgr is installed" }
        do throws(CredentialError) {
            let result = try programs.run([path, "--version"], seconds: Self.patience)
            let told = String(decoding: result.output, as: UTF8.self)
            if result.exitStatus == 0, told == "credmgr \(ProductVersion.current)\n" { return nil }
            return "\(path) is not credmgr \(ProductVersion.current)"
        } catch {
            return "\(path) does not start (\(error))"
        }
    }
}

import Commands
import CredentialCore
import Synchronization
import TestPorts

/// Listens in memory: the browser that comes is the test's.
package final class MemoryRedirects: RedirectReceivers {
    private struct State {
        var visit: (@Sendable () -> String)?
        var shown: [String] = []
        var isOpen = false
    }

    private let state = Mutex(State())

    /// Makes listeners that no browser connects to.
    package init() {}

    /// Gives the address that the browser brings.
    package func visit(_ address: @escaping @Sendable () -> String) { state.withLock { $0.visit = address } }

    /// The outcomes that the browser was shown.
    package var shown: [String] { state.withLock(\.shown) }
    /// Whether anybody still listens.
    package var isOpen: Bool { state.withLock(\.isOpen) }

    package func listen(
        at redirectURI: URI, for peers: AllowedRedirectPeers, stranger: @escaping @Sendable (UInt32?) -> Void
    ) throws(CredentialError) -> any RedirectReceiver {
        state.withLock { $0.isOpen = true }
        return Receiver(receivers: self, redirectURI: redirectURI.origin + redirectURI.path)
    }

    private struct Receiver: RedirectReceiver {
        let receivers: MemoryRedirects
        let redirectURI: String

        func wait(
            seconds: Int, formOrigin: String?, isExpected: @escaping @Sendable (String) -> Bool
        ) throws(CredentialError) -> String {
            guard let visit = receivers.state.withLock(\.visit) else { throw unexpected("a wait for the browser") }
            let address = visit()
            guard isExpected(address) else {
                throw CredentialError(.temporary, "no redirect within \(seconds) s")
            }
            return address
        }

        func show(title: LocalizedMessage, text: LocalizedMessage) {
            receivers.state.withLock { $0.shown.append(title.description) }
        }

        func stop() { receivers.state.withLock { $0.isOpen = false } }
    }
}

/// The data folder, with the faults that a test gives it.
package final class MemoryDataFolder: DataDirectoryInspector {
    private let found: Mutex<[FolderProblem]>

    /// Makes a folder.
    package init(_ faults: [FolderProblem] = []) { found = Mutex(faults) }

    package func faults() throws(CredentialError) -> [FolderProblem] { found.withLock { $0 } }

    package func repair(_ fault: FolderProblem) throws(CredentialError) {
        let isRepaired = found.withLock { faults in
            guard let place = faults.firstIndex(of: fault) else { return false }
            faults.remove(at: place)
            return true
        }
        guard isRepaired else { throw unexpected("the repair of \(fault.path)") }
    }
}

/// A symbol of one dark module for every text.
package struct MemoryQRCodes: QRCodes {
    /// Makes it.
    package init() {}

    package func modules(of text: String) throws(CredentialError) -> [[Bool]] { [[true]] }
}

/// Settings of iOS apps that no test may import.
package struct UnexpectedSettings: SettingsImporter {
    /// Makes it.
    package init() {}

    package func importSettings(
        _ bytes: [UInt8], name: String?, fix: Bool, exact: Bool, place: String
    ) throws(CredentialError) -> Outcome {
        throw unexpected("the settings in \(place)")
    }
}

/// A demonstration that no test may run.
package struct UnexpectedDemonstration: DemoRunner {
    /// Makes it.
    package init() {}

    package func run(_ session: CommandSession, _ form: DemoMode) throws(CredentialError) {
        throw unexpected("the demonstration")
    }
}

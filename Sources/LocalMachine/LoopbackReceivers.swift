import CredentialCore
import LoopbackHTTP
import Synchronization

/// Listeners for redirects on this machine's loopback.
struct LoopbackReceivers: RedirectReceivers {
    let random: any RandomSource
    /// The language of the pages.
    let translations: any Translations
    /// The program that answers when the listener has gone, and its environment; `nil` if no program shall.
    var aftermath: (program: String, environment: [String: String])?

    func listen(
        at redirectURI: URI, for peers: AllowedRedirectPeers, stranger: @escaping @Sendable (UInt32?) -> Void
    ) throws(CredentialError) -> any RedirectReceiver {
        guard let host = RedirectListener.Host(redirectURI.host) else {
            throw CredentialError(
                .configuration, "cannot listen at \(redirectURI.origin)",
                hint: "use localhost, 127.0.0.1 or [::1] as the host of redirect_uri")
        }
        let listener = try RedirectListener(
            path: redirectURI.path.isEmpty ? "/" : redirectURI.path, ports: [redirectURI.port ?? 0],
            host: host, peers: peers, random: random,
            translations: translations, stranger: stranger)
        // The next sign-in needs a port that the type names: no program answers there afterwards.
        return Receiver(
            listener: listener, hasPath: !redirectURI.path.isEmpty,
            aftermath: redirectURI.port == nil
                ? aftermath.map { Aftermath($0, at: listener.redirectURI, for: peers) } : nil)
    }

    /// Starts the process that answers after the sign-in, at the first wait: a listener that only finds a free port
    /// does not start a process.
    private final class Aftermath: Sendable {
        private let start: @Sendable () -> LateRedirectResponder?
        private let process = Mutex<LateRedirectResponder?>(nil)

        init(
            _ call: (program: String, environment: [String: String]), at redirectURI: String,
            for peers: AllowedRedirectPeers
        ) {
            // Without the process a browser shows an error of its own, and no data is lost.
            start = {
                URI(redirectURI).flatMap { address in
                    try? LateRedirectResponder(
                        at: address, for: peers, program: call.program, environment: call.environment)
                }
            }
        }

        func waits() {
            process.withLock { process in
                if let process { process.forget() } else { process = start() }
            }
        }

        func note(title: LocalizedMessage, text: LocalizedMessage) {
            process.withLock { $0?.note(title: title, text: text) }
        }

        func begin() { process.withLock { $0?.begin() } }
    }

    private struct Receiver: RedirectReceiver {
        let listener: RedirectListener
        let hasPath: Bool
        let aftermath: Aftermath?

        /// Providers compare paths: `http://localhost` is registered without the slash that a request has.
        var redirectURI: String { hasPath ? listener.redirectURI : String(listener.redirectURI.dropLast()) }

        func wait(
            seconds: Int, formOrigin: String?, isExpected: @escaping @Sendable (String) -> Bool
        ) throws(CredentialError) -> String {
            aftermath?.waits()
            return try listener.wait(
                seconds: seconds, formPostOrigins: formOrigin.map { [$0] } ?? [], accepts: isExpected)
        }

        func show(title: LocalizedMessage, text: LocalizedMessage) {
            aftermath?.note(title: title, text: text)
            listener.show(title: title, text: text)
        }

        func stop() {
            listener.stop()
            aftermath?.begin()
        }
    }
}

import CredentialCore
import LoopbackHTTP

/// Listeners for redirects on this machine's loopback.
struct LoopbackReceivers: RedirectReceivers {
    let random: any RandomSource
    /// The language of the pages.
    let translations: any Translations

    func listen(
        at redirectURI: WebAddress, for peers: RedirectPeers, stranger: @escaping @Sendable (UInt32?) -> Void
    ) throws(CredentialError) -> any RedirectReceiver {
        let isNamed = redirectURI.host == "localhost"
        guard isNamed || redirectURI.host == "127.0.0.1" else {
            throw CredentialError(
                .configuration, "cannot listen at \(redirectURI.origin)",
                hint: "a loopback redirect_uri has the host localhost or 127.0.0.1")
        }
        return Receiver(
            listener: try RedirectListener(
                path: redirectURI.path.isEmpty ? "/" : redirectURI.path, ports: [redirectURI.port ?? 0],
                host: isNamed ? .localhost : .ipv4, peers: peers, random: random,
                translations: translations, stranger: stranger),
            hasPath: !redirectURI.path.isEmpty)
    }

    private struct Receiver: RedirectReceiver {
        let listener: RedirectListener
        let hasPath: Bool

        /// Providers compare paths: `http://localhost` is registered without the slash that a request has.
        var redirectURI: String { hasPath ? listener.redirectURI : String(listener.redirectURI.dropLast()) }

        func wait(
            seconds: Int, formOrigin: String?, isExpected: @escaping @Sendable (String) -> Bool
        ) throws(CredentialError) -> String {
            try listener.wait(
                seconds: seconds, formPostOrigins: formOrigin.map { [$0] } ?? [], accepts: isExpected)
        }

        func show(title: Message, text: Message) { listener.show(title: title, text: text) }

        func stop() { listener.stop() }
    }
}

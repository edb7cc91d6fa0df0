import CredentialCore
import StrictJSON

@testable import PluginHost

extension FuzzTarget {
    /// `manifest.json` of a plugin.
    static let pluginManifest = FuzzTarget("plugin-manifest") { bytes in
        guard let manifest = try? PluginManifest(bytes, place: "manifest.json") else { return }
        require(Identifier.isValid(manifest.name) && Identifier.isValid(manifest.executable), "names are names")
        require(!manifest.flows.isEmpty && !manifest.protocolVersions.isEmpty, "an adapter has flows and versions")
        require(manifest.settings.allSatisfy { Identifier.isValid($0.name) }, "settings have names")
    }

    /// The output of a plugin, as an answer to each operation.
    static let pluginReply = FuzzTarget("plugin-reply") { bytes in
        let transcript = PluginTranscript(bytes, plugin: "p")
        let redactor = Redactor(transcript.texts)
        guard let reply = try? transcript.reply(version: 1, note: { _ = redactor.shown($0) }) else { return }
        let now = Timestamp(epochSeconds: 1_800_000_000)
        if let issued = try? IssuedTokensReader(reply, now: now) {
            require(issued.accessToken != nil || issued.idToken != nil, "an accepted reply has a token")
            for token in [issued.accessToken, issued.idToken, issued.refreshToken?.reveal()] {
                require(token?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ?? true, "tokens are printable")
            }
            let latest = now.adding(PluginProtocol.longestLifetime)
            require(issued.expiresAt > now && issued.expiresAt <= latest, "a lifetime has limits")
        }
        switch try? reply.interaction(of: "fuzz", now: now, mayOpen: { _ in true }).0 {
        case .openURL(let address, _)?: require(address.isWeb, "a browser gets addresses of the web only")
        case .showCode(_, let address, _, let interval, _)?:
            require(address.isWeb && interval > 0, "a person is sent to the web, and polls are apart")
        case .ask?, nil: break
        }
        if let description = try? PluginDescription(reply) { require(!description.name.isEmpty, "it has a name") }
        if let error = try? PluginError.error(reply, plugin: "p", redactor) {
            require(error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "errors show")
        }
    }
}

import CredentialCore
import OAuth
import StrictJSON

extension PluginReply {
    /// The interaction, and the input that the plugin wants back.
    ///
    /// - Parameters:
    ///   - plugin: the plugin's name, which a question of it begins with.
    ///   - mayOpen: whether a person may be sent to an address with https, or with http on this machine.
    /// - Throws: ``ErrorCode/malformedReply``; ``ErrorCode/validationFailed`` for an address to which a person may
    ///   not be sent.
    func interaction(
        of plugin: String, now: Timestamp, mayOpen: (URI) -> Bool
    ) throws(CredentialError) -> (Interaction, pending: JSONObject) {
        let (interaction, pending) = try interaction(of: plugin, now: now)
        let addresses: [URI] =
            switch interaction {
            case .openURL(let address, _): [address]
            case .showCode(_, let address, let complete, _, _): [address] + [complete].compactMap(\.self)
            case .ask: []
            }
        for address in addresses where !address.isSecure || !mayOpen(address) {
            throw AddressAuthor.refusal(
                "the plugin \(plugin) sends you to \(UntrustedText.shown(address.origin)), which neither its manifest "
                    + "nor the account type names",
                of: address.origin, by: LocalizedMessage(verbatim: "the plugin \(plugin)"), rule: .pages,
                hint: "if you trust the page, ask the plugin's author to add it to \"pages\" in the manifest")
        }
        return (interaction, pending)
    }

    private func interaction(
        of plugin: String, now: Timestamp
    ) throws(CredentialError) -> (Interaction, pending: JSONObject) {
        guard let body = try reader.reader("interaction") else { throw reader.fault("interaction", "is missing") }
        guard let pending = try reader.object("pending", limit: PluginProtocol.opaqueLimit) else {
            throw reader.fault("pending", "is missing")
        }
        let kind = try body.requiredText("kind", limit: 64)
        switch kind {
        case "open_url": return (try openURL(body), pending)
        case "show_code": return (try showCode(body, now: now), pending)
        case "ask":
            // Anybody can ask for the passphrase of credmgr.
            let prompt = UntrustedText.shown(try body.requiredText("prompt", limit: 200))
            return (
                .ask(
                    prompt: "The plugin \(plugin) asks: \(prompt)", isSecret: try body.flag("secret") ?? true),
                pending
            )
        default: throw body.fault("kind", "has the unknown value '\(UntrustedText.shown(kind, limit: 40))'")
        }
    }

    /// The redirect is found by `state`, so the URL must carry it.
    private func openURL(_ body: FieldReader) throws(CredentialError) -> Interaction {
        let state = try body.requiredText("state", limit: 256, .state)
        guard let address = URI(try body.requiredText("url", limit: 16_384, .webAddress)) else {
            throw body.fault("url", "is not an absolute URL")
        }
        let states = (FormURLEncoding.decode(address.query ?? "") ?? []).filter { $0.name == "state" }
        guard states.count == 1, ConstantTime.equal(states[0].value, state) else {
            throw body.fault("url", "does not have the 'state' of the request")
        }
        return .openURL(address, state: state)
    }

    /// RFC 8628 §3.2.
    private func showCode(_ body: FieldReader, now: Timestamp) throws(CredentialError) -> Interaction {
        guard
            let address = URI(try body.requiredText("verification_uri", limit: 2_048, .webAddress)),
            let lifetime = try body.integer("expires_in", in: 1...86_400)
        else { throw body.fault("expires_in", "is missing") }
        return .showCode(
            userCode: try body.requiredText("user_code", limit: 64), verificationURI: address,
            complete: try body.text("verification_uri_complete", limit: 2_048, .webAddress).flatMap(
                URI.init),
            interval: Int(try body.integer("interval", in: 1...300) ?? 5), expires: now.adding(lifetime))
    }
}

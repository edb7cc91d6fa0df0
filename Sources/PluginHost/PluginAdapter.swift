package import CredentialCore
import OAuth
package import StrictJSON

/// An adapter in a program of its own: each operation is one run of it (`docs/reference/plugin-protocol.md`).
///
/// The plugin gets the material of one account and gives new material back. HTTP is its own business; everything it
/// answers is checked, and an id token is validated here before it is kept.
package struct PluginAdapter: CredentialAdapter {
    /// The plugin.
    package let provider: InstalledPlugin
    private let launcher: PluginLauncher
    private let idTokens = IDTokenCheck()

    /// Makes the adapter of a plugin.
    package init(_ provider: InstalledPlugin, launcher: PluginLauncher) {
        self.provider = provider
        self.launcher = launcher
    }

    package var name: String { provider.manifest.name }
    package var summary: String { UntrustedText.shown(provider.manifest.summary) }
    package var defaultRedirectURI: String { provider.manifest.defaultRedirectURI }

    // MARK: Without the plugin

    package func check(_ type: AccountType) throws(CredentialError) {
        let settings = provider.manifest.settings
        for key in type.adapterSettings.keys.sorted() where !settings.contains(where: { $0.name == key }) {
            throw CredentialError(
                .configuration, "account type '\(type.name)': the adapter \(name) has no setting '\(key)'",
                hint: SpellingSuggestion.to(key, among: settings.map(\.name)).map { "did you mean '\($0)'?" })
        }
        for setting in settings where setting.isRequired && type.adapterSettings[setting.name] == nil {
            throw CredentialError(
                .configuration,
                "account type '\(type.name)': the adapter \(name) needs the setting '\(setting.name)'",
                hint: setting.summary.map { "add --set \(setting.name)= (\(UntrustedText.shown($0)))" }
                    ?? "add --set \(setting.name)=")
        }
        if let flow = type.flow, !provider.manifest.flows.contains(flow) {
            throw CredentialError(
                .configuration, "account type '\(type.name)': \(lacksFlow(flow))", hint: "set flow to \(flowNames)")
        }
    }

    /// The plugin's name is part of it: accounts of one plugin are never handed to another.
    package func provider(of type: AccountType) throws(CredentialError) -> String {
        var text = RegistrationText("plugin", name)
        text.add(issuer: type.issuer, tokenEndpoint: type.endpoints[.token].flatMap(URI.init))
        for setting in provider.manifest.settings where setting.identifiesProvider {
            if let value = type.adapterSettings[setting.name] { text.add(setting: setting.name, value) }
        }
        return text.text
    }

    package func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String {
        guard let wanted = name ?? type.defaultPolicy, !wanted.isEmpty else { return "" }
        if let policy = type.policies[wanted] { return policy }
        if type.policies.values.contains(wanted) { return wanted }
        throw CredentialError(
            .usage, "account type '\(type.name)' has no policy '\(UntrustedText.shown(wanted, limit: 60))'",
            hint: SpellingSuggestion.to(wanted, among: Array(type.policies.keys)).map { "did you mean '\($0)'?" })
    }

    package func effectiveScope(_ scope: [String], of type: AccountType) -> [String] { Scope.distinct(scope) }

    package func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI? { type.endpoints[.endSession].flatMap(URI.init) }

    // MARK: With the plugin

    package func begin(
        _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        guard provider.manifest.flows.contains(request.flow) else {
            throw CredentialError(.unsupported, lacksFlow(request.flow), hint: "--flow \(flowNames)")
        }
        try greet(in: context)
        var message = self.request(.begin, in: context)
        try message.add(request.type, secrets: context.clientSecrets)
        message.add(request, scope: effectiveScope(request.scope, of: request.type))
        return try step(ask(message, in: context), request, in: context)
    }

    package func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        var message = self.request(.continue, in: context)
        try message.add(request.type, secrets: context.clientSecrets)
        message.add(request, scope: effectiveScope(request.scope, of: request.type))
        message.add(pending: pending, reply: reply)
        return try step(ask(message, in: context), request, in: context)
    }

    package func refresh(
        _ request: RefreshRequest, in context: AdapterContext
    ) throws(CredentialError) -> IssuedTokens {
        let scope = effectiveScope(request.scope, of: request.type)
        var message = self.request(.refresh, in: context)
        try message.add(request.type, secrets: context.clientSecrets)
        message.add(request, scope: scope)
        let reply = try ask(message, in: context)
        try expect(.done, reply)
        let issued = try IssuedTokensReader(reply, now: context.clock.now)
        let isForeign = issued.identity.map { !ConstantTime.equal($0.subject, request.subject) } ?? false
        let token = issued.refreshToken == request.grant.refreshToken ? nil : issued.refreshToken
        do throws(CredentialError) {
            if isForeign {
                throw CredentialError(
                    .validationFailed, "the plugin \(name) refreshed the tokens of a different user"
                )
            }
            // The keys may have to be fetched while the new refresh token is here alone.
            let judging = context.before { () throws(CredentialError) in
                guard let token else { return }
                try context.saveFirst(RefreshFinding(refreshToken: token))
            }
            let claims = try idTokens.validatedForRefresh(issued, request, in: judging)
            if request.needsIDToken, claims == nil {
                throw CredentialError(
                    .validationFailed,
                    "an earlier ID token was rejected, and this response has no valid ID token")
            }
            return try issued.refreshing(request, scope: scope, idToken: claims, now: context.clock.now)
        } catch {
            let refusesIDToken = !isForeign && issued.idToken != nil && error.code == .validationFailed
            if token != nil || isForeign || refusesIDToken {
                try context.saveFirst(
                    RefreshFinding(refreshToken: token, isForeign: isForeign, refusesIDToken: refusesIDToken))
            }
            throw error
        }
    }

    package func revoke(
        _ grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) {
        var message = request(.revoke, in: context)
        try message.add(type, secrets: context.clientSecrets)
        message.add(grant)
        try expect(.done, try ask(message, in: context))
    }

    // MARK: Exchange

    /// Makes sure, before a person is asked for anything, that the program is the one of the manifest.
    private func greet(in context: AdapterContext) throws(CredentialError) {
        let reply = try ask(request(.describe, in: context), in: context)
        try expect(.description, reply)
        try PluginDescription(reply).check(against: provider)
    }

    private func request(_ operation: ProviderOperation, in context: AdapterContext) -> PluginRequest {
        var request = PluginRequest(operation, version: provider.protocolVersion)
        // A member that no version has, so that no plugin comes to depend on its absence.
        request["x_" + context.random.accountID()] = "ignore me"
        return request
    }

    private func ask(_ request: PluginRequest, in context: AdapterContext) throws(CredentialError) -> PluginReply {
        try launcher.ask(provider, request, within: context.timeout, note: context.note)
    }

    private func step(
        _ reply: PluginReply, _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        if reply.kind == .interaction {
            let (interaction, pending) = try reply.interaction(of: name, now: context.clock.now) { address in
                mayOpen(address, for: request.type)
            }
            return .interaction(interaction, pending: pending)
        }
        try expect(.done, reply)
        let issued = try IssuedTokensReader(reply, now: context.clock.now)
        let claims = try idTokens.validated(issued, of: request.type, subject: nil, in: context)
        let scope = effectiveScope(request.scope, of: request.type)
        return .done(try issued.signIn(request, scope: scope, claims: claims, now: context.clock.now))
    }

    /// Whether the plugin may send a person to an address: one of its manifest's, or of a server that the type
    /// names.
    private func mayOpen(_ address: URI, for type: AccountType) -> Bool {
        if provider.manifest.needs.pages.contains(where: { $0.includes(address) }) { return true }
        let servers = type.endpoints.map(\.value) + [type.issuer].compactMap(\.self)
        return servers.contains { URI($0)?.origin == address.origin }
    }

    private func expect(_ kind: PluginReply.Kind, _ reply: PluginReply) throws(CredentialError) {
        guard reply.kind == kind else {
            throw CredentialError(
                .malformedReply,
                "the plugin \(name) returned '\(reply.kind.rawValue)', which is not valid here",
                hint: "credmgr adapters test \(name)")
        }
    }

    private var flowNames: String { provider.manifest.flows.map(\.rawValue).joined(separator: ", ") }

    private func lacksFlow(_ flow: SignInFlow) -> LocalizedMessage {
        "the adapter \(name) does not have the flow '\(flow.rawValue)'"
    }
}

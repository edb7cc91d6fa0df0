package import CredentialCore
import Platform
import StrictJSON

/// The requirements on every plugin, seen on its standard streams: the rules of `docs/reference/plugin-protocol.md`
/// that the host's own requests would not show.
package struct PluginConformance: Sendable {
    private let provider: InstalledPlugin
    private let launcher: PluginLauncher
    private let type: AccountType
    private let context: AdapterContext

    /// A version of the protocol that will never be.
    private static let foreignVersion: Int64 = 999_999
    /// The text that replaces a secret in the requests; it may appear in a reply only.
    private static let canary = "conformance-canary-0123456789"
    /// How long a plugin may take to say who it is, in seconds.
    private static let patience = 5

    /// Prepares the checks of a plugin with a type of it.
    package init(
        _ provider: InstalledPlugin, launcher: PluginLauncher, type: AccountType, context: AdapterContext
    ) {
        self.provider = provider
        self.launcher = launcher
        self.type = type
        self.context = context
    }

    /// The checks, in order.
    package static let checks: [ConformanceCheck<PluginConformance>] = [
        .init("describe", "'describe' tells what the manifest tells") {
            (subject) throws(CredentialError) in try subject.describe()
        },
        .init("unknown-members", "members that no version has are ignored") {
            (subject) throws(CredentialError) in try subject.unknownMembers()
        },
        .init("foreign-version", "a request in an unknown version is answered with unsupported_version") {
            (subject) throws(CredentialError) in try subject.foreignVersion()
        },
        .init("unknown-operation", "an unknown operation is answered with unsupported") {
            (subject) throws(CredentialError) in
            try subject.refuses(
                PluginRequest(version: subject.version, operation: "conformance"), with: .unsupported)
        },
        .init("malformed-request", "a request that is no JSON is answered with malformed_request") {
            (subject) throws(CredentialError) in try subject.malformed("{\"version\":1,")
        },
        .init("empty-request", "an empty request is answered with malformed_request") {
            (subject) throws(CredentialError) in try subject.malformed("")
        },
        .init("flow", "a flow that the manifest does not name is answered with unsupported") {
            (subject) throws(CredentialError) in try subject.undeclaredFlow()
        },
        .init("secrets", "no secret of a request shows on standard error or in a note") {
            (subject) throws(CredentialError) in try subject.secrets()
        },
    ]

    /// Runs every check.
    package func run() -> [ConformanceResult] { Self.checks.map { $0.run(self) } }

    private var version: Int64 { provider.protocolVersion }

    private func describe() throws(CredentialError) -> ConformanceResult.Verdict {
        let watch = Stopwatch()
        let reply = try reply(to: PluginRequest(.describe, version: version).bytes)
        guard reply.kind == .description else { return .failed("it answers '\(reply.kind.rawValue)'") }
        try PluginDescription(reply).check(against: provider)
        let limit = Int64(Self.patience) * 1_000
        return watch.elapsed < limit ? .passed : .failed("it took longer than \(Self.patience) s")
    }

    private func unknownMembers() throws(CredentialError) -> ConformanceResult.Verdict {
        var request = PluginRequest(.describe, version: version)
        request["x_conformance"] = ["nested": [1, 2, "three"]]
        request["type"] = ["x_conformance": true]
        let reply = try reply(to: request.bytes)
        return reply.kind == .description ? .passed : .failed("it answers '\(reply.kind.rawValue)'")
    }

    private func foreignVersion() throws(CredentialError) -> ConformanceResult.Verdict {
        try refuses(PluginRequest(.describe, version: Self.foreignVersion), with: .unsupportedVersion)
    }

    private func malformed(_ text: String) throws(CredentialError) -> ConformanceResult.Verdict {
        try verdict(try reply(to: Array(text.utf8)), .malformedRequest)
    }

    private func undeclaredFlow() throws(CredentialError) -> ConformanceResult.Verdict {
        guard let flow = SignInFlow.allCases.first(where: { !provider.manifest.flows.contains($0) }) else {
            return .skipped("it has every flow")
        }
        return try refuses(try begin(flow), with: .unsupported)
    }

    private func secrets() throws(CredentialError) -> ConformanceResult.Verdict {
        var grant = Grant(flow: .code, obtainedAt: context.clock.now)
        grant.refreshToken = Secret(Self.canary)
        grant.adapterState = JSONObject(["conformance": .string(Self.canary)])
        var revoke = PluginRequest(.revoke, version: version)
        try revoke.add(type, secrets: CanarySecrets(secret: Self.canary))
        revoke.add(grant)
        for request in [try begin(provider.manifest.flows.first ?? .code), revoke] {
            let outcome = try launcher.run(provider, request.bytes)
            var said = [String(decoding: outcome.errorOutput, as: UTF8.self)]
            _ = try? PluginTranscript(outcome.output, plugin: provider.manifest.name).reply(version: version) {
                said.append($0)
            }
            if said.contains(where: { $0.contains(Self.canary) }) {
                return .failed("'\(request.operation)' shows one")
            }
        }
        return .passed
    }

    // MARK: Parts

    private func begin(_ flow: SignInFlow) throws(CredentialError) -> PluginRequest {
        var signIn = SignInRequest(
            type: type, flow: flow, policy: "", scope: type.scope, redirectURI: provider.manifest.defaultRedirectURI
        )
        signIn.username = "conformance"
        signIn.password = Secret(Self.canary)
        var request = PluginRequest(.begin, version: version)
        try request.add(type, secrets: CanarySecrets(secret: Self.canary))
        request.add(signIn, scope: type.scope)
        return request
    }

    private func refuses(
        _ request: PluginRequest, with code: PluginError.Code
    ) throws(CredentialError) -> ConformanceResult.Verdict { try verdict(try reply(to: request.bytes), code) }

    private func verdict(
        _ reply: PluginReply, _ code: PluginError.Code
    ) throws(CredentialError) -> ConformanceResult.Verdict {
        guard reply.kind == .error else { return .failed("it answers '\(reply.kind.rawValue)'") }
        let word = try reply.reader.requiredText("code", limit: 64)
        return word == code.rawValue
            ? .passed : .failed("it answers with the code '\(UntrustedText.shown(word, limit: 40))'")
    }

    /// Runs the plugin by itself, so that its error replies are seen as they are.
    private func reply(to input: [UInt8]) throws(CredentialError) -> PluginReply {
        let outcome = try launcher.run(provider, input)
        let transcript = PluginTranscript(outcome.output, plugin: provider.manifest.name)
        switch outcome.ending {
        case .timedOut: throw transcript.fault("did not respond within \(launcher.seconds) s")
        case .left(let supervisor): throw PluginError.remaining(provider.manifest.name, supervisor)
        case .outputTooLarge: throw transcript.fault("printed more than \(PluginProtocol.outputLimit) bytes")
        case .ended(.killed(let signal)): throw transcript.fault("was ended by signal \(signal)")
        case .ended(.exited(let status)) where status != 0: throw transcript.fault("ended with status \(status)")
        case .ended: return try transcript.reply(version: version)
        }
    }
}

private struct CanarySecrets: ClientSecrets {
    let secret: String

    func clientSecret(of type: AccountType) throws(CredentialError) -> Secret? { Secret(secret) }
    func privateKey(of type: AccountType) throws(CredentialError) -> Secret? { nil }
}

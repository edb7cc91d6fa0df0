import CredentialCore
import ProviderHost
import StrictJSON

/// `credmgr providers test`: the conformance suite.
struct ProvidersTestCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let name = try arguments.required("adapter")
        guard let adapter = try session.context.adapters.adapter(named: name) else {
            throw CredentialError(
                .configuration, "there is no adapter '\(ForeignText.shown(name, limit: 60))'",
                hint: "credmgr providers")
        }
        let type = try type(of: adapter, session)
        let context = session.adapterContext(session.stores(mayPrompt: false))
        var results: [ConformanceResult] = []
        if let external = adapter as? ExternalAdapter {
            results += PluginConformance(
                external.provider, launcher: session.context.providers.launcher, type: type, context: context
            ).run()
        }
        let flow = (adapter as? ExternalAdapter)?.provider.manifest.flows.first
        results += AdapterConformance(adapter, type: type, flow: type.flow ?? flow, context: context).run()
        try show(results, session)
        let failed = results.count { if case .failed = $0.verdict { true } else { false } }
        guard failed == 0 else {
            throw CredentialError(
                .problemsFound, "the adapter \(name) fails \(failed) of \(results.count) checks",
                hint: "docs/plugin-protocol.md says what each must do")
        }
    }

    /// The type named, else one made up from the settings given.
    private func type(of adapter: any CredentialAdapter, _ session: Session) throws(CredentialError) -> AccountType
    {
        if let name = arguments.string("type") {
            let type = try TargetResolver(session).type(named: name)
            guard type.adapter == adapter.name else {
                throw CredentialError(.usage, "account type \(type.name) is not of the adapter \(adapter.name)")
            }
            return type
        }
        guard let external = adapter as? ExternalAdapter else {
            throw CredentialError(.usage, "--type is missing: a built-in adapter is tested with a type of it")
        }
        var type = AccountType(name: "conformance", adapter: adapter.name, clientID: "conformance")
        // Example addresses (RFC 6761 §6.4): nothing is ever sent there by a begin.
        type.endpoints = [
            .authorization: "https://login.invalid/authorize", .token: "https://login.invalid/token",
        ]
        for setting in external.provider.manifest.settings where setting.isRequired {
            type.adapterSettings[setting.name] = "conformance"
        }
        for (name, value) in try arguments.pairs("set") { type.adapterSettings[name] = value }
        return type
    }

    private func show(_ results: [ConformanceResult], _ session: Session) throws(CredentialError) {
        if arguments.wantsJSON {
            return try session.print(
                .array(
                    results.map { result in
                        let (word, reason) = Self.words(result.verdict)
                        return [
                            "check": .string(result.name), "title": .string(result.title), "result": .string(word),
                            "reason": JSONValue(reason),
                        ]
                    }))
        }
        for result in results {
            let (word, reason) = Self.words(result.verdict)
            let why = reason.map { " (\(ForeignText.shown($0, limit: 300)))" } ?? ""
            try session.print("\(TextLayout.padded(word, to: 7))  \(result.title)\(why)\n")
        }
    }

    private static func words(_ verdict: ConformanceResult.Verdict) -> (String, reason: String?) {
        switch verdict {
        case .passed: ("passed", nil)
        case .failed(let reason): ("FAILED", reason)
        case .skipped(let reason): ("skipped", reason)
        }
    }
}

import CommandLine
import CredentialCore
import PluginHost
import StrictJSON

/// `credmgr adapters test`: the conformance suite.
struct AdaptersTestCommand: Command {
    static let spec = CommandSpec(
        ["adapters", "test"], aliases: [["providers", "test"]], "run the conformance suite on an adapter",
        details: """
            Checks that an adapter conforms to the protocol of docs/reference/plugin-protocol.md. The test shows no prompt \
            and stores no data. Without --type, a plugin is tested with a temporary account type.
            """,
        parameters: [adapter],
        options: [SharedOption.type, settings, SharedOption.json])

    private static let adapter = Parameter.required("adapter", .any("ADAPTER"), "the adapter's name")
    private static let settings = Option.pairs("set", "NAME=VALUE", "a setting of the temporary account type")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = arguments[Self.adapter]
        guard let adapter = try session.context.adapters.adapter(named: name) else {
            throw CredentialError(
                .configuration, "adapter '\(UntrustedText.shown(name, limit: 60))' not found",
                hint: "credmgr adapters")
        }
        let type = try type(of: adapter, session)
        let context = session.services(session.stores(mayPrompt: false)).adapterContext(of: type)
        var results: [ConformanceResult] = []
        if let external = adapter as? PluginAdapter {
            results += PluginConformance(
                external.provider, launcher: session.context.providers.launcher, type: type, context: context
            ).run()
        }
        let flow = (adapter as? PluginAdapter)?.provider.manifest.flows.first
        results += AdapterConformance(adapter, type: type, flow: type.flow ?? flow, context: context).run()
        try show(results, session)
        let failed = results.count { if case .failed = $0.verdict { true } else { false } }
        guard failed == 0 else {
            throw CredentialError(
                .problemsFound, "the adapter \(name) fails \(failed) of \(results.count) checks",
                hint: "read the requirements in docs/reference/plugin-protocol.md")
        }
    }

    /// The type named, else one made up from the settings given.
    private func type(of adapter: any CredentialAdapter, _ session: CommandSession) throws(CredentialError)
        -> AccountType
    {
        if let name = arguments[SharedOption.type] {
            let type = try TargetResolver(session).type(named: name)
            guard type.adapter == adapter.name else {
                throw CredentialError(.usage, "account type \(type.name) does not use the adapter \(adapter.name)")
            }
            return type
        }
        guard let external = adapter as? PluginAdapter else {
            throw CredentialError(
                .usage, "--type is required: a built-in adapter is tested with one of its account types")
        }
        var type = AccountType(name: "conformance", adapter: adapter.name, clientID: "conformance")
        // Example addresses (RFC 6761 §6.4): a begin never sends a request there.
        type.endpoints = [
            .authorization: "https://login.invalid/authorize", .token: "https://login.invalid/token",
        ]
        for setting in external.provider.manifest.settings where setting.isRequired {
            type.adapterSettings[setting.name] = "conformance"
        }
        for (name, value) in arguments[Self.settings] { type.adapterSettings[name] = value }
        return type
    }

    private func show(_ results: [ConformanceResult], _ session: CommandSession) throws(CredentialError) {
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
            let why = reason.map { " (\(UntrustedText.shown($0, limit: 300)))" } ?? ""
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

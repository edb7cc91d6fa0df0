package import Broker
package import CredentialCore

extension BrokerConfiguration {
    /// `prompt_timeout` in milliseconds.
    var promptMilliseconds: Int32 {
        let (milliseconds, overflow) = promptTimeout.multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : Int32(clamping: milliseconds)
    }
}

/// Callers, with the digests of executables if the broker prompts now.
package struct NarrowedCallers: CallerIdentifier {
    private let configuration: CurrentConfiguration
    private let plain: any CallerIdentifier
    private let digested: any CallerIdentifier

    /// Makes an identifier.
    package init(
        _ configuration: CurrentConfiguration, plain: any CallerIdentifier, digested: any CallerIdentifier
    ) {
        self.configuration = configuration
        self.plain = plain
        self.digested = digested
    }

    package func caller(ofSocket descriptor: Int32) throws(CredentialError) -> Caller {
        try (configuration.now.ask == .never ? plain : digested).caller(ofSocket: descriptor)
    }
}

/// A prompt within the `ask_by` and `prompt_timeout` that apply now.
package struct NarrowedPrompt: ConsentPrompt {
    private let configuration: CurrentConfiguration
    private let kind: BrokerConfiguration.AskBy
    private let prompt: any ConsentPrompt

    /// Makes a prompt.
    package init(
        _ configuration: CurrentConfiguration, _ kind: BrokerConfiguration.AskBy, _ prompt: any ConsentPrompt
    ) {
        self.configuration = configuration
        self.kind = kind
        self.prompt = prompt
    }

    package func ask(_ text: ConsentText, milliseconds: Int32) -> ConsentChoice? {
        let now = configuration.now
        guard now.askBy.contains(kind) else { return nil }
        return prompt.ask(text, milliseconds: min(milliseconds, now.promptMilliseconds))
    }
}

/// Grants that last no longer than the `remember` that applies now.
package struct NarrowedGrants: ConsentGrants {
    private let configuration: CurrentConfiguration
    private let grants: any ConsentGrants

    /// Makes grants.
    package init(_ configuration: CurrentConfiguration, _ grants: any ConsentGrants) {
        self.configuration = configuration
        self.grants = grants
    }

    package func brokers() throws(CredentialError) -> [String] { try grants.brokers() }

    package func grants(of broker: String) throws(CredentialError) -> [ConsentGrant] {
        try grants.grants(of: broker).map(shortened)
    }

    package func add(_ grant: ConsentGrant, to broker: String) throws(CredentialError) {
        try grants.add(shortened(grant), to: broker)
    }

    package func forget(_ caller: CallerKey?, of broker: String) throws(CredentialError) -> Int {
        try grants.forget(caller, of: broker)
    }

    private func shortened(_ grant: ConsentGrant) -> ConsentGrant {
        var grant = grant
        grant.until = min(grant.until, grant.created.adding(configuration.now.remember))
        return grant
    }
}

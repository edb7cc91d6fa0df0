public import CredentialCore

/// The parts of a broker that this machine keeps or asks: the audit log, callers, consent and the boxes of oidc-agent.
public protocol BrokerRecords: Sendable {
    /// The audit logs, as commands read them.
    var auditLogs: any AuditLogs { get }
    /// Remembered consents.
    var grants: any ConsentGrants { get }
    /// The keys and boxes of oidc-agent's encrypted form.
    var boxes: any BoxCryptography { get }

    /// The writer of a broker's audit log; it copies lines to the system journal if the configuration says so.
    func auditWriter(of configuration: BrokerConfiguration) -> any AuditWriter

    /// The identifier of the callers of a broker.
    func callers(of configuration: BrokerConfiguration) -> any CallerIdentifier

    /// The decider of a broker: grants, then the prompts of `ask_by`.
    ///
    /// - Parameters:
    ///   - audit: the broker's audit log.
    ///   - text: a message in the language of the user.
    ///   - warn: takes failures that decide nothing.
    func consent(
        for configuration: BrokerConfiguration, audit: any AuditWriter,
        text: @escaping @Sendable (LocalizedMessage) -> String, warn: @escaping @Sendable (CredentialError) -> Void
    ) -> any ConsentDecider
}

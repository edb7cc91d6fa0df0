public import CredentialCore

/// The parts of a broker that this machine keeps or asks: the audit log, callers, consent and the boxes of
/// oidc-agent.
public protocol BrokerRecords: Sendable {
    /// The audit logs, as commands read them.
    var auditLogs: any AuditLogs { get }
    /// Remembered consents.
    var grants: any ConsentGrants { get }
    /// The keys and boxes of oidc-agent's encrypted form.
    var boxes: any BoxCryptography { get }

    /// The writer of a broker's audit log; it copies lines to the system journal if the configuration requires it.
    func auditWriter(of configuration: BrokerConfiguration) -> any AuditWriter

    /// The identifier of the callers of a broker, by the configuration that applies at each call.
    func callers(of configuration: CurrentConfiguration) -> any CallerIdentifier

    /// The decider of a broker: grants, then the prompts of `ask_by`.
    ///
    /// - Parameters:
    ///   - configuration: the one that applies at each question.
    ///   - audit: the broker's audit log.
    ///   - text: a message in the language of the user.
    ///   - warn: receives failures that do not affect the decision.
    func consent(
        for configuration: CurrentConfiguration, audit: any AuditWriter,
        text: @escaping @Sendable (LocalizedMessage) -> String, warn: @escaping @Sendable (CredentialError) -> Void
    ) -> any ConsentDecider
}

/// The records of a machine without any: no record is kept, and each question is refused.
public struct NoBrokerRecords: BrokerRecords {
    /// Makes the records.
    public init() {}

    /// No logs.
    public var auditLogs: any AuditLogs { Nothing() }
    /// No grants.
    public var grants: any ConsentGrants { Nothing() }
    /// Boxes that refuse each key.
    public var boxes: any BoxCryptography { Nothing() }

    /// A writer that fails.
    public func auditWriter(of configuration: BrokerConfiguration) -> any AuditWriter { Nothing() }

    /// An identifier that fails.
    public func callers(of configuration: CurrentConfiguration) -> any CallerIdentifier { Nothing() }

    /// A decider without a prompt.
    public func consent(
        for configuration: CurrentConfiguration, audit: any AuditWriter,
        text: @escaping @Sendable (LocalizedMessage) -> String, warn: @escaping @Sendable (CredentialError) -> Void
    ) -> any ConsentDecider { Nothing() }

    private struct Nothing: AuditLogs, ConsentGrants, BoxCryptography, AuditWriter, CallerIdentifier, ConsentDecider
    {
        private static let fault = CredentialError(.internalFault, "there is no place for the records of brokers")

        func brokers() throws(CredentialError) -> [String] { [] }
        func lines(of broker: String) throws(CredentialError) -> any AuditLines { throw Self.fault }
        func verify(_ broker: String) throws(CredentialError) -> AuditVerifier { throw Self.fault }
        func head(of broker: String) throws(CredentialError) -> (number: Int64, digest: String) { throw Self.fault }
        func prune(_ broker: String, olderThan seconds: Int64?) throws(CredentialError) -> Int64 {
            throw Self.fault
        }
        func remove(_ broker: String) throws(CredentialError) { throw Self.fault }
        func wait(milliseconds: Int64) throws(CredentialError) -> Bool { throw Self.fault }
        func grants(of broker: String) throws(CredentialError) -> [ConsentGrant] { [] }
        func add(_ grant: ConsentGrant, to broker: String) throws(CredentialError) { throw Self.fault }
        func forget(_ caller: CallerKey?, of broker: String) throws(CredentialError) -> Int { 0 }
        func makeSession(with peer: [UInt8]) -> BoxSession? { nil }
        func write(_ event: AuditEvent) throws(CredentialError) { throw Self.fault }
        func caller(ofSocket descriptor: Int32) throws(CredentialError) -> Caller { throw Self.fault }
        func decide(_ question: ConsentQuestion) -> ConsentAnswer { .noPrompt }
    }
}

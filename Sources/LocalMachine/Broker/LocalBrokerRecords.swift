package import Broker
package import CredentialCore
import LocalFiles
import Platform
import SecretServiceStore
import Sodium

/// The parts of brokers that this machine keeps or asks.
package struct LocalBrokerRecords: BrokerRecords {
    private let machine: LocalMachine
    package let grants: any ConsentGrants

    /// Makes the parts; it opens no file.
    package init(_ machine: LocalMachine) {
        self.machine = machine
        grants = GrantFiles(
            stateHome: machine.directories.stateHome, random: machine.random, cryptography: machine.cryptography,
            clock: machine.clock)
    }

    package var auditLogs: any AuditLogs { AuditLogFiles(stateHome: machine.directories.stateHome) }

    package var boxes: any BoxCryptography { SodiumBoxes() }

    package func auditWriter(of configuration: BrokerConfiguration) -> any AuditWriter {
        let name = configuration.name
        var journal: (@Sendable (String) -> Void)?
        if configuration.audit.journal {
            journal = { line in
                SystemJournal().send([
                    ("MESSAGE", line), ("PRIORITY", "6"), ("SYSLOG_IDENTIFIER", "credmgr"),
                    ("CREDMGR_BROKER", name),
                ])
            }
        }
        return AuditLogFile(
            broker: name, stateHome: machine.directories.stateHome, random: machine.random, copy: journal)
    }

    package func callers(of configuration: BrokerConfiguration) -> any CallerIdentifier {
        KernelCallerIdentifier(LinuxPeerProcesses(), usesDigests: configuration.ask != .never)
    }

    package func consent(
        for configuration: BrokerConfiguration, audit: any AuditWriter,
        text: @escaping @Sendable (LocalizedMessage) -> String, warn: @escaping @Sendable (CredentialError) -> Void
    ) -> any ConsentDecider {
        let environment = machine.environment
        let prompts: [any ConsentPrompt] = configuration.askBy.map { kind in
            switch kind {
            case .desktop: DesktopPrompt(address: SessionBus.address(environment: environment))
            case .terminal: TerminalConsentPrompt()
            case .pinentry: PinentryPrompt(environment: environment)
            }
        }
        var parts = PromptingConsent.Parts(
            broker: configuration.name, prompts: prompts, grants: grants, audit: audit)
        parts.remember = configuration.remember
        parts.timeout = Int32(
            clamping: configuration.promptTimeout.multipliedReportingOverflow(by: 1_000).partialValue)
        parts.text = text
        parts.warn = warn
        return PromptingConsent(parts)
    }
}

/// The boxes of oidc-agent by libsodium.
private struct SodiumBoxes: BoxCryptography {
    func makeSession(with peer: [UInt8]) -> BoxSession? {
        guard let pair = BoxKeyPair(), let key = pair.sharedKey(with: peer) else { return nil }
        return BoxSession(
            publicKey: pair.publicKey, nonceSize: SecretBox.nonceSize, overhead: SecretBox.overhead,
            nonce: { SystemRandom().bytes(SecretBox.nonceSize) }, seal: { SecretBox.seal($0, key: key, nonce: $1) },
            open: { SecretBox.open($0, key: key, nonce: $1) })
    }
}

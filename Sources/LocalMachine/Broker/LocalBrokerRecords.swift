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

    package func callers(of configuration: CurrentConfiguration) -> any CallerIdentifier {
        NarrowedCallers(
            configuration, plain: KernelCallerIdentifier(LinuxPeerProcesses(), usesDigests: false),
            digested: KernelCallerIdentifier(LinuxPeerProcesses(), usesDigests: true))
    }

    package func consent(
        for configuration: CurrentConfiguration, audit: any AuditWriter,
        text: @escaping @Sendable (LocalizedMessage) -> String, warn: @escaping @Sendable (CredentialError) -> Void
    ) -> any ConsentDecider {
        let environment = machine.environment, start = configuration.now
        let prompts: [any ConsentPrompt] = start.askBy.map { kind in
            let prompt: any ConsentPrompt =
                switch kind {
                case .desktop: DesktopPrompt(address: SessionBus.address(environment: environment))
                case .terminal: TerminalConsentPrompt()
                case .pinentry: PinentryPrompt(environment: environment, warn: warn)
                }
            return NarrowedPrompt(configuration, kind, prompt)
        }
        var parts = PromptingConsent.Parts(
            broker: start.name, prompts: prompts, grants: NarrowedGrants(configuration, grants), audit: audit)
        parts.remember = start.remember
        parts.timeout = start.promptMilliseconds
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

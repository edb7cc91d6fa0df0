import CredentialCore
import EncryptedFileStore
import Platform
import SecretServiceStore

/// The stores of this machine, opened at first use.
struct LocalStores: SecretStores {
    private let file: EncryptedFileStore
    private let secretService: SecretServiceStore

    init(_ machine: LocalMachine, _ policy: AccountPolicy) {
        let configured = PassphraseSource(
            environment: machine.environment, files: machine.files, programs: machine.programs,
            timeout: policy.timeout)
        var keys = UnlockSources(
            passphrase: policy.passphrase ?? configured.read,
            ask: { prompt throws(CredentialError) in
                guard let ask = policy.ask else { return nil }
                return try ask(prompt)
            }, unlockedKeys: machine.cache, unlockedSeconds: policy.keepsKeys ? 8 * 3_600 : nil)
        keys.unseen = policy.unseen
        if policy.passphrase == nil, let giver = configured.giver { keys.giver = giver }
        keys.acceptsNew = { [giver = keys.giver] (passphrase, group) throws(CredentialError) in
            try PassphraseRules.check(
                passphrase, "the passphrase that \(giver) gives",
                hint: "credmgr store rekey --group \(group.name) --weak-passphrase")
        }
        file = EncryptedFileStore(
            dataHome: machine.directories.dataHome, keys: keys,
            cryptography: machine.cryptography, random: machine.random, clock: machine.clock, report: policy.warn)
        secretService = SecretServiceStore(
            busAddress: SessionBus.address(environment: machine.environment),
            staleVariable: SessionBus.staleVariable(environment: machine.environment), canPrompt: policy.mayPrompt,
            promptSeconds: policy.promptSeconds, whileWaiting: policy.whileWaiting, waiting: policy.waiting,
            warn: policy.warn)
    }

    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore {
        switch kind {
        case .secretService: secretService
        case .file: file
        case .etcd:
            throw CredentialError(
                .internalFault, "the cluster of a shared group holds accounts, not secrets of this machine")
        }
    }

    func vault() throws(CredentialError) -> any TokenSetCipher { file }
}

import CredentialCore
import CredmgrCommands
import EncryptedFileStore
import LinuxPlatform
import LoopbackHTTP
import SecretServiceStore
import Synchronization

/// The stores of this machine, made once and opened at first use.
final class StoreShelf: SecretStores {
    private let file: EncryptedFileStore
    private let secretService: SecretServiceStore

    init(_ machine: Machine, _ options: StoreOptions) {
        file = EncryptedFileStore(
            dataHome: machine.directories.dataHome,
            keys: KeySources(
                passphrase: machine.passphrase.read,
                ask: { prompt throws(CredentialError) in
                    options.mayAsk ? try LinuxConsole().ask(prompt, isSecret: true) : nil
                }, unlockedKeys: machine.cache, unlockedSeconds: options.keepsKeys ? 8 * 3_600 : nil),
            cryptography: machine.cryptography, random: machine.random, clock: machine.clock, report: options.warn)
        secretService = SecretServiceStore(
            busAddress: SessionBus.address(environment: machine.environment), canPrompt: options.mayPrompt,
            promptSeconds: options.promptSeconds, whileWaiting: options.whileWaiting, warn: options.warn)
    }

    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore {
        switch kind {
        case .secretService: secretService
        case .file: file
        }
    }
}

import CommandLine
import CredentialCore

/// `credmgr store`: holds the commands about stores.
enum StoreCommands: CommandDescriptor {
    static let spec = CommandSpec(["store"], role: .namespace, "manage the stores of secrets")
}

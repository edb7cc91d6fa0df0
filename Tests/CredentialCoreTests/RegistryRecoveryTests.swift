import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// The token sets that the stores hold of a group.
@Suite struct RegistryRecoveryTests {
    @Test(arguments: [StoreKind.file, .secretService])
    func `an account of which it is not known whether its token is used up hides no other`(store: StoreKind) throws
    {
        let scene = ServiceScene(cryptography: LibCryptography(), store: store)
        for person in ["ada", "bob", "eve"] { try scene.signIn(person) }
        let damaged = CredentialError(.inputOutput, "the journal cannot be read")
        let inventory = scene.services().rebuild.inventory(of: scene.group) { (set) throws(CredentialError) in
            if set.account.subject == "bob" { throw damaged }
            return set.account.subject == "eve"
        }
        #expect(inventory.copies.count == 3 && inventory.unread.isEmpty)
        #expect(inventory.used == [scene.account("eve")?.id])
        #expect(inventory.unknown.map(\.id) == [scene.account("bob")?.id])
        #expect(inventory.unknown.first?.error == damaged)
    }
}

import CredentialCore
import CryptoSupport
import EncryptedFileStore
import Platform
import Synchronization
import TestPorts
import Testing

/// Files of format version 1 stay readable: with a random generator that counts, a file has one known content.
@Suite struct EncryptedFileFormatTests {
    @Test(
        arguments: [
            (nil, "NNcG7Eei8oV60xRIDByqAzdKnlEE5xTQLBK_cdb-RD8"),
            ("correct horse", "-ALUzA20VRciN3C70OPVgwJ1IeRflsz0NBU_HwePySg"),
        ] as [(String?, String)])
    func `a file matches the documentation byte for byte`(_ passphrase: String?, _ digest: String) throws {
        let fixture = try EncryptedFileFixture(), cryptography = LibCryptography()
        let store = EncryptedFileStore(
            dataHome: fixture.folder.path,
            keys: UnlockSources(passphrase: { () throws(CredentialError) in passphrase.map { Secret($0) } }),
            cryptography: cryptography, random: CountingRandom(), clock: SystemClock(),
            cost: EncryptedFileFixture.cheap, report: { _ in })
        try store.write(Array("a secret".utf8), for: item("0123456789abcdef"), label: "credmgr: tasks ada")
        let file = try fixture.bytes(fixture.file)
        #expect(Base64URL.encode(try cryptography.sha256(file)) == digest)
    }

    @Test func `in the encrypted file no key has two purposes, and none seals twice with a nonce`() throws {
        let fixture = try EncryptedFileFixture(), keys = RecordedKeys(LibCryptography())
        func store() -> EncryptedFileStore {
            EncryptedFileStore(
                dataHome: fixture.folder.path,
                keys: UnlockSources(passphrase: { () throws(CredentialError) in nil }), cryptography: keys,
                random: SystemRandom(), clock: SystemClock(), cost: EncryptedFileFixture.cheap, report: { _ in })
        }
        for secret in ["one", "two"] {
            try store().write(Array(secret.utf8), for: item("0123456789abcdef"), label: "credmgr: tasks ada")
        }
        try store().addPassphraseSlot(Secret("correct horse"), to: .standard, cost: EncryptedFileFixture.cheap)
        for generation in [1, 2, 2] as [Int64] {
            let sealed = try store().seal([1], of: "0123456789abcdef", generation: generation, in: .standard)
            #expect(try store().open(sealed, of: "0123456789abcdef", in: .standard) == [1])
        }
        #expect(keys.sealingKeys >= 8)
        #expect(keys.sharedKeys == 0 && keys.repeatedNonces == 0 && keys.ambiguousKeys == 0)
    }
}

/// Gives 0, 1, 2 and so on.
private final class CountingRandom: RandomSource {
    private let next = Mutex<UInt8>(0)

    func bytes(_ count: Int) -> [UInt8] {
        next.withLock { next in
            (0..<count).map { _ in
                defer { next &+= 1 }
                return next
            }
        }
    }
}

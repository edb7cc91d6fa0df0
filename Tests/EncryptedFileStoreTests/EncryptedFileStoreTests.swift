import CredentialCore
import CryptoSupport
import EncryptedFileStore
import Foundation
import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct EncryptedFileStoreTests {
    let fixture = Result { try EncryptedFileFixture() }

    @Test func `a written item is read, by this process and by the next`() throws {
        let fixture = try fixture.get()
        let store = fixture.store()
        let secrets: [[UInt8]] = [[], [0], Array("text".utf8), (0..<20_000).map { _ in .random(in: 0...255) }]
        for (index, secret) in secrets.enumerated() {
            try store.write(secret, for: item("\(index)"), label: "credmgr: A \"label\" \u{0}é")
        }
        for reader in [store, fixture.store()] {
            for (index, secret) in secrets.enumerated() { #expect(try reader.read(item("\(index)")) == secret) }
            #expect(try reader.read(item("9")) == nil)
        }
    }

    @Test func `kinds, owners and groups are kept apart`() throws {
        let store = try fixture.get().store(), other = try KeychainGroup("other")
        try store.write([1], for: item("a"), label: "")
        try store.write([2], for: item("a", kind: .clientSecret), label: "")
        try store.write([3], for: item("b"), label: "")
        try store.write([4], for: item("a", group: other), label: "")
        try store.write([5], for: item("b"), label: "")
        try store.remove(item("a"))
        #expect(try store.read(item("a")) == nil)
        #expect(try store.read(item("a", kind: .clientSecret)) == [2])
        #expect(try store.read(item("b")) == [5])
        #expect(try store.read(item("a", group: other)) == [4])
        #expect(try store.items(of: .standard, kind: .tokenSet) == [item("b")])
        #expect(try store.items(of: other, kind: .privateKey) == [])
    }

    @Test func `owners that only Unicode holds for equal are two`() throws {
        let store = try fixture.get().store()
        try store.write([1], for: item("\u{E9}"), label: "")
        try store.write([2], for: item("e\u{301}"), label: "")
        #expect(try store.read(item("\u{E9}")) == [1])
        #expect(try store.read(item("e\u{301}")) == [2])
    }

    @Test func `reads and removals in an empty store create no file`() throws {
        let fixture = try fixture.get()
        let store = fixture.store()
        #expect(try store.read(item("a")) == nil)
        try store.remove(item("a"))
        #expect(try store.items(of: .standard, kind: .tokenSet) == [])
        #expect(try store.slots(of: .standard) == nil)
        #expect(!FileManager.default.fileExists(atPath: fixture.groupFolder))
    }

    @Test func `files and folders are for the user alone and hold nothing readable`() throws {
        let fixture = try fixture.get()
        let marker = "a-marker-that-must-not-show"
        try fixture.store().write(Array(marker.utf8), for: item(marker), label: marker)
        try fixture.store().write(Array(marker.utf8), for: item("other"), label: marker)
        #expect(try fixture.mode(fixture.groupFolder) == 0o700)
        for path in [fixture.file, fixture.previousFile, fixture.keyFile] {
            #expect(try fixture.mode(path) == 0o600, "\(path)")
            #expect(try !String(decoding: fixture.bytes(path), as: UTF8.self).contains(marker))
        }
        #expect(try fixture.bytes(fixture.keyFile).count == 32)
        // 88 bytes, a slot of 88, a digest of 16, a step of 4096, a tag of 16.
        #expect(try fixture.bytes(fixture.file).count == 88 + 88 + 16 + 4_096 + 16)
    }

    @Test func `each write changes every encrypted byte's key and counts on`() throws {
        let fixture = try fixture.get()
        let store = fixture.store()
        try store.write([1], for: item("a"), label: "")
        let first = try fixture.bytes(fixture.file)
        try store.write([2], for: item("a"), label: "")
        let second = try fixture.bytes(fixture.file)
        #expect(first[32..<40] == [0, 0, 0, 0, 0, 0, 0, 1])
        #expect(second[32..<40] == [0, 0, 0, 0, 0, 0, 0, 2])
        #expect(first[16..<32] == second[16..<32])
        #expect(first[56..<88] != second[56..<88])
        let same = zip(first.dropFirst(192), second.dropFirst(192)).filter { $0 == $1 }.count
        #expect(same < 100)
        #expect(try fixture.bytes(fixture.previousFile) == first)
        try store.write([2], for: item("a"), label: "")
        #expect(try fixture.bytes(fixture.file) == second, "nothing changed, so nothing is written")
    }

    @Test func `a passphrase opens the store, a wrong or missing one does not and writes nothing`() throws {
        let fixture = try fixture.get()
        try fixture.store(passphrase: "right").write([1], for: item("a"), label: "")
        #expect(!FileManager.default.fileExists(atPath: fixture.keyFile))
        let before = try fixture.snapshot()
        for wrong in ["wrong", "right ", "", nil] {
            let store = fixture.store(passphrase: wrong)
            for act in [
                { _ = try store.read(item("a")) }, { try store.write([2], for: item("a"), label: "") },
                { try store.remove(item("a")) }, { try store.addKeyFileSlot(to: .standard) },
                { _ = try store.items(of: .standard, kind: .tokenSet) },
                { _ = try store.unlock(.standard, seconds: 60) },
            ] {
                let error = #expect(throws: CredentialError.self, performing: act)
                #expect(error?.code == .storeLocked)
                #expect(error?.hint?.contains("CREDMGR_PASSPHRASE_FILE") == true)
            }
        }
        #expect(try fixture.snapshot() == before)
        #expect(try fixture.store(passphrase: "right").read(item("a")) == [1])
    }

    @Test func `a new store with an empty passphrase is refused`() throws {
        let fixture = try fixture.get()
        let error = #expect(throws: CredentialError.self) {
            try fixture.store(passphrase: "").write([1], for: item("a"), label: "")
        }
        #expect(error?.code == .configuration)
        #expect(!FileManager.default.fileExists(atPath: fixture.file))
    }

    @Test func `a lost or exchanged key file locks the store and is not made anew`() throws {
        let fixture = try fixture.get()
        try fixture.store().write([1], for: item("a"), label: "")
        try fixture.overwrite(fixture.keyFile, with: [UInt8](repeating: 7, count: 32))
        let exchanged = #expect(throws: CredentialError.self) { try fixture.store().read(item("a")) }
        #expect(exchanged?.code == .storeLocked)
        try FileManager.default.removeItem(atPath: fixture.keyFile)
        let lost = #expect(throws: CredentialError.self) {
            try fixture.store().write([2], for: item("a"), label: "")
        }
        #expect(lost?.code == .storeLocked)
        #expect(!FileManager.default.fileExists(atPath: fixture.keyFile))
    }

    @Test func `a key of another kind takes the place of all slots, and the old one opens nothing new`() throws {
        let fixture = try EncryptedFileFixture()
        try fixture.store().write([1], for: item("a"), label: "x")
        let oldKey = try fixture.bytes(fixture.keyFile)
        try fixture.store().setKey(.passphrase(Secret("right")), of: .standard)
        #expect(try fixture.bytes(fixture.previousFile) == fixture.bytes(fixture.file))
        #expect(try fixture.bytes(fixture.keyFile) == oldKey)
        #expect(throws: CredentialError.self) { try fixture.store().read(item("a")) }
        let store = fixture.store(passphrase: "right")
        #expect(try store.read(item("a")) == [1])
        #expect(try store.slots(of: .standard) == [.passphrase(EncryptedFileFixture.cheap)])
        try store.setKey(.keyFile, of: .standard)
        #expect(try fixture.store().read(item("a")) == [1])
        #expect(try fixture.store().slots(of: .standard) == [.keyFile])
        #expect(throws: CredentialError.self) { try store.setKey(.passphrase(Secret("")), of: .standard) }
    }

    @Test func `keys that were replaced are forgotten but for those that are needed`() throws {
        let fixture = try fixture.get(), long = fixture.store()
        var sealed: [SealedTokenSet] = []
        for number in 0..<3 {
            sealed.append(try fixture.store().seal([UInt8(number + 1)], of: "a", generation: 1, in: .standard))
            #expect(try fixture.store().currentKey(of: .standard) == sealed[number].key)
            _ = try long.open(sealed[number], of: "a", in: .standard)
            try fixture.store().setKey(.keyFile, of: .standard)
        }
        #expect(Set(sealed.map(\.key)).count == 3)
        #expect(try fixture.store().forgetReplacedKeys(of: .standard, but: [sealed[1].key]) == 1)
        #expect(try fixture.store().open(sealed[1], of: "a", in: .standard) == [2])
        for lost in [sealed[0], sealed[2]] {
            let error = #expect(throws: CredentialError.self) {
                try fixture.store().open(lost, of: "a", in: .standard)
            }
            #expect(error?.code == .storeDamaged)
        }
        // Nor does who has replaced a key forget it by that.
        let own = try long.seal([9], of: "a", generation: 1, in: .standard)
        try long.setKey(.keyFile, of: .standard)
        #expect(try long.open(own, of: "a", in: .standard) == [9])
    }

    @Test func `the question names the group, and nothing typed is shown while a passphrase is tried`() throws {
        let fixture = try EncryptedFileFixture()
        try fixture.store().write([1], for: item("a"), label: "x")
        try fixture.store().setKey(.passphrase(Secret("right")), of: .standard)
        let events = Mutex<[String]>([])
        let answers = Mutex(["wrong", "right"])
        var sources = UnlockSources(
            passphrase: { () throws(CredentialError) in nil },
            ask: { prompt throws(CredentialError) in
                events.withLock { $0.append(prompt.description) }
                return Secret(answers.withLock { $0.removeFirst() })
            })
        sources.unseen = { work throws(CredentialError) in
            events.withLock { $0.append("unseen") }
            try work()
            events.withLock { $0.append("seen") }
        }
        let store = EncryptedFileStore(
            dataHome: fixture.folder.path, keys: sources, cryptography: LibCryptography(), random: SystemRandom(),
            clock: SystemClock(), cost: EncryptedFileFixture.cheap, report: { _ in })
        #expect(try store.read(item("a")) == [1])
        #expect(
            events.withLock { $0 } == [
                "Passphrase of group default: ", "unseen", "seen",
                "Wrong passphrase. Passphrase of group default: ", "unseen", "seen",
            ])
    }

    @Test func `a person is asked three times, only for a file that needs it`() throws {
        let fixture = try EncryptedFileFixture()
        let asked = Mutex<[String]>([])
        func store(answers: [String]) -> EncryptedFileStore {
            EncryptedFileStore(
                dataHome: fixture.folder.path,
                keys: UnlockSources(
                    passphrase: { () throws(CredentialError) in nil },
                    ask: { prompt throws(CredentialError) in
                        asked.withLock { asked in
                            asked.append(prompt.description)
                            return asked.count <= answers.count ? Secret(answers[asked.count - 1]) : nil
                        }
                    }),
                cryptography: LibCryptography(), random: SystemRandom(), clock: SystemClock(),
                cost: EncryptedFileFixture.cheap, report: { _ in })
        }
        try store(answers: ["never"]).write([1], for: item("a"), label: "x")
        #expect(try store(answers: ["never"]).read(item("a")) == [1])
        #expect(asked.withLock { $0 }.isEmpty)
        try fixture.store().setKey(.passphrase(Secret("right")), of: .standard)
        #expect(try store(answers: ["wrong", "right"]).read(item("a")) == [1])
        #expect(asked.withLock { $0.count } == 2)
        asked.withLock { $0 = [] }
        let error = #expect(throws: CredentialError.self) {
            try store(answers: ["a", "b", "c", "right"]).read(item("a"))
        }
        #expect(error?.code == .storeLocked)
        #expect(asked.withLock { $0.count } == 3)
    }

    @Test func `an unlocked key is kept in the cache until the store is locked`() throws {
        let fixture = try fixture.get()
        let cache = MemoryCache()
        try fixture.store(passphrase: "right").write([1], for: item("a"), label: "")
        #expect(try fixture.store(passphrase: "right", cache: cache).unlock(.standard, seconds: 60))
        #expect(cache.count == 1)
        let store = fixture.store(cache: cache)
        #expect(try store.read(item("a")) == [1])
        try store.write([2], for: item("a"), label: "")
        #expect(try store.lock(.standard))
        #expect(cache.count == 0)
        #expect(#expect(throws: CredentialError.self) { try store.read(item("a")) }?.code == .storeLocked)
        #expect(try fixture.store(passphrase: "right").read(item("a")) == [2])
    }

    @Test func `a wrong key in the cache is passed over`() throws {
        let fixture = try fixture.get()
        let cache = MemoryCache()
        try fixture.store(passphrase: "right", cache: cache).write([1], for: item("a"), label: "")
        _ = try fixture.store(passphrase: "right", cache: cache).unlock(.standard, seconds: 60)
        for entry in [[], [1], [UInt8](repeating: 1, count: 32)] {
            cache.replaceAll(with: entry)
            #expect(try fixture.store(passphrase: "right", cache: cache).read(item("a")) == [1])
            cache.replaceAll(with: entry)
            #expect(throws: CredentialError.self) { try fixture.store(cache: cache).read(item("a")) }
        }
    }

    @Test func `slots are added and removed without losing anything`() throws {
        let fixture = try fixture.get()
        let cheap = EncryptedFileFixture.cheap, dearer = ScryptCost(logarithm: 14, blockSize: 8, parallelism: 1)
        let store = fixture.store()
        try store.write([1], for: item("a"), label: "")
        try store.addPassphraseSlot(Secret("one"), to: .standard, cost: cheap)
        try store.addPassphraseSlot(Secret("two"), to: .standard, cost: dearer)
        #expect(try store.slots(of: .standard) == [.keyFile, .passphrase(cheap), .passphrase(dearer)])
        try store.removeSlot(at: 0, of: .standard)
        #expect(try store.slots(of: .standard) == [.passphrase(cheap), .passphrase(dearer)])
        #expect(try fixture.bytes(fixture.previousFile) == fixture.bytes(fixture.file))
        #expect(throws: CredentialError.self) { try fixture.store().read(item("a")) }
        for passphrase in ["one", "two"] {
            #expect(try fixture.store(passphrase: passphrase).read(item("a")) == [1])
        }
        let two = fixture.store(passphrase: "two")
        try two.removeSlot(at: 0, of: .standard)
        #expect(throws: CredentialError.self) { try two.removeSlot(at: 0, of: .standard) }
        #expect(throws: CredentialError.self) { try two.removeSlot(at: 5, of: .standard) }
        #expect(throws: CredentialError.self) { try fixture.store(passphrase: "one").read(item("a")) }
        try two.addKeyFileSlot(to: .standard)
        try two.addKeyFileSlot(to: .standard)
        #expect(try fixture.store().read(item("a")) == [1])
        #expect(try two.slots(of: .standard) == [.passphrase(dearer), .keyFile])
    }

    @Test func `there is room for eight slots, and for no dear or cheap ones`() throws {
        let store = try fixture.get().store()
        try store.write([1], for: item("a"), label: "")
        for number in 2...8 {
            try store.addPassphraseSlot(Secret("\(number)"), to: .standard, cost: EncryptedFileFixture.cheap)
        }
        #expect(throws: CredentialError.self) {
            try store.addPassphraseSlot(Secret("9"), to: .standard, cost: EncryptedFileFixture.cheap)
        }
        try store.removeSlot(at: 7, of: .standard)
        for cost in [
            ScryptCost(logarithm: 12, blockSize: 8, parallelism: 1),
            ScryptCost(logarithm: 21, blockSize: 8, parallelism: 1),
            ScryptCost(logarithm: 17, blockSize: 8, parallelism: 5),
        ] {
            let error = #expect(throws: CredentialError.self) {
                try store.addPassphraseSlot(Secret("9"), to: .standard, cost: cost)
            }
            #expect(error?.code == .configuration)
        }
        #expect(try store.slots(of: .standard)?.count == 7)
    }

    @Test func `the description of the protection names the method that opens the store`() throws {
        let keyFile = ProtectionSummary(slots: [.keyFile])
        #expect(keyFile.summary == "encrypted with the key file credmgr/file-store.key")
        #expect(keyFile.doesNotProtectAgainst.description.contains("both files"))
        let passphrase = ProtectionSummary(slots: [.passphrase(.standard)])
        #expect(passphrase.summary == "encrypted with a passphrase")
        #expect(
            ProtectionSummary(slots: [.passphrase(.standard), .keyFile]).doesNotProtectAgainst
                == keyFile.doesNotProtectAgainst)
        let fixture = try fixture.get()
        #expect(try fixture.store().protection(of: .standard) == nil)
        try fixture.store().write([1], for: item("a"), label: "")
        #expect(try fixture.store().protection(of: .standard) == keyFile)
    }

    @Test func `more than the file may hold is refused and the old content stays`() throws {
        let fixture = try fixture.get()
        let store = fixture.store()
        try store.write([1], for: item("a"), label: "")
        let error = #expect(throws: CredentialError.self) {
            try store.write([UInt8](repeating: 1, count: 13 << 20), for: item("b"), label: "")
        }
        #expect(error?.code == .storeUnavailable)
        #expect(try fixture.store().items(of: .standard, kind: .tokenSet) == [item("a")])
    }
}

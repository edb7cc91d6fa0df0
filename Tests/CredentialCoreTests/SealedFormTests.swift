import CredentialCore
import CryptoSupport
import Foundation
import StrictJSON
import TestPorts
import TestSupport
import Testing

/// The encrypted data beside a store: archives and the journal, in each form that was ever written
/// (docs/reference/file-formats.md).
@Suite struct SealedFormTests {
    private let passphrase = Secret("correct horse")
    private let random = DrawnBytes()

    private struct Refused: Error {}

    static let checkout = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../..")

    static func fixture(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: checkout.appendingPathComponent("Tests/Fixtures/formats/" + name)))
    }

    private func document(_ bytes: [UInt8]) throws -> JSONObject { try #require(try JSONValue.parse(bytes).object) }

    private func open(_ document: JSONObject, _ passphrase: String = "correct horse") throws -> AccountExport {
        try EncryptedExport.open(document, passphrase: Secret(passphrase), LibCryptography())
    }

    private func sealed(_ archive: AccountExport) throws -> JSONObject {
        try EncryptedExport.seal(archive, passphrase: passphrase, random: random, LibCryptography())
    }

    /// A document with a change by another program, and with the digest that fits, which anybody can make.
    private func withDigest(_ document: JSONObject) throws -> JSONObject {
        let names = ["format", "version", "cipher", "scrypt_n", "scrypt_r", "scrypt_p", "salt", "key_check"]
        let lines = names.map { name in
            (document[name]?.string ?? document[name]?.integer.map(String.init) ?? "") + "\n"
        }
        var changed = document
        let digest = try LibCryptography().sha256(Array(lines.joined().utf8)).prefix(16)
        changed["digest"] = .string(Base64URL.encode(Array(digest)))
        return changed
    }

    private func check(_ archive: AccountExport) {
        let entry = archive.accounts.first
        #expect(entry?.tokenSet.account.username == "ada@example.com")
        #expect(entry?.tokenSet.grants[""]?.refreshToken == Secret("refresh-ada-1"))
        #expect(archive.types.map(\.name) == ["Work"])
        #expect(archive.secrets.map(\.text) == [Secret("hush")])
    }

    // MARK: Archives

    @Test func `an archive of the first form is read, and its passphrase tried`() throws {
        let document = try document(Self.fixture("archive-1.json"))
        check(try open(document))
        let wrong = #expect(throws: CredentialError.self) { try open(document, "correct hoarse") }
        #expect(wrong?.code == .denied)
    }

    @Test func `an archive is written in the second form, and read again`() throws {
        let archive = try open(try document(Self.fixture("archive-1.json")))
        let document = try sealed(archive)
        #expect(document["version"]?.integer == 2 && document["cipher"]?.string == "chacha20-poly1305")
        #expect(document["nonce"] == nil)
        #expect(try open(document) == archive)
        // Written and sent as people do.
        #expect(try open(try self.document(JSONValue.object(document).bytes(.indented))) == archive)
    }

    @Test func `a wrong passphrase and a damaged archive are told apart`() throws {
        let document = try sealed(try open(try document(Self.fixture("archive-1.json"))))
        let wrong = #expect(throws: CredentialError.self) { try open(document, "correct hoarse") }
        #expect(wrong?.code == .denied && wrong?.message == "the passphrase does not open the exported file")

        let sealed = try #require(document["sealed"]?.string.flatMap(Base64URL.decode))
        var damaged: [JSONObject] = []
        // Each member changed, missing, or one too many; sealed data cut anywhere, or with one bit changed.
        for (name, value) in document.members where name != "version" && name != "format" {
            var changed = document
            changed[name] = nil
            damaged.append(changed)
            changed = document
            if let text = value.string {
                changed[name] = .string((text.first == "A" ? "B" : "A") + text.dropFirst())
            } else {
                changed[name] = .integer((value.integer ?? 0) * 2)
            }
            damaged.append(changed)
        }
        var more = document
        more["note"] = "from Ada"
        damaged.append(more)
        for size in [0, 15, 16, sealed.count - 1] {
            var cut = document
            cut["sealed"] = .string(Base64URL.encode(Array(sealed.prefix(size))))
            damaged.append(cut)
        }
        #expect(damaged.count == 21)
        for document in damaged {
            let error = #expect(throws: CredentialError.self) { try open(document) }
            #expect(
                error?.code == .configuration && error?.message == "the exported file is damaged or was changed")
        }
    }

    @Test func `a header that somebody has changed with its digest opens nothing`() throws {
        let archive = try open(try document(Self.fixture("archive-1.json")))
        let one = try sealed(archive), other = try sealed(archive)
        // The check of another key is not that of this passphrase.
        for (name, value) in [("salt", other["salt"]), ("scrypt_n", 65_536), ("key_check", other["key_check"])] {
            var changed = one
            changed[name] = value
            let changedToo = try withDigest(changed)
            let error = #expect(throws: CredentialError.self) { try open(changedToo) }
            #expect(error?.code == .denied, "\(name)")
        }
        // A sealed text belongs to one header.
        var swapped = one
        swapped["sealed"] = other["sealed"]
        let error = #expect(throws: CredentialError.self) { try open(swapped) }
        #expect(error?.code == .configuration)
        // A cost that takes all memory, or makes guessing cheap, is not tried.
        for cost in [1 << 13, 1 << 21, 100_000] as [Int64] {
            var dear = one
            dear["scrypt_n"] = .integer(cost)
            let dearToo = try withDigest(dear)
            let error = #expect(throws: CredentialError.self) { try open(dearToo) }
            #expect(error?.code == .configuration, "\(cost)")
        }
    }

    @Test func `an archive of a newer form is named and not opened`() throws {
        var document = try sealed(AccountExport())
        document["version"] = 3
        let error = #expect(throws: CredentialError.self) { try open(document) }
        #expect(error?.code == .configuration && error?.hint == "upgrade credmgr")
        #expect(error?.message == "a newer credmgr wrote the exported file (version 3)")
    }

    @Test(.needs(.python), arguments: [1, 2])
    func `the program of docs/reference/file-formats.md reads an archive`(form: Int) throws {
        let page = try String(
            contentsOf: Self.checkout.appendingPathComponent("docs/reference/file-formats.md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```python\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        #expect(blocks.count == 1)
        let folder = try TemporaryFolder(), program = folder.path + "/read-archive.py"
        try Data(try #require(blocks.first).utf8).write(to: URL(fileURLWithPath: program))
        let first = try document(Self.fixture("archive-1.json")), archive = try open(first)
        let document = form == 1 ? first : try sealed(archive)
        let file = folder.path + "/archive.json"
        try Data(JSONValue.object(document).bytes(.indented)).write(to: URL(fileURLWithPath: file))
        let python = ChildProcess("/usr/bin/python3", [program, file], environment: ["PATH": "/usr/bin:/bin"])
        let read = try python.run(input: "correct horse\n", seconds: 60)
        #expect(read.exitStatus == 0, "\(read.standardError)")
        let object = try #require(try JSONValue.parse(Array(read.standardOutput.utf8)).object)
        #expect(try AccountExport(json: object) == archive)
        let wrong = try python.run(input: "correct hoarse\n", seconds: 60)
        #expect(wrong.exitStatus != 0 && wrong.standardOutput.isEmpty)
    }

    // MARK: The journal

    /// An account whose tokens a refresh has replaced, and whose store has not taken the new ones.
    private func waiting(
        _ cryptography: any Cryptography = LibCryptography()
    ) throws -> (machine: MemoryMachine, set: TokenSet) {
        let machine = MemoryMachine(cryptography: cryptography)
        var account = Account(
            id: "0123456789abcdef", type: "Work", adapter: "oauth2",
            registration: ClientIdentity(provider: "https://id.example", clientID: "c"), subject: "ada",
            store: .file,
            now: Timestamp(epochSeconds: 1_790_000_000))
        account.username = "ada@example.com"
        var set = TokenSet(account: account, journalKey: (0..<32).map { UInt8($0) })
        set.grants[""] = Grant(flow: .code, obtainedAt: Timestamp(epochSeconds: 1_790_000_000))
        set.grants[""]?.refreshToken = Secret("refresh-ada-0")
        guard case .stored = try repository(machine).save(&set, in: .standard) else { throw Refused() }
        return (machine, set)
    }

    private func repository(_ machine: MemoryMachine) -> TokenSetRepository {
        AccountServices(machine.process(PortTrace()), AccountPolicy(), Configuration()).repository
    }

    @Test func `a journal entry of the first form is taken up`() throws {
        let (machine, set) = try waiting()
        let entry = try #require(
            Base64URL.decode(String(decoding: Self.fixture("journal-1.txt").dropLast(), as: UTF8.self)))
        machine.setJournal(entry, of: set.account.id)
        let read = try repository(machine).read(set.account, in: .standard, isLocked: true)
        #expect(read?.generation == 5 && read?.grants[""]?.refreshToken == Secret("refresh-ada-1"))
    }

    @Test func `a journal entry is written in the second form, for one account`() throws {
        var (machine, set) = try waiting()
        let id = set.account.id
        machine.breakStore(.file, with: CredentialError(.storeUnavailable, "the disk is full"))
        set.grants[""]?.refreshToken = Secret("refresh-ada-1")
        guard case .journaled = try repository(machine).save(&set, in: .standard) else { throw Refused() }
        let entry = try #require(machine.journaled(id))
        #expect(entry.starts(with: Array("credmgr journal 2".utf8)))
        machine.breakStore(.file, with: nil)
        let read = try repository(machine).read(set.account, in: .standard, isLocked: false)
        #expect(read?.grants[""]?.refreshToken == Secret("refresh-ada-1"))
        // The entry is not valid in the place of another account's, though that had the same key.
        var other = TokenSet(
            account: Account(
                id: "fedcba9876543210", type: "Work", adapter: "oauth2", registration: set.account.registration,
                subject: "bob", store: .file, now: set.account.createdAt), journalKey: set.journalKey)
        guard case .stored = try repository(machine).save(&other, in: .standard) else { throw Refused() }
        machine.setJournal(entry, of: other.account.id)
        #expect(try repository(machine).read(other.account, in: .standard, isLocked: false)?.grants.isEmpty == true)
        // A changed or cut entry is not valid either, nor one without the mark of its form.
        var changed = entry
        changed[20] ^= 1
        for damaged in [changed, Array(entry.dropLast()), Array(entry.dropFirst(17)), Array(entry.prefix(17))] {
            machine.setJournal(damaged, of: id)
            let read = try repository(machine).read(set.account, in: .standard, isLocked: false)
            #expect(read?.grants[""]?.refreshToken == Secret("refresh-ada-0"))
        }
    }

    @Test func `in archives and journal no key has two purposes, and none seals twice with a nonce`() throws {
        let keys = RecordedKeys(LibCryptography())
        for _ in 0..<2 {
            _ = try EncryptedExport.open(
                try EncryptedExport.seal(AccountExport(), passphrase: passphrase, random: random, keys),
                passphrase: passphrase, keys)
        }
        var (machine, set) = try waiting(keys)
        machine.breakStore(.file, with: CredentialError(.storeUnavailable, "the disk is full"))
        for _ in 0..<3 {
            guard case .journaled = try repository(machine).save(&set, in: .standard) else { throw Refused() }
        }
        #expect(keys.sealingKeys >= 5)
        #expect(keys.sharedKeys == 0 && keys.repeatedNonces == 0 && keys.ambiguousKeys == 0)
    }
}

/// The system's random bytes.
private struct DrawnBytes: RandomSource {
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }
}

extension Need {
    /// Python with the cipher that archives have.
    fileprivate static let python = Need(
        "python3-cryptography",
        isThere: FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/cryptography"))
}

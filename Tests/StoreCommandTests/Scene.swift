import CredentialCore
import CryptoSupport
import EncryptedFileStore
import Foundation
import LocalFiles
import Platform
import StrictJSON
import TestSupport

/// A home with accounts in it, the real program, and the parts to look behind its back with.
final class Scene: Sendable {
    let folder: TemporaryFolder
    let group = KeychainGroup.standard
    private let home: ProgramHome

    /// Makes an empty home on the bus of `keyring`, or without a bus.
    init(_ keyring: PrivateKeyring? = nil) throws {
        folder = try TemporaryFolder()
        let noBus: [String: String?] = keyring == nil ? ["DBUS_SESSION_BUS_ADDRESS": nil] : [:]
        home = try ProgramHome(folder.path, busAddress: keyring?.busAddress, noBus)
    }

    var dataHome: String { home.dataHome }
    var groupFolder: String { home.groupFolder() }

    // MARK: The program

    /// A call of the program.
    func command(_ words: [String], _ variables: [String: String] = [:]) -> ChildProcess {
        home.command(words, variables)
    }

    /// Runs the program.
    func run(
        _ words: [String], _ variables: [String: String] = [:], input: String = ""
    ) throws -> ChildProcess.Outcome { try command(words, variables).run(input: input) }

    // MARK: Behind its back

    /// The encrypted file.
    var file: EncryptedFileStore {
        EncryptedFileStore(
            dataHome: dataHome, keys: .keyFileOnly, cryptography: LibCryptography(), random: SystemRandom(),
            clock: SystemClock(), cost: ScryptCost(logarithm: 13, blockSize: 8, parallelism: 1), report: { _ in })
    }

    var records: AccountRecordFiles {
        AccountRecordFiles(GroupFolders(dataHome: dataHome), clock: SystemClock())
    }

    /// The accounts, as their records have them.
    func accounts() throws -> AccountList { try records.registry(of: group) }

    /// The path of a record.
    func path(_ id: String) -> String { groupFolder + "/accounts/" + id }

    /// Makes accounts with token sets in a store.
    func signIn(_ ids: [String], in store: any SecretStore) throws {
        Canary.watch { Set(ids.map { "refresh-" + $0 }) }
        try define(clientID: "c")
        for id in ids { try put(try Self.tokenSet(id, in: store.kind), in: store) }
    }

    /// Puts a token set into a store, and its facts into a record.
    func put(_ set: TokenSet, in store: any SecretStore) throws {
        let id = set.account.id
        var record = AccountRecord(group: group, account: set.account)
        if store.kind == .file {
            record.sealed = try file.seal(set.encoded(), of: id, generation: set.generation, in: group)
        } else {
            try store.write(set.encoded(), for: item(id), label: "credmgr: Tasks \(id)")
        }
        guard case .done = try records.write(record, expecting: nil) else { throw Refused() }
    }

    /// Changes a record as a whole.
    func change(_ id: String, _ change: (inout AccountRecord) throws -> Void) throws {
        guard var record = try records.read(id, in: group) else { throw Refused() }
        try change(&record)
        guard case .done = try records.write(record, expecting: record.generation) else { throw Refused() }
    }

    struct Refused: Error {}

    /// Defines the type of the accounts.
    func define(clientID: String, group: String = "default") throws {
        try home.write(
            #"{"issuer": "https://id.example", "client_id": "\#(clientID)", "keychain_group": "\#(group)"}"#,
            to: "config/credmgr/types/Tasks.json")
    }

    /// A token set whose refresh token is `refresh-ID`.
    static func tokenSet(_ id: String, in store: StoreKind) throws -> TokenSet {
        let now = SystemClock().now
        var account = Account(
            id: id, type: "Tasks", adapter: "oauth2",
            registration: ClientIdentity(provider: "https://id.example", clientID: "c"), subject: "subject-" + id,
            store: store, now: now)
        account.username = "user-\(id)@example.com"
        var set = TokenSet(account: account, journalKey: [UInt8](repeating: 7, count: 32))
        set.generation = 3
        var grant = Grant(flow: .code, obtainedAt: now)
        grant.refreshToken = Secret("refresh-" + id)
        set.grants[""] = grant
        return set
    }

    func item(_ id: String) -> SecretItem { SecretItem(group: group, owner: id, kind: .tokenSet) }

    /// The token set of an account in a store.
    func tokenSet(_ id: String, in store: any SecretStore) throws -> TokenSet? {
        if store.kind == .secretService { return try store.read(item(id)).map { try TokenSet(decoding: $0) } }
        return try records.read(id, in: group)?.sealed.map {
            try TokenSet(decoding: try file.open($0, of: id, in: group))
        }
    }

    /// The accounts whose secrets a store has whole.
    func holders(_ store: any SecretStore) throws -> [String] {
        if store.kind == .file {
            return try accounts().accounts.filter { account in
                guard let sealed = try records.read(account.id, in: group)?.sealed else { return false }
                let set = try? TokenSet(decoding: try file.open(sealed, of: account.id, in: group))
                return set?.grants[""]?.refreshToken == Secret("refresh-" + account.id)
            }.map(\.id).sorted()
        }
        return try store.items(of: group, kind: .tokenSet).filter { item in
            let set = try store.read(item).map { try TokenSet(decoding: $0) }
            return set?.grants[""]?.refreshToken == Secret("refresh-" + item.owner)
        }.map(\.owner).sorted()
    }

    /// The findings of `doctor --json` that are not as they should be.
    func problems(_ words: [String] = []) throws -> [String] {
        let outcome = try run(["doctor", "--json"] + words)
        let document = try JSONValue.parse(Array(outcome.standardOutput.utf8)).object
        let problems = document?["checks"]?.array?.compactMap(\.object).filter { $0["state"] == "problem" } ?? []
        if (outcome.exitStatus == 0) != problems.isEmpty { return ["exit status \(outcome.exitStatus)"] }
        return problems.compactMap { $0["message"]?.string }
    }
}

import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// Which account is meant.
@Suite struct AccountSelectionTests {
    private static func account(
        _ id: String, _ username: String? = nil, label: String? = nil, subject: String = "s", provider: String = "p"
    ) -> Account {
        var account = Account(
            id: id, type: "Tasks", adapter: "memory",
            registration: ClientIdentity(provider: provider, clientID: "c"),
            subject: subject, store: .file, now: Timestamp(epochSeconds: 0))
        account.username = username
        account.label = label
        return account
    }

    private let ada = account("aaaa000000000001", "ada@example.com", label: "Work", subject: "1")
    private let bob = account("aaaa000000000002", "bob@example.com", subject: "2")

    private func choose(
        _ query: String? = nil, among accounts: [Account]? = nil, defaultID: String? = nil
    ) throws(CredentialError) -> AccountSelection {
        let machine = MemoryMachine(cryptography: LibCryptography())
        for var account in accounts ?? [ada, bob] {
            if account.id == defaultID { account.madeDefaultAt = Timestamp(epochSeconds: 1) }
            machine.setRecord(AccountRecord(group: .standard, account: account), of: account.id)
        }
        return try AccountSelection.choose(
            among: AccountSelection.Candidates(
                in: [.standard], of: ada.registration, type: "Tasks", place: "account type Tasks",
                login: "credmgr login --type Tasks", use: { "credmgr use \($0) --type Tasks" }),
            query: query.map { AccountSelection.AccountQuery($0, rule: .option) }, machine.process().records)
    }

    @Test(arguments: ["aaaa000000000001", "ada@example.com", "Work", "1", "aaaa000000000001"])
    func `an account is meant by its id, username, label or subject`(name: String) throws {
        let selection = try choose(name)
        #expect(selection.account == ada)
        #expect(selection.rule == .option)
    }

    @Test func `the beginning of an ID selects an account if it is long enough and unique`() throws {
        let other = Self.account("bbbb000000000001")
        #expect(try choose("bbbb", among: [ada, other]).account == other)
        #expect(throws: CredentialError.self) { try choose("bbb", among: [ada, other]) }
        let error = #expect(throws: CredentialError.self) { try choose("aaaa") }
        #expect(error?.code == .ambiguousAccount)
        #expect(error?.details.count == 2)
    }

    @Test func `an id comes before everything that may look like one`() throws {
        let trickster = Self.account("cccc000000000001", label: ada.id, subject: ada.id)
        #expect(try choose(ada.id, among: [trickster, ada]).account == ada)
    }

    @Test func `without a wish the default is taken, else the only one`() throws {
        let byDefault = try choose(defaultID: bob.id)
        #expect(byDefault.account.id == bob.id && byDefault.rule == .defaultAccount)
        let only = try choose(among: [ada], defaultID: "gone")
        #expect(only.account == ada && only.rule == .onlyAccount)
        #expect(try choose("Work", defaultID: bob.id).account == ada)
    }

    @Test func `several and no default are told with the list and the way out`() {
        let error = #expect(throws: CredentialError.self) { try choose() }
        #expect(error?.code == .ambiguousAccount)
        #expect(error?.message == "account type Tasks has 2 accounts and no default")
        #expect(error?.details == ["aaaa000000000001  Tasks  Work", "aaaa000000000002  Tasks  bob@example.com"])
        #expect(error?.hint?.hasSuffix("such as: credmgr use \(ada.id) --type Tasks") == true)
    }

    @Test func `the hint for a terminal names the account if a default does not decide`() {
        let error = #expect(throws: CredentialError.self) {
            let machine = MemoryMachine(cryptography: LibCryptography())
            for account in [ada, bob] {
                machine.setRecord(AccountRecord(group: .standard, account: account), of: account.id)
            }
            return try AccountSelection.choose(
                among: .init(in: [.standard], place: "any type", login: "credmgr login --type Tasks"), query: nil,
                machine.process().records)
        }
        #expect(error?.hint?.hasSuffix("such as: export CREDMGR_ACCOUNT=\(ada.id)") == true)
    }

    @Test func `a type with another provider than before has no account, and the error names the former one`() {
        let former = Self.account("dddd000000000001", "eve@example.com", provider: "https://old.example\u{1B}[2J")
        for query in [nil, "eve@example.com"] {
            let error = #expect(throws: CredentialError.self) { try choose(query, among: [former]) }
            #expect(error?.code == .noSuchAccount && error?.hint == "credmgr login --type Tasks")
            guard query == nil else { continue }
            #expect(error?.message.contains("a different provider or client, https://old.example") == true)
            #expect(error?.details == ["dddd000000000001  Tasks  eve@example.com"])
            #expect(error?.message.contains("\u{1B}") == false)
        }
    }

    @Test func `none is told with the sign-in, and a name that fits none with the list`() {
        let none = #expect(throws: CredentialError.self) { try choose(among: []) }
        #expect(none?.code == .noSuchAccount)
        #expect(none?.hint == "credmgr login --type Tasks")
        let wrong = #expect(throws: CredentialError.self) { try choose("eve\u{1B}[2J") }
        #expect(wrong?.code == .noSuchAccount)
        #expect(wrong?.hint == "credmgr accounts")
        #expect(wrong?.message.contains("\u{1B}") == false)
    }
}

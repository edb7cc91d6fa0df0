import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// The rules of generations, on stores in memory that can be made to fail.
@Suite struct TokenSetRepositoryTests {
    private let trace = PortTrace()
    private let machine = MemoryMachine(cryptography: LibCryptography())
    private let account = Account(
        id: "0123456789abcdef", type: "T", adapter: "oauth2",
        registration: ClientIdentity(provider: "https://p.example", clientID: "c"), subject: "s", store: .file,
        now: Timestamp(epochSeconds: 1))

    private var repository: TokenSetRepository {
        AccountServices(machine.process(trace), AccountPolicy(), Configuration()).repository
    }

    private func saved(_ set: TokenSet) throws -> TokenSet {
        var set = set
        guard case .stored = try repository.save(&set, in: .standard) else { throw Unexpected() }
        return set
    }

    private func first() throws -> TokenSet {
        try saved(TokenSet(account: account, journalKey: Array(repeating: 7, count: 32)))
    }

    @Test func `each write raises the generation`() throws {
        #expect(try saved(first()).generation == 2)
    }

    @Test(arguments: [(StoreKind.file, StoreKind.secretService), (.secretService, .file)])
    func `a token set in one store leaves no copy in the other`(from: StoreKind, to: StoreKind) throws {
        var set = try first()
        if from == .secretService {
            #expect(try repository.move(set.account, to: from, in: .standard))
            set = try #require(try repository.read(set.account, in: .standard, isLocked: true))
        }
        set.account.store = to
        set = try saved(set)
        #expect(machine.secrets()[account.id] == [to])
        let record = try #require(machine.record(account.id))
        #expect(record.account.store == to && record.account.staleKeyringCopy == nil)
        #expect(try repository.read(record.account, in: .standard, isLocked: true)?.generation == set.generation)
    }

    @Test func `a writer that was overtaken changes nothing`() throws {
        let old = try first()
        let newer = try saved(old)
        var late = old
        guard case .overtaken(let found?) = try repository.save(&late, in: .standard) else {
            Issue.record("it was written")
            return
        }
        #expect(found == newer)
        #expect(try repository.read(account, in: .standard, isLocked: true) == newer)
    }

    @Test func `an account is read from the store in its record, even if the caller names another`() throws {
        let set = try first()
        var seen = account
        seen.store = .secretService
        machine.breakStore(.secretService, with: CredentialError(.storeUnavailable, "no such interface"))
        #expect(try repository.read(seen, in: .standard, isLocked: false)?.generation == set.generation)
        // A read from a store that still has the account has failed for a reason of its own.
        var record = try #require(machine.record(account.id))
        record.account.store = .secretService
        machine.setRecord(record, of: account.id)
        #expect(throws: CredentialError.self) { try repository.read(seen, in: .standard, isLocked: false) }
    }

    @Test func `a token set in the record of another account is damaged`() throws {
        var other = account
        other = Account(
            id: "fedcba9876543210", type: account.type, adapter: account.adapter,
            registration: account.registration, subject: "other", store: .file, now: account.createdAt)
        var set = TokenSet(account: other, journalKey: Array(repeating: 8, count: 32))
        guard case .stored = try repository.save(&set, in: .standard) else { throw Unexpected() }
        _ = try first()
        var record = try #require(machine.record(account.id))
        record.sealed = machine.record(other.id)?.sealed
        machine.setRecord(record, of: account.id)
        let error = #expect(throws: CredentialError.self) {
            try repository.read(account, in: .standard, isLocked: false)
        }
        #expect(error?.code == .storeDamaged)
    }

    @Test func `a label given meanwhile stays`() throws {
        let process = machine.process()
        let repository = AccountServices(process, AccountPolicy(), Configuration()).repository
        var set = try first()
        try process.records.update(account.id, in: .standard) { $0.label = "mine" }
        guard case .stored = try repository.save(&set, in: .standard) else { throw Unexpected() }
        let record = try #require(machine.record(account.id))
        #expect(record.account.label == "mine" && record.sealed?.generation == 2)
        #expect(try repository.read(account, in: .standard, isLocked: true)?.account.label == "mine")
    }

    @Test func `a removed token set is not restored`() throws {
        var late = try first()
        try repository.remove(account, in: .standard)
        guard case .overtaken(nil) = try repository.save(&late, in: .standard) else {
            Issue.record("it was written")
            return
        }
        #expect(try repository.read(account, in: .standard, isLocked: true) == nil)
    }

    @Test func `a generation that the store refused is journaled, read, and taken up`() throws {
        var set = try first()
        machine.breakStore(.file, with: Self.full)
        guard case .journaled = try repository.save(&set, in: .standard) else {
            Issue.record("it was not journaled")
            return
        }
        machine.breakStore(.file, with: nil)
        #expect(try repository.read(account, in: .standard, isLocked: false) == set)
        #expect(try repository.read(account, in: .standard, isLocked: true) == set)
        // A later run has read it from the store: the journal has done its work.
        #expect(try repository.read(account, in: .standard, isLocked: true) == set)
        #expect(machine.journaled().isEmpty)
        #expect(try saved(set).generation == 3)
    }

    @Test func `when neither takes it the error says so`() throws {
        var set = try first()
        machine.breakStore(.file, with: Self.full)
        trace.fail("journal.write", with: Self.full)
        trace.fail("journal.reserve", with: Self.full)
        #expect(throws: CredentialError.self) { try repository.save(&set, in: .standard) }
        #expect(throws: CredentialError.self) { try repository.reserve(for: set, in: .standard) }
    }

    private static let full = CredentialError(.storeUnavailable, "it is full")

    private struct Unexpected: Error {}
}

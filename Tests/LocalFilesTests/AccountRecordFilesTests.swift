import CredentialCore
import Foundation
import LocalFiles
import Platform
import TestSupport
import Testing

/// The records of accounts on a real disk, and the index of their names beside them.
@Suite struct AccountRecordFilesTests {
    let temporary: TemporaryFolder
    let group = KeychainGroup.standard
    let registration = ClientIdentity(provider: "https://id.example", clientID: "c")

    init() throws { temporary = try TemporaryFolder() }

    var records: AccountRecordFiles {
        AccountRecordFiles(GroupFolders(dataHome: temporary.path), clock: SystemClock())
    }
    var folder: String { temporary.path + "/credmgr/groups/default" }

    static func id(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }

    func account(_ number: Int) -> Account {
        var account = Account(
            id: Self.id(number), type: "Work", adapter: "oauth2", registration: registration,
            subject: "subject\t\(number)\\", store: .file, now: Timestamp(epochSeconds: Int64(number)))
        account.username = "user\(number)@example.com"
        return account
    }

    func add(_ numbers: ClosedRange<Int>) throws {
        for number in numbers {
            let sealed = SealedTokenSet(
                generation: 1, key: "k", bytes: [1, 2, 3, UInt8(truncatingIfNeeded: number)])
            let record = AccountRecord(group: group, account: account(number), sealed: sealed)
            guard case .done = try records.write(record, expecting: nil) else { throw Refused() }
        }
    }

    func write(_ text: String, to name: String) throws {
        let path = folder + "/" + name
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o600) == 0)
    }

    func text(_ name: String) throws -> String {
        try String(contentsOf: URL(fileURLWithPath: folder + "/" + name), encoding: .utf8)
    }

    struct Refused: Error {}

    // MARK: Records

    @Test func `a written record is read, for its owner alone`() throws {
        try add(1...2)
        let read = try #require(try records.read(Self.id(2), in: group))
        #expect(read.account == account(2) && read.generation == 1 && read.sealed?.bytes == [1, 2, 3, 2])
        #expect(try records.read(Self.id(3), in: group) == nil)
        #expect(try records.groups() == [group])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/accounts/" + Self.id(1))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try text("format") == "2\n")
    }

    @Test func `only the reader of the current generation replaces it`() throws {
        try add(1...1)
        var record = try #require(try records.read(Self.id(1), in: group))
        record.account.label = "first"
        guard case .done = try records.write(record, expecting: 1) else { throw Refused() }
        record.account.label = "late"
        guard case .overtaken = try records.write(record, expecting: 1) else { throw Refused() }
        guard case .overtaken = try records.write(record, expecting: nil) else { throw Refused() }
        guard case .overtaken = try records.remove(Self.id(1), in: group, expecting: 1) else { throw Refused() }
        #expect(try records.read(Self.id(1), in: group)?.account.label == "first")
        guard case .done = try records.remove(Self.id(1), in: group, expecting: 2) else { throw Refused() }
        guard case .overtaken = try records.write(record, expecting: 2) else { throw Refused() }
        #expect(try records.read(Self.id(1), in: group) == nil)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder + "/accounts")
        #expect(left.isEmpty, "\(left)")
    }

    @Test func `of many concurrent writes none is lost`() async throws {
        try add(1...1)
        let records = records
        let group = group
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<8 {
                tasks.addTask {
                    for _ in 0..<10 {
                        while true {
                            guard let record = try? records.read(Self.id(1), in: group) else { continue }
                            var next = record
                            next.account.updatedAt = record.account.updatedAt.adding(1)
                            if case .done = try? records.write(next, expecting: record.generation) { break }
                        }
                    }
                }
            }
        }
        let end = try #require(try records.read(Self.id(1), in: group))
        #expect(end.generation == 81 && end.account.updatedAt == Timestamp(epochSeconds: 81))
    }

    @Test(arguments: ["", "{", "{}\n", #"{"version":1}"# + "\n", "not JSON\n"])
    func `a damaged record is named, affects no other account, and is quarantined`(content: String) throws {
        try add(1...3)
        try write(content, to: "accounts/" + Self.id(2))
        let error = #expect(throws: CredentialError.self) { try records.read(Self.id(2), in: group) }
        #expect(error?.code == .storeDamaged && error?.message.contains("accounts/" + Self.id(2)) == true)
        var damaged: [String] = []
        let listed = try records.registry(of: group) { id, _ in damaged.append(id) }
        #expect(listed.accounts.map(\.id) == [Self.id(1), Self.id(3)] && damaged == [Self.id(2)])
        #expect(try text("accounts/" + Self.id(2)) == content)
        let aside = try records.setAside(Self.id(2), in: group)
        #expect(try String(contentsOf: URL(fileURLWithPath: aside), encoding: .utf8) == content)
        #expect(try records.index(of: group, .ids).ids == [Self.id(1), Self.id(3)])
    }

    @Test func `a record is believed under its own name and in its own group only, and whole`() throws {
        try add(1...2)
        let path = folder + "/accounts/"
        let whole = try Data(contentsOf: URL(fileURLWithPath: path + Self.id(1)))
        for (name, bytes, reason) in [
            (Self.id(2), whole, "it belongs to account \(Self.id(1))"),
            (Self.id(1), whole.dropLast(), "it is truncated"),
            (Self.id(1), whole + [0], "it is truncated"),
        ] {
            try Data(bytes).write(to: URL(fileURLWithPath: path + name))
            #expect(chmod(path + name, 0o600) == 0)
            let error = #expect(throws: CredentialError.self) { try records.read(name, in: group) }
            #expect(error?.code == .storeDamaged && error?.message.contains(reason) == true, "\(reason)")
        }
        #expect(throws: CredentialError.self) {
            try AccountRecord(Array(whole), of: Self.id(1), in: KeychainGroup("o"))
        }
    }

    @Test func `a newer index is left alone and named, and an older one is made again`() throws {
        try add(1...2)
        _ = try records.index(of: group, .everything)
        let index = try text("index")
        let newer = index.replacingOccurrences(of: "credmgr-index 3 ", with: "credmgr-index 4 ")
        #expect(newer != index)
        try write(newer, to: "index")
        for check in [IndexVerification.none, .ids, .everything] {
            let error = #expect(throws: CredentialError.self) { try records.index(of: group, check) }
            #expect(error?.code == .unsupported && error?.hint == "upgrade credmgr")
        }
        // Nor does a record change that the index would have to name.
        let changes: [() throws -> Void] = [
            { try add(3...3) },
            { _ = try records.update(Self.id(1), in: group) { $0.label = "mine" } },
            { _ = try records.remove(Self.id(2), in: group, expecting: 1) },
            { _ = try records.setAside(Self.id(2), in: group) },
        ]
        for change in changes {
            let error = #expect(throws: CredentialError.self) { try change() }
            #expect(error?.code == .unsupported)
        }
        #expect(try text("index") == newer)
        #expect(try records.read(Self.id(1), in: group)?.account.label == nil)
        #expect(try records.read(Self.id(2), in: group) != nil && records.read(Self.id(3), in: group) == nil)
        // The tokens of an account change without it.
        let id = Self.id(1)
        var record = try #require(try records.read(id, in: group))
        record.sealed = SealedTokenSet(generation: 2, key: "k", bytes: [9])
        guard case .done = try records.write(record, expecting: 1) else { throw Refused() }
        #expect(try records.read(id, in: group)?.sealed?.bytes == [9] && text("index") == newer)
        try write(index.replacingOccurrences(of: "credmgr-index 3 ", with: "credmgr-index 2 "), to: "index")
        #expect(try records.index(of: group, .everything).entries.count == 2)
        #expect(try text("index").hasPrefix("credmgr-index 3 "))
    }

    @Test func `a newer record and a newer group are left alone and named`() throws {
        try add(1...2)
        let newer = try text("accounts/" + Self.id(1)).replacingOccurrences(
            of: #""version":1"#, with: #""version":2"#)
        try write(newer, to: "accounts/" + Self.id(1))
        let error = #expect(throws: CredentialError.self) { try records.read(Self.id(1), in: group) }
        #expect(error?.code == .unsupported && error?.hint == "upgrade credmgr")
        #expect(throws: CredentialError.self) {
            try records.write(AccountRecord(group: group, account: account(1)), expecting: 1)
        }
        #expect(try text("accounts/" + Self.id(1)) == newer)
        #expect(try records.read(Self.id(2), in: group) != nil)
        try write("3\n", to: "format")
        #expect(throws: CredentialError.self) { try records.read(Self.id(2), in: group) }
        #expect(throws: CredentialError.self) { try add(3...3) }
        try write("none\n", to: "format")
        let damage = #expect(throws: CredentialError.self) { try records.index(of: group, .none) }
        #expect(damage?.code == .storeDamaged)
    }

    @Test func `a group of layout 1 is read as it is, and says 2 before anything is written`() throws {
        try add(1...2)
        try write("1\n", to: "format")
        #expect(try records.read(Self.id(1), in: group) != nil)
        #expect(try records.index(of: group, .everything).ids.count == 2)
        #expect(try text("format") == "1\n")
        try add(3...3)
        #expect(try text("format") == "2\n")
        // The journal's entries have a form of this layout, too, and room for them is reserved before tokens are
        // requested.
        let journal = JournalFiles(GroupFolders(dataHome: temporary.path))
        try write("1\n", to: "format")
        try journal.write([1], for: Self.id(1), in: group)
        #expect(try text("format") == "2\n")
        try write("1\n", to: "format")
        try journal.reserve(100, for: Self.id(1), in: group)
        #expect(try text("format") == "2\n")
        try write("1\n", to: "format")
        try journal.reserveForSending(100, of: Self.id(1), in: group)
        #expect(try text("format") == "2\n")
        // It reports no problem of a group without accounts.
        let other = try KeychainGroup("other")
        try journal.write([1], for: Self.id(1), in: other)
        #expect(!FileManager.default.fileExists(atPath: temporary.path + "/credmgr/groups/other/format"))
    }

    @Test func `accounts of an older version are reported, and never as no accounts`() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try write(#"{"version": 1, "accounts": [], "defaults": {}}"#, to: "accounts.json")
        #expect(try records.groups() == [group])
        let error = #expect(throws: CredentialError.self) { try records.registry(of: group) }
        #expect(error?.code == .unsupported && error?.hint == "credmgr doctor --fix")
        #expect(throws: CredentialError.self) { try add(1...1) }
        try records.setAsideOlder(group)
        try add(1...1)
        #expect(try records.registry(of: group).accounts.count == 1)
    }
}

import CredentialCore
import Foundation
import LocalFiles
import Platform
import TestSupport
import Testing

// The index of the names beside the records.
extension AccountRecordFilesTests {
    @Test func `a group without its format file or its records is not one without accounts`() throws {
        try add(1...2)
        let format = folder + "/format", records = records
        try FileManager.default.removeItem(atPath: format)
        #expect(try records.groups() == [group])
        for check in [IndexVerification.none, .ids, .everything] {
            let error = #expect(throws: CredentialError.self) { try records.index(of: group, check) }
            #expect(error?.code == .storeDamaged && error?.hint == "(umask 077; echo 2 > \(format))")
        }
        #expect(throws: CredentialError.self) { try add(3...3) }
        try Data("1\n".utf8).write(to: URL(fileURLWithPath: format))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: format)
        #expect(try records.index(of: group, .ids).count == 2)
        try FileManager.default.moveItem(atPath: folder + "/accounts", toPath: folder + "/elsewhere")
        #expect(try Set(records.index(of: group, .ids).unreadable) == [Self.id(1), Self.id(2)])
        var missing: [String] = []
        let registry = try records.registry(of: group) { id, error in
            if error.code == .storeDamaged { missing.append(id) }
        }
        #expect(registry.accounts.isEmpty && missing == [Self.id(1), Self.id(2)])
        try FileManager.default.moveItem(atPath: folder + "/elsewhere", toPath: folder + "/accounts")
        #expect(try records.index(of: group, .everything).count == 2)
    }

    @Test func `a name is found by the index, and only changes of names are written to it`() throws {
        try add(1...3)
        let before = try text("index")
        try records.update(Self.id(2), in: group) { $0.expiresAt = Timestamp(epochSeconds: 99) }
        #expect(try text("index") == before)
        try records.update(Self.id(2), in: group) { $0.label = "mine\tand\nyours\\" }
        let index = try records.index(of: group, .none)
        #expect(index.matches(for: "mine\tand\nyours\\", of: nil).map(\.id) == [Self.id(2)])
        #expect(index.matches(for: "user3@example.com", of: registration).map(\.id) == [Self.id(3)])
        #expect(index.entries(of: registration, subject: "subject\t1\\").map(\.id) == [Self.id(1)])
        #expect(index.entries(of: ClientIdentity(provider: "https://id.example", clientID: "other")).isEmpty)
        #expect(index.entries.map(\.id) == (1...3).map(Self.id))
        #expect(index.areAll(ofType: "Work") && !index.areAll(ofType: "Wor"))
        #expect(index.chosen(of: registration) == nil)
        try records.update(Self.id(1), in: group) { $0.madeDefaultAt = Timestamp(epochSeconds: 5) }
        try records.update(Self.id(3), in: group) { $0.madeDefaultAt = Timestamp(epochSeconds: 6) }
        #expect(try records.index(of: group, .none).chosen(of: registration)?.id == Self.id(3))
    }

    @Test func `it is compacted, and says the same`() throws {
        try add(1...40)
        for round in 0..<400 {
            try records.update(Self.id(1 + round % 40), in: group) {
                $0.label = "label \(round) " + String(repeating: "x", count: 80)
            }
        }
        #expect(try text("index").utf8.count < 30_000)
        let index = try records.index(of: group, .none)
        #expect(index.count == 40 && index.entries.map(\.id) == (1...40).map(Self.id))
        #expect(index.entry(Self.id(40))?.label?.hasPrefix("label 399 ") == true)
    }

    @Test func `one that is lost, cut, damaged or behind is made again from the records`() throws {
        try add(1...5)
        let whole = try text("index")
        let names = try records.index(of: group, .none).entries
        for (content, check) in [
            (nil, IndexVerification.none), ("", .none), ("x", .none), (String(whole.prefix(60)), .none),
            (whole + "+\tgarbage\n", .none), (whole + "-\t\(Self.id(4))\n", .ids),
            (whole + "+\t00000000000000ff\tWork\tp\tc\ts\tu\t\t\t\n", .ids),
            (whole.replacingOccurrences(of: "user3@", with: "userX@"), .everything),
        ] {
            if let content {
                try write(content, to: "index")
            } else {
                try FileManager.default.removeItem(atPath: folder + "/index")
            }
            #expect(Set(try records.index(of: group, check).entries) == Set(names), "\(content ?? "none")")
            #expect(Set(try records.index(of: group, .none).entries) == Set(names), "it was not kept")
        }
    }

    @Test(arguments: [false, true])
    func `an index with any byte changed is rebuilt, and gives no name another account`(isAppended: Bool)
        throws
    {
        try add(1...3)
        // Entries that were appended by now are in the part that has each account once.
        try FileManager.default.removeItem(atPath: folder + "/index")
        _ = try records.index(of: group, .ids)
        if isAppended {
            try records.update(Self.id(2), in: group) { $0.label = "two" }
            try add(4...4)
        }
        let names = try records.index(of: group, .none).entries
        #expect(names.count == (isAppended ? 4 : 3))
        let whole = Array(try text("index").utf8)
        for place in whole.indices {
            for change in [UInt8(1), 0x21, 0xFF] {
                var changed = whole
                changed[place] ^= change
                try Data(changed).write(to: URL(fileURLWithPath: folder + "/index"))
                #expect(try records.index(of: group, .none).entries == names, "byte \(place)")
            }
        }
    }

    @Test func `appended lines take precedence over earlier ones, for every order of operations`()
        throws
    {
        var random = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: 1 ... .max, using: &random)
        var state = seed
        func next(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        try add(1...1)
        var labels: [Int: String] = [1: ""]
        for step in 0..<600 {
            let number = 1 + next(40)
            switch (labels[number], next(4)) {
            case (nil, _):
                try add(number...number)
                labels[number] = ""
            case (_, 0):
                let record = try #require(try records.read(Self.id(number), in: group))
                _ = try records.remove(Self.id(number), in: group, expecting: record.generation)
                labels[number] = nil
            case (_, 1) where step % 50 == 0:
                try FileManager.default.removeItem(atPath: folder + "/index")
            default:
                let label = "label\t\(step)" + String(repeating: "y", count: next(90))
                try records.update(Self.id(number), in: group) { $0.label = label }
                labels[number] = label
            }
            guard step % 7 == 0 else { continue }
            let index = try records.index(of: group, .ids)
            let found = Dictionary(uniqueKeysWithValues: index.entries.map { ($0.id, $0.label ?? "") })
            #expect(
                found == Dictionary(uniqueKeysWithValues: labels.map { (Self.id($0.key), $0.value) }),
                "seed \(seed)")
            #expect(index.ids == found.keys.sorted(), "seed \(seed)")
            for (number, label) in labels {
                #expect(
                    index.matches(for: "user\(number)@example.com", of: registration).map(\.id) == [Self.id(number)]
                )
                #expect(index.matches(for: Self.id(number), of: nil).map(\.id) == [Self.id(number)])
                #expect(index.entry(Self.id(number))?.label ?? "" == label)
                if !label.isEmpty { #expect(index.matches(for: label, of: nil).map(\.id) == [Self.id(number)]) }
            }
        }
    }

    @Test func `it tells whether it is of some accounts, by each of their names`() {
        var odd = account(1)
        (odd.username, odd.displayName, odd.label) = ("a\tb\\", "c\nd", "\\t")
        odd.madeDefaultAt = Timestamp(epochSeconds: 7)
        let accounts = [odd, account(2)], index = AccountIndex(accounts)
        #expect(index.isOf(accounts) && AccountIndex().isOf([]))
        #expect(!index.isOf([odd]) && !index.isOf(accounts.reversed()) && !index.isOf(accounts + [account(3)]))
        let changes: [(inout Account) -> Void] = [
            { $0.type += "x" }, { $0.registration = ClientIdentity(provider: "p", clientID: "c") },
            { $0.subject += "x" },
            { $0.username = "a\tb" }, { $0.displayName = "cnd" }, { $0.label = "\t" }, { $0.label = nil },
            { $0.madeDefaultAt = nil }, { $0.madeDefaultAt = Timestamp(epochSeconds: 70) },
        ]
        for (number, change) in changes.enumerated() {
            var other = odd
            change(&other)
            #expect(!index.isOf([other, account(2)]), "change \(number)")
        }
    }

    @Test func `names are found wherever they stand in a line, and only as subject, username or label`() throws {
        for length in 0..<24 {
            var account = account(1)
            account.type = String(repeating: "t", count: 1 + length)
            account.subject = "s" + String(repeating: "x", count: length)
            account.displayName = "Ada"
            account.label = "l\\" + String(repeating: "z", count: 23 - length)
            let index = AccountIndex([account])
            for name in [account.subject, "user1@example.com", account.label ?? "", account.id, "0000"] {
                #expect(index.matches(for: name, of: registration).map(\.id) == [account.id], "\(name)")
            }
            for name in [
                "Ada", account.type, "c", "https://id.example", "user1@example.co", "ser1@example.com", "",
            ] {
                #expect(index.matches(for: name, of: registration).isEmpty, "\(name)")
            }
        }
    }

    @Test func `looking for few accounts of a registration finds the first ones, whatever stands between them`()
        throws
    {
        let other = ClientIdentity(provider: "https://id.example", clientID: "cc")
        func index(_ registrations: [ClientIdentity], unreadable: [String] = []) -> AccountIndex {
            AccountIndex(
                registrations.enumerated().map { number, registration in
                    var account = account(1 + number)
                    account.registration = registration
                    account.madeDefaultAt = number == 2 ? Timestamp(epochSeconds: 5) : nil
                    return account
                }, unreadable: unreadable)
        }
        let mixed = index([registration, other, other, registration, other])
        for (wanted, numbers) in [(registration, [1, 4]), (other, [2, 3, 5])] {
            for limit in 1...4 {
                let found = mixed.entries(of: wanted, atMost: limit)
                #expect(found.map(\.id) == numbers.prefix(limit).map(Self.id))
                #expect(mixed.count(of: wanted, atMost: limit) == min(limit, numbers.count))
            }
            #expect(mixed.count(of: wanted) == numbers.count)
        }
        #expect(mixed.entries(of: nil, atMost: 2).map(\.id) == [1, 2].map(Self.id))
        #expect(mixed.entries(of: nil, atMost: 9).count == 5 && mixed.count(of: nil, atMost: 9) == 5)
        #expect(mixed.defaultEntry(of: registration) == nil)
        #expect(mixed.defaultEntry(of: other)?.id == Self.id(3))
        // Its only account is between the others', at the beginning or at the end.
        for (place, registrations) in [
            [registration, other, other], [other, registration], [other, registration, other],
        ]
        .enumerated() {
            let only = index(registrations)
            #expect(only.defaultEntry(of: registration)?.id == Self.id(place == 0 ? 1 : 2))
            let uncertain = index(registrations, unreadable: [Self.id(9)])
            #expect(uncertain.defaultEntry(of: registration) == nil, "the other may be of this registration, too")
            #expect(uncertain.count(of: registration) == 1 && uncertain.unreadable == [Self.id(9)])
        }
    }

    @Test func `a name is not found in a superseded line, nor in a checksum`() throws {
        try add(1...20)
        for number in 1...20 {
            try records.update(Self.id(number), in: group) { $0.label = "old \(number)" }
            try records.update(Self.id(number), in: group) { $0.label = "new \(number)" }
        }
        let file = try text("index")
        let index = try records.index(of: group, .none)
        for number in 1...20 {
            #expect(file.contains("\told \(number)\t") && index.matches(for: "old \(number)", of: nil).isEmpty)
            #expect(index.matches(for: "new \(number)", of: nil).map(\.id) == [Self.id(number)])
        }
        let sums = file.split(separator: "\n").dropFirst().compactMap {
            $0.split(separator: "\t").last.map(String.init)
        }
        for sum in sums where sum.count == 16 { #expect(index.matches(for: sum, of: nil).isEmpty) }
        // In the order in which they were added, however late their lines were written.
        #expect(index.matches(for: "0000", of: nil).map(\.id) == (1...20).map(Self.id))
    }

    @Test func `a record that is lost counts as one that cannot be read, until it is back or set aside`() throws {
        try add(1...2)
        let lost = folder + "/accounts/" + Self.id(1), elsewhere = folder + "/elsewhere"
        try FileManager.default.moveItem(atPath: lost, toPath: elsewhere)
        // A reader that makes the index again does not forget the name.
        for check in [IndexVerification.none, .ids, .everything, .none] { _ = try records.index(of: group, check) }
        let index = try records.index(of: group, .none)
        #expect(index.unreadable == [Self.id(1)])
        #expect(index.entries.map(\.id) == [Self.id(2)])
        var damaged: [String: ErrorCode] = [:]
        let registry = try records.registry(of: group) { id, error in damaged[id] = error.code }
        #expect(registry.accounts.map(\.id) == [Self.id(2)])
        #expect(damaged == [Self.id(1): .storeDamaged])
        try FileManager.default.moveItem(atPath: elsewhere, toPath: lost)
        #expect(try records.index(of: group, .everything).ids == [Self.id(1), Self.id(2)])
        #expect(try records.index(of: group, .none).unreadable.isEmpty)
        try FileManager.default.removeItem(atPath: lost)
        _ = try records.index(of: group, .ids)
        _ = try records.setAside(Self.id(1), in: group)
        #expect(try records.index(of: group, .ids).unreadable.isEmpty)
    }
}

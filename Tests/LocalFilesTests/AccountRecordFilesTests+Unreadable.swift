import CredentialCore
import Foundation
import LocalFiles
import Testing

// The account that is meant if a record cannot be read, and the facts that the index knows of it then.
extension AccountRecordFilesTests {
    // MARK: Who is meant where a record cannot be read

    private func choose(
        _ name: String?, of registration: ClientIdentity?, in groups: [KeychainGroup]? = nil
    ) throws(CredentialError) -> String {
        try AccountSelection.choose(
            among: .init(in: groups ?? [group], of: registration, place: "any type", login: "credmgr login"),
            query: name.map { AccountSelection.AccountQuery($0, rule: .option) }, records
        ).account.id
    }

    @Test(arguments: [false, true])
    func `a record that cannot be read takes no other account's name, and keeps its own, whatever ran before`(
        isMissing: Bool
    ) throws {
        try add(1...3)
        try records.update(Self.id(1), in: group) { $0.label = "both" }
        try records.update(Self.id(2), in: group) { $0.label = "both" }
        try records.update(Self.id(2), in: group) { $0.madeDefaultAt = Timestamp(epochSeconds: 5) }
        try records.update(Self.id(1), in: group) { $0.madeDefaultAt = Timestamp(epochSeconds: 6) }
        if isMissing {
            try FileManager.default.removeItem(atPath: folder + "/accounts/" + Self.id(1))
        } else {
            try write(#"{"version":1,"gro"#, to: "accounts/" + Self.id(1))
        }
        for check in [nil, IndexVerification.everything, IndexVerification.ids, IndexVerification.none] {
            if let check { _ = try records.index(of: group, check) }
            for registration in [registration, nil] {
                let place: Comment = "\(check.map { "\($0)" } ?? "as it was"), \(registration as Any)"
                #expect(try choose("user2@example.com", of: registration) == Self.id(2), place)
                #expect(try choose(Self.id(3), of: registration) == Self.id(3), place)
                for (name, code) in [
                    ("user1@example.com", ErrorCode.storeDamaged), (Self.id(1), .storeDamaged),
                    ("subject\t1\\", .storeDamaged), ("both", .ambiguousAccount), ("nobody", .noSuchAccount),
                ] {
                    let error = #expect(throws: CredentialError.self, place) { try choose(name, of: registration) }
                    #expect(error?.code == code, "\(name), \(place)")
                }
            }
            // The default is the one that cannot be read: no other is taken for it.
            let error = #expect(throws: CredentialError.self) { try choose(nil, of: registration) }
            #expect(error?.code == .storeDamaged)
        }
        let index = try records.index(of: group, .none)
        #expect(index.unreadable == [Self.id(1)] && index.unreadableEntries.map(\.label) == ["both"])
        #expect(index.defaultEntry(of: registration)?.id == Self.id(1))
        let other = ClientIdentity(provider: "https://id.example", clientID: "other")
        #expect(index.withUnreadable.count(of: other) == 0 && index.withUnreadable.unreadable.isEmpty)
        // Nor is a name forgotten after many writes.
        for round in 0..<400 {
            try records.update(Self.id(2 + round % 2), in: group) {
                $0.label = "label \(round) " + String(repeating: "x", count: 80)
            }
        }
        #expect(try records.index(of: group, .none).unreadableEntries.map(\.label) == ["both"])
    }

    @Test func `a record with an unknown name stops no named account, in this group and in another`() throws {
        try add(1...1)
        let other = try KeychainGroup("other")
        guard
            case .done = try records.write(AccountRecord(group: other, account: account(2)), expecting: nil)
        else { throw Refused() }
        try write("stray", to: "accounts/" + Self.id(7))
        for _ in 0..<2 {
            for name in ["user2@example.com", Self.id(2), "user1@example.com"] {
                let id = name == "user1@example.com" ? Self.id(1) : Self.id(2)
                #expect(try choose(name, of: nil, in: [other, group]) == id)
                #expect(try choose(name, of: registration, in: [group, other]) == id)
            }
            let error = #expect(throws: CredentialError.self) { try choose("nobody", of: nil) }
            #expect(error?.code == .storeDamaged, "it may be that one's")
            // Whether it is the only one is not known.
            let only = #expect(throws: CredentialError.self) { try choose(nil, of: registration) }
            #expect(only?.code == .storeDamaged)
        }
    }

    @Test func `a signed-out account is not missing, and the remaining one keeps its name`() throws {
        try add(1...2)
        let record = try #require(try records.read(Self.id(1), in: group))
        guard case .overtaken = try records.remove(Self.id(1), in: group, expecting: record.generation + 1) else {
            return #expect(Bool(false), "a record of another generation was removed")
        }
        #expect(try records.index(of: group, .none).entries.count == 2)
        guard case .done = try records.remove(Self.id(1), in: group, expecting: record.generation) else {
            return #expect(Bool(false), "the record was not removed")
        }
        for check in [IndexVerification.none, .ids, .everything] {
            let index = try records.index(of: group, check)
            #expect(index.ids == [Self.id(2)] && index.unreadable.isEmpty)
        }
    }

    @Test func `behind a cut line nothing is lost`() throws {
        try add(1...2)
        try write(try text("index") + "+\t00000000000000ee\tWo", to: "index")
        #expect(try records.index(of: group, .ids).count == 2)
        try add(3...3)
        #expect(try records.index(of: group, .ids).ids == (1...3).map(Self.id))
    }

    @Test func `an index that cannot be kept still serves`() throws {
        try add(1...2)
        try FileManager.default.removeItem(atPath: folder + "/index")
        try FileManager.default.createDirectory(atPath: folder + "/index", withIntermediateDirectories: false)
        #expect(throws: CredentialError.self) { try records.index(of: group, .ids) }
        try FileManager.default.removeItem(atPath: folder + "/index")
        #expect(try records.index(of: group, .ids).count == 2)
    }
}

import CredentialCore
import EncryptedFileStore
import Foundation
import TestSupport
import Testing

@Suite struct EncryptedFileDamageTests {
    let fixture = Result { try EncryptedFileFixture() }

    @Test func `each bit flipped in the header is refused, and nothing is written over it`() throws {
        let fixture = try oneGeneration()
        let good = try fixture.bytes(fixture.file), store = fixture.store()
        for bit in 0..<192 * 8 {
            var bad = good
            bad[bit / 8] ^= 1 << UInt8(bit % 8)
            try fixture.overwrite(fixture.file, with: bad)
            expectRefusal(store, "bit \(bit)")
        }
        try fixture.overwrite(fixture.file, with: good)
        #expect(try store.read(item("a")) == [1])
    }

    @Test func `each length the file can be cut to is refused`() throws {
        let fixture = try oneGeneration()
        let good = try fixture.bytes(fixture.file), store = fixture.store()
        for length in good.indices {
            try fixture.overwrite(fixture.file, with: Array(good.prefix(length)))
            let error = #expect(throws: CredentialError.self, "length \(length)") { try store.read(item("a")) }
            #expect(error?.code == .storeDamaged, "length \(length)")
        }
    }

    @Test func `two thousand random changes are refused`() throws {
        let fixture = try oneGeneration()
        let good = try fixture.bytes(fixture.file), store = fixture.store()
        for _ in 0..<2_000 {
            var bad = good
            for _ in 0...Int.random(in: 0..<3) {
                let place = bad.isEmpty ? 0 : Int.random(in: bad.indices)
                let length = min(Int.random(in: 1...200), bad.count - place)
                switch Int.random(in: 0..<5) {
                case 0: bad.removeSubrange(place..<place + length)
                case 1: bad.insert(contentsOf: (0..<length).map { _ in UInt8.random(in: 0...255) }, at: place)
                case 2: bad.insert(contentsOf: bad[place..<place + length], at: place)
                case 3: for index in place..<place + length { bad[index] = .random(in: 0...255) }
                default: if !bad.isEmpty { bad[place] = .random(in: 0...255) }
                }
            }
            if bad == good { continue }
            try fixture.overwrite(fixture.file, with: bad)
            let error = #expect(throws: CredentialError.self) { try store.read(item("a")) }
            #expect(error?.code == .storeDamaged || error?.code == .unsupported)
        }
    }

    @Test func `the format of a newer program is named and left alone`() throws {
        let fixture = try oneGeneration()
        var newer = try fixture.bytes(fixture.file)
        newer[9] = 2
        try fixture.overwrite(fixture.file, with: newer)
        let store = fixture.store()
        for act in [{ _ = try store.read(item("a")) }, { try store.write([2], for: item("a"), label: "") }] {
            let error = #expect(throws: CredentialError.self, performing: act)
            #expect(error?.code == .unsupported && error?.hint == "upgrade credmgr")
            #expect(error?.message.contains("newer credmgr") == true)
        }
        #expect(try fixture.bytes(fixture.file) == newer)
    }

    @Test func `a damaged file is read from the generation before, which is said`() throws {
        let fixture = try twoGenerations()
        let damaged = try damage(fixture)
        #expect(try fixture.store().read(item("a")) == [1])
        #expect(fixture.reports.count == 1)
        #expect(fixture.reports.first?.contains("is damaged") == true)
        #expect(try fixture.bytes(fixture.file) == damaged, "reading repairs nothing")
    }

    @Test func `the first write sets a damaged file aside and goes on from the generation before`() throws {
        let fixture = try twoGenerations()
        let damaged = try damage(fixture)
        try fixture.store().write([9], for: item("c"), label: "")
        let aside = try fixture.snapshot().filter { $0.key.hasPrefix("store.v1.corrupt-") }
        #expect(Array(aside.values) == [damaged])
        let store = fixture.store()
        #expect(try store.read(item("a")) == [1])
        #expect(try store.read(item("c")) == [9])
        #expect(fixture.reports.count == 1)
    }

    @Test func `a removed item is in neither generation, and both are valid`() throws {
        let fixture = try twoGenerations()
        let store = fixture.store()
        try store.write([7], for: item("b"), label: "")
        try store.remove(item("a"))
        #expect(try fixture.bytes(fixture.previousFile) == fixture.bytes(fixture.file))
        try damage(fixture)
        #expect(try fixture.store().read(item("a")) == nil)
        #expect(try fixture.store().read(item("b")) == [7])
    }

    @Test func `a removal that was interrupted between the generations is ended by the next`() throws {
        let fixture = try twoGenerations()
        let before = try fixture.bytes(fixture.file)
        let store = fixture.store()
        try store.remove(item("a"))
        try fixture.overwrite(fixture.previousFile, with: before)
        try store.remove(item("a"))
        #expect(try fixture.bytes(fixture.previousFile) == fixture.bytes(fixture.file))
    }

    @Test func `without a good current generation the one before stays`() throws {
        let fixture = try twoGenerations()
        try damage(fixture)
        let before = try fixture.bytes(fixture.previousFile)
        try fixture.store().forgetPast(of: .standard)
        #expect(try fixture.bytes(fixture.previousFile) == before)
    }

    @Test func `a missing file with a generation before it is damage, not emptiness`() throws {
        let fixture = try twoGenerations()
        try FileManager.default.removeItem(atPath: fixture.file)
        #expect(try fixture.store().read(item("a")) == [1])
        #expect(fixture.reports.count == 1)
    }

    @Test func `when both generations are damaged nothing is read and nothing is written`() throws {
        let fixture = try twoGenerations()
        try damage(fixture)
        try fixture.overwrite(fixture.previousFile, with: [1, 2, 3])
        let before = try fixture.snapshot()
        let store = fixture.store()
        for act in [
            { _ = try store.read(item("a")) }, { try store.write([2], for: item("a"), label: "") },
            { try store.remove(item("a")) },
        ] {
            #expect(#expect(throws: CredentialError.self, performing: act)?.code == .storeDamaged)
        }
        #expect(try fixture.snapshot() == before)
    }

    @Test func `the files of another store do not pass for this one's`() throws {
        let mine = try oneGeneration(), other = try oneGeneration()
        try mine.overwrite(mine.file, with: other.bytes(other.file))
        #expect(#expect(throws: CredentialError.self) { try mine.store().read(item("a")) }?.code == .storeLocked)
        // A header of one generation with the body of another.
        let fixture = try twoGenerations()
        let old = try fixture.bytes(fixture.previousFile), new = try fixture.bytes(fixture.file)
        try FileManager.default.removeItem(atPath: fixture.previousFile)
        try fixture.overwrite(fixture.file, with: Array(old.prefix(192) + new.dropFirst(192)))
        #expect(
            #expect(throws: CredentialError.self) { try fixture.store().read(item("a")) }?.code == .storeDamaged)
    }

    @Test func `files that other users could have changed are refused`() throws {
        let files = FileManager.default
        for (path, mode, good) in [
            (\EncryptedFileFixture.file, 0o644, 0o600), (\.keyFile, 0o640, 0o600), (\.groupFolder, 0o777, 0o700),
        ] {
            let fixture = try oneGeneration()
            try files.setAttributes([.posixPermissions: mode], ofItemAtPath: fixture[keyPath: path])
            let error = #expect(throws: CredentialError.self) { try fixture.store().read(item("a")) }
            #expect(error?.code == .storeUnavailable)
            #expect(error?.hint?.hasPrefix("chmod") == true)
            try files.setAttributes([.posixPermissions: good], ofItemAtPath: fixture[keyPath: path])
            #expect(try fixture.store().read(item("a")) == [1])
        }
        // A folder may be a link of the own: PrivateDirectoryTests.
        for path in [\EncryptedFileFixture.file, \.keyFile] {
            let fixture = try oneGeneration()
            let moved = fixture.folder.path + "/moved"
            try files.moveItem(atPath: fixture[keyPath: path], toPath: moved)
            try files.createSymbolicLink(atPath: fixture[keyPath: path], withDestinationPath: moved)
            for act in [
                { _ = try fixture.store().read(item("a")) },
                { try fixture.store().write([2], for: item("a"), label: "") },
            ] {
                #expect(#expect(throws: CredentialError.self, performing: act)?.code == .storeUnavailable)
            }
        }
    }

    @Test func `a key file that is cut short is refused, never replaced`() throws {
        let fixture = try oneGeneration()
        for bytes in [[], [1, 2, 3], [UInt8](repeating: 1, count: 33)] {
            try fixture.overwrite(fixture.keyFile, with: bytes)
            let other = try KeychainGroup("other")
            let error = #expect(throws: CredentialError.self) {
                try fixture.store().write([2], for: item("a", group: other), label: "")
            }
            #expect(error?.code == .storeUnavailable)
            #expect(try fixture.bytes(fixture.keyFile) == bytes)
        }
    }

    @Test func `a key that no file has any more is damage, and nothing is lost that can still be opened`() throws {
        let fixture = try EncryptedFileFixture(), files = FileManager.default
        func failure(_ store: EncryptedFileStore) -> ErrorCode? {
            #expect(throws: CredentialError.self) { try store.open(sealed, of: "a", in: .standard) }?.code
        }
        let sealed = try fixture.store().seal([1], of: "a", generation: 1, in: .standard)
        let own = try fixture.bytes(fixture.file)
        try files.removeItem(atPath: fixture.file)
        #expect(failure(fixture.store()) == .storeDamaged)
        // The file of another group is in its place, and its own one is the generation before.
        let other = try KeychainGroup("other"), secret = item("Work", kind: .clientSecret)
        try fixture.store().write([7], for: item("Work", kind: .clientSecret, group: other), label: "")
        try files.copyItem(atPath: fixture.groupFolder + "/../other/store.v1", toPath: fixture.file)
        #expect(failure(fixture.store()) == .storeDamaged)
        try files.copyItem(atPath: fixture.file, toPath: fixture.previousFile)
        try fixture.overwrite(fixture.previousFile, with: own)
        #expect(try fixture.store().open(sealed, of: "a", in: .standard) == [1])
        try fixture.store().write([8], for: secret, label: "")
        try fixture.store().write([9], for: secret, label: "")
        try fixture.store().remove(secret)
        #expect(try fixture.bytes(fixture.previousFile) == own)
        #expect(try fixture.store().open(sealed, of: "a", in: .standard) == [1])
        // Once all is sealed again, no record needs it.
        let again = try fixture.store().seal([1], of: "a", generation: 1, in: .standard)
        #expect(try fixture.store().forgetReplacedKeys(of: .standard, but: [sealed.key]) == 0)
        #expect(try fixture.bytes(fixture.previousFile) == own, "its key is needed")
        #expect(try fixture.store().forgetReplacedKeys(of: .standard, but: [again.key]) == 0)
        #expect(try fixture.bytes(fixture.previousFile) == fixture.bytes(fixture.file))
        #expect(failure(fixture.store()) == .storeDamaged)
        #expect(try fixture.store().open(again, of: "a", in: .standard) == [1])
    }

    @Test func `a store with a passphrase is locked without it, and not lost`() throws {
        let fixture = try EncryptedFileFixture()
        let sealed = try fixture.store(passphrase: "correct horse").seal([1], of: "a", generation: 1, in: .standard)
        let own = try fixture.bytes(fixture.file)
        try FileManager.default.moveItem(atPath: fixture.file, toPath: fixture.previousFile)
        for _ in 0..<2 {
            let error = #expect(throws: CredentialError.self) {
                try fixture.store().open(sealed, of: "a", in: .standard)
            }
            #expect(error?.code == .storeLocked)
            try own.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: fixture.file)) }
            #expect(chmod(fixture.file, 0o600) == 0)
        }
    }

    // MARK: Arranging

    private func oneGeneration() throws -> EncryptedFileFixture {
        let fixture = try EncryptedFileFixture()
        try fixture.store().write([1], for: item("a"), label: "")
        return fixture
    }

    private func twoGenerations() throws -> EncryptedFileFixture {
        let fixture = try fixture.get()
        try fixture.store().write([1], for: item("a"), label: "")
        try fixture.store().write([2], for: item("b"), label: "")
        return fixture
    }

    @discardableResult
    private func damage(_ fixture: EncryptedFileFixture) throws -> [UInt8] {
        var bytes = try fixture.bytes(fixture.file)
        bytes[bytes.count - 100] ^= 1
        try fixture.overwrite(fixture.file, with: bytes)
        return bytes
    }

    private func expectRefusal(_ store: EncryptedFileStore, _ comment: Comment) {
        for act in [{ _ = try store.read(item("a")) }, { try store.write([2], for: item("a"), label: "") }] {
            let error = #expect(throws: CredentialError.self, comment, performing: act)
            #expect(error?.code == .storeDamaged || error?.code == .unsupported, comment)
        }
    }
}

import CredentialCore
import Foundation
import Platform
import SealedCache
import Synchronization
import TestSupport
import Testing

/// A clock that is stopped until a test moves it.
private final class StandingClock: WallClock {
    private let seconds = Mutex<Int64>(1_800_000_000)
    var now: Timestamp { Timestamp(epochSeconds: seconds.withLock { $0 }) }
    func move(_ seconds: Int64) { self.seconds.withLock { $0 += seconds } }
}

@Suite(.needs(.kernelKeys))
struct SealedCacheTests {
    private let runtime: TemporaryFolder
    private let clock = StandingClock()
    private let cache: SealedCache

    init() throws {
        runtime = try TemporaryFolder()
        cache = SealedCache(runtime: runtime.path, clock: clock)
    }

    private func token(_ account: String, _ key: String = "k") -> CacheKey {
        .token(dataFolder: "/home/ada/.local/share/credmgr", group: "default", account: account, key: key)
    }

    /// Every file of entries: path and content.
    private var files: [String: Data] {
        var files: [String: Data] = [:]
        for case let name as String in FileManager.default.enumerator(atPath: runtime.path) ?? .init() {
            let path = runtime.path + "/" + name
            guard name.split(separator: "/").count == 4, let content = FileManager.default.contents(atPath: path)
            else { continue }
            files[path] = content
        }
        return files
    }

    @Test func `an entry is kept, replaced and removed`() {
        #expect(cache.read(token("a")) == nil)
        cache.write([1, 2, 3], name: token("a"), seconds: 60)
        #expect(cache.read(token("a")) == [1, 2, 3])
        cache.write([4], name: token("a"), seconds: 60)
        #expect(cache.read(token("a")) == [4])
        #expect(cache.read(token("a", "other")) == nil)
        cache.remove(token("a"))
        #expect(cache.read(token("a")) == nil)
        cache.remove(token("a"))
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, 200_000])
    func `an entry comes back whole, whatever its size`(size: Int) {
        let entry = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        cache.write(entry, name: token("a"), seconds: 60)
        #expect(cache.read(token("a")) == entry)
    }

    @Test func `an entry that is not stored does not leave the entry that it replaces`() {
        cache.write([1], name: token("a"), seconds: 60)
        cache.write([UInt8](repeating: 0, count: 300_000), name: token("a"), seconds: 60)
        #expect(cache.read(token("a")) == nil)
        cache.write([1], name: token("a"), seconds: 60)
        cache.write([2], name: token("a"), seconds: 0)
        #expect(cache.read(token("a")) == nil)
    }

    @Test func `an entry ends when its time is over, and is swept by the next writing beside it`() {
        cache.write([1], name: token("a", "one"), seconds: 60)
        clock.move(59)
        #expect(cache.read(token("a", "one")) == [1])
        clock.move(1)
        #expect(cache.read(token("a", "one")) == nil)
        cache.write([2], name: token("a", "two"), seconds: 60)
        #expect(files.count == 1)
    }

    @Test func `no name is another's`() {
        let names: [CacheKey] = [
            token("a"), token("a", ""), .memo("a"), .dataKey("a"), .trial,
            .token(dataFolder: "/x", group: "default", account: "a", key: "k"),
            .token(dataFolder: "/home/ada/.local/share/credmgr", group: "b", account: "a", key: "k"),
        ]
        for (number, name) in names.enumerated() { cache.write([UInt8(number)], name: name, seconds: 60) }
        for (number, name) in names.enumerated() { #expect(cache.read(name) == [UInt8(number)]) }
    }

    @Test func `the tokens of one account are dropped, or all tokens, and never a key`() {
        for key in ["k", "l"] { cache.write([1], name: token("a", key), seconds: 60) }
        cache.write([2], name: token("b"), seconds: 60)
        cache.write([3], name: .dataKey("f"), seconds: 60)
        cache.removeAll(ofOwner: token("a"))
        #expect(cache.read(token("a")) == nil && cache.read(token("a", "l")) == nil)
        #expect(cache.read(token("b")) == [2])
        cache.removeTokens()
        #expect(cache.read(token("b")) == nil)
        #expect(cache.read(.dataKey("f")) == [3])
    }

    @Test func `no file reveals its content or its owner's name, and all are the user's alone`() throws {
        // No name of hexadecimal digits could be this.
        cache.write(Array("a token of zoe's".utf8), name: token("zoe"), seconds: 60)
        for (path, content) in files {
            #expect(!path.contains("zoe") && content.range(of: Data("zoe".utf8)) == nil)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        let folder = try FileManager.default.attributesOfItem(atPath: runtime.path + "/credmgr")
        #expect(folder[.posixPermissions] as? Int == 0o700)
        #expect(files.count == 1)
    }

    @Test func `an entry that was swapped, cut, lengthened or changed is none`() throws {
        cache.write(Array("a".utf8), name: token("a"), seconds: 60)
        let (first, mine) = try #require(files.first)
        cache.write(Array("b".utf8), name: token("b"), seconds: 60)
        let (second, other) = try #require(files.first { $0.key != first })
        try other.write(to: URL(fileURLWithPath: first))
        #expect(cache.read(token("a")) == nil)
        try mine.write(to: URL(fileURLWithPath: second))
        #expect(cache.read(token("b")) == nil)
        for length in 0..<mine.count {
            try mine.prefix(length).write(to: URL(fileURLWithPath: first))
            #expect(cache.read(token("a")) == nil)
        }
        for index in mine.indices {
            var changed = mine
            changed[index] ^= 0x01
            try changed.write(to: URL(fileURLWithPath: first))
            #expect(cache.read(token("a")) == nil)
        }
        try (mine + Data([0])).write(to: URL(fileURLWithPath: first))
        #expect(cache.read(token("a")) == nil)
        try mine.write(to: URL(fileURLWithPath: first))
        #expect(cache.read(token("a")) == Array("a".utf8))
    }

    @Test func `without the folder's half, or with another, nothing opens`() throws {
        cache.write([1], name: token("a"), seconds: 60)
        cache.write([2], name: .dataKey("f"), seconds: 60)
        let numbers = try FileManager.default.contentsOfDirectory(atPath: runtime.path + "/credmgr")
            .filter { Int32($0) != nil }
        let half = "\(runtime.path)/credmgr/\(try #require(numbers.first))/half"
        let content = try #require(FileManager.default.contents(atPath: half))
        #expect(numbers.count == 1 && content.count == 32)
        for other in [nil, Data(), content.prefix(31), content + [0], Data(content.reversed())] {
            try? FileManager.default.removeItem(atPath: half)
            try other?.write(to: URL(fileURLWithPath: half))
            #expect(cache.read(token("a")) == nil && cache.read(.dataKey("f")) == nil)
        }
        // The next write uses the half that is left, or makes a new one.
        try FileManager.default.removeItem(atPath: half)
        cache.write([3], name: token("a"), seconds: 60)
        #expect(cache.read(token("a")) == [3])
        #expect(FileManager.default.contents(atPath: half) != content)
    }

    @Test func `the keyring has half a key, which by its number alone cannot be read, and no token`() throws {
        cache.write(Array("a token of ada's".utf8), name: token("zoe"), seconds: 60)
        let search = try ChildProcess("keyctl", ["search", "@u", "user", "credmgr:cache"]).run()
        let number = search.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(FileManager.default.fileExists(atPath: "\(runtime.path)/credmgr/\(number)/half"))
        let described = try ChildProcess("keyctl", ["rdescribe", number]).run().standardOutput
        #expect(described.contains(";3f000000;"))
        // A session that was not given the user's keyring.
        let stranger = try ChildProcess("keyctl", ["session", "-", "keyctl", "pipe", number]).run()
        #expect(stranger.exitStatus != 0 && stranger.standardOutput.isEmpty)
        #expect(try ChildProcess("keyctl", ["list", "@u"]).run().standardOutput.contains("zoe") == false)
    }

    @Test func `halves that many make at once are one`() async throws {
        let path = runtime.path, clock = clock
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask {
                    let cache = SealedCache(runtime: path, clock: clock)
                    cache.write([UInt8(number)], name: .memo("\(number)"), seconds: 60)
                }
            }
        }
        for number in 0..<16 { #expect(cache.read(.memo("\(number)")) == [UInt8(number)]) }
    }

    @Test func `eight thousand entries stay within 4,096 files and 16 MB, and the last to expire are kept`() {
        let entry = [UInt8](repeating: 7, count: 3_000)
        let open = cache
        // The hash deals the entries to 64 folders of 64; 8,000 leave each with more than it keeps but once in
        // 10^9.
        for number in 0..<8_000 {
            open.write(entry, name: .memo("\(number)"), seconds: Int64(60 + number))
        }
        let files = files
        #expect(files.count <= 4_096 && files.count > 3_500)
        #expect(files.values.reduce(0) { $0 + $1.count } <= 16 << 20)
        #expect(cache.read(.memo("7999")) == entry)
        #expect(cache.read(.memo("0")) == nil)
    }

    @Test func `thirty accounts with large tokens are all kept`() {
        let entry = [UInt8](repeating: 7, count: 6_000)
        for number in 0..<30 {
            cache.write(entry, name: token("\(number)"), seconds: 60)
            cache.write(entry, name: .memo("\(number)"), seconds: 60)
        }
        for number in 0..<30 {
            #expect(cache.read(token("\(number)")) == entry && cache.read(.memo("\(number)")) == entry)
        }
    }

    @Test func `a key is never evicted for tokens`() {
        cache.write([9], name: .dataKey("f"), seconds: 3_600)
        for number in 0..<200 { cache.write([1], name: token("a", "\(number)"), seconds: 7_200) }
        #expect(cache.read(.dataKey("f")) == [9])
        #expect(files.count <= 65)
    }

    @Test func `a folder that others can write in is passed over`() throws {
        let place = runtime.path + "/credmgr"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: place)
        // It goes to the next place, which other tests have, too: a name of its own, taken away again.
        let name = token(runtime.path)
        defer { cache.remove(name) }
        cache.write([1], name: name, seconds: 60)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
        try FileManager.default.removeItem(atPath: place)
        // Nor one below a folder that others can write in.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: runtime.path)
        cache.write([1], name: name, seconds: 60)
        #expect(!FileManager.default.fileExists(atPath: place))
    }

    @Test func `while nothing is kept in the first place that will do, no other is looked into`() throws {
        let name = token(runtime.path), elsewhere = SealedCache(runtime: nil, clock: clock)
        defer { elsewhere.remove(name) }
        elsewhere.write([1], name: name, seconds: 60)
        #expect(cache.read(name) == nil)
        cache.write([2], name: name, seconds: 60)
        #expect(cache.read(name) == [2])
        #expect(elsewhere.read(name) != [2])
    }

    @Test func `entries of keys that the machine no longer has are removed`() throws {
        let gone = runtime.path + "/credmgr/2147483647"
        try FileManager.default.createDirectory(atPath: gone + "/00", withIntermediateDirectories: true)
        for path in [runtime.path + "/credmgr", gone] {
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        }
        try Data([1]).write(to: URL(fileURLWithPath: gone + "/00/aa"))
        cache.write([1], name: token("a"), seconds: 60)
        #expect(!FileManager.default.fileExists(atPath: gone))
        #expect(cache.read(token("a")) == [1])
    }

    @Test func `doctor's trial leaves nothing behind`() throws {
        try cache.check()
        #expect(files.isEmpty)
    }
}

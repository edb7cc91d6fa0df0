import Synchronization
import Testing

@testable import CredentialCore

/// A cache in memory.
private final class Entries: AccessTokenCache {
    private let entries = Mutex<[CacheKey: [UInt8]]>([:])
    private let times = Mutex<[Int64]>([])
    /// For how long the entries were to be kept, in seconds.
    var seconds: [Int64] { times.withLock { $0 } }
    var names: [CacheKey] { entries.withLock { Array($0.keys) } }

    func read(_ name: CacheKey) -> [UInt8]? { entries.withLock { $0[name] } }
    func write(_ entry: [UInt8], name: CacheKey, seconds: Int64) {
        entries.withLock { $0[name] = entry }
        times.withLock { $0.append(seconds) }
    }
    func remove(_ name: CacheKey) { entries.withLock { $0[name] = nil } }
    func removeAll(ofOwner name: CacheKey) {
        entries.withLock { $0 = $0.filter { $0.key.owner != name.owner } }
    }
    func removeTokens() { entries.withLock { $0 = $0.filter { $0.key.isKey } } }
    func check() {}
}

/// Files that a test changes.
private final class Files: FileStamps {
    private let states = Mutex<[String: FileStamp]>([:])
    let time: Int64 = 100

    func state(of path: String) -> FileStamp? { states.withLock { $0[path] } }
    func set(_ path: String, _ inode: Int64?, at time: Int64 = 1) {
        states.withLock {
            $0[path] = inode.map { FileStamp(device: 1, inode: $0, size: 1, modified: time, changed: time) }
        }
    }
}

@Suite struct TokenCacheTests {
    private let entries = Entries(), files = Files()
    private let group = KeychainGroup.standard, now = Timestamp(epochSeconds: 1_000)
    private var cache: TokenCache { TokenCache(entries, files: files, dataFolder: "/data") }
    private var record: [String] { CacheDependencies(dataFolder: "/data").record(of: "a", in: "default") }

    private func token(_ text: String, scope: [String] = ["read"]) -> AccessToken {
        AccessToken(
            key: TokenRequestKey(scope: scope), token: Secret(text), tokenType: "Bearer", issuedAt: now,
            expiresAt: now.adding(600), scope: scope)
    }

    private func makeRecord(_ inode: Int64? = 1) { for path in record { files.set(path, inode) } }

    @Test func `a token comes back as it was kept`() {
        makeRecord()
        let token = token("one", scope: ["a", "b"])
        cache.keep(token, of: "a", in: group, now: now)
        #expect(cache.token(for: token.key, of: "a", in: group) == token)
        #expect(cache.token(for: TokenRequestKey(scope: ["a"]), of: "a", in: group) == nil)
        var guessed = token
        guessed.isEndGuessed = true
        cache.keep(guessed, of: "a", in: group, now: now)
        #expect(cache.token(for: token.key, of: "a", in: group) == guessed)
        #expect(AccessToken(json: guessed.json) == guessed && AccessToken(json: token.json) == token)
        #expect(cache.token(for: token.key, of: "b", in: group) == nil)
    }

    @Test func `a token of a shared group is kept for as long as the group says, and no longer than it lives`() {
        makeRecord()
        for (limit, seconds) in [(nil, 600), (60, 60), (3_600, 600)] as [(Int64?, Int64)] {
            let cache = TokenCache(entries, files: files, dataFolder: "/data", limit: { _ in limit })
            cache.keep(token("one"), of: "a", in: group, now: now)
            #expect(entries.seconds.last == seconds)
        }
        // A group may disable the cache.
        let kept = entries.seconds.count
        TokenCache(entries, files: files, dataFolder: "/data", limit: { _ in 0 })
            .keep(token("one"), of: "a", in: group, now: now)
        #expect(entries.seconds.count == kept)
    }

    @Test func `it counts while the account's record is the one that it was made from`() {
        makeRecord()
        cache.keep(token("one"), of: "a", in: group, now: now)
        makeRecord(2)
        #expect(cache.token(for: token("").key, of: "a", in: group) == nil)
        makeRecord(nil)
        #expect(cache.token(for: token("").key, of: "a", in: group) == nil)
        makeRecord(1)
        #expect(cache.token(for: token("").key, of: "a", in: group) == token("one"))
    }

    @Test func `nothing is kept of an account without a record, nor a token that has ended`() {
        cache.keep(token("one"), of: "a", in: group, now: now)
        #expect(entries.names.isEmpty)
        makeRecord()
        cache.keep(token("one"), of: "a", in: group, now: now.adding(600))
        #expect(entries.names.isEmpty)
    }

    @Test func `a sign-out leaves no token of the account in the cache, and those of others`() {
        makeRecord()
        for path in CacheDependencies(dataFolder: "/data").record(of: "b", in: "default") { files.set(path, 1) }
        for scope in ["x", "y"] { cache.keep(token("one", scope: [scope]), of: "a", in: group, now: now) }
        cache.keep(token("two"), of: "b", in: group, now: now)
        cache.drop("a", in: group)
        #expect(entries.names.count == 1)
        #expect(cache.token(for: token("").key, of: "b", in: group) == token("two"))
    }

    @Test func `an entry that is cut, or has too much, is none`() throws {
        makeRecord()
        cache.keep(token("one"), of: "a", in: group, now: now)
        let name = try #require(entries.names.first), whole = try #require(entries.read(name))
        for length in 0..<whole.count {
            entries.write(Array(whole.prefix(length)), name: name, seconds: 1)
            #expect(cache.token(for: token("").key, of: "a", in: group) == nil)
        }
        entries.write(whole + [0], name: name, seconds: 1)
        #expect(cache.token(for: token("").key, of: "a", in: group) == nil)
    }

    @Test func `ties detect added, removed and changed files, and possible changes since a call began`() {
        files.set("/there", 1, at: 50)
        let ties = CacheValidators(["/there", "/missing"], files)
        #expect(ties.hold(files) && ties.areOlder(than: 51) && !ties.areOlder(than: 50))
        files.set("/missing", 1)
        #expect(!ties.hold(files))
        files.set("/missing", nil)
        files.set("/there", 1, at: 51)
        #expect(!ties.hold(files))
    }
}

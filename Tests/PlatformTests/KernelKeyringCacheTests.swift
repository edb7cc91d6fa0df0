import CredentialCore
import Foundation
import KernelKeyringCache
import TestSupport
import Testing

/// Whether there is a keyring to test with, asked without the code under test.
private let isThereAKeyring: Bool = {
    let probe = "credmgr-probe-\(UUID().uuidString)"
    let added = try? ChildProcess("keyctl", ["add", "user", probe, "x", "@u"]).run()
    _ = try? ChildProcess("keyctl", ["purge", "-s", "user", probe]).run()
    return added?.exitStatus == 0
}()

@Suite(.enabled(if: isThereAKeyring, "this kernel or container refuses keyctl"))
struct KernelKeyringCacheTests {
    private let cache = KernelKeyringCache()
    private let name = "test:\(UUID().uuidString):"

    @Test func `an entry is kept, replaced and removed`() {
        defer { cache.remove(name) }
        #expect(cache.read(name) == nil)
        cache.write([1, 2, 3], name: name, seconds: 60)
        #expect(cache.read(name) == [1, 2, 3])
        cache.write([4], name: name, seconds: 60)
        #expect(cache.read(name) == [4])
        cache.remove(name)
        #expect(cache.read(name) == nil)
        cache.remove(name)
    }

    @Test(arguments: [1, 4095, 4096, 4097, 32_000])
    func `an entry comes back whole, whatever its size`(size: Int) {
        let entry = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        defer { cache.remove(name) }
        cache.write(entry, name: name, seconds: 60)
        #expect(cache.read(name) == entry)
    }

    @Test func `what the kernel does not take is not kept, nor is what it was to replace`() {
        cache.write([1], name: name, seconds: 60)
        cache.write([UInt8](repeating: 0, count: 40_000), name: name, seconds: 60)
        #expect(cache.read(name) == nil)
        cache.write([1], name: name, seconds: 60)
        cache.write([2], name: name, seconds: 0)
        #expect(cache.read(name) == nil)
        let long = name + String(repeating: "x", count: 5000)
        cache.write([1], name: long, seconds: 60)
        #expect(cache.read(long) == nil)
    }

    @Test func `a full cache key fits the description`() {
        let long = name + String(repeating: "x", count: 3900)
        defer { cache.remove(long) }
        cache.write([1], name: long, seconds: 60)
        #expect(cache.read(long) == [1])
    }

    @Test func `the kernel drops an entry when its time is over`() throws {
        cache.write([1], name: name, seconds: 1)
        #expect(cache.read(name) == [1])
        let deadline = ContinuousClock.now + .seconds(20)
        while cache.read(name) != nil, ContinuousClock.now < deadline { sched_yield() }
        #expect(cache.read(name) == nil)
    }

    @Test func `another session of the user reads the entry`() throws {
        defer { cache.remove(name) }
        cache.write(Array("token".utf8), name: name, seconds: 60)
        let script =
            "keyctl pipe $(keyctl search @u user 'credmgr:\(name)') && keyctl describe $(keyctl search @u user 'credmgr:\(name)')"
        // A new session keyring, to which nothing is linked.
        let other = try ChildProcess(
            "keyctl", ["session", "-", "/bin/sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        #expect(other.exitStatus == 0)
        #expect(other.standardOutput.hasPrefix("token"))
        #expect(other.standardOutput.contains(": alswrvalswrv------------"))
    }

    @Test func `all entries of a prefix are removed and no other`() {
        let names = ["a", "b"].map { name + "one:" + $0 }
        for entry in names { cache.write([1], name: entry, seconds: 60) }
        cache.write([2], name: name + "two", seconds: 60)
        cache.removeAll(prefix: name + "one:")
        #expect(names.allSatisfy { cache.read($0) == nil })
        #expect(cache.read(name + "two") == [2])
        cache.remove(name + "two")
    }
}

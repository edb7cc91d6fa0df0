import CredentialCore
import Foundation
import LocalFiles
import TestPorts
import TestSupport
import Testing

/// The used refresh tokens of a machine, on a real disk.
@Suite struct UsedTokenFilesTests {
    private let temporary: TemporaryFolder
    private let clock = MemoryClock(Timestamp(epochSeconds: 1_700_000_000))

    init() throws { temporary = try TemporaryFolder() }

    private var state: String { temporary.path + "/state" }
    private var folder: String { state + "/credmgr/used" }
    /// As a process of its own has it.
    private var used: UsedTokenFiles { UsedTokenFiles(stateHome: state, clock: clock) }

    @Test func `every used token is known, whatever account had it, however many there are`() throws {
        #expect(!used.contains(Secret("r-0")))
        let first = used
        for number in 0..<5_000 { first.record(Secret("r-\(number)"), until: nil) }
        let another = used
        #expect((0..<5_000).allSatisfy { another.contains(Secret("r-\($0)")) })
        #expect(!another.contains(Secret("r-5000")))
        // A lookup reads one file of a few lines.
        let sizes = try FileManager.default.contentsOfDirectory(atPath: folder).map {
            try FileManager.default.attributesOfItem(atPath: folder + "/" + $0)[.size] as? Int ?? 0
        }
        #expect(try #require(sizes.max()) < 1_024)
    }

    @Test func `no token is in the files, and none can be looked for without the key`() throws {
        used.record(Secret("a-refresh-token"), until: nil)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let content = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            #expect(content.range(of: Data("a-refresh-token".utf8)) == nil)
        }
        let digest = try #require(used.digest(of: Secret("a-refresh-token")))
        #expect(digest == used.digest(of: Secret("a-refresh-token")))
        try FileManager.default.removeItem(atPath: folder + "/key")
        #expect(!used.contains(Secret("a-refresh-token")))
        #expect(used.digest(of: Secret("a-refresh-token")) != digest)
    }

    @Test func `a key that cannot be read is never replaced, and is named`() throws {
        used.record(Secret("r-1"), until: nil)
        let path = folder + "/key", key = try Data(contentsOf: URL(fileURLWithPath: path))
        for (damaged, mode) in [(Data([1, 2, 3]), 0o600), (key, 0o644)] as [(Data, mode_t)] {
            try damaged.write(to: URL(fileURLWithPath: path))
            #expect(chmod(path, mode) == 0)
            let process = used
            process.record(Secret("r-2"), until: nil)
            #expect(!process.contains(Secret("r-1")) && process.digest(of: Secret("r-1")) == nil)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == damaged)
            let error = #expect(throws: CredentialError.self) { try used.checkMemory() }
            #expect(error?.code == .inputOutput && error?.message.contains(path) == true)
        }
        #expect(chmod(path, 0o600) == 0)
        #expect(used.contains(Secret("r-1")) && !used.contains(Secret("r-2")))
    }

    @Test func `the highest rotation number of a grant counts`() throws {
        let id = Base64URL.encode([UInt8](repeating: 7, count: 16))
        #expect(used.rotation(of: id) == nil)
        for number in [1, 2, 9, 3] as [Int64] { used.record(rotation: number, of: id, until: nil) }
        #expect(used.rotation(of: id) == 9)
        #expect(used.rotation(of: Base64URL.encode([UInt8](repeating: 8, count: 16))) == nil)
        #expect(used.rotation(of: "") == nil && used.rotation(of: "???") == nil)
    }

    @Test func `lines that have ended, and lower numbers, are dropped, and no other`() throws {
        let id = Base64URL.encode([UInt8](repeating: 7, count: 16)), files = used
        for number in 1...2_000 { files.record(rotation: Int64(number), of: id, until: nil) }
        #expect(used.rotation(of: id) == 2_000)
        let path = folder + "/070"
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(try #require(size) < 40 << 10)
        clock.pass(400 * 86_400)
        for number in 1...2_000 { files.record(rotation: Int64(number), of: id, until: nil) }
        #expect(used.rotation(of: id) == 2_000)
    }

    @Test func `several processes that shorten a file lose no line`() throws {
        let state = state, count = 8
        DispatchQueue.concurrentPerform(iterations: count) { process in
            let files = UsedTokenFiles(stateHome: state)
            let id = Base64URL.encode([7, 0] + [UInt8](repeating: UInt8(process), count: 14))
            for number in 1...400 { files.record(rotation: Int64(number), of: id, until: nil) }
        }
        for process in 0..<count {
            let id = Base64URL.encode([7, 0] + [UInt8](repeating: UInt8(process), count: 14))
            #expect(used.rotation(of: id) == 400)
        }
    }

    @Test func `if no digest can be kept, the check fails`() throws {
        try used.checkMemory()
        #expect(!FileManager.default.fileExists(atPath: state))
        used.record(rotation: 1, of: Base64URL.encode([UInt8](repeating: 7, count: 16)), until: nil)
        try used.checkMemory()
        let file = folder + "/070"
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        #expect(throws: CredentialError.self) { try used.checkMemory() }
        try FileManager.default.removeItem(atPath: state)
        try Data().write(to: URL(fileURLWithPath: state))
        let refused = #expect(throws: CredentialError.self) { try used.checkMemory() }
        #expect(refused?.code == .inputOutput && refused?.message.contains(state) == true)
    }
}

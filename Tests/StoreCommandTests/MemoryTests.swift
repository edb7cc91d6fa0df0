import CredentialCore
import CryptoSupport
import Foundation
import TestSupport
import Testing

@testable import EncryptedFileStore

/// The data that a command leaves in its memory, looked at when it has done all but leave. The program hides its
/// memory from everybody but root, who can stop it there by strace.
@Suite(.needs(.root), .needs(.tracing))
struct MemoryTests {
    /// The number of `exit_group` on this machine.
    #if arch(x86_64)
    private static let exitGroup = 231
    #else
    private static let exitGroup = 94
    #endif

    private static let passphrase = "a passphrase that is nowhere else"
    private let ids = ["00000000000000a1", "00000000000000b2"]

    @Test func `the keys of the file store are wiped when a command ends`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let file = scene.dataHome + "/credmgr/file-store.key"
        let key = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        for words in [["doctor"], ["store", "status"], ["doctor", "--fix", "--yes"]] {
            let memory = try memory(after: scene.command(words))
            // The memory still holds the program's own words at its end. All that it has freed is overwritten.
            #expect(memory.contains(Array((words.last ?? "").utf8)), "\(words): the search finds nothing")
            for (name, secret) in try secrets(scene, opener: key) + [("the key file", key)] {
                #expect(!memory.contains(secret), "\(words) leaves \(name)")
            }
        }
    }

    @Test func `the passphrase and the keys under it are wiped when a command ends`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let path = scene.folder.path + "/passphrase"
        _ = FileManager.default.createFile(
            atPath: path, contents: Data((Self.passphrase + "\n").utf8), attributes: [.posixPermissions: 0o600])
        #expect(try scene.run(["store", "rekey", "--passphrase-file", path]).exitStatus == 0)
        let variables = ["CREDMGR_PASSPHRASE_FILE": path]
        let passphrase = Array(Self.passphrase.utf8)
        for words in [["doctor"], ["store", "unlock"], ["store", "rekey", "--passphrase-file", path]] {
            let memory = try memory(after: scene.command(words, variables))
            // The memory still holds the program's own words at its end. All that it has freed is overwritten.
            #expect(memory.contains(Array((words.last ?? "").utf8)), "\(words): the search finds nothing")
            for (name, secret) in try secrets(scene, opener: passphrase) + [("the passphrase", passphrase)] {
                #expect(!memory.contains(secret), "\(words) leaves \(name)")
            }
        }
    }

    /// The data key of the file as it is now, and the key of its body.
    private func secrets(_ scene: Scene, opener: [UInt8]) throws -> [(String, [UInt8])] {
        let cryptography = LibCryptography()
        let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: scene.groupFolder + "/store.v1")))
        let header = try EncryptedStoreFile(file, path: "store.v1", cryptography).header
        let slot = try #require(header.slots.first)
        let key = try #require(try slot.unwrap(secret: opener, fileID: header.fileID, cryptography))
        return [
            ("the data key", key.bytes), ("the body's key", try key.bodyKey(salt: header.bodySalt, cryptography)),
        ]
    }

    /// All that a command could still write to when it leaves.
    private func memory(after command: ChildProcess) throws -> Memory {
        // The call that ends the process takes a minute.
        let strace = try ChildProcess(
            "strace",
            ["-f", "-qq", "-o", "/dev/null", "-e", "trace=exit_group", "-e", "signal=none"]
                + ["-e", "inject=exit_group:delay_enter=60000000", command.program] + command.arguments,
            environment: command.environment
        ).start()
        defer { strace.kill() }
        let limit = ContinuousClock.now.advanced(by: .seconds(30))
        while ContinuousClock.now < limit {
            // strace has children of its own, which end before the command begins.
            guard let process = Self.child(of: strace.id), !Self.isStrace(process),
                let call = try? String(contentsOfFile: "/proc/\(process)/syscall", encoding: .utf8),
                call.hasPrefix("\(Self.exitGroup) ")
            else {
                usleep(10_000)
                continue
            }
            defer { kill(process, SIGKILL) }
            return try Memory(of: process)
        }
        throw Unstopped()
    }

    private struct Unstopped: Error {}

    private static func isStrace(_ process: Int32) -> Bool {
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
        return program?.hasSuffix("/strace") ?? true
    }

    private static func child(of process: Int32) -> Int32? {
        let children = try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)
        return children?.split(separator: " ").first.flatMap { Int32($0) }
    }
}

/// The memory of a process.
private struct Memory {
    private var regions: [Data] = []

    init(of process: Int32) throws {
        let maps = try String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8)
        let file = try #require(FileHandle(forReadingAtPath: "/proc/\(process)/mem"))
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard words[1].hasPrefix("rw"), ends.count == 2 else { continue }
            try file.seek(toOffset: ends[0])
            // A page that a guard keeps, such as one of libgcrypt's own pool, is not to be read.
            if let region = try? file.read(upToCount: Int(ends[1] - ends[0])) { regions.append(region) }
        }
    }

    func contains(_ bytes: [UInt8]) -> Bool { regions.contains { $0.range(of: Data(bytes)) != nil } }
}

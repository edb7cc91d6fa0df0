import CredentialCore
import Foundation
import Platform
import TestSupport
import Testing

@Suite struct PrivateDirectoryTests {
    private let temporary: TemporaryFolder
    private let base: String

    init() throws {
        temporary = try TemporaryFolder()
        base = temporary.path + "/new/data"
    }

    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private func error(_ body: () throws -> Void) -> CredentialError? {
        #expect(throws: CredentialError.self, performing: body)
    }

    @Test func `a missing directory is made for the user alone`() throws {
        let folder = try PrivateDirectory.create(["a", "b"], below: base)
        #expect(folder.path == base + "/a/b")
        for path in ["/new", "/new/data", "/new/data/a", "/new/data/a/b"] {
            #expect(try mode(temporary.path + path) == 0o700)
        }
    }

    @Test func `a folder that is not there is not made by opening it`() throws {
        let folder = try PrivateDirectory.open(["a"], below: base)
        let isMissing =
            switch folder {
            case .some: false
            case .none: true
            }
        #expect(isMissing)
        #expect(!FileManager.default.fileExists(atPath: base))
    }

    @Test func `a folder is exposed wherever a link leads through one that others can write`() throws {
        _ = try PrivateDirectory.create(["safe", "data"], below: base)
        _ = try PrivateDirectory.create(["open", "data"], below: base)
        let manager = FileManager.default
        func link(_ name: String, to target: String) throws -> String {
            try manager.createSymbolicLink(atPath: base + "/safe/" + name, withDestinationPath: target)
            return base + "/safe/" + name
        }
        let direct = try link("direct", to: base + "/open/data"),
            relative = try link("relative", to: "../open/data")
        let twice = try link("twice", to: "direct"), round = try link("round", to: "round")
        for path in [direct, relative, twice, base + "/safe/data", round, direct + "/groups"] {
            #expect(PrivateDirectory.exposedFolder(above: path) == nil, "\(path)")
        }
        try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: base + "/open")
        for path in [direct, relative, twice, direct + "/groups", base + "/open/data"] {
            #expect(PrivateDirectory.exposedFolder(above: path)?.hasSuffix("/open") == true, "\(path)")
        }
        #expect(PrivateDirectory.exposedFolder(above: base + "/safe/data") == nil)
    }

    @Test func `links of the user's own are followed, others' are not`() throws {
        let real = temporary.path + "/real", link = temporary.path + "/link"
        _ = try PrivateDirectory.create(["inside"], below: real)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
        _ = try PrivateDirectory.create(["inside"], below: link)
        try FileManager.default.createSymbolicLink(atPath: real + "/a", withDestinationPath: real + "/inside")
        try PrivateDirectory.create(["a"], below: real).write([1], to: "file")
        #expect(FileManager.default.fileExists(atPath: real + "/inside/file"))
        // Only root can make a link of another user's.
        guard try Need.root.isMet() else { return }
        #expect(lchown(real + "/a", 65_534, 65_534) == 0)
        let refused = error { _ = try PrivateDirectory.create(["a"], below: real) }
        #expect(refused?.code == .inputOutput)
        #expect(refused?.message == "\(real)/a is not a directory, or is another user's symbolic link")
    }

    @Test(.needs(.root)) func `root makes nothing in a user's folder`() throws {
        let home = temporary.path + "/home"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        #expect(chown(home, 65_534, 65_534) == 0)
        let refused = error { _ = try PrivateDirectory.create(["credmgr"], below: home + "/.local/share") }
        #expect(refused?.message == "the directory \(home) belongs to another user (uid 65534)")
        #expect(!FileManager.default.fileExists(atPath: home + "/.local"))
    }

    @Test func `nothing is made in a folder that everybody can write in`() throws {
        let open = temporary.path + "/open"
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: true)
        #expect(chmod(open, 0o777) == 0)
        #expect(error { _ = try PrivateDirectory.create(["credmgr"], below: open) }?.hint == "chmod o-w '\(open)'")
    }

    @Test(arguments: [0o770, 0o707, 0o777, 0o722])
    func `a folder that others can write in is refused with the command that helps`(mode: Int) throws {
        _ = try PrivateDirectory.create(["a"], below: base)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: base + "/a")
        let refused = error { _ = try PrivateDirectory.create(["a", "b"], below: base) }
        #expect(refused?.message == "other users can write in the directory \(base)/a")
        #expect(refused?.hint == "chmod 700 '\(base)/a'")
    }

    @Test(.needs(.root))
    func `a folder or file of another user is refused`() throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        try folder.write([1], to: "file")
        chown(base + "/a/file", 65534, 65534)
        #expect(error { _ = try folder.read("file", limit: 10) }?.message.contains("uid 65534") == true)
        chown(base + "/a", 65534, 65534)
        let refused = error { _ = try PrivateDirectory.create(["a"], below: base) }
        #expect(refused?.message == "the directory \(base)/a belongs to another user (uid 65534)")
    }

    @Test(arguments: ["", ".", "..", "a/b", "../x", "a\0b", String(repeating: "x", count: 256)])
    func `a name that could lead to another directory is refused`(name: String) throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        #expect(error { try folder.write([], to: name) }?.code == .inputOutput)
        #expect(error { _ = try folder.read(name, limit: 1) }?.code == .inputOutput)
        #expect(error { try folder.remove(name) }?.code == .inputOutput)
        #expect(error { _ = try PrivateDirectory.create([name], below: base) }?.code == .inputOutput)
    }

    // MARK: Files

    @Test func `a written file is read back, private and without leftovers`() throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        for content in [[], [1, 2, 3], large] {
            try folder.write(content, to: "file")
            #expect(try folder.read("file", limit: 300_000) == content)
        }
        #expect(try mode(base + "/a/file") == 0o600)
        #expect(try folder.names() == ["file"])
        try folder.remove("file")
        try folder.remove("file")
        #expect(try folder.read("file", limit: 1) == nil)
    }

    @Test func `a file above the limit is refused`() throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        try folder.write([1, 2, 3], to: "file")
        #expect(try folder.read("file", limit: 3) == [1, 2, 3])
        #expect(error { _ = try folder.read("file", limit: 2) }?.message == "\(base)/a/file is larger than 2 bytes")
    }

    @Test func `links, FIFOs, folders and open files are refused`() throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        let path = base + "/a/"
        try folder.write([1], to: "file")
        try FileManager.default.createSymbolicLink(atPath: path + "link", withDestinationPath: path + "file")
        mkfifo(path + "fifo", 0o600)
        mkdir(path + "folder", 0o700)
        chmod(path + "file", 0o640)
        #expect(error { _ = try folder.read("link", limit: 9) }?.message == path + "link is a symbolic link")
        #expect(error { _ = try folder.read("fifo", limit: 9) }?.message == path + "fifo is not a regular file")
        #expect(error { _ = try folder.read("folder", limit: 9) }?.message == path + "folder is not a regular file")
        #expect(error { _ = try folder.read("file", limit: 9) }?.hint == "chmod 600 '\(path)file'")
    }

    @Test func `writing replaces a planted link instead of following it`() throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        let victim = temporary.path + "/victim"
        try "old".write(toFile: victim, atomically: false, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: base + "/a/file", withDestinationPath: victim)
        try folder.write([1], to: "file")
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "old")
        #expect(try folder.read("file", limit: 1) == [1])
    }

    @Test func `a failed write keeps the old file, leaves nothing behind and names path and reason`() throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        // A folder that is not empty cannot be replaced by a file.
        mkdir(base + "/a/file", 0o700)
        try "x".write(toFile: base + "/a/file/inside", atomically: false, encoding: .utf8)
        let refused = error { try folder.write([1], to: "file") }
        #expect(refused?.message == "cannot write \(base)/a/file: Is a directory")
        #expect(try folder.names() == ["file"])
    }

    @Test func `a write beyond the space allowed keeps the old file`() async throws {
        await #expect(processExitsWith: .exitCode(3)) {
            // The file size limit plays a full disk: the write itself fails in the middle.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
            let base = try TemporaryFolder()
            let folder = try PrivateDirectory.create(["a"], below: base.path)
            try folder.write([1], to: "file")
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            do {
                try folder.write([UInt8](repeating: 2, count: 100_000), to: "file")
            } catch let error as CredentialError {
                let isKept = try folder.read("file", limit: 9) == [1]
                let names = try folder.names()
                let isNamed = error.message == "cannot write \(base.path)/a/file: File too large"
                exit(isKept && names == ["file"] && isNamed ? 3 : 1)
            }
        }
    }

    @Test func `temporary files of killed writers go after an hour, younger ones stay`() throws {
        let folder = try PrivateDirectory.create(["a"], below: base)
        for (name, age) in [(".file.0.tmp", 4000.0), (".file.1.tmp", 10.0), ("other", 4000.0)] {
            let path = base + "/a/" + name
            try "x".write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path)
        }
        try folder.write([1], to: "file")
        #expect(try folder.names() == [".file.1.tmp", "file", "other"])
    }
}

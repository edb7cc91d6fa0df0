import CredentialCore
import Foundation
import Platform
import TestSupport
import Testing

/// Files that the user names: which symbolic links of their paths are followed.
@Suite struct OutputFileTests {
    private let temporary: TemporaryFolder
    private let base: String
    private let manager = FileManager.default

    init() throws {
        temporary = try TemporaryFolder()
        base = temporary.path
        for name in ["own", "target"] {
            try manager.createDirectory(
                atPath: "\(base)/\(name)", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o755])
        }
        try "before".write(toFile: base + "/target/file", atomically: false, encoding: .utf8)
    }

    private func link(_ path: String, to target: String) throws {
        try manager.createSymbolicLink(atPath: base + path, withDestinationPath: target)
    }

    private var target: String {
        String(decoding: manager.contents(atPath: base + "/target/file") ?? Data(), as: UTF8.self)
    }

    /// Both ways to write a file.
    private func write(_ path: String) throws(CredentialError) {
        try UserOutputFile.replace(path, Array("replaced".utf8))
        let file = try UserOutputFile(path)
        try file.write(Array("written".utf8))
        try file.close()
    }

    /// The errors of both ways; the file that is there stays as it is.
    private func refusals(_ path: String) -> [CredentialError] {
        [
            error { try UserOutputFile.replace(path, Array("replaced".utf8)) },
            error { _ = try UserOutputFile(path) },
        ]
        .compactMap { $0 }
    }

    private func error(_ body: () throws -> Void) -> CredentialError? {
        do { try body() } catch { return error as? CredentialError }
        return nil
    }

    @Test(arguments: ["target/file", "../target/file", "ABSOLUTE", "chain"])
    func `a link of the user's own is followed`(to: String) throws {
        try link("/own/target", to: "../target")
        try link("/own/chain", to: "target/file")
        try link("/own/link", to: to == "ABSOLUTE" ? base + "/target/file" : to)
        try write(base + "/own/link")
        #expect(target == "written")
        #expect(try manager.destinationOfSymbolicLink(atPath: base + "/own/link").isEmpty == false)
    }

    @Test func `a link to a file that is not there makes it`() throws {
        try link("/own/link", to: "../target/new")
        try write(base + "/own/link")
        #expect(manager.contents(atPath: base + "/target/new") == Data("written".utf8))
    }

    @Test func `links without end are an error`() throws {
        try link("/own/a", to: "b")
        try link("/own/b", to: "a")
        #expect(refusals(base + "/own/a").map(\.code) == [.inputOutput, .inputOutput])
    }

    @Test(arguments: ["", "/", "own", "own/", "own/.", "own/.."])
    func `a directory is no file`(path: String) {
        #expect(
            refusals(path == "/" || path.isEmpty ? path : "\(base)/\(path)").map(\.code) == [
                .inputOutput, .inputOutput,
            ])
    }

    @Test func `missing directories are made for a file that is replaced`() throws {
        try UserOutputFile.replace(base + "/own/a/b/file", [1])
        #expect(manager.contents(atPath: base + "/own/a/b/file") == Data([1]))
        let mode = try manager.attributesOfItem(atPath: base + "/own/a")[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }

    @Test func `a link in a directory that others can write in is not followed, a file there is`() throws {
        try link("/own/link", to: base + "/target/file")
        chmod(base + "/own", 0o777)
        for refusal in refusals(base + "/own/link") {
            #expect(refusal.code == .denied && refusal.code.exitStatus == 7)
            #expect(
                refusal.message.contains("does not follow the symbolic link \(base)/own/link"), "\(refusal.message)"
            )
            #expect(refusal.message.contains("other users can write in \(base)/own (uid \(geteuid()))"))
        }
        #expect(refusals(base + "/own/link").count == 2 && target == "before")
        try write(base + "/own/plain")
    }

    @Test func `a link into a directory that others can write in is not followed`() throws {
        try link("/own/link", to: "../target/file")
        chmod(base + "/target", 0o777)
        #expect(refusals(base + "/own/link").map(\.code) == [.denied, .denied])
        #expect(target == "before")
    }

    @Test func `a directory that is a link counts, too`() throws {
        try manager.createDirectory(
            atPath: base + "/shared", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        chmod(base + "/shared", 0o777)
        try link("/shared/directory", to: base + "/target")
        #expect(refusals(base + "/shared/directory/file").map(\.code) == [.denied, .denied])
        #expect(target == "before")
    }

    @Test(.needs(.root)) func `another user's link is not followed, in a sticky directory either`() throws {
        chmod(base + "/own", 0o1777)
        try link("/own/link", to: base + "/target/file")
        lchown(base + "/own/link", 65_534, 65_534)
        for refusal in refusals(base + "/own/link") {
            #expect(refusal.code == .denied)
            #expect(
                refusal.message.hasSuffix("\(base)/own/link is a symbolic link of another user (uid 65534)"),
                "\(refusal.message)")
        }
        #expect(refusals(base + "/own/link").count == 2 && target == "before")
        // root's own link in root's sticky directory is followed, as in /tmp.
        try link("/own/mine", to: base + "/target/file")
        try write(base + "/own/mine")
        #expect(target == "written")
    }

    @Test(.needs(.root)) func `another user's directory is not trusted by a link of the user's`() throws {
        try link("/own/link", to: base + "/target/file")
        chown(base + "/target", 65_534, 65_534)
        #expect(refusals(base + "/own/link").map(\.code) == [.denied, .denied])
        #expect(target == "before")
    }

    @Test(.needs(.root)) func `a file that another user made in a directory for all is not written to`() throws {
        chmod(base + "/own", 0o1777)
        try "theirs".write(toFile: base + "/own/file", atomically: false, encoding: .utf8)
        chown(base + "/own/file", 65_534, 65_534)
        let refused = error { _ = try UserOutputFile(base + "/own/file") }
        #expect(refused?.code == .denied && refused?.message.contains("uid 65534") == true)
        #expect(manager.contents(atPath: base + "/own/file") == Data("theirs".utf8))
    }

    @Test func `an open file of the process is written to by its link in proc`() throws {
        let path = base + "/target/file"
        let number = open(path, O_WRONLY | O_TRUNC)
        defer { close(number) }
        let file = try UserOutputFile("/dev/fd/\(number)")
        try file.write(Array("by number".utf8))
        try file.close()
        #expect(target == "by number")
    }
}

import Foundation
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// A user's home with nothing in it, and the real program run there in a clean environment.
///
/// Each ``run(_:input:environment:exits:sourceLocation:)`` checks what holds for every call: the exit status, that a
/// failure prints no result, that it says why in one voice, and that no secret shows. When a home goes, none of the
/// program's files in it may hold one.
final class Home: Sendable {
    /// Where it is.
    var path: String { folder.path }
    /// The variables that every call gets.
    let environment: [String: String]
    private let folder: TemporaryFolder
    private let transcript = Mutex<String>("")
    private let ownFiles = Mutex<Set<String>>([])

    /// Makes a home.
    ///
    /// - Parameter variables: added to the environment; none of them reaches another home.
    init(_ variables: [String: String] = [:]) throws {
        folder = try TemporaryFolder()
        let path = folder.path
        var environment = [
            "HOME": path, "XDG_CONFIG_HOME": path + "/config", "XDG_DATA_HOME": path + "/data",
            "XDG_CONFIG_DIRS": path + "/etc", "XDG_DATA_DIRS": path + "/share", "XDG_RUNTIME_DIR": path + "/run",
            "TMPDIR": path + "/tmp", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            // A bus that is not there: the one of whoever runs the tests is never asked.
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + path + "/run/bus",
            // The kernel's keyring outlives a home; the tests of the cache turn it on.
            "CREDMGR_CACHE": "off",
        ]
        environment.merge(variables) { $1 }
        self.environment = environment
        for name in ["run", "tmp"] {
            try FileManager.default.createDirectory(
                atPath: path + "/" + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
            )
        }
    }

    deinit {
        // What a test put there itself, or had put there by its own programs or by `-o`, is its own business.
        let own = ownFiles.withLock { $0 }
        for folder in ["data", "config", "run", "tmp"] {
            for case let name as String in FileManager.default.enumerator(atPath: path + "/" + folder) ?? .init() {
                let file = folder + "/" + name
                guard !own.contains(file), let content = FileManager.default.contents(atPath: path + "/" + file)
                else { continue }
                if Canary.secret(in: content) != nil { Issue.record("a secret stands in \(file)") }
            }
        }
    }

    /// The program that was built with the tests.
    static let program: String = {
        let itself = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let places = CommandLine.arguments.filter { $0.hasPrefix("/") } + [itself]
        let folders = places.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let inBundle = folders.map { $0.appendingPathComponent("credmgr").path }
        return inBundle.first { FileManager.default.isExecutableFile(atPath: $0) } ?? "credmgr"
    }()

    /// Runs the program to its end.
    @discardableResult func run(
        _ words: [String], input: String = "", environment: [String: String] = [:], exits status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        let outcome = try ChildProcess(
            Self.program, words, environment: self.environment.merging(environment) { $1 }
        ).run(input: input)
        transcript.withLock { $0 += outcome.standardOutput + outcome.standardError }
        let shown = Comment(rawValue: "credmgr \(words.joined(separator: " "))\n\(outcome.standardError)")
        #expect(outcome.exitStatus == status, shown, sourceLocation: sourceLocation)
        if outcome.exitStatus != 0 { check(outcome, of: words, shown, sourceLocation) }
        return outcome
    }

    /// Runs the program and reads its result as JSON.
    func json(
        _ words: [String], exits status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> JSONValue {
        let outcome = try run(words, exits: status, sourceLocation: sourceLocation)
        return try JSONValue.parse(Array(outcome.standardOutput.utf8))
    }

    private func check(
        _ outcome: ChildProcess.Outcome, of words: [String], _ shown: Comment, _ sourceLocation: SourceLocation
    ) {
        let errors = outcome.standardError.split(separator: "\n").filter { $0.hasPrefix("credmgr: error: ") }
        #expect(errors.count == 1, shown, sourceLocation: sourceLocation)
        let message = errors.first?.dropFirst("credmgr: error: ".count) ?? ""
        // A method or a placeholder, such as GET or ACCOUNT, keeps its capitals.
        let word = message.prefix { $0.isLetter }
        #expect(word == word.lowercased() || word == word.uppercased(), shown, sourceLocation: sourceLocation)
        #expect(!message.hasSuffix("."), shown, sourceLocation: sourceLocation)
        if outcome.exitStatus == 8 { return }
        guard words.contains("--json"), words.first != "request" else {
            #expect(outcome.standardOutput.isEmpty, shown, sourceLocation: sourceLocation)
            return
        }
        let document = try? JSONValue.parse(Array(outcome.standardOutput.utf8)).object?["error"]?.object
        #expect(document?["exit"]?.integer == Int64(outcome.exitStatus), shown, sourceLocation: sourceLocation)
        #expect(document?["message"]?.string?.isEmpty == false, shown, sourceLocation: sourceLocation)
    }

    /// All that the program has printed so far, on both streams.
    var printed: String { transcript.withLock { $0 } }

    // MARK: Files

    /// Writes a file below the home, with the folders on the way.
    @discardableResult func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let file = path + "/" + name
        ownFiles.withLock { _ = $0.insert(name) }
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    /// The text of a file below the home; `nil` where there is none.
    func text(of name: String) -> String? {
        FileManager.default.contents(atPath: path + "/" + name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Every file below the home: path below it, content.
    var files: [String: Data] {
        var files: [String: Data] = [:]
        for case let name as String in FileManager.default.enumerator(atPath: path) ?? .init() {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path + "/" + name, isDirectory: &isFolder),
                !isFolder.boolValue
            else { continue }
            files[name] = FileManager.default.contents(atPath: path + "/" + name)
        }
        return files
    }
}

extension ChildProcess.Outcome {
    /// The result without its newline.
    var line: String { String(standardOutput.prefix { !$0.isNewline }) }
}

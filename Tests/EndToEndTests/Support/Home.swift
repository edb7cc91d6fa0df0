import Foundation
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// A user's empty home, and the real program run there in a clean environment.
///
/// Each ``run(_:input:environment:exits:sourceLocation:)`` checks the rules for every call: the exit status, no
/// result from a failure, an error message in the usual form, and no visible secret. When a home goes, no file of
/// the program in it may hold a secret.
final class Home: Sendable {
    /// The path of the home.
    var path: String { folder.path }
    /// The variables that every call gets.
    var environment: [String: String] { home.environment }
    private let home: ProgramHome
    private let folder: TemporaryFolder
    private let runtime: TemporaryFolder?
    private let transcript = Mutex<String>("")
    private let ownFiles = Mutex<Set<String>>([])

    /// How often a call that suggests to try again (exit 6) is repeated, unless the test expects that.
    private let again: Int

    /// Makes a home.
    ///
    /// - Parameters:
    ///   - variables: added to the environment of this home only.
    ///   - again: how often a call is made again that ends with 6: a loaded machine makes a cluster ask for that.
    ///   - runtime: `$XDG_RUNTIME_DIR`, if it is not to be on a disk below the home.
    init(_ variables: [String: String] = [:], again: Int = 0, runtime: TemporaryFolder? = nil) throws {
        self.again = again
        self.runtime = runtime
        folder = try TemporaryFolder()
        home = try ProgramHome(
            folder.path, runtime.map { ["XDG_RUNTIME_DIR": $0.path].merging(variables) { $1 } } ?? variables)
    }

    deinit {
        // Files that a test wrote there itself, or by its own programs or `-o`, are its own business.
        let own = ownFiles.withLock { $0 }
        for folder in ["data", "config", "run", "tmp"] {
            for case let name as String in FileManager.default.enumerator(atPath: path + "/" + folder) ?? .init() {
                let file = folder + "/" + name
                // The target of a link does not belong to the home.
                let kind = try? FileManager.default.attributesOfItem(atPath: path + "/" + file)[.type]
                guard !own.contains(file), kind as? FileAttributeType != .typeSymbolicLink,
                    let content = FileManager.default.contents(atPath: path + "/" + file)
                else { continue }
                if Canary.secret(in: content) != nil { Issue.record("a secret stands in \(file)") }
            }
        }
    }

    /// The program that was built with the tests.
    static let program = ProgramHome.program

    /// A call of the program.
    func command(_ words: [String], _ variables: [String: String] = [:]) -> ChildProcess {
        home.command(words, variables)
    }

    /// Starts the program, to run beside the test.
    func start(_ words: [String], _ variables: [String: String] = [:]) throws -> RunningProcess {
        try command(words, variables).start()
    }

    /// Runs the program to its end.
    @discardableResult func run(
        _ words: [String], input: String = "", environment: [String: String] = [:], exits status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        var outcome = try home.command(words, environment).run(input: input)
        for _ in 0..<again where outcome.exitStatus == 6 && status != 6 {
            outcome = try home.command(words, environment).run(input: input)
        }
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
        ownFiles.withLock { _ = $0.insert(name) }
        return try home.write(text, to: name, mode: mode)
    }

    /// The text of a file below the home; `nil` if there is no such file.
    func text(of name: String) -> String? { home.text(of: name) }

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

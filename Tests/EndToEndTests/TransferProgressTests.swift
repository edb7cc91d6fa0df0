import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The progress that `request` draws while a file goes up or comes down.
@Suite struct `The progress of a transfer` {
    private static let size = 8 << 20

    /// An API behind a slow line, and a user who may use it.
    private final class World {
        let home: Home
        private let tenant: DemoTenant
        private let server: RunningProcess

        init() throws {
            (home, tenant) = (try Home(), try DemoTenant())
            server = try ChildProcess(
                World.tests.appendingPathComponent("Servers/slow-http").path, ["4.5", String(size)],
                environment: ["PATH": "/usr/bin:/bin"]
            ).start(input: .pipe)
            let port = try #require(try server.line())
            try tenant.definePolicies(at: home, ["api_base": .string("http://127.0.0.1:\(port)")])
            try tenant.signIn(at: home, policy: "sign-in")
            try Data(count: size).write(to: URL(fileURLWithPath: home.path + "/big"))
        }

        static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

        /// Runs the program on a terminal, and gives the text it shows.
        func atTerminal(_ words: [String]) throws -> String {
            let script = World.tests.appendingPathComponent("Fixtures/type-at-terminal.py").path
            let outcome = try ChildProcess(
                "python3", [script, "--", Home.program] + words, environment: home.environment
            ).run()
            #expect(outcome.exitStatus == 0, "\(outcome.standardOutput)\(outcome.standardError)")
            return outcome.standardOutput
        }
    }

    /// The amounts shown, each with the whole.
    private func amounts(_ shown: String, _ word: String) -> [(done: Int, all: Int)] {
        shown.split(separator: "\r").compactMap { line in
            let words = line.split { $0 == " " || $0 == "," || $0.isNewline }.map(String.init)
            guard let place = words.firstIndex(of: word), words.count > place + 3, words[place + 2] == "of",
                let done = Int(words[place + 1]), let all = Int(words[place + 3])
            else { return nil }
            return (done, all)
        }
    }

    @Test func `An upload draws how much was sent, and then the reply`() throws {
        let world = try World()
        let shown = try world.atTerminal(["request", "POST", "/", "--file", "note=@" + world.home.path + "/big"])
        let amounts = amounts(shown, "sent")
        try #require(amounts.count >= 2, "\(shown)")
        #expect(amounts.map(\.done) == amounts.map(\.done).sorted())
        #expect(amounts[0].done < amounts[amounts.count - 1].done)
        // The whole is the file and the form's text around it.
        #expect(amounts.allSatisfy { $0.all > Self.size && $0.all < Self.size + 1_000 && $0.done <= $0.all })
        #expect(shown.hasSuffix("\r\n\(amounts[0].all)"), "\(shown.suffix(60))")
    }

    @Test func `A download into a file draws how much has come`() throws {
        let world = try World()
        let shown = try world.atTerminal(["request", "GET", "/", "-o", world.home.path + "/copy"])
        let amounts = amounts(shown, "received")
        try #require(amounts.count >= 2, "\(shown)")
        #expect(amounts.map(\.done) == amounts.map(\.done).sorted())
        #expect(amounts[0].done < amounts[amounts.count - 1].done)
        #expect(amounts.allSatisfy { $0.all == Self.size })
        #expect(shown.hasSuffix("\r\n"))
        #expect(world.home.text(of: "copy")?.utf8.count == Self.size)
    }

    @Test func `Without a terminal no progress is drawn`() throws {
        let world = try World()
        let upload = try world.home.run(["request", "POST", "/", "--file", "note=@" + world.home.path + "/big"])
        #expect(upload.standardError.isEmpty && (Int(upload.standardOutput) ?? 0) > Self.size)
        let download = try world.home.run(["request", "GET", "/", "-o", world.home.path + "/copy"])
        #expect(download.standardError.isEmpty && download.standardOutput.isEmpty)
    }
}

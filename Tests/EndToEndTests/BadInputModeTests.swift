import Foundation
import StrictJSON
import TestSupport
import Testing

/// Every kind of failure, met by a script and by a person whose machine is not as it should be.
@Suite struct `Failures in every mode` {
    /// A kind of failure: how it is made, and how it ends.
    enum State: String, CaseIterable, Sendable {
        case usage, unknownType, badConfiguration, badType, nobody, signInRequired, locked, network, denied, status

        var words: [String] {
            switch self {
            case .usage, .signInRequired: ["login"]
            case .unknownType: ["types", "show", "Nobody"]
            case .badConfiguration: ["which"]
            case .badType: ["claims", "--type", "Bad"]
            case .nobody, .locked: ["claims"]
            case .network: ["token", "--force-refresh"]
            case .denied: ["request", "GET", "https://elsewhere.example.com/"]
            case .status: ["request", "GET", "/nowhere"]
            }
        }

        var exit: Int32 {
            switch self {
            case .usage, .unknownType, .badConfiguration, .badType: 2
            case .nobody: 3
            case .signInRequired: 4
            case .locked: 5
            case .network: 6
            case .denied: 7
            case .status: 8
            }
        }

        /// Whether the command prints JSON on request.
        var hasJSON: Bool { !["token", "request"].contains(words[0]) }
        /// Whether a person at a terminal is asked instead; without account types `login` begins the guided sign-in
        /// there.
        var asks: Bool { [.usage, .signInRequired, .locked].contains(self) }

        /// Makes the state in a home; gives back the provider, which lives as long.
        func make(at home: Home) throws -> DemoTenant {
            let tenant = try DemoTenant()
            switch self {
            case .usage, .unknownType: break
            case .badConfiguration: try home.write("{", to: "config/credmgr/config.json")
            case .badType: try home.write(#"{"client_di": "x"}"#, to: "config/credmgr/types/Bad.json")
            case .nobody, .signInRequired: try tenant.define(at: home)
            case .locked:
                try tenant.signIn(at: home)
                try home.run(["store", "rekey", "--passphrase-file", "-"], input: "correct horse battery\n")
            case .network:
                try tenant.signIn(at: home)
                tenant.provider.stop()
            case .denied, .status: try tenant.signIn(at: home)
            }
            return tenant
        }
    }

    /// The whole line of an error.
    private func line(of text: String) throws -> String {
        try #require(
            text.split(whereSeparator: \.isNewline).map(String.init).first { $0.hasPrefix("credmgr: error: ") },
            "\(text)")
    }

    @Test(arguments: State.allCases)
    func `A failure stays the same failure`(state: State) throws {
        let home = try Home(["CREDMGR_STORE": "file", "NO_COLOR": "1"]), tenant = try state.make(at: home)
        defer { tenant.provider.stop() }
        func shell(_ redirections: String, more: [String] = []) throws -> ChildProcess.Outcome {
            let script = "exec \"$0\" \"$@\" " + redirections
            return try ChildProcess(
                "/bin/sh", ["-c", script, Home.program] + state.words + more, environment: home.environment
            ).run()
        }
        let plain = try home.run(state.words, exits: state.exit), error = try line(of: plain.standardError)

        let unasked = try home.run(state.words + ["--no-input"], exits: state.exit)
        #expect(try line(of: unasked.standardError) == error)

        // No message of credmgr is beyond ASCII, which a terminal of another encoding would garble.
        let bare = try home.run(state.words, environment: ["LC_ALL": "C", "LANG": "C"], exits: state.exit)
        #expect(try line(of: bare.standardError) == error && bare.standardError.utf8.allSatisfy { $0 < 0x80 })

        for redirections in ["2>&-", "0<&-", "0<&- 2>&-"] {
            let outcome = try shell(redirections)
            #expect(outcome.exitStatus == state.exit, "\(redirections)")
            #expect(outcome.standardOutput == plain.standardOutput, "\(redirections)")
        }
        // The failure counts, not that its result cannot be written; a server's response is a result of its own.
        for redirections in [">&-", "0<&- >&- 2>&-"] where state != .status {
            #expect(try shell(redirections).exitStatus == state.exit, "\(redirections)")
        }
        for (name, content) in home.files {
            #expect(content.range(of: Data("credmgr: error".utf8)) == nil, "the message went to \(name)")
        }

        if state.hasJSON {
            for more in [["--json"], ["--json", "--no-input"]] {
                let document = try home.json(state.words + more, exits: state.exit)
                let told = try #require(document.object?["error"]?.object)
                #expect(told["exit"]?.integer == Int64(state.exit))
                #expect(told["code"]?.string?.isEmpty == false)
                #expect(error == "credmgr: error: " + (told["message"]?.string ?? ""))
            }
            let silent = try shell("2>&-", more: ["--json"])
            #expect(silent.exitStatus == state.exit)
            #expect(try JSONValue.parse(Array(silent.standardOutput.utf8)).object?["error"] != nil)
        }

        if !state.asks {
            for columns in [20, 80] {
                let session = try home.onTerminal(state.words, columns: columns)
                #expect(session.status == Int64(state.exit), "\(session.text)")
                // A message is broken by the terminal, never cut.
                #expect(session.text.contains(error), "\(session.text)")
            }
        }
    }

    @Test(arguments: [20, 80]) func `A list on a terminal has IDs that every command accepts`(columns: Int) throws {
        let home = try Home(["CREDMGR_STORE": "file", "NO_COLOR": "1"]), tenant = try DemoTenant()
        defer { tenant.provider.stop() }
        let group = String(repeating: "g", count: 60)
        var settings = AppSettings(base: tenant.base)
        settings["keychain"] = .text(group)
        try tenant.define(at: home, settings: settings)
        let id = try tenant.signIn(at: home)
        let session = try home.onTerminal(
            ["-c", "exec '\(Home.program)' accounts >/dev/tty"], columns: columns, program: "/bin/sh")
        #expect(session.status == 0)
        let lines = session.text.split(whereSeparator: \.isNewline)
        let line = try #require(lines.first { $0.contains(id.prefix(4)) }, "\(session.text)")
        let short = try #require(line.split(separator: " ").last)
        #expect(short.count < id.count && id.hasPrefix(short.trimmingCharacters(in: .whitespacesAndNewlines)))
        try home.run(["accounts", "show", String(id.prefix(4))])
        // All accounts are in one group, so the list need not show it.
        #expect(!session.text.contains("ggg"), "\(session.text)")
        if columns == 80 { #expect(lines.allSatisfy { $0.count <= columns }, "\(session.text)") }
    }
}

import Foundation
import TestSupport
import Testing

/// A device sign-in on a terminal.
@Suite struct `The picture of a device code` {
    private let home: Home
    private let provider: ScriptedProvider

    init() throws {
        home = try Home(["CREDMGR_STORE": "file"])
        provider = try ScriptedProvider()
        try home.run([
            "types", "add", "Tablet", "--issuer", provider.base, "--client-id", "app", "--scope", "api", "--flow",
            "device",
        ])
    }

    /// Signs in on a terminal of 100 columns, and gives the text it shows.
    private func signIn(_ variables: [String: String] = [:], more: [String] = []) throws -> String {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Fixtures/type-at-terminal.py").path
        let outcome = try ChildProcess(
            "python3", [script, "--", Home.program, "login", "--type", "Tablet"] + more,
            environment: home.environment.merging(["TERM": "xterm-256color"].merging(variables) { $1 }) { $1 }
        ).run()
        let text = outcome.standardOutput.replacingOccurrences(of: "\r\n", with: "\n")
        #expect(outcome.exitStatus == 0, "\(text)")
        #expect(text.contains("open \(provider.base)/enter\n") && text.contains("enter the code  WDJB-MJHT\n"))
        #expect(try home.run(["token"]).line == "at-1")
        return text
    }

    /// The text that a camera reads off the terminal, by zbar: each block is two modules, one above the other.
    private func scan(_ lines: [String], inkIsDark: Bool) throws -> String {
        let scale = 4
        var rows: [String] = []
        for line in lines {
            for isUpper in [true, false] {
                let row = line.map { block in
                    let isInked = block == "█" || block == (isUpper ? "▀" : "▄")
                    return String(repeating: isInked == inkIsDark ? "1" : "0", count: scale)
                }.joined()
                rows += Array(repeating: row, count: scale)
            }
        }
        let picture = try home.write(
            "P1\n\(rows.first?.count ?? 0) \(rows.count)\n" + rows.joined(separator: "\n") + "\n", to: "code.pbm")
        return try ChildProcess("zbarimg", ["--quiet", "--raw", picture], environment: home.environment)
            .run().line
    }

    @Test func `A terminal shows a code that a camera reads as the address with the user code in it`() throws {
        let lines = try signIn().split(separator: "\n").filter { $0.hasPrefix("\u{1B}[30;107m") }.map {
            $0.dropFirst("\u{1B}[30;107m".count).replacingOccurrences(of: "\u{1B}[0m", with: "")
        }
        #expect(lines.count > 12 && Set(lines.map(\.count)).count == 1)
        #expect(try scan(lines, inkIsDark: true) == provider.base + "/enter?user_code=WDJB-MJHT")
    }

    @Test func `Without colours the light modules of the code use the terminal's light`() throws {
        let text = try signIn(["NO_COLOR": "1"])
        // The progress line is removed without any escape sequence.
        #expect(!text.replacingOccurrences(of: "\r\u{1B}[K", with: "").contains("\u{1B}"))
        let lines = text.split(separator: "\n").filter { $0.contains("█") }.map(String.init)
        #expect(try scan(lines, inkIsDark: false) == provider.base + "/enter?user_code=WDJB-MJHT")
    }

    @Test func `A code that no user enters is polled no longer than allowed`() throws {
        provider.change { $0.token = .json(400, ["error": "authorization_pending"]) }
        let start = ContinuousClock.now
        let error = try home.run(["login", "--type", "Tablet", "--timeout", "3"], exits: 6).standardError
        #expect(error.contains("the code was not entered within the time of --timeout"))
        #expect(ContinuousClock.now - start < .seconds(60))
        #expect(provider.paths.filter { $0 == "/token" }.count >= 1)
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `Without libqrencode, or without its characters, the address does`() throws {
        // A file of its name that is no library, found before the real one.
        try home.write("", to: "empty/libqrencode.so.4", mode: 0o644)
        let without = try signIn(["LD_LIBRARY_PATH": home.path + "/empty"], more: ["--verbose"])
        #expect(without.contains("no QR code: "))
        for text in [without, try signIn(["LC_ALL": "C"])] {
            #expect(!text.contains("█") && !text.contains("▀"))
            #expect(text.contains("or open  \(provider.base)/enter?user_code=WDJB-MJHT\n"))
        }
    }
}

import TestSupport
import Testing

/// `credmgr demo`, compared with the steps of the samples and their mistakes.
@Suite struct `The demonstration` {
    /// The transcript without its scene numbers: titles and the text below each.
    private struct Transcript {
        private var scenes: [(title: String, lines: [String])] = []

        init(_ text: String) {
            for line in text.split(separator: "\n").map(String.init) {
                if let title = line.split(separator: ". ", maxSplits: 1).last, line.first?.isNumber == true {
                    scenes.append((String(title), []))
                } else {
                    scenes[scenes.count - 1].lines.append(line.trimmingPrefix { $0 == " " }.description)
                }
            }
        }

        /// Takes the next scene, which must begin with these words.
        mutating func next(_ title: String, _ location: SourceLocation = #_sourceLocation) throws -> [String] {
            let scene = try #require(scenes.first, sourceLocation: location)
            scenes.removeFirst()
            #expect(scene.title.hasPrefix(title), sourceLocation: location)
            return scene.lines
        }

        var isEmpty: Bool { scenes.isEmpty }
    }

    /// The commands of a scene in short, with how each list and each failure ended: `list 2`, `exit 4`.
    private func course(_ lines: [String]) -> [String] {
        lines.compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            if line.hasPrefix("$ credmgr ") {
                let isLogin = words[2] == "login"
                return isLogin ? (words.contains("--complete") ? "complete" : "begin") : words[2]
            }
            if line.hasPrefix("(exit status ") { return "exit " + (words.last?.dropLast() ?? "") }
            if line.hasPrefix("(tasks: ") { return "list " + (words.last?.dropLast() ?? "") }
            return line.hasPrefix("(no list: ") ? "no list" : nil
        }
    }

    @Test func `The whole walkthrough runs, each failure with its exit status`() throws {
        let home = try Home()
        let outcome = try home.run(["demo"])
        var transcript = Transcript(outcome.standardOutput)

        let imported = try transcript.next("The app's settings.plist becomes an account type")
        #expect(course(imported) == ["types", "types"])
        // accounts[0] of an empty list crashed.
        let nobody = try transcript.next("No user has signed in")
        #expect(course(nobody) == ["request", "exit 3"])
        #expect(nobody.contains("credmgr: hint: credmgr login --type B2C_Acccount"))

        #expect(course(try transcript.next("Carol signs up")) == ["begin", "complete", "request", "list 0"])
        let added = course(try transcript.next("She signs in with the other policy too"))
        #expect(
            added == ["begin", "complete", "accounts", "request", "request", "request", "list 2", "token"])
        let second = course(try transcript.next("As in the app: Carol signs out, Bob signs in"))
        #expect(second == ["logout", "begin", "complete", "request", "list 0", "request"])
        let both = course(try transcript.next("Carol signs in again"))
        #expect(
            both == ["begin", "complete", "which", "request", "list 1", "use", "request", "list 2"])
        #expect(course(try transcript.next("Carol deletes a task")) == ["request", "request", "list 1"])
        #expect(course(try transcript.next("Another tool of the same keychain group")) == ["types", "token"])

        // 4xx and 5xx passed for success.
        let refused = try transcript.next("The API fails")
        #expect(course(refused) == ["request", "exit 8", "request", "exit 8", "request", "exit 7"])
        #expect(
            refused.contains { $0.contains("returned 403") } && refused.contains { $0.contains("returned 503") })
        // The keys of an object passed for tasks.
        let noList = try transcript.next("The API returns no list")
        #expect(course(noList) == ["request", "no list"])
        let cancelled = try transcript.next("Carol begins a sign-in and cancels it")
        #expect(course(cancelled) == ["begin", "complete", "exit 7", "request", "list 1"])
        #expect(cancelled.contains { $0.contains("AADB2C90091") })
        // Observers were registered at each view, and told as often.
        let twice = try transcript.next("The browser's response comes twice")
        #expect(course(twice) == ["begin", "complete", "complete", "exit 7"])
        #expect(twice.last == "(codes that the provider has seen: 1)")

        let refreshed = try transcript.next("The token expires: credmgr refreshes it once")
        #expect(course(refreshed) == ["request", "list 1"])
        #expect(refreshed.last == "(refreshes that the provider has seen: 1)")
        let lost = try transcript.next("The provider revokes its grants")
        #expect(course(lost) == ["request", "exit 4", "accounts", "begin", "complete", "request", "list 1"])
        #expect(lost.contains { $0.contains("needs-login") })
        #expect(lost.contains { $0.hasPrefix("credmgr: hint: credmgr login --account ") })
        let forgotten = try transcript.next("Bob has forgotten his password")
        #expect(course(forgotten) == ["begin", "complete", "exit 4", "complete", "exit 4", "complete"])
        #expect(forgotten.contains { $0.hasSuffix("\tbob@example.com") })
        let policies = forgotten.compactMap { line in
            ["b2c_1_sign_in", "b2c_1_reset"].first { line.hasPrefix("http") && line.contains("/\($0)/") }
        }
        #expect(policies == ["b2c_1_sign_in", "b2c_1_reset", "b2c_1_sign_in"])
        let over = try transcript.next("Everything is forgotten")
        #expect(course(over) == ["logout", "accounts"])
        #expect(over.contains("credmgr: note: no account is signed in"))
        #expect(transcript.isEmpty)
    }

    @Test func `The transcript can be shown to anybody, and nothing is left behind`() throws {
        let home = try Home()
        // No code, and of a token only how it begins.
        let transcript = try home.run(["demo"]).standardOutput
        let longest =
            transcript.split { !($0.isLetter || $0.isNumber || "-_".contains($0)) }.map(\.count).max() ?? 0
        #expect(longest < 60)
        #expect(!transcript.contains("credmgr: warning"))
        // The files that the sealed cache leaves are useless without the half in the kernel's keyring, and end with
        // the session.
        #expect(home.files.keys.allSatisfy { $0.hasPrefix("run/credmgr/") })
    }
}

import TestSupport
import Testing

@Suite struct `The demonstration` {
    @Test func `The whole walkthrough runs, each failure with its exit status`() throws {
        let home = try Home()
        let outcome = try home.run(["demo"])
        let transcript = outcome.standardOutput
        let statuses = transcript.split(separator: "\n").filter { $0.contains("(exit status ") }
            .compactMap { $0.split(separator: " ").last.map { $0.dropLast() } }
        #expect(statuses == ["3", "3", "8", "8", "7", "7", "4"])
        let scenes = transcript.split(separator: "\n").filter { $0.prefix { $0 != "." }.allSatisfy(\.isNumber) }
        #expect(scenes.count == 13)
        for words in [
            "carol@example.com", "bob@example.com", "\"Text\":\"call Bob\"", "(the provider has seen 1 refresh)",
            "needs-login", "credmgr login --type B2C_Acccount", "AADB2C90091", "somebody else's",
            "credmgr: note: no account is signed in",
        ] { #expect(transcript.contains(words), "\(words)") }
        // The transcript can be shown to anybody: no code, and of a token only how it begins.
        let longest =
            transcript.split { !($0.isLetter || $0.isNumber || "-_".contains($0)) }.map(\.count).max() ?? 0
        #expect(longest < 60)
        #expect(home.files.isEmpty)
    }
}

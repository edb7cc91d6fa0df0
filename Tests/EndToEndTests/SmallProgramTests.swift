import Foundation
import StrictJSON
import TestSupport
import Testing

/// The small program of an installation: it answers as the full one would, and hands every other call to the full
/// one unchanged.
@Suite struct SmallProgramTests {
    let home: Home
    let tenant: DemoTenant

    init() throws {
        home = try Home(["CREDMGR_CACHE": "on"])
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let prefix = try Installation(standIn: Installation.recorder)
        for words in Self.plain { try settle(words, prefix) }
    }

    /// Calls the full program until its answer is kept: not while a file that it depends on is as young as the
    /// call.
    private func settle(_ words: [String], _ prefix: Installation) throws {
        for _ in 0..<100 where try run(prefix.small, words).standardOutput.hasPrefix("full") { try home.run(words) }
    }

    /// The word that decides is the type's: without it the accounts of all types decide, and are looked at each
    /// time.
    static let named = ["token", "--type", DemoTenant.typeName]
    static let given = "full" + named.map { " [\($0)]" }.joined() + "\n"
    static let plain = [named, named + ["--account", "alice@example.com"]]

    func run(
        _ program: String, _ words: [String], _ variables: [String: String?] = [:], input: String = ""
    ) throws -> ChildProcess.Outcome {
        var environment = home.environment
        for (name, value) in variables { environment[name] = value }
        return try ChildProcess(program, words, environment: environment).run(input: input)
    }

    // MARK: What it answers

    @Test func `Both programs give the same bytes for every call, in every format`() throws {
        let prefix = try Installation()
        var calls =
            Self.plain + [
                ["token"], ["--version"], ["version"], ["--help"], [], ["nonsense"], ["token", "--nonsense"],
            ]
        for format in [
            "token", "json", "header", "bearer", "env", "exec-credential", "headers-json", "xoauth2", "credential",
            "no",
        ] {
            calls.append(Self.named + ["--format", format])
            calls.append(Self.named + ["--format=\(format)", "--quiet"])
        }
        calls += [
            Self.named + ["--min-valid", "10"], Self.named + ["--min-valid", "9000h"],
            Self.named + ["--min-valid", "x"],
            Self.named + ["--scope", "no such"], ["token", "--type", "Nobody"], ["token", "--account", ""],
            ["token", "--type"], ["token", "extra"], ["accounts", "--json"], ["types"], ["token", "--json"],
            ["token", "--id-token"], ["token", "--type", "a\nb"],
        ]
        for words in calls {
            let small = try run(prefix.small, words), full = try run(prefix.full, words)
            let shown = Comment(rawValue: "\(words): \(small.standardError)")
            #expect(small.exitStatus == full.exitStatus, shown)
            #expect(small.standardOutput == full.standardOutput, shown)
            #expect(small.standardError == full.standardError, shown)
        }
    }

    @Test func `A plain call is answered without the full program, and without a library`() throws {
        let prefix = try Installation(standIn: Installation.recorder)
        let token = try home.run(["token"]).line
        for words in Self.plain + [Self.named + ["--quiet", "--no-input"], Self.named + ["--min-valid=5s"]] {
            #expect(try run(prefix.small, words).standardOutput == token + "\n", "\(words)")
        }
        #expect(try run(prefix.small, ["--version"]).standardOutput.hasPrefix("credmgr "))
        let libraries = try ChildProcess("ldd", [prefix.small]).run()
        #expect((libraries.standardOutput + libraries.standardError).contains("statically linked"))
    }

    // MARK: What it gives away

    @Test func `The full program gets each call without a fast answer, word for word`() throws {
        let prefix = try Installation(standIn: Installation.recorder)
        for words in [
            ["accounts"], ["token"], Self.named + ["--force-refresh"], Self.named + ["--verbose"],
            Self.named + ["--format", "exec-credential"],
            Self.named + ["--scope", "another"], ["token", "--type", "Nobody"], ["", "two  words", "--"],
            ["version"],
            ["--version", "--quiet"],
        ] {
            let given = words.map { " [\($0)]" }.joined()
            #expect(try run(prefix.small, words).standardOutput == "full\(given)\n")
        }
    }

    @Test(arguments: [
        ["HOME": nil], ["HOME": ""], ["LD_PRELOAD": "/nowhere.so"], ["CREDMGR_CACHE": "off"],
        ["CREDMGR_ACCOUNT": "bob"], ["CREDMGR_GROUP": "other"], ["XDG_DATA_HOME": "/nowhere"],
        ["XDG_RUNTIME_DIR": "/nowhere"], ["XDG_CONFIG_DIRS": "/nowhere"],
    ])
    func `Another environment is the full program's to answer`(variables: [String: String?]) throws {
        let prefix = try Installation(standIn: Installation.recorder)
        #expect(try run(prefix.small, Self.named, variables).standardOutput == Self.given)
    }

    @Test func `A sign-out, a damaged entry and one of another form are no answer`() throws {
        let prefix = try Installation(standIn: Installation.recorder)
        let runtime = try #require(home.environment["XDG_RUNTIME_DIR"]) + "/credmgr"
        let entries = try #require(FileManager.default.subpaths(atPath: runtime)).map { runtime + "/" + $0 }
            .filter { FileManager.default.contents(atPath: $0)?.starts(with: Array("credmgr1".utf8)) == true }
        #expect(entries.count >= 2)
        // The next version's form, by its number: a miss for this one, and no error.
        for entry in entries {
            var bytes = try #require(FileManager.default.contents(atPath: entry))
            bytes[7] = UInt8(ascii: "2")
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: entry))
            try file.write(contentsOf: bytes)
            try file.close()
        }
        #expect(try run(prefix.small, Self.named).standardOutput == Self.given)
        try settle(Self.named, prefix)
        let token = try home.run(Self.named).line
        #expect(try run(prefix.small, Self.named).standardOutput == token + "\n")
        try home.run(["logout", "--all", "--yes"])
        #expect(try run(prefix.small, Self.named).standardOutput == Self.given)
    }

    @Test func `Descriptors, the mask of files, limits and signals reach the full program as they were`() throws {
        let prefix = try Installation(
            standIn: """
                #!/bin/bash
                read -r line <&3; umask; ulimit -c; trap; echo "$line"
                """)
        let outcome = try run(
            "/bin/bash",
            [
                "-c", "umask 0027; ulimit -c 7; trap '' USR1; exec 3<<<kept; exec \"$0\" __refresh 3<&3",
                prefix.small,
            ])
        let shown = Comment(rawValue: outcome.standardOutput + outcome.standardError)
        #expect(outcome.standardOutput.hasPrefix("0027\n7\n"), shown)
        #expect(outcome.standardOutput.contains("trap -- '' SIGUSR1\n"), shown)
        #expect(outcome.standardOutput.contains("\nkept\n"), shown)
    }

    @Test func `The full program is found from the real place, whatever it is called by`() throws {
        let prefix = try Installation(standIn: Installation.recorder), elsewhere = try TemporaryFolder()
        for name in ["credmgr", "git-credential-credmgr"] {
            let link = elsewhere.path + "/" + name
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: prefix.small)
            #expect(try run(link, ["get"]).standardOutput == "full [get]\n")
        }
        // With a helper's name, words mean something else than with the program's.
        #expect(try run(elsewhere.path + "/git-credential-credmgr", ["token"]).standardOutput == "full [token]\n")
        // Moved as a whole.
        let moved = elsewhere.path + "/moved"
        try FileManager.default.moveItem(atPath: prefix.folder.path, toPath: moved)
        #expect(try run(moved + "/bin/credmgr", ["types"]).standardOutput == "full [types]\n")
        try FileManager.default.moveItem(atPath: moved, toPath: prefix.folder.path)
    }

    @Test func `Half an installation names the missing part and the remedy, and still prints its tokens`() throws {
        let prefix = try Installation(), files = FileManager.default
        let token = try home.run(["token"]).line, hint = "credmgr: hint: install credmgr again, such as: apt-get "
        // The full one alone is a whole program.
        try files.removeItem(atPath: prefix.small)
        #expect(try run(prefix.full, Self.named).standardOutput == token + "\n")
        #expect(try run(prefix.full, ["accounts"]).standardOutput.contains("alice@example.com"))
        // The small one alone is not, except for cached tokens.
        let damages: [(String, String, (String) throws -> Void)] = [
            ("is missing", "no file", { try files.removeItem(atPath: $0) }),
            (
                "is missing", "no folder",
                { try files.removeItem(atPath: URL(fileURLWithPath: $0 + "/..").standardized.path) }
            ),
            (
                "cannot be run", "no program",
                { try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: $0) }
            ),
            ("cannot be run", "a part of it", { try installProgram("\u{7f}ELF", at: $0) }),
        ]
        for (problem, what, damage) in damages {
            let prefix = try Installation()
            try damage(prefix.full)
            let alone = try run(prefix.small, ["types"])
            let shown = Comment(rawValue: "\(what): \(alone.exitStatus) \(alone.standardError)")
            #expect(alone.exitStatus == 1 && alone.standardOutput.isEmpty, shown)
            #expect(
                alone.standardError.hasPrefix(
                    "credmgr: error: the full program \(problem): \(prefix.full)\n\(hint)"), shown)
            #expect(try run(prefix.small, Self.named).standardOutput == token + "\n", shown)
        }
    }

    @Test func `A reader that is gone, and an output that is closed, are told by the full program`() throws {
        let prefix = try Installation()
        for (program, other) in [(prefix.small, prefix.full), (prefix.full, prefix.small)] {
            for script in [
                "exec \"$0\" token --type \(DemoTenant.typeName) >&-",
                "exec \"$0\" token --type \(DemoTenant.typeName) >/dev/full",
            ] {
                let one = try run("/bin/bash", ["-c", script, program]),
                    two = try run("/bin/bash", ["-c", script, other])
                #expect(one.exitStatus == 1 && two.exitStatus == 1)
                #expect(one.standardError == two.standardError && one.standardError.hasPrefix("credmgr: error: "))
            }
        }
    }

    @Test func `Other programs get the path of the small program, and its shim is that of credmgr only`() throws {
        let prefix = try Installation()
        let planned = try run(
            prefix.small,
            [
                "setup", "git", "--host", "git.example.com", "--type", DemoTenant.typeName, "--rule", "--dry-run",
            ],
            ["PATH": "/usr/bin:/bin"])
        #expect(planned.exitStatus == 0, Comment(rawValue: planned.standardError))
        let said = planned.standardOutput + planned.standardError
        #expect(said.contains(prefix.small) && !said.contains("libexec"), Comment(rawValue: said))
        // The shim finds itself first in PATH, and must not call itself for ever.
        try FileManager.default.createSymbolicLink(
            atPath: prefix.folder.path + "/bin/keyring", withDestinationPath: prefix.small)
        let asked = try run(
            prefix.folder.path + "/bin/keyring", ["get", "https://unknown.example/", "nobody"],
            ["PATH": prefix.folder.path + "/bin:/usr/bin:/bin"])
        #expect(asked.standardOutput.isEmpty && asked.exitStatus == 1, Comment(rawValue: asked.standardError))
    }
}

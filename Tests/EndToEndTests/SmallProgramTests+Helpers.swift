import Foundation
import StrictJSON
import TestSupport
import Testing

// The answers of the small program for git and kubectl.
extension SmallProgramTests {
    /// A call of another program's.
    private struct Helper: CustomTestStringConvertible, Sendable {
        var words = ["git-credential", "get"]
        var variables: [String: String?] = [:]
        var message = ""
        var testDescription: String { "\(words) \(variables) \(message.prefix(80))" }
    }

    private static let place = "protocol=https\nhost=git.example.com\n"
    private static let rules = """
        {"rules": [{"host": "git.example.com", "path": "team", "type": "\(DemoTenant.typeName)", "username": "robot"},
                   {"host": "git.example.com", "type": "\(DemoTenant.typeName)", "account": "alice@example.com"},
                   {"host": "cluster.example.com", "type": "\(DemoTenant.typeName)"}]}
        """

    private static func cluster(
        _ server: String = "https://cluster.example.com", _ config: String = "null", version: String = "v1"
    ) -> [String: String?] {
        [
            "KUBERNETES_EXEC_INFO": """
            {"apiVersion": "client.authentication.k8s.io/\(version)", "kind": "ExecCredential",
             "spec": {"interactive": false, "cluster": {"server": "\(server)", "config": \(config)}}}
            """
        ]
    }

    /// Calls that the cache answers.
    private static let cached: [Helper] = [
        Helper(message: place + "\n"), Helper(message: place), Helper(message: place + "path=team/app.git\n\n"),
        Helper(message: place + "username=alice@example.com\n\n"), Helper(message: place + "username=\n\n"),
        Helper(message: place + "username=x-access-token\n\n"),
        Helper(message: "capability[]=authtype\ncapability[]=state\n" + place + "wwwauth[]=Bearer realm=\"x\"\n\n"),
        Helper(message: "capability[]=authtype\n" + place + "wwwauth[]=Basic realm=\"x\"\n\n"),
        Helper(message: place + "later=unknown\nlater[]=too\n\nbehind the end"),
        Helper(words: ["git-credential", "get", "--type", DemoTenant.typeName, "-q"], message: place + "\n"),
        Helper(words: ["git-credential", "--account=alice@example.com", "get"], message: place + "\n"),
        Helper(variables: ["CREDMGR_TYPE": DemoTenant.typeName], message: place + "\n"),
        Helper(words: ["kubernetes", "--type", DemoTenant.typeName]),
        Helper(words: ["kubernetes", "--type", DemoTenant.typeName], variables: ["KUBERNETES_EXEC_INFO": ""]),
        Helper(words: ["kubernetes"], variables: cluster()),
        Helper(words: ["kubernetes"], variables: cluster(version: "v1beta1")),
        Helper(
            words: ["kubernetes", "--no-input"],
            variables: cluster("https://cluster.example.com:443/api", #"{"account": "alice@example.com"}"#)),
        Helper(words: ["token", "--type", DemoTenant.typeName]),
    ]

    /// Calls that it has no answer for.
    private static let uncached: [Helper] = [
        Helper(message: place + "username=bob@example.com\n\n"), Helper(message: place + "path=/team/../x\n\n"),
        Helper(message: "protocol=https\nhost=git.example.com:8443\n\n"),
        Helper(message: "protocol=http\nhost=git.example.com\n\n"), Helper(message: "protocol=ssh\nhost=a\n\n"),
        Helper(message: "protocol=https\nhost=evil.example\n\n"), Helper(message: "protocol=https\n\n"),
        Helper(message: ""), Helper(message: "\n"), Helper(message: "nonsense"),
        Helper(message: "protocol=https\r\nhost=git.example.com\r\n\r\n"), Helper(message: place + "a\u{0}=b\n"),
        Helper(message: place + String(repeating: "x", count: 70_000) + "=\n"),
        Helper(message: String(repeating: place, count: 1 << 15)),
        Helper(words: ["git-credential", "get", "-v"], message: place + "\n"),
        Helper(words: ["git-credential", "get", "--account", "bob"], message: place + "\n"),
        Helper(words: ["git-credential", "get", "--scope", " "], message: place + "\n"),
        Helper(words: ["git-credential", "get", "--format=json"], message: place + "\n"),
        Helper(words: ["git-credential", "get", "again"], message: place + "\n"),
        Helper(words: ["git-credential", "store"], message: place + "username=u\npassword=p\n\n"),
        Helper(words: ["git-credential", "erase"], message: place + "username=u\npassword=p\n\n"),
        Helper(words: ["git-credential", "capability"]), Helper(words: ["git-credential"]),
        Helper(variables: ["CREDMGR_TYPE": "Nobody"], message: place + "\n"),
        Helper(variables: ["CREDMGR_ACCOUNT": "bob"], message: place + "\n"),
        Helper(words: ["kubernetes", "--min-valid=5"]), Helper(words: ["kubernetes", "--type", "Nobody"]),
        Helper(words: ["kubernetes"], variables: cluster("https://other.example.com")),
        Helper(words: ["kubernetes"], variables: cluster("http://cluster.example.com")),
        Helper(words: ["kubernetes"], variables: cluster("")),
        Helper(words: ["kubernetes"], variables: cluster("x")),
        Helper(words: ["kubernetes"], variables: cluster(version: "v2")),
        Helper(words: ["kubernetes"], variables: cluster("https://cluster.example.com", #"{"account": "bob"}"#)),
        Helper(words: ["kubernetes"], variables: cluster("https://cluster.example.com", #"{"acount": "x"}"#)),
        Helper(words: ["kubernetes"], variables: ["KUBERNETES_EXEC_INFO": "{"]),
        Helper(
            words: ["token", "--type", DemoTenant.typeName, "--format", "exec-credential"], variables: cluster("x")),
    ]

    private func run(_ program: String, _ helper: Helper) throws -> ChildProcess.Outcome {
        try run(program, helper.words, helper.variables, input: helper.message)
    }

    /// Rules that name servers, and every call's answer in the cache.
    private func settleHelpers() throws -> Installation {
        try home.write(Self.rules, to: "config/credmgr/config.json")
        let prefix = try Installation(standIn: Installation.recorder)
        for helper in Self.cached { try settle(helper, prefix) }
        return prefix
    }

    private func settle(_ helper: Helper, _ prefix: Installation) throws {
        for _ in 0..<100 where try run(prefix.small, helper).standardOutput.hasPrefix("full") {
            _ = try run(Home.program, helper)
        }
    }

    @Test func `Both programs give the same bytes to git and kubectl`() throws {
        let alone = try settleHelpers(), prefix = try Installation()
        for helper in Self.cached {
            let small = try run(alone.small, helper), full = try run(prefix.full, helper)
            #expect(!small.standardOutput.hasPrefix("full"), "\(helper.testDescription)")
            #expect(small.standardOutput == full.standardOutput, "\(helper.testDescription)")
            #expect(small.exitStatus == 0 && full.exitStatus == 0 && small.standardError == full.standardError)
        }
        for helper in Self.uncached {
            #expect(try run(alone.small, helper).standardOutput.hasPrefix("full"), "\(helper.testDescription)")
            // The second time, any file that the first run kept would be there.
            for _ in 0..<2 {
                let small = try run(prefix.small, helper), full = try run(prefix.full, helper)
                #expect(small.exitStatus == full.exitStatus, "\(helper.testDescription)")
                #expect(small.standardOutput == full.standardOutput, "\(helper.testDescription)")
                #expect(small.standardError == full.standardError, "\(helper.testDescription)")
            }
        }
    }

    @Test func `By the name that git looks for, both give the same`() throws {
        let alone = try settleHelpers(), message = Self.place + "\n"
        let helper = alone.folder.path + "/bin/git-credential-credmgr"
        try FileManager.default.createSymbolicLink(atPath: helper, withDestinationPath: alone.small)
        let answer = try run(helper, ["get"], input: message).standardOutput
        #expect(answer.contains("password="))
        #expect(answer == (try home.run(["git-credential", "get"], input: message).standardOutput))
    }

    @Test func `Standard input that was already read reaches the full program, to the byte`() throws {
        let prefix = try Installation(standIn: "#!/bin/bash\nexec cat")
        for message in [
            "", "a", Self.place, "\u{0}\r\n", String(repeating: "0123456789", count: 20_000),
            String(repeating: "0123456789", count: 200_000),
        ] {
            let given = try run(prefix.small, ["git-credential", "get"], input: message).standardOutput
            // Of more than the full program takes, it gets more than it takes.
            #expect(message.hasPrefix(given) && (given == message || given.utf8.count > 1 << 20))
        }
        let closed = try run(
            "/bin/bash", ["-c", "exec \"$0\" git-credential get <&-", prefix.small])
        #expect(closed.exitStatus == 1 && closed.standardError.contains("cat"), "\(closed.standardError)")
        let folder = try run("/bin/bash", ["-c", "exec \"$0\" git-credential get </", prefix.small])
        #expect(folder.exitStatus == 1 && folder.standardError.contains("cat"), "\(folder.standardError)")
    }

    @Test func `An output that is closed or full is told to git as to everybody`() throws {
        _ = try settleHelpers()
        let prefix = try Installation()
        for output in [">&-", ">/dev/full"] {
            let script =
                "printf 'protocol=https\\nhost=git.example.com\\n\\n' | \"$0\" git-credential get \(output)"
            let small = try run("/bin/bash", ["-c", script, prefix.small])
            let full = try run("/bin/bash", ["-c", script, prefix.full])
            #expect(small.exitStatus == 1 && full.exitStatus == 1)
            #expect(small.standardError == full.standardError && small.standardError.contains("standard output"))
        }
    }

    /// Something that happens after the answers were kept.
    private struct Change: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let make: @Sendable (Home, DemoTenant) throws -> Void
    }

    private static let changes: [Change] = [
        Change(testDescription: "the rules go") { home, _ in
            try home.write("{}", to: "config/credmgr/config.json")
        },
        Change(testDescription: "a rule is for another account") { home, _ in
            try home.write(
                rules.replacingOccurrences(of: "alice@", with: "bob@"), to: "config/credmgr/config.json")
        },
        Change(testDescription: "the configuration is removed") { home, _ in
            try FileManager.default.removeItem(atPath: home.path + "/config/credmgr/config.json")
        },
        Change(testDescription: "the type is defined anew") { home, _ in
            let name = "config/credmgr/types/\(DemoTenant.typeName).json"
            try home.write(try #require(home.text(of: name)) + "\n", to: name)
        },
        Change(testDescription: "the account is signed out") { home, _ in
            try home.run(["logout", "--all", "--yes"])
        },
        Change(testDescription: "somebody else is signed in") { home, tenant in
            try tenant.signIn(DemoTenant.bob, at: home, more: ["--new"])
        },
        Change(testDescription: "the account has another name") { home, _ in
            try home.run(["label", "alice@example.com", "bob@example.com"])
        },
        Change(testDescription: "another machine of the home signs the account out") { home, _ in
            let folder = home.path + "/data/credmgr/groups/" + DemoTenant.group
            for name in try FileManager.default.contentsOfDirectory(atPath: folder + "/accounts") {
                try FileManager.default.removeItem(atPath: folder + "/accounts/" + name)
            }
        },
        Change(testDescription: "another machine writes the record") { home, _ in
            let folder = home.path + "/data/credmgr/groups/" + DemoTenant.group + "/accounts/"
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                let bytes = try #require(FileManager.default.contents(atPath: folder + name))
                try bytes.write(to: URL(fileURLWithPath: folder + name), options: .atomic)
            }
        },
    ]

    @Test(arguments: changes) private func `After a change the full program is asked`(_ change: Change) throws {
        let prefix = try settleHelpers()
        try change.make(home, tenant)
        for helper in Self.cached {
            let given = try run(prefix.small, helper).standardOutput
            #expect(given.hasPrefix("full"), "\(helper.testDescription)")
        }
    }

    @Test func `Another type that may be for the server is looked at first`() throws {
        let prefix = try settleHelpers()
        try home.write(
            #"{"adapter": "oauth2", "client_id": "c", "token_endpoint": "https://a.example/t"}"#,
            to: "config/credmgr/types/Another.json")
        for helper in Self.cached {
            let given = try run(prefix.small, helper).standardOutput
            // A type that is named means no other.
            #expect(given.hasPrefix("full") == (helper.words[0] != "token"), "\(helper.testDescription)")
        }
    }

    @Test func `Entries that were swapped, cut or mixed give no token`() throws {
        let prefix = try settleHelpers()
        let runtime = try #require(home.environment["XDG_RUNTIME_DIR"]) + "/credmgr"
        let files = try #require(FileManager.default.subpaths(atPath: runtime)).sorted().map { runtime + "/" + $0 }
            .filter { FileManager.default.contents(atPath: $0)?.starts(with: Array("credmgr1".utf8)) == true }
        let contents = try files.map { try #require(FileManager.default.contents(atPath: $0)) }
        // The token, and a memo each but for the two that say the same.
        #expect(files.count >= Self.cached.count)
        func expectNoAnswer(_ change: (Int) -> Data) throws {
            for (index, file) in files.enumerated() {
                try change(index).write(to: URL(fileURLWithPath: file))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            }
            for helper in Self.cached {
                let given = try run(prefix.small, helper).standardOutput
                #expect(given.hasPrefix("full"), "\(helper.testDescription)")
            }
        }
        try expectNoAnswer { contents[($0 + 1) % contents.count] }
        try expectNoAnswer { contents[$0].dropLast() }
        try expectNoAnswer { contents[$0].prefix(40) }
        try expectNoAnswer { _ in Data() }
        // The changed end of one: it is a part of the sealed data.
        try expectNoAnswer { index in
            var bytes = contents[index]
            bytes[8] ^= 1
            return bytes
        }
    }

    @Test func `The answer to a helper does not decide the account of token`() throws {
        let type = DemoTenant.typeName, variables = ["CREDMGR_TYPE": type]
        try tenant.signIn(DemoTenant.bob, at: home, more: ["--new"])
        try home.run(["types", "set", type, "api_base=https://git.example.com/"])
        try home.run(["use", "alice@example.com", "--type", type])
        let alice = try home.run(["token", "--account", "alice@example.com"], environment: variables).line
        let bob = try home.run(["token", "--account", "bob@example.com"], environment: variables).line
        #expect(alice != bob)
        let prefix = try Installation()
        // Often enough that all is older than the calls which keep something.
        for _ in 0..<5 {
            let given = try run(
                prefix.full, ["git-credential", "get", "--account", "bob@example.com"], variables,
                input: Self.place + "\n"
            ).standardOutput
            #expect(given.contains("password=\(bob)\n"))
            let named = try run(
                prefix.full, ["git-credential", "get"], variables,
                input: Self.place + "username=bob@example.com\n\n"
            ).standardOutput
            #expect(named.contains("password=\(bob)\n"))
            #expect(try run(prefix.small, ["token"], variables).standardOutput == alice + "\n")
            #expect(try run(prefix.full, ["token"], variables).standardOutput == alice + "\n")
        }
    }
}

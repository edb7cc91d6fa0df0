import CredentialCore
import CryptoSupport
import TestCommands
import TestPorts
import Testing

@testable import Commands

/// Which type, group and account a command is about.
@Suite struct TargetResolverTests {
    private static func scene(_ environment: [String: String] = [:]) -> CommandScene {
        let scene = CommandScene(cryptography: LibCryptography(), environment: environment)
        scene.define()
        return scene
    }

    private func target(
        _ scene: CommandScene, type: String? = nil, account: String? = nil, host: String? = nil,
        group: String? = nil
    ) throws(CredentialError) -> Target {
        let destination = host.flatMap { URI("https://\($0)/") }.flatMap(Destination.init)
        return try TargetResolver(try scene.session(group: group)).target(
            TargetOptions(type: type, account: account, destination: destination))
    }

    private func code(_ body: () throws(CredentialError) -> Target) -> ErrorCode? {
        do throws(CredentialError) {
            _ = try body()
            return nil
        } catch { return error.code }
    }

    @Test func `the option is stronger than the variable, and that than a rule`() throws {
        let scene = Self.scene(["CREDMGR_ACCOUNT": "bob@example.com"])
        for person in ["ada", "bob", "eve"] { #expect(scene.signIn(person).status == 0) }
        scene.machine.setFile(
            "/memory/config.json", #"{"rules": [{"directory": "~/**", "type": "Tasks", "account": "eve"}]}"#)
        let byOption = try target(scene, type: "Tasks", account: "ada")
        #expect(byOption.account.subject == "ada" && byOption.rule == .option)
        let byVariable = try target(scene, type: "Tasks")
        #expect(byVariable.account.subject == "bob" && byVariable.rule == .environment)
        let other = Self.scene()
        for person in ["ada", "eve"] { #expect(other.signIn(person).status == 0) }
        other.machine.setFile("/memory/config.json", scene.machine.file("/memory/config.json"))
        let byRule = try target(other, type: "Tasks")
        #expect(byRule.account.subject == "eve" && byRule.rule == .configuration)
        #expect(try target(other).account.subject == "eve")
    }

    @Test func `the default comes after the rules, and the only account last`() throws {
        let scene = Self.scene()
        #expect(scene.signIn("ada").status == 0)
        #expect(try target(scene, type: "Tasks").rule == .onlyAccount)
        #expect(try target(scene).rule == .onlyAccount)
        #expect(scene.run("use", "ada", "--type", "Tasks").status == 0)
        #expect(try target(scene).rule == .onlyAccount)
        #expect(scene.signIn("bob").status == 0)
        #expect(try target(scene).account.subject == "ada")
        #expect(try target(scene).rule == .defaultAccount)
    }

    @Test func `a rule counts in its folder and for its server only`() throws {
        var scene = Self.scene()
        for person in ["ada", "bob"] { #expect(scene.signIn(person).status == 0) }
        scene.machine.setFile(
            "/memory/config.json",
            #"""
            {"rules": [
                {"directory": "/memory/home/work/**", "type": "Tasks", "account": "bob"},
                {"host": "api.example.com", "type": "Tasks", "account": "ada"}
            ]}
            """#)
        #expect(scene.run("use", "bob").status == 0)
        #expect(try target(scene).rule == .defaultAccount)
        #expect(try target(scene, host: "api.example.com").account.subject == "ada")
        #expect(try target(scene, host: "api.example.com:8443").rule == .defaultAccount)
        #expect(scene.run("use", "ada").status == 0)
        scene.workingDirectory = "/memory/home/work/deep"
        #expect(try target(scene).account.subject == "bob")
    }

    @Test func `types with one registration see the same accounts, and another client does not`() throws {
        let scene = Self.scene()
        scene.define("Reports", #""scope": "reports""#)
        scene.machine.setFile("/memory/types/Other.json", #"{"adapter": "memory", "client_id": "other"}"#)
        #expect(scene.signIn("ada").status == 0)
        #expect(try target(scene, type: "Reports").account.type == "Tasks")
        #expect(code { () throws(CredentialError) in try target(scene, type: "Other") } == .noSuchAccount)
    }

    @Test func `another group sees nothing of it`() throws {
        let scene = Self.scene()
        scene.define("Work", #""keychain_group": "work""#)
        #expect(scene.signIn("ada").status == 0)
        #expect(code { () throws(CredentialError) in try target(scene, type: "Work") } == .noSuchAccount)
        #expect(
            code { () throws(CredentialError) in try target(scene, type: "Tasks", group: "work") } == .noSuchAccount
        )
        #expect(scene.signIn("bob", to: "Work").status == 0)
        #expect(try target(scene, type: "Work").group.name == "work")
        #expect(try target(scene, group: "work").account.subject == "bob")
        #expect(try target(scene).account.subject == "ada")
    }

    // MARK: Groups where none is named

    /// A scene with an account of `Tasks` in the group `default`, and one of another client in a group of its own.
    private static func twoGroups() -> CommandScene {
        let scene = scene()
        scene.machine.setFile(
            "/memory/types/Other.json", #"{"adapter": "memory", "client_id": "o", "keychain_group": "other"}"#)
        #expect(scene.signIn("ada").status == 0)
        #expect(scene.signIn("bob", to: "Other").status == 0)
        return scene
    }

    private func id(_ scene: CommandScene, _ person: String) throws -> String {
        try #require(scene.machine.accounts().first { $0.subject == person }).id
    }

    @Test func `one more sign-in in another group breaks no script`() throws {
        let scene = Self.twoGroups()
        #expect(try target(scene).account.subject == "ada")
        #expect(scene.signIn("ada", to: "Other").status == 0)
        #expect(try target(scene, account: "ada").group == .standard)
        for words in [["use", "ada"], ["label", "ada", "mine"], ["accounts", "show", "ada"]] {
            let outcome = scene.run(words)
            #expect(outcome.status == 0, "\(words): \(outcome.notices)")
        }
        #expect(scene.machine.accounts().filter { $0.label == "mine" }.map(\.type) == ["Tasks"])
        // An account that the group of the machine lacks is looked for in the others.
        #expect(try target(scene, account: "bob").group.name == "other")
        #expect(scene.run("logout", "--account", "ada").status == 0)
        #expect(scene.machine.accounts().isEmpty)
        #expect(try target(scene).account.subject == "bob")
        #expect(code { () throws(CredentialError) in try target(scene, account: "eve") } == .noSuchAccount)
    }

    @Test func `a group that is named is all that is looked at, but for an id`() throws {
        let scene = Self.twoGroups(), ada = try id(scene, "ada")
        scene.machine.setFile("/memory/config.json", #"{"default_group": "other"}"#)
        #expect(try target(scene).account.subject == "bob")
        #expect(code { () throws(CredentialError) in try target(scene, account: "ada") } == .noSuchAccount)
        #expect(scene.run("label", "ada", "mine").status == 3)
        #expect(try target(scene, account: ada).group == .standard)
        #expect(scene.run("label", ada, "mine").status == 0)
        #expect(
            code { () throws(CredentialError) in try target(scene, account: ada, group: "other") } == .noSuchAccount
        )
    }

    @Test func `a configured group without accounts is reported, and the hint signs in to it`() throws {
        let scene = Self.scene()
        #expect(scene.signIn("ada").status == 0)
        scene.machine.setFile("/memory/config.json", #"{"default_group": "g2"}"#)
        let none = scene.run("token")
        #expect(none.status == 3)
        #expect(none.notices.contains("no account of group g2\n"))
        #expect(none.notices.hasSuffix("hint: credmgr login --type Tasks --group g2\n"))
        let words = ["--flow", "password", "--username", "ada", "--password-file", "-"]
        #expect(scene.run(["login", "--type", "Tasks", "--group", "g2"] + words, input: "p\n").status == 0)
        #expect(scene.run("token").status == 0)
        // A type of that very group is meant before others.
        scene.define("Zoo", #""keychain_group": "g3""#)
        scene.machine.setFile("/memory/config.json", #"{"default_group": "g3"}"#)
        #expect(scene.run("token").notices.hasSuffix("hint: credmgr login --type Zoo\n"))
    }

    @Test func `a type that has moved to another group sees nothing of the old one`() throws {
        let scene = Self.scene()
        #expect(scene.signIn("ada").status == 0)
        #expect(scene.run("types", "set", "Tasks", "keychain_group=zz").status == 0)
        let ada = try id(scene, "ada")
        for words in [["token"], ["which"], ["token", "--account", "ada"], ["token", "--account", ada]] {
            let outcome = scene.run(words)
            #expect(outcome.status == 3, "\(words)")
            #expect(outcome.notices.contains("account \(ada) is in group default"), "\(outcome.notices)")
            #expect(outcome.notices.hasSuffix("--group default\n"))
        }
        #expect(scene.run("token", "--group", "default").status == 0)
        #expect(scene.signIn("ada").status == 0)
        #expect(try target(scene).group.name == "zz")
        #expect(try target(scene, account: "ada").group.name == "zz")
    }

    // MARK: A type of another client

    @Test func `an account of the client that a type had before is told as that, and is not signed in again`()
        throws
    {
        let scene = Self.scene()
        #expect(scene.signIn("ada").status == 0)
        let ada = try id(scene, "ada"), secrets = scene.machine.secrets()
        scene.machine.setFile("/memory/types/Tasks.json", #"{"adapter": "memory", "client_id": "cli9"}"#)
        let words = ["--flow", "password", "--username", "ada", "--password-file", "-"]
        for call in [
            ["token", "--account", ada, "--force-refresh"], ["token", "--account", "ada"],
            ["token", "--type", "Tasks", "--account", ada], ["login", "--account", ada] + words,
            ["refresh", "--all", "--min-valid", "999999"],
        ] {
            let outcome = scene.run(call, input: "p\n")
            #expect(outcome.status == 3, "\(call): \(outcome.notices)")
            #expect(outcome.notices.hasSuffix("hint: credmgr login --type Tasks\n"), "\(outcome.notices)")
            #expect(outcome.notices.contains("c (\(MemoryProvider.issuer))") || call.contains("--type"))
            #expect(outcome.notices.contains("cli9 (\(MemoryProvider.issuer))") || call.contains("--type"))
        }
        #expect(scene.machine.accounts().count == 1 && scene.machine.secrets() == secrets)
        // The hint is the way on.
        #expect(scene.signIn("ada").status == 0)
        #expect(try target(scene).account.registration.clientID == "cli9")
        #expect(try target(scene, account: "ada").account.registration.clientID == "cli9")
        #expect(scene.run("logout", "--account", ada).status == 0)
    }

    @Test func `each missing object is reported by its kind`() {
        let scene = Self.scene()
        #expect(code { () throws(CredentialError) in try target(scene, type: "Missing") } == .unknownType)
        #expect(code { () throws(CredentialError) in try target(scene, type: "../Tasks") } == .usage)
        #expect(code { () throws(CredentialError) in try target(scene, type: "Tasks") } == .noSuchAccount)
        #expect(code { () throws(CredentialError) in try target(scene) } == .noSuchAccount)
    }

    /// Looking for an account changes no data, at any stop.
    @Test func `it only reads`() throws {
        let scene = Self.scene(), trace = PortTrace()
        #expect(scene.signIn("ada").status == 0)
        let resolver = TargetResolver(try scene.session(trace: trace))
        #expect(try resolver.target(TargetOptions(type: "Tasks")).account.subject == "ada")
        #expect(!trace.calls.isEmpty)
        #expect(
            trace.calls.allSatisfy { $0.hasSuffix(".read") || $0.hasSuffix(".index") || $0.hasSuffix(".groups") },
            "\(trace.calls)")
    }

    @Test func `a sign-in that it meets anywhere changes no choice`() throws {
        func before() -> CommandScene {
            let scene = Self.scene()
            #expect(scene.signIn("ada").status == 0)
            return scene
        }
        try PortWalk.meeting(
            before,
            { scene, trace in
                let found = try TargetResolver(try scene.session(trace: trace)).target(TargetOptions(type: "Tasks"))
                #expect(found.account.subject == "ada")
            }, peer: { scene in #expect(scene.signIn("bob").status == 0) }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            #expect(scene.machine.accounts().count == 2, "\(place)")
        }
    }
}

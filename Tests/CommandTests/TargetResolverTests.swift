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
        let destination = host.flatMap { WebAddress("https://\($0)/") }.flatMap(Destination.init)
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
        #expect(code { () throws(CredentialError) in try target(scene) } == .ambiguousAccount)
    }

    @Test func `what is not there is told as what it is`() {
        let scene = Self.scene()
        #expect(code { () throws(CredentialError) in try target(scene, type: "Missing") } == .unknownType)
        #expect(code { () throws(CredentialError) in try target(scene, type: "../Tasks") } == .usage)
        #expect(code { () throws(CredentialError) in try target(scene, type: "Tasks") } == .noSuchAccount)
        #expect(code { () throws(CredentialError) in try target(scene) } == .noSuchAccount)
    }

    /// Looking for an account changes nothing, wherever it is stopped.
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

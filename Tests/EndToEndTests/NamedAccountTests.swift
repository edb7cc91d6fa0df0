import Foundation
import StrictJSON
import TestSupport
import Testing

/// Messages about one account hold for that account, and an account that is gone is not taken for one that never
/// was.
@Suite struct `Accounts that are named` {
    private let home: Home
    private let tenant: DemoTenant

    init() throws { (home, tenant) = (try Home(), try DemoTenant()) }

    private func file(of account: String, in group: String = DemoTenant.group) -> String {
        home.path + "/data/credmgr/groups/\(group)/accounts/\(account)"
    }

    @Test func `Not all accounts are removed if one is named`() throws {
        let alice = try tenant.signIn(at: home)
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        for name in [alice, "nobody@example.com"] {
            let said = try home.run(["logout", "--all", "--yes", "--account", name], exits: 2).standardError
            #expect(said.contains("--all and --account cannot go together"))
        }
        for id in [alice, bob] { #expect(FileManager.default.fileExists(atPath: file(of: id))) }
    }

    @Test func `The name of a lost record is not an unknown name`() throws {
        try tenant.signIn(at: home)
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        try FileManager.default.removeItem(atPath: file(of: bob))
        for words in [["--type", DemoTenant.typeName], [], ["--type", DemoTenant.typeName]] {
            let said = try home.run(["token", "--account", DemoTenant.bob.email] + words, exits: 5).standardError
            #expect(said.contains("the record of account \(bob) is missing"), "\(words)")
        }
        // The loss does not affect an account that is not lost.
        try home.run(["token", "--account", DemoTenant.alice.email, "--type", DemoTenant.typeName])
    }

    @Test func `A group with lost records is not one without accounts`() throws {
        let alice = try tenant.signIn(at: home), bob = try tenant.signIn(DemoTenant.bob, at: home)
        try home.run(["label", bob, "the second"])
        try FileManager.default.removeItem(atPath: (file(of: alice) as NSString).deletingLastPathComponent)
        for words in [["accounts"], ["accounts", "--json"], ["refresh", "--all"], ["logout", "--all", "--yes"]] {
            let said = try home.run(words, exits: 5).standardError
            #expect(said.contains("the record of account") && said.contains("is missing"), "\(words)")
        }
        let doctor = try ChildProcess(Home.program, ["doctor"], environment: home.environment).run()
        #expect(doctor.exitStatus == 1)
        for id in [alice, bob] {
            #expect(
                doctor.standardOutput.contains(
                    "registry \(DemoTenant.group): the record of account \(id) is missing"))
        }
        // Each user gets the former account again, with its name.
        #expect(try tenant.signIn(at: home) == alice)
        #expect(try tenant.signIn(DemoTenant.bob, at: home) == bob)
        let accounts = try #require(try home.json(["accounts", "--json"]).array).compactMap(\.object)
        #expect(accounts.count == 2 && accounts.first { $0["id"]?.string == bob }?["name"] == "the second")
        #expect(accounts.first { $0["default"] == true }?["id"]?.string == alice)
    }

    @Test func `A damaged record takes nothing from an account of another group`() throws {
        let alice = try tenant.signIn(at: home)
        try home.run(["types", "set", DemoTenant.typeName, "keychain_group=other"])
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        let record = try #require(home.text(of: "data/credmgr/groups/\(DemoTenant.group)/accounts/\(alice)"))
        try home.write(
            String(record.prefix(record.count / 2)), to: "data/credmgr/groups/\(DemoTenant.group)/accounts/\(alice)"
        )
        let listed = try #require(try home.json(["accounts", "--json"]).array)
        #expect(listed.compactMap { $0.object?["id"]?.string } == [bob])
        #expect(listed.first?.object?["default"] == true)
    }

    @Test func `If a name fits several accounts, the suggested command works`() throws {
        let alice = try tenant.signIn(at: home)
        try home.run(["types", "set", DemoTenant.typeName, "keychain_group=other"])
        let other = try tenant.signIn(at: home)
        let calls = [
            (["use"], []), (["accounts", "show"], []), (["label"], ["the first one"]), (["label"], ["--", "-1"]),
            (["accounts", "data"], ["--set", #"{"note": "hush-hush"}"#]),
        ]
        for (words, more) in calls {
            let said = try home.run(words + [DemoTenant.alice.email] + more, exits: 3).standardError
            #expect(!said.contains("hush-hush"))
            let hint = try #require(
                said.split(separator: "\n").first { $0.contains("hint: name the account by its id") })
            let command = try #require(hint.components(separatedBy: "such as: ").last)
            #expect(command.hasPrefix("credmgr \(words.joined(separator: " ")) "))
            #expect(command.contains(alice) || command.contains(other))
            var variables = home.environment
            variables["PATH"] = (Home.program as NSString).deletingLastPathComponent + ":/usr/bin:/bin"
            let pasted = try ChildProcess("/bin/sh", ["-c", command], environment: variables).run()
            #expect(pasted.exitStatus == 0, "\(command)\n\(pasted.standardError)")
        }
        let names = try home.json(["accounts", "--json"]).array?.compactMap { $0.object?["name"]?.string } ?? []
        #expect(names.contains("-1") && !names.contains("the first one"))
    }

    @Test func `A record that is refused is a store that cannot be had`() throws {
        let alice = try tenant.signIn(at: home)
        for (mode, words) in [(0o644, ["token"]), (0o644, ["token", "--account", alice]), (0o000, ["token"])] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(of: alice))
            // Root can open every file.
            if mode == 0, geteuid() == 0 { continue }
            #expect(try home.run(words, exits: 5).standardError.contains(alice), "\(words)")
        }
        try FileManager.default.removeItem(atPath: file(of: alice))
        try FileManager.default.createSymbolicLink(atPath: file(of: alice), withDestinationPath: "/dev/null")
        #expect(try home.run(["token"], exits: 5).standardError.contains("is a symbolic link"))
    }

    @Test func `The cache is on or off, and nothing between`() throws {
        try tenant.signIn(at: home)
        for value in ["no", "0", "OFF", "false"] {
            let said = try home.run(["token"], environment: ["CREDMGR_CACHE": value], exits: 2)
            #expect(
                said.standardOutput.isEmpty && said.standardError.contains("CREDMGR_CACHE must be 'on' or 'off'"))
        }
        let token = try home.run(["token"], environment: ["CREDMGR_CACHE": "on"]).line
        // The token is cached now, and the call is known.
        #expect(try home.run(["token"], environment: ["CREDMGR_CACHE": "on"]).line == token)
        try home.run(["token"], environment: ["CREDMGR_CACHE": "no"], exits: 2)
        for value in ["", "off"] {
            #expect(try home.run(["token"], environment: ["CREDMGR_CACHE": value]).line == token)
        }
    }

    @Test func `Only the keys of an imported definition are reported`() throws {
        let path = try home.write(
            #"{"client_id": "c", "issuer": "https://login.example.com"}"#, to: "Plain.json")
        #expect(
            try home.run(["types", "import", path]).standardOutput.split(separator: "\n").sorted()
                == ["client_id: used", "issuer: used"])
        let told = try home.json(["types", "import", path, "--force", "--json"]).object
        #expect(told?["type"] == "Plain" && told?["file"]?.string?.hasSuffix("/types/Plain.json") == true)
        #expect(told?["report"]?.array?.compactMap(\.string).sorted() == ["client_id: used", "issuer: used"])
    }

    @Test func `A client's secret goes with the definition that has it`() throws {
        let provider = try ScriptedProvider()
        let secret = try home.write("hush-hush-of-the-client\n", to: "secret")
        let add = [
            "types", "add", "Machine", "--offline", "--token-endpoint", provider.base + "/token", "--client-id",
            "c", "--flow", "client_credentials",
        ]
        try home.run(add + ["--client-secret-file", secret])
        let definition = try #require(home.text(of: "config/credmgr/types/Machine.json"))
        // One that still wants it keeps it.
        try home.write(definition, to: "Machine.json")
        try home.run(["types", "import", home.path + "/Machine.json", "--force"])
        try home.run(["login", "--type", "Machine"])
        try home.run(add + ["--force"])
        try home.write(definition, to: "config/credmgr/types/Machine.json")
        try home.run(["login", "--type", "Machine"], exits: 5)
    }

    @Test func `A client's secret goes with whatever changes its definition`() throws {
        let provider = try ScriptedProvider()
        let secret = try home.write("hush-hush-of-the-client\n", to: "secret")
        let add = [
            "types", "add", "Machine", "--offline", "--token-endpoint", provider.base + "/token", "--client-id",
            "c", "--flow", "client_credentials",
        ]
        try home.run(add + ["--client-secret-file", secret])
        // In another group it is the same client still.
        try home.run(["types", "set", "Machine", "keychain_group=other"])
        try home.run(["login", "--type", "Machine"])
        #expect(provider.forms.last?["client_secret"] != nil || provider.paths.last == "/token")
        try home.run(["types", "set", "Machine", "--unset", "client_secret"])
        try home.run(["types", "set", "Machine", #"client_secret={"store":true}"#])
        try home.run(["login", "--type", "Machine"], exits: 5)
    }

    @Test func `The definition of another folder keeps its client's secret`() throws {
        let provider = try ScriptedProvider()
        let secret = try home.write("hush-hush-of-the-client\n", to: "secret")
        let add = [
            "types", "add", "Machine", "--offline", "--token-endpoint", provider.base + "/token", "--client-id",
            "c", "--flow", "client_credentials",
        ]
        try home.run(add + ["--client-secret-file", secret])
        let folder = ["XDG_DATA_DIRS": home.path + "/outside/share"], own = "config/credmgr/types/Machine.json"
        try home.write(try #require(home.text(of: own)), to: "outside/share/credmgr/types/Machine.json")
        try FileManager.default.removeItem(atPath: home.path + "/" + own)
        try home.run(add + ["--force"], environment: folder)
        try home.run(["types", "remove", "Machine"], environment: folder)
        try home.run(["login", "--type", "Machine"], environment: folder)
    }

    @Test func `A client's secret goes with the type`() throws {
        let provider = try ScriptedProvider()
        let secret = try home.write("hush-hush-of-the-client\n", to: "secret")
        let add = [
            "types", "add", "Machine", "--offline", "--token-endpoint", provider.base + "/token", "--client-id",
            "c",
            "--flow", "client_credentials",
        ]
        try home.run(add + ["--client-secret-file", secret])
        try home.run(["login", "--type", "Machine"])
        let definition = try #require(home.text(of: "config/credmgr/types/Machine.json"))
        let removed = try home.run(["types", "remove", "Machine"]).standardError
        #expect(!removed.contains("cannot delete the secrets"))
        try home.write(definition, to: "config/credmgr/types/Machine.json")
        // Without a bus credmgr cannot know whether the Secret Service has one.
        try home.run(["login", "--type", "Machine"], exits: 5)
    }
}

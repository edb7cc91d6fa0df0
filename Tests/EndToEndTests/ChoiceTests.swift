import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `Choosing the account` {
    @Test func `The first account stays the default after later sign-ins`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home)
        let token = try home.run(["token"]).line
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        #expect(try home.run(["token"]).line == token)
        #expect(
            try home.run(["which", "--explain"]).line.hasSuffix("alice@example.com\tby the default of the type"))
        try tenant.define("Same", at: home)
        #expect(try home.run(["which", "--type", "Same"]).line.hasPrefix(alice))
        // The choice is that of the registration, by whichever type's name it is made.
        try home.run(["use", bob, "--type", "Same"])
        #expect(try home.run(["which", "--type", "B2C_Acccount"]).line.hasPrefix(bob))
        try home.run(["logout", "--account", alice])
        try home.run(["use", bob])
        try tenant.signIn(at: home)
        #expect(try home.run(["which", "--type", "B2C_Acccount"]).line.hasPrefix(bob))
        let accounts = try home.json(["accounts", "--json"]).array
        #expect(accounts?.map { $0.object?["default"]?.bool } == [true, false])
    }

    @Test func `The only one that is left is the default from then on`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home), bob = try tenant.signIn(DemoTenant.bob, at: home)
        try home.run(["logout", "--account", alice])
        try tenant.signIn(at: home)
        #expect(try home.run(["which"]).line.hasPrefix(bob))
    }

    @Test func `Two accounts and no default are listed, and nothing is guessed`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let first = try tenant.signIn(at: home), bob = try tenant.signIn(DemoTenant.bob, at: home)
        let alice = try tenant.signIn(at: home, more: ["--duplicate"])
        try home.run(["logout", "--account", first])
        for words in [
            ["token"], ["which"], ["claims"], ["request", "GET", "/tasks"], ["token", "--type", "B2C_Acccount"],
        ] {
            let error = try home.run(words, exits: 3).standardError
            for word in [alice, bob, "alice@example.com", "bob@example.com", "credmgr use \(bob)"] {
                #expect(error.contains(word), "\(words) \(word)")
            }
        }
        let accounts = try home.json(["accounts", "--json"]).array
        #expect(accounts?.allSatisfy { $0.object?["default"] == false } == true)
    }

    @Test func `use chooses, and each list is its owner's`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home), bob = try tenant.signIn(DemoTenant.bob, at: home)
        let chosen = try home.run(["use", "alice@example.com"])
        #expect(chosen.standardOutput.isEmpty)
        #expect(try home.run(["which"]).line.hasPrefix(alice + "\tB2C_Acccount\talice@example.com"))
        try home.run(["request", "POST", "/tasks", "--form", "task=milk"])
        #expect(try home.run(["request", "GET", "/tasks"]).standardOutput.contains("milk"))
        #expect(try home.run(["request", "GET", "/tasks", "--account", bob]).standardOutput == "[]")
        try home.run(["use", "bob@example.com", "--type", "B2C_Acccount"])
        #expect(try home.run(["request", "GET", "/tasks"]).standardOutput == "[]")
        #expect(try home.run(["which"]).line.hasPrefix(bob))
    }

    @Test func `Every rule of choosing is explained`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home)
        let which = ["which", "--type", "B2C_Acccount", "--explain"]
        #expect(try home.run(which).line.hasSuffix("\tby the only account"))
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        try home.run(["use", alice])
        #expect(try home.run(which).line == "\(alice)\tB2C_Acccount\talice@example.com\tby the default of the type")
        try home.write(
            #"{"rules":[{"directory":"/**","type":"B2C_Acccount","account":"bob@example.com"}]}"#,
            to: "config/credmgr/config.json")
        #expect(
            try home.run(which).line.hasPrefix("\(bob)\tB2C_Acccount\tbob@example.com\tby a rule of config.json"))
        #expect(
            try home.run(which, environment: ["CREDMGR_ACCOUNT": alice]).line.hasSuffix("\tby CREDMGR_ACCOUNT"))
        // A rule may name the type alone.
        try home.write(
            "{\"rules\":[\n{\"directory\":\"/**\",\"type\":\"B2C_Acccount\"}]}", to: "config/credmgr/config.json")
        #expect(
            try home.run(["which", "--explain"]).line
                .hasSuffix(
                    "\tby the default of the type, its type by a rule of config.json (\(home.path)/config/credmgr/config.json:2)"
                ))
        #expect(try home.json(["which", "--json"]).object?["rule_line"] == 2)
        #expect(try home.run(which).line.hasSuffix("\tby the default of the type"))
        let token = try home.json(["token", "--format", "json", "--account", DemoTenant.alice.objectID])
        #expect(token.object?["account"]?.object?["id"]?.string == alice)
    }

    @Test func `A rule about one registration says nothing about the accounts of another`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home)
        try tenant.define("Same", at: home)
        var settings = AppSettings(base: tenant.base)
        settings["keychain"] = .text("com.example.other")
        try tenant.define("Other", at: home, settings: settings)
        try tenant.signIn(DemoTenant.bob, at: home)
        let bob = try tenant.signIn(DemoTenant.bob, at: home, type: "Other")
        try home.write(
            #"{"rules":[{"directory":"/**","type":"B2C_Acccount","account":"alice@example.com"}]}"#,
            to: "config/credmgr/config.json")
        #expect(try home.run(["which"]).line == "\(alice)\tB2C_Acccount\talice@example.com")
        #expect(try home.run(["which", "--type", "Same"]).line == "\(alice)\tSame\talice@example.com")
        #expect(try home.run(["which", "--type", "Other"]).line == "\(bob)\tOther\tbob@example.com")
    }

    @Test func `A rule fits a folder by the name that the shell has for it`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try tenant.signIn(DemoTenant.bob, at: home)
        try home.write(
            #"{"rules":[{"directory":"~/work/**","account":"bob@example.com"}]}"#, to: "config/credmgr/config.json")
        let link = home.path + "/link", folder = home.path + "/work/a"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: home.path)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var environment = home.environment
        environment["HOME"] = link
        func which(_ folder: String, then words: String = "") throws -> ChildProcess.Outcome {
            let script = #"cd "$1" && \#(words) exec "$2" which"#
            return try ChildProcess("sh", ["-c", script, "sh", folder, Home.program], environment: environment)
                .run()
        }
        #expect(try which(link + "/work/a").standardOutput.contains("bob@example.com"))
        // The value of the variable counts only if it is true.
        #expect(try which("/", then: "PWD='\(link)/work/a'").standardOutput.contains("alice@example.com"))
    }

    @Test func `A label is a name, and an empty one removes it`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home)
        try tenant.signIn(DemoTenant.bob, at: home)
        try home.run(["label", "alice@example.com", "work"])
        #expect(
            try home.json(["token", "--account", "work", "--format", "json"])
                .object?["account"]?.object?["id"]?.string == alice)
        #expect(try home.run(["accounts"]).standardOutput.contains("work"))
        try home.run(["label", "work", "a\u{1B}[31mb"], exits: 2)
        try home.run(["label", "work", ""])
        try home.run(["token", "--account", "work"], exits: 3)
    }

    // MARK: Single sign-on

    @Test func `A second tool of the registration gets its token without a sign-in`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try home.run([
            "types", "add", "Second", "--adapter", "azure-b2c", "--authority", tenant.base, "--tenant",
            DemoTenant.tenant, "--policy", "in=b2c_1_sign_in", "--default-policy", "in", "--client-id",
            DemoTenant.clientID, "--keychain-group", DemoTenant.group, "--scope",
            "openid offline_access https://exampleb2c.onmicrosoft.com/tasks/read",
        ])
        let before = tenant.provider.counters
        let token = try home.json(["token", "--type", "Second", "--format", "json"]).object
        #expect(token?["refreshed"] == true)
        #expect(token?["scope"]?.string?.contains("tasks/read") == true)
        #expect(tenant.provider.counters.refreshes == before.refreshes + 1)
        #expect(tenant.provider.counters.authorizeRequests == before.authorizeRequests)
        let claims = try JSONValue.parse(
            Base64URL.decode(String(token?["access_token"]?.string?.split(separator: ".")[1] ?? "")) ?? [])
        #expect(claims.object?["scp"]?.string == "read")
        #expect(try home.json(["accounts", "--type", "Second", "--json"]).array?.count == 1)
    }

    @Test func `Another group sees nothing of it`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        var settings = AppSettings(base: tenant.base)
        settings["keychain"] = .text("ABCDE12345.com.example.other")
        try tenant.define("Other", at: home, settings: settings)
        #expect(
            try home.json(["types", "show", "Other", "--json"]).object?["keychain_group"]?.string
                == "com.example.other")
        try home.run(["token", "--type", "Other"], exits: 3)
        try home.run(["token", "--type", "B2C_Acccount", "--group", "com.example.other"], exits: 3)
        #expect(try home.json(["accounts", "--group", "com.example.other", "--json"]).array?.isEmpty == true)
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)
    }

    @Test func `Another client of the provider offers the known user`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try tenant.define(
            "Client2", at: home,
            settings: AppSettings(base: tenant.base, clientID: "8d5f1c1e-3a4b-4a57-9f0d-2b6c7e8f9a10"))
        let url = try home.run(["login", "--type", "Client2", "--print-url"]).line
        #expect(url.contains("login_hint=alice%40example.com"))
        try home.run(["token", "--type", "Client2"], exits: 3)
        let own = try home.run(["login", "--type", "B2C_Acccount", "--print-url"]).line
        #expect(!own.contains("login_hint"))
    }
}

@Suite struct `The cache and the choice` {
    @Test func `An account of another group comes between, cached token or not`() throws {
        let home = try Home(["CREDMGR_CACHE": "on"]), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let token = try home.run(["token"]).line
        #expect(try home.run(["token"]).line == token)
        var settings = AppSettings(base: tenant.base)
        settings["keychain"] = .text("com.example.other")
        try tenant.define("Other", at: home, settings: settings)
        try tenant.signIn(DemoTenant.bob, at: home, type: "Other")
        try home.run(["token"], exits: 3)
        try home.run(["logout", "--all", "--yes"])
    }

    @Test func `The configured validity counts for a cached token too`() throws {
        let home = try Home(["CREDMGR_CACHE": "on"]), tenant = try DemoTenant { $0.accessTokenLifetime = 600 }
        try home.write(#"{"min_valid":1200}"#, to: "config/credmgr/config.json")
        try tenant.signIn(at: home)
        tenant.provider.change { $0.accessTokenLifetime = 3_600 }
        try home.run(["token", "--min-valid", "0"])
        try home.run(["token"])
        #expect(tenant.provider.counters.refreshes == 1)
        try home.run(["logout", "--all", "--yes"])
    }
}

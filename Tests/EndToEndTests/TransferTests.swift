import CredentialCore
import CryptoSupport
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `Sign-ins on their way` {
    private func export(_ home: Home, _ more: [String] = []) throws -> String {
        let file = home.path + "/moving"
        let passphrase = try home.write("correct horse\n", to: "passphrase")
        let outcome = try home.run(["accounts", "export", file, "--passphrase-file", passphrase] + more)
        #expect(outcome.standardOutput.isEmpty)
        return file
    }

    private func `import`(
        _ file: String, at home: Home, _ passphrase: String = "correct horse", exits status: Int32 = 0
    )
        throws -> ChildProcess.Outcome
    {
        try home.run(
            ["accounts", "import", file, "--passphrase-file", "-"], input: passphrase + "\n", exits: status)
    }

    /// The one refresh token in an exported file.
    private func refreshToken(_ file: String) throws -> String {
        let document = try #require(try JSONValue.parse(Array(Data(contentsOf: URL(fileURLWithPath: file)))).object)
        let archive = try EncryptedExport.open(document, passphrase: Secret("correct horse"), LibCryptography())
        return try #require(archive.accounts.first?.tokenSet.grants.values.first?.refreshToken).reveal()
    }

    @Test func `another machine takes them over with nothing but the file and its passphrase`() throws {
        let here = try Home(), there = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: here)
        try tenant.signIn(DemoTenant.bob, at: here)
        try here.run(["label", alice, "work"])
        let file = try export(here)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!tenant.provider.secrets.contains { text.contains($0) })
        #expect(!text.contains("alice"))
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)

        let taken = try `import`(file, at: there)
        #expect(taken.standardOutput.split(separator: "\n").count == 2)
        #expect(taken.standardError.contains("account type \(DemoTenant.typeName) is defined"))
        let token = try here.run(["token", "--account", "work"]).line
        #expect(try there.run(["token", "--account", "work"]).line == token)
        let refreshed = try there.run(["token", "--account", "work", "--force-refresh"]).line
        #expect(refreshed != token && tenant.provider.secrets.contains(refreshed))
        #expect(try there.run(["token", "--account", DemoTenant.bob.email]).line.isEmpty == false)

        let again = try `import`(file, at: there)
        #expect(again.standardOutput.isEmpty)
        #expect(again.standardError.contains("already signed in on this machine"))
        #expect(try there.run(["token", "--account", "work"]).line == refreshed)
    }

    @Test func `a file that lacks a damaged account is written, and said to lack it`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        let record = "data/credmgr/groups/\(DemoTenant.group)/accounts/\(bob)", file = home.path + "/moving"
        let passphrase = try home.write("correct horse\n", to: "passphrase")
        let words = ["accounts", "export", file, "--passphrase-file", passphrase]
        let path = URL(fileURLWithPath: home.path + "/" + record), whole = try Data(contentsOf: path)
        // One is no record at all, of the other the facts can be read and the tokens behind them cannot.
        for damaged in [Data("{".utf8), whole.dropLast() + [~(whole.last ?? 0)]] {
            try damaged.write(to: path)
            let told = try home.run(words, exits: 5).standardError
            #expect(told.contains("warning: account \(bob) of group \(DemoTenant.group) is left out: "), "\(told)")
            #expect(told.contains("error: \(file) is incomplete: cannot read all accounts\n"))
            let taken = try `import`(file, at: try Home())
            #expect(taken.standardOutput.contains(DemoTenant.alice.email))
            #expect(!taken.standardOutput.contains(DemoTenant.bob.email))
            try FileManager.default.removeItem(atPath: file)
        }
        // For Bob alone there is no account to write.
        try home.run(words + ["--account", bob], exits: 5)
        #expect(!FileManager.default.fileExists(atPath: file))
        try whole.write(to: path)
        try home.run(words)
    }

    @Test func `the account that was the default is the default there`() throws {
        let here = try Home(), there = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: here)
        let bob = try tenant.signIn(DemoTenant.bob, at: here)
        try here.run(["use", bob])
        _ = try `import`(try export(here), at: there)
        #expect(try there.run(["token"]).line == here.run(["token"]).line)
        #expect(try there.run(["token", "--account", DemoTenant.bob.email]).line == here.run(["token"]).line)
    }

    @Test func `a client's stored secret goes along`() throws {
        let here = try Home(), there = try Home(), tenant = try DemoTenant()
        var settings = AppSettings(base: tenant.base, clientID: DemoTenant.confidentialID)
        settings["clientSecret"] = .text("demo client secret")
        try tenant.define("Machine", at: here, settings: settings)
        try tenant.signIn(at: here, type: "Machine")
        _ = try `import`(try export(here), at: there)
        #expect(!(try there.run(["token", "--type", "Machine", "--force-refresh"]).line.isEmpty))
    }

    @Test func `a wrong passphrase or a changed file gives nothing`() throws {
        let here = try Home(), there = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: here)
        let file = try export(here)
        _ = try `import`(file, at: there, "correct hoarse", exits: 7)
        let whole = try String(contentsOfFile: file, encoding: .utf8)
        for (old, new) in [
            ("\"version\": 2", "\"version\": 3"), ("\"scrypt_n\": 131072", "\"scrypt_n\": 65536"),
            ("\"scrypt_n\": 131072", "\"scrypt_n\": 1099511627776"), ("\"salt\": \"", "\"salt\": \"AA"),
            ("\"sealed\": \"", "\"sealed\": \"AAAA"),
        ] {
            #expect(whole.contains(old))
            let changed = try there.write(whole.replacingOccurrences(of: old, with: new), to: "changed")
            let outcome = try `import`(changed, at: there, exits: 2)
            let hint = new.contains("version") ? "upgrade credmgr" : "credmgr accounts export --help"
            #expect(outcome.standardOutput.isEmpty && outcome.standardError.contains(hint))
        }
        #expect(try there.json(["accounts", "--json"]) == [])
        #expect(try there.json(["types", "--json"]) == [])
        try here.run(["accounts", "export", file, "--passphrase-file", here.path + "/passphrase"], exits: 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == whole)
        try there.run(["accounts", "export", there.path + "/x", "--passphrase-file", "-"], exits: 3)
    }

    @Test func `MSAL's cache is read, and its refresh token used for the same client only`() throws {
        let here = try Home(), there = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: here)
        func cache(_ token: String, client: String) -> String {
            #"""
            {"AccessToken": {}, "Account": {"h-localhost-t": {"home_account_id": "h", "environment": "localhost",
            "realm": "t", "local_account_id": "l", "username": "alice@example.com", "authority_type": "MSSTS"}},
            "RefreshToken": {"h-localhost-refreshtoken-c--": {"credential_type": "RefreshToken", "secret": "\#(token)",
            "home_account_id": "h", "environment": "localhost", "client_id": "\#(client)", "target": "x"}}}
            """#
        }
        let token = try refreshToken(try export(here))
        let file = try there.write(cache(token, client: DemoTenant.clientID), to: "msal_token_cache.json")
        let nobody = try there.run(["accounts", "import", file], exits: 2)
        #expect(nobody.standardError.contains("no account type found for the client id"))
        try tenant.define(at: there)
        let taken = try there.run(["accounts", "import", file])
        #expect(taken.line.hasSuffix("\talice@example.com"))
        #expect(!(try there.run(["token"]).line.isEmpty))
        let subject = try there.json(["accounts", "--json"]).array?.first?.object?["subject"]?.string
        #expect(subject == DemoTenant.alice.objectID)
        let requests = tenant.provider.counters.tokenRequests
        let other = try there.write(cache(token, client: "another"), to: "other.json")
        try there.run(["accounts", "import", other, "--type", DemoTenant.typeName], exits: 2)
        #expect(tenant.provider.counters.tokenRequests == requests)
    }

    @Test func `MSAL's refresh token of one cloud is not shown to the provider of another`() throws {
        let home = try Home(), provider = try ScriptedProvider()
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
        func cache(_ environment: String) throws -> String {
            try home.write(
                #"""
                {"Account": {}, "RefreshToken": {"k": {"credential_type": "RefreshToken", "secret": "of-this-cloud",
                "home_account_id": "o.t", "environment": "\#(environment)", "client_id": "app"}}}
                """#, to: environment + ".json")
        }
        for file in [try cache("login.microsoftonline.us"), try cache("login.microsoftonline.com")] {
            for more in [[], ["--type", "Work"]] {
                let refused = try home.run(["accounts", "import", file] + more, exits: 2).standardError
                #expect(refused.contains("with the same client ID is for \(provider.base)"), "\(refused)")
            }
        }
        #expect(provider.forms.isEmpty)
        let host = try #require(URI(provider.base)?.host)
        try home.run(["accounts", "import", try cache(host)])
        #expect(provider.forms.last?["refresh_token"] == "of-this-cloud")
    }

    @Test func `MSAL's cache of B2C names the policy that its token is of`() throws {
        let here = try Home(), there = try Home(), tenant = try DemoTenant()
        try tenant.define(at: here)
        try tenant.define(at: there)
        let policy = "b2c_1_fb_sign_in"
        try tenant.signIn(at: here, more: ["--policy", policy])
        let token = try refreshToken(try export(here)), id = DemoTenant.alice.objectID
        let file = try there.write(
            #"""
            {"RefreshToken": {"k": {"credential_type": "RefreshToken", "secret": "\#(token)",
            "home_account_id": "\#(id)-\#(policy).ba6c0d94-a8da-45b2-83ae-33871f9c2dd8", "environment": "localhost",
            "client_id": "\#(DemoTenant.clientID)"}}}
            """#, to: "msal_token_cache.json")
        try there.run(["accounts", "import", file])
        let policies = try there.json(["accounts", "--json"]).array?.first?.object?["policies"]?.array
        #expect(policies?.compactMap { $0.string ?? $0.object?["policy"]?.string } == [policy])
    }

    @Test func `gh's token is taken over, and lasts as it has no end`() throws {
        let home = try Home()
        try home.write(
            #"""
            {"adapter": "oauth2", "client_id": "c", "authorization_endpoint": "https://github.example/authorize",
            "token_endpoint": "https://github.example/token", "api_base": "https://api.github.example/"}
            """#, to: "config/credmgr/types/GitHub.json")
        let hosts = try home.write(
            """
            github.example:
                users:
                    ann:
                        oauth_token: gho_first
                    bob:
                        oauth_token: gho_second
                git_protocol: https
                oauth_token: gho_second
                user: bob

            """, to: "hosts.yml")
        let taken = try home.run(["accounts", "import", hosts, "--type", "GitHub"])
        #expect(
            taken.standardOutput.split(separator: "\n").map { $0.split(separator: "\t").last } == ["ann", "bob"])
        #expect(try home.run(["token", "--account", "ann"]).line == "gho_first")
        let lasting = try home.run(["token", "--account", "bob", "--min-valid", "2592000"])
        #expect(lasting.line == "gho_second" && lasting.standardError.isEmpty)
        let elsewhere = try home.write(
            "github.com:\n    oauth_token: gho_third\n    user: eve\n", to: "elsewhere.yml")
        try home.run(["accounts", "import", elsewhere, "--type", "GitHub"], exits: 2)
        let nothing = try home.write("github.example:\n    git_protocol: https\n", to: "nothing.yml")
        #expect(
            try home.run(["accounts", "import", nothing], exits: 2).standardError.contains("contains no account"))
    }

    @Test(arguments: [
        (
            "application_default_credentials.json",
            #"{"account":"","client_id":"app","client_secret":"x","refresh_token":"rt-gone","type":"authorized_user"}"#
        ),
        (
            "rclone.conf",
            """
            [mine]
            type = drive
            client_id = app
            token = {"access_token":"a","token_type":"Bearer","refresh_token":"rt-gone","expiry":"2026-01-01T00:00:00Z"}

            [rclones]
            type = drive
            token = {"access_token":"a","refresh_token":"rt-other"}

            """
        ),
        (
            "mutt.json",
            #"{"registration":"google","email":"ada@example.com","client_id":"app","refresh_token":"rt-gone"}"#
        ),
    ])
    func `refresh tokens of other programs are shown to their provider alone`(
        _ name: String, _ text: String
    ) throws {
        let home = try Home(), provider = try ScriptedProvider()
        // A client of the same id at another provider must not see Google's token.
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
        let file = try home.write(text, to: name), before = provider.paths.count
        for more in [[], ["--type", "Work"]] {
            let refused = try home.run(["accounts", "import", file] + more, exits: 2).standardError
            #expect(
                refused.contains(
                    " is for https://accounts.google.com, but account type Work with the same client ID is for "
                        + "\(provider.base)\n"), "\(refused)")
            #expect(!refused.contains("no account type found") && !refused.contains("is for client app"))
        }
        #expect(provider.paths.count == before)
        let microsoft = try home.write(
            text.replacing("google", with: "microsoft").replacing("type = drive", with: "type = onedrive")
                .replacing("authorized_user", with: "service_account"), to: "other-" + name)
        let outcome = try ChildProcess(
            Home.program, ["accounts", "import", microsoft, "--type", "Work"], environment: home.environment
        ).run()
        if name.hasPrefix("application") {
            #expect(outcome.exitStatus == 2 && outcome.standardError.contains("contains no account"))
        } else {
            #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
            #expect(provider.forms.last?["refresh_token"] == "rt-gone")
        }
    }

    @Test func `one export is taken into one group, since both would send the same refresh token`() throws {
        let there = try Home(), here = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: there)
        let file = try export(there)
        _ = try `import`(file, at: here)
        let sent = tenant.provider.counters.tokenRequests
        let refused = try ChildProcess(
            Home.program, ["accounts", "import", file, "--passphrase-file", "-", "--group", "other"],
            environment: here.environment
        ).run(input: "correct horse\n")
        #expect(refused.exitStatus == 4 && refused.standardOutput.isEmpty)
        #expect(refused.standardError.contains("already uses the same refresh token"))
        #expect(
            refused.standardError.contains("hint: credmgr login --type \(DemoTenant.typeName) --group other\n"))
        // The account that has it is not touched, and gives tokens.
        try here.run(["token", "--type", DemoTenant.typeName, "--force-refresh"])
        #expect(tenant.provider.counters.tokenRequests == sent + 1)
    }

    @Test func `an old export does not bring back a refresh token that is used up, whatever the account is called`()
        throws
    {
        let home = try Home(), tenant = try DemoTenant()
        let first = try tenant.signIn(at: home), file = try export(home)
        try home.run(["token", "--force-refresh"])
        try home.run(["logout", "--all", "--yes"])
        // Under a new ID, without any account there, and beside the user's new sign-in that has ended.
        let refused = try `import`(file, at: home, exits: 4)
        #expect(refused.standardError.contains("the file is older than this machine has seen"))
        #expect(refused.standardError.contains("hint: credmgr login --type \(DemoTenant.typeName)\n"))
        #expect(try home.json(["accounts", "--json"]) == [])
        // The other one of the file, whose token is good, is not kept back by it.
        let ada = try tenant.signIn(at: home), both = try tenant.signIn(DemoTenant.bob, at: home)
        #expect(ada != first)
        try FileManager.default.removeItem(atPath: file)
        _ = try export(home)
        try home.run(["token", "--account", ada, "--force-refresh"])
        try home.run(["logout", "--all", "--yes"])
        let sent = tenant.provider.counters.tokenRequests
        let half = try ChildProcess(
            Home.program, ["accounts", "import", file, "--passphrase-file", "-"], environment: home.environment
        ).run(input: "correct horse\n")
        #expect(half.exitStatus == 4)
        #expect(half.standardOutput.hasSuffix("\t\(DemoTenant.bob.email)\n") && !half.standardOutput.contains(both))
        // On this machine under a third id, and spent there: the file's ids are not the ones it is known by.
        let id = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string)
        try home.run(["token", "--account", id, "--force-refresh"])
        try home.run(["logout", "--all", "--yes"])
        let third = try `import`(file, at: home, exits: 4)
        #expect(third.standardOutput.isEmpty)
        #expect(third.standardError.components(separatedBy: "its refresh token was already used").count == 3)
        #expect(tenant.provider.counters.tokenRequests == sent + 1)
    }

    @Test func `a refresh token of another program that was used up here is not sent a second time`() throws {
        let here = try Home(), there = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: here)
        try tenant.define(at: there)
        let token = try refreshToken(try export(here))
        let file = try there.write(
            #"""
            {"RefreshToken": {"h-localhost-refreshtoken-c--": {"credential_type": "RefreshToken",
            "secret": "\#(token)", "home_account_id": "h", "environment": "localhost",
            "client_id": "\#(DemoTenant.clientID)", "target": "x"}}}
            """#, to: "msal_token_cache.json")
        try there.run(["accounts", "import", file, "--type", DemoTenant.typeName])
        try there.run(["logout", "--all", "--yes"])
        let before = tenant.provider.counters.tokenRequests
        let again = try there.run(["accounts", "import", file, "--type", DemoTenant.typeName], exits: 4)
        #expect(again.standardError.contains("its refresh token was already used"))
        #expect(again.standardError.contains("hint: credmgr login --type \(DemoTenant.typeName)\n"))
        #expect(tenant.provider.counters.tokenRequests == before)
    }

    @Test func `the token of a GitHub Enterprise Server is shown to that server alone`() throws {
        let home = try Home()
        try home.run(
            ["types", "add", "GHE", "--preset", "github", "--set", "host=ghe.example.com", "--client-id", "c"])
        let type = try home.run(["types", "show", "GHE", "--json"]).standardOutput
        #expect(type.contains("https://ghe.example.com/api/v3/user") && !type.contains("api.github.com"))
        // A definition from before, or one written by hand.
        try home.write(
            #"""
            {"adapter": "oauth2", "client_id": "c", "authorization_endpoint": "https://ghe.example.org/authorize",
            "token_endpoint": "https://ghe.example.org/token", "userinfo_endpoint": "https://127.0.0.1:1/user"}
            """#, to: "config/credmgr/types/Old.json")
        let hosts = try home.write("ghe.example.org:\n    oauth_token: gho_1\n    user: eve\n", to: "hosts.yml")
        let refused = try home.run(["accounts", "import", hosts], exits: 2)
        #expect(refused.standardError.contains("would send its token to 127.0.0.1"))
    }

    /// As the preset `github` once wrote it for a server of one's own.
    private static func oldDefinition(_ server: String) -> String {
        #"""
        {"adapter": "oauth2", "client_id": "c", "authorization_endpoint": "https://\#(server)/login/oauth/authorize",
        "token_endpoint": "https://\#(server)/login/oauth/access_token",
        "device_authorization_endpoint": "https://\#(server)/login/device/code",
        "userinfo_endpoint": "https://api.github.com/user", "flow": "device", "scope": "read:user",
        "api_base": "https://api.github.com/"}
        """#
    }

    @Test func `a definition that would show a GitHub Enterprise Server's tokens to GitHub is refused, and mended`()
        throws
    {
        let server = try GitHubServer(), trusted = ["SSL_CERT_FILE": server.certificate]
        let home = try Home(["CREDMGR_STORE": "file"].merging(trusted) { $1 })
        try home.write(Self.oldDefinition(server.host), to: "config/credmgr/types/Old.json")
        let report = try ChildProcess(Home.program, ["doctor"], environment: home.environment).run().standardOutput
        #expect(
            report.contains(
                "type Old: account type 'Old': userinfo_endpoint and api_base would send tokens of 127.0.0.1 to the API"
            ))
        let hosts = try home.write(
            "\(server.host):\n    oauth_token: gho_1\n    user: octo\n", to: "hosts.yml")
        for words in [["login", "--type", "Old"], ["accounts", "import", hosts, "--type", "Old"]] {
            #expect(try home.run(words, exits: 2).standardError.contains("would send tokens of 127.0.0.1"))
        }
        #expect(server.requests.isEmpty)
        // The repair that it names, pasted.
        let hint = try #require(
            report.split(separator: "\n").first { $0.contains("credmgr types set Old ") }
        )
        .trimmingCharacters(in: .whitespaces)
        var environment = home.environment
        environment["PATH"] = (Home.program as NSString).deletingLastPathComponent + ":/usr/bin:/bin"
        let pasted = try ChildProcess("/bin/sh", ["-c", hint], environment: environment).run()
        #expect(pasted.exitStatus == 0, "\(pasted.standardError)")
        #expect(!(try home.run(["doctor"]).standardOutput.contains("type Old")))
        #expect(try home.run(["login", "--type", "Old"]).line.hasSuffix("\tocto"))
        #expect(server.requests.contains("GET /api/v3/user 200"))
    }

    @Test func `a device sign-in at a GitHub Enterprise Server shows its token to that server alone`() throws {
        let server = try GitHubServer()
        let home = try Home(["CREDMGR_STORE": "file", "SSL_CERT_FILE": server.certificate])
        try home.run(
            ["types", "add", "GHE", "--preset", "github", "--set", "host=\(server.host)", "--client-id", "c"])
        let signedIn = try home.run(["login", "--type", "GHE", "-v"])
        #expect(signedIn.line.hasSuffix("\tocto"))
        #expect(!signedIn.standardError.contains("github.com"), "\(signedIn.standardError)")
        #expect(
            server.requests == [
                "POST /login/device/code 200", "POST /login/oauth/access_token 200",
                "POST /login/oauth/access_token 200", "GET /api/v3/user 200",
            ])
        #expect(try home.json(["request", "GET", "user"]).object?["login"] == "octo")
        try home.run(["request", "GET", "https://api.github.com/user"], exits: 7)
    }

    @Test func `an account of oidc-agent is taken over`() throws {
        let here = try Home(), there = try Home()
        let redirect = "http://127.0.0.1:\(try freePort())/callback"
        var settings = Glewlwyd.Settings()
        settings.redirectURIs = [redirect]
        let server = try Glewlwyd(settings)
        for home in [here, there] {
            try home.run([
                "types", "add", "Work", "--issuer", server.issuer, "--client-id", "native", "--redirect-uri",
                redirect,
            ])
        }
        let browser = try Browser(in: here, user: "alice", password: server.password(of: "alice")).environment
        try here.run(["login", "--type", "Work"], environment: browser)
        let token = try refreshToken(try export(here))
        let printed = try there.write(
            #"{"name": "work", "issuer_url": "\#(server.issuer)", "client_id": "native", "refresh_token": "\#(token)"}"#,
            to: "printed")
        #expect(try there.run(["accounts", "import", printed]).line.hasSuffix("\talice@example.test"))
        #expect(!(try there.run(["token"]).line.isEmpty))
    }
}

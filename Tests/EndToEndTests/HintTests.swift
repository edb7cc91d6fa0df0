import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// A shell runs every hint with a command in it unchanged, in the state that made it. `HintSourceTests` has the
/// list of them all.
@Suite struct `A hint is a command that works` {
    let home: Home

    init() throws { home = try Home(["CREDMGR_STORE": "file"]) }

    /// The programs that hints name.
    static let programs = ["credmgr ", "env ", "chmod ", "export ", "ss ", "kill "]

    /// The command of the last hint, or of the last note that ends in one.
    func command(in said: String) throws -> String {
        let lines = said.split(separator: "\n").filter { $0.hasPrefix("credmgr: ") }
        let candidates = lines.reversed().compactMap { line -> String? in
            let parts = line.split(separator: ": ").map(String.init)
            guard
                let first = parts.indices.dropFirst().last(where: { place in
                    Self.programs.contains { parts[place].hasPrefix($0) }
                })
            else { return nil }
            return parts[first...].joined(separator: ": ").components(separatedBy: "; ")[0]
        }
        return try #require(candidates.first, "no command in: \(said)")
    }

    /// Runs a line as a person pastes it.
    @discardableResult func paste(
        _ line: String, answer: String = "", environment: [String: String] = [:], exits status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        var variables = home.environment.merging(environment) { $1 }
        variables["PATH"] = (Home.program as NSString).deletingLastPathComponent + ":/usr/bin:/bin"
        let outcome = try ChildProcess("/bin/sh", ["-c", line], environment: variables).run(input: answer)
        #expect(
            outcome.exitStatus == status, "\(line)\n\(outcome.standardError)", sourceLocation: sourceLocation)
        return outcome
    }

    /// Makes a failure, and pastes its hint.
    @discardableResult func follow(
        _ words: [String], exits status: Int32, answer: String = "", environment: [String: String] = [:],
        leadsTo result: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let said = try home.run(
            words, environment: environment, exits: status, sourceLocation: sourceLocation
        ).standardError
        let line = try command(in: said)
        try paste(
            line, answer: answer, environment: environment, exits: result, sourceLocation: sourceLocation)
        return line
    }

    func tenant(_ change: JSONValue = ["redirect_uri": "http://localhost"]) throws -> DemoTenant {
        let tenant = try DemoTenant()
        try tenant.definePolicies(at: home, change)
        return tenant
    }

    /// Signs a user in by the browser's double.
    @discardableResult func signIn(_ words: [String] = [], _ user: DemoUser = DemoTenant.alice) throws
        -> String
    {
        let line = try home.run(
            ["login", "--type", "Tasks"] + words, environment: try Browser(in: home, user).environment
        ).line
        return String(line.prefix { $0 != "\t" })
    }

    // MARK: Nothing there yet

    @Test func `Without types and accounts`() throws {
        for words in [["token"], ["which"], ["accounts", "show", "ada"], ["token", "--type", "Nobody"]] {
            try follow(words, exits: words.contains("Nobody") ? 2 : 3)
        }
        try follow(["login"], exits: 2)
        try follow(["setup", "git", "--host", "git.example.com"], exits: 2)
        try follow(["accounts", "export", home.path + "/file"], exits: 3)
        try follow(["aws"], exits: 2)
        #expect(try follow(["logout"], exits: 2) == "credmgr accounts")
        try follow(["adapters", "test", "nothing"], exits: 2)
        try follow(["types", "add", "X", "--preset", "nothing-like-any-of-them"], exits: 2)
    }

    @Test func `A slip on the command line`() throws {
        for words in [
            ["use"], ["use", "a", "b"], ["store", "migrate", "--nothing"], ["exec", "ls", "-l"],
            ["token", "--resource", "files"], ["login", "--resource", "files"],
        ] {
            try follow(words, exits: 2)
        }
        let word = try home.run(["tokne"], exits: 2).standardError
        #expect(word.contains("did you mean 'credmgr token'?"))
        try paste("credmgr token --help")
        try follow(["help", "nothing-of-this-name"], exits: 2)
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        try follow(["types", "set", "Tasks", "scope"], exits: 2)
        try follow(["types", "set", "Tasks"], exits: 2)
        try follow(["types", "set", "Tasks", "client_secret=literal"], exits: 2, answer: "secret\n")
    }

    @Test func `Types without an account, under a group of one's own too`() throws {
        let tenant = try tenant()
        let browser = try Browser(in: home)
        #expect(
            try follow(["token", "--group", "Elsewhere"], exits: 3, environment: browser.environment)
                == "credmgr login --type Tasks --group Elsewhere")
        try home.run(["token", "--group", "Elsewhere"])
        #expect(
            try follow(["token", "--type", "Tasks"], exits: 3, environment: browser.environment)
                == "credmgr login --type Tasks")
        try home.run(["token", "--type", "Tasks"])
        try tenant.define("Second", at: home)
        let several = try home.run(["login"], exits: 2).standardError
        #expect(several.contains("one of 2 types: Second, Tasks"))
        try paste("\(try command(in: several)) --print-url")
    }

    // MARK: Signing in

    @Test func `Without a way to paste, the hint is the sign-in in two steps`() throws {
        let tenant = try tenant(.object(JSONObject()))
        for more in [[], ["--group", "Elsewhere"]] {
            let said = try home.run(["login", "--type", "Tasks"] + more, exits: 4).standardError
            let halves = try command(in: said).components(separatedBy: " && ")
            try #require(halves.count == 2)
            let url = try paste(halves[0]).line
            try paste(halves[1], answer: try tenant.redirect(from: url) + "\n")
            try home.run(["token", "--type", "Tasks"] + more)
        }
    }

    @Test func `The two halves ask for all that the sign-in was asked for`() throws {
        let tenant = try tenant(["flow": "password"])
        let asked = [
            "--flow", "code", "--new", "--prompt", "select_account", "--login-hint", "bob@example.com",
            "--param", "domain_hint=it's a b", "--param", "acr_values=high",
        ]
        let login = ["login", "--type", "Tasks", "--policy", "edit", "--no-browser"]
        let said = try home.run(login + asked, exits: 4).standardError
        let halves = try command(in: said).components(separatedBy: " && ")
        try #require(halves.count == 2)
        #expect(
            halves[0] == "credmgr login --type Tasks --policy b2c_1_edit_profile --flow code --new "
                + "--prompt select_account --login-hint bob@example.com --param acr_values=high "
                + #"--param 'domain_hint=it'\''s a b' --print-url"#)
        let url = try paste(halves[0]).line
        for part in ["prompt=select_account", "login_hint=bob%40example.com", "acr_values=high", "domain_hint=it"] {
            #expect(url.contains(part), "\(part)")
        }
        try paste(halves[1], answer: try tenant.redirect(from: url, user: DemoTenant.bob) + "\n")
        // A user name that is sent to the provider only because the user is known is found out again, and is not
        // asked for.
        let plain = try home.run(login + ["--flow", "code"], exits: 4).standardError
        #expect(plain.contains("login_hint=bob%40example.com"))
        #expect(
            try command(in: plain).hasPrefix(
                "credmgr login --type Tasks --policy b2c_1_edit_profile --flow code --print-url && "))
    }

    @Test func `The end of a sign-in names the command that began it`() throws {
        let provider = try ScriptedProvider { $0.token = .json(400, ["error": "invalid_grant"]) }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "c", "--scope", "api"])
        try home.run(["types", "set", "Work", "flow=device"])
        let asked = ["--flow", "code", "--new", "--login-hint", "ada", "--param", "team=a&b"]
        let refused = try provider.signIn(at: home, more: asked, exits: 4).standardError
        let line = try command(in: refused)
        #expect(line == "credmgr login --type Work --flow code --new --login-hint ada --param 'team=a&b'")
        provider.change {
            $0.token = .json(200, ["access_token": "at-1", "token_type": "Bearer", "expires_in": 60])
        }
        try paste("\(line) --print-url")
    }

    @Test func `The user name of the password flow stays in its hint`() throws {
        let provider = try ScriptedProvider { $0.token = .json(400, ["error": "interaction_required"]) }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "c", "--scope", "api"])
        try home.run(["types", "set", "Work", "flow=password"])
        let asked = ["login", "--type", "Work", "--username", "ada b"]
        let line = try command(in: home.run(asked, input: "secret\n", exits: 4).standardError)
        #expect(line == "credmgr login --type Work --username 'ada b'")
        provider.change {
            $0.token = .json(200, ["access_token": "at-1", "token_type": "Bearer", "expires_in": 60])
        }
        try paste(line, answer: "secret\n")
        #expect(provider.forms.last { $0["grant_type"] == "password" }?["username"] == "ada b")
    }

    @Test func `An account from another flow than the type's signs in with that flow again`() throws {
        let provider = try ScriptedProvider {
            $0.token = .json(
                200, ["access_token": "at", "token_type": "Bearer", "expires_in": 60, "refresh_token": "rt"])
        }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "c", "--scope", "api"])
        try home.run(["types", "set", "Work", "flow=password"])
        try provider.signIn(at: home, more: ["--flow", "code"])
        provider.change { $0.token = .json(400, ["error": "invalid_grant"]) }
        // The provider is asked once; of the second call the store says it.
        for _ in 1...2 {
            let refused = try home.run(["token", "--type", "Work", "--force-refresh"], exits: 4).standardError
            #expect(try command(in: refused).hasSuffix(" --flow code"), "\(refused)")
        }
        // Nor is the store opened for these.
        let all = try home.run(["refresh", "--all"], exits: 4).standardError
        #expect(try command(in: all).hasSuffix(" --flow code"), "\(all)")
        #expect(try remedies(exits: 1).filter { $0.hasSuffix(" --flow code") }.count == 1)
        try home.run(["types", "set", "Work", "flow=code"])
        let refused = try home.run(["token", "--type", "Work", "--force-refresh"], exits: 4).standardError
        #expect(try !command(in: refused).contains("--flow"))
    }

    @Test func `A redirect that nothing waits for`() throws {
        let tenant = try tenant(.object(JSONObject()))
        defer { tenant.provider.stop() }
        let stray = "urn:ietf:wg:oauth:2.0:oob?code=x&state=nobody"
        #expect(try follow(["login", "--complete", stray], exits: 7) == "credmgr login --type Tasks --print-url")
    }

    @Test func `An account that must sign in again gets a hint that signs it in`() throws {
        let tenant = try tenant()
        let alice = try signIn(["--group", "Elsewhere"])
        tenant.provider.revokeRefreshTokens()
        let browser = try Browser(in: home).environment
        let line = try follow(["token", "--account", alice, "--force-refresh"], exits: 4, environment: browser)
        #expect(line.contains("--account \(alice)") && line.hasSuffix("--group Elsewhere"))
        try home.run(["token", "--account", alice, "--force-refresh"])
        tenant.provider.revokeRefreshTokens()
        try follow(["refresh", "--all", "--min-valid", "86400"], exits: 4, environment: browser)
        try home.run(["token", "--account", alice, "--force-refresh"])
    }

    @Test func `A port that is taken`() throws {
        let other = try DemoTenant()
        let tenant = try tenant(["redirect_uri": .string(other.base)])
        defer { tenant.provider.stop() }
        try follow(["login", "--type", "Tasks"], exits: 6)
    }

    @Test(.needs(.keyring)) func `A client's secret that the store has not`() throws {
        // Both stores are asked; one that is not there could be the one that has it.
        let keyring = try PrivateKeyring()
        defer { keyring.stop() }
        let home = try Home(["DBUS_SESSION_BUS_ADDRESS": keyring.busAddress])
        let provider = try ScriptedProvider()
        try home.write(
            #"{"adapter":"oauth2","token_endpoint":"\#(provider.base)/token","client_id":"c","flow":"client_credentials","#
                + #""client_secret":{"store":true}}"#, to: "config/credmgr/types/Machine.json")
        let said = try home.run(["login", "--type", "Machine"], exits: 2).standardError
        let line = try command(in: said)
        #expect(line == "credmgr types set Machine --client-secret-file -")
        try paste(line, answer: "a secret\n", environment: home.environment)
        try home.run(["login", "--type", "Machine"])
    }

    @Test(.needs(.keyring)) func `An account that stays in its store`() throws {
        let keyring = try PrivateKeyring(), tenant = try DemoTenant()
        defer { keyring.stop() }
        let home = try Home(["DBUS_SESSION_BUS_ADDRESS": keyring.busAddress])
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
        let browser = try Browser(in: home).environment, login = ["login", "--type", "Tasks", "--store"]
        try home.run(login + ["file"], environment: browser)
        let said = try home.run(login + ["secret-service"], environment: browser).standardError
        let line = try command(in: said)
        #expect(line.hasPrefix("credmgr store migrate --to secret-service --group "))
        try paste(line, environment: home.environment)
        let stores = try home.json(["accounts", "--json"]).array?.map { $0.object?["store"]?.string }
        #expect(stores == ["secret-service"])
    }

    @Test func `Two types that do not share a sign-in`() throws {
        let tenant = try DemoTenant()
        defer { tenant.provider.stop() }
        try tenant.define(at: home)
        let settings = try home.write(
            """
            { authority = "\(tenant.base)/\(DemoTenant.tenant)/"; clientId = "\(DemoTenant.clientID)";
              emailSignInPolicyId = b2c_1_sign_in; }
            """, to: "adal.plist")
        try paste(try command(in: home.run(["types", "import", settings, "--name", "Other"]).standardError))
        try tenant.signIn(at: home)
        try home.run(["token", "--type", "Other"])
    }

    @Test func `A client that has no secret is not told to check one`() throws {
        let provider = try ScriptedProvider { $0.token = .json(401, ["error": "invalid_client"]) }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "c", "--scope", "api"])
        let said = try provider.signIn(at: home, exits: 2).standardError
        #expect(said.contains("check client_id of account type 'Work': credmgr types show Work\n"))
        try paste(try command(in: said))
    }

    @Test func `An issuer that cannot be reached`() throws {
        let words = ["types", "add", "Work", "--issuer", "https://login.example.invalid", "--client-id", "x"]
        try follow(words, exits: 6)
        try home.run(["types", "show", "Work"])
    }

    @Test func `A file with a secret that others can read`() throws {
        let file = try home.write(
            #"{"adapter":"oauth2","issuer":"https://login.example.com","client_id":"c","client_secret":"s"}"#,
            to: "config/credmgr/types/Open.json", mode: 0o644)
        #expect(try follow(["types", "show", "Open"], exits: 2).contains(file))
        try home.run(["types", "show", "Open"])
    }

    // MARK: Several accounts

    @Test func `Two accounts of one type`() throws {
        let carol = DemoUser(
            email: "carol@example.com", password: Secret("carol's password"),
            objectID: "5d0b6c1e-3d0c-4a1e-9a53-0d1c5a2f7b11", name: "Carol")
        let tenant = try DemoTenant(users: [carol])
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
        for more in [[], ["--group", "Elsewhere"]] {
            // The first one may be the default; without it there is no default.
            let first = try signIn(more, carol)
            for user in [DemoTenant.alice, DemoTenant.bob] { try signIn(more, user) }
            try home.run(["logout", "--account", first] + more)
            let words = ["token", "--type", "Tasks"] + more
            try follow(words, exits: 3)
            try home.run(words)
        }
        let known = try home.run(["token", "--type", "Tasks", "--account", "nobody"], exits: 3).standardError
        try paste(try command(in: known))
    }

    @Test func `Accounts of several types, if a default would not help`() throws {
        let tenant = try tenant()
        try signIn()
        try tenant.define(at: home)
        try home.run(["types", "set", DemoTenant.typeName, "keychain_group=default"])
        try tenant.signIn(DemoTenant.bob, at: home)
        for words in [["token"], ["which"]] {
            let line = try command(in: try home.run(words, exits: 3).standardError)
            #expect(line.hasPrefix("export CREDMGR_TYPE="))
            try paste("\(line); credmgr \(words[0])")
        }
    }

    // MARK: Signing out, and what is left

    @Test func `A provider that revokes nothing`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        let alice = try signIn()
        try follow(["logout", "--account", alice, "--revoke"], exits: 2)
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `Nothing named to sign out`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        let alice = try signIn()
        let said = try home.run(["logout"], exits: 2).standardError
        // The accounts that the command lists can be named.
        let list = try paste(try command(in: said)).standardOutput
        #expect(list.contains(alice))
        try home.run(["logout", "--account", alice])
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `An account that no type sees any more`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        try signIn()
        let said = try home.run(["types", "remove", "Tasks"]).standardError
        #expect(said.contains("no account type sees alice@example.com"))
        try paste(try command(in: said))
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `The hint for a token with a forbidden destination`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        try signIn()
        try follow(["request", "GET", "https://elsewhere.example.com/"], exits: 7)
    }

    // MARK: Locks

    @Test func `A passphrase that is too short takes a word of its own`() throws {
        let tenant = try tenant()
        let short = try home.write("short\n", to: "outside/short")
        let environment = ["CREDMGR_PASSPHRASE_FILE": short], login = ["login", "--type", "Tasks", "--print-url"]
        let said = try home.run(login, environment: environment, exits: 2).standardError
        let line = "PATH=\((Home.program as NSString).deletingLastPathComponent):$PATH; \(try command(in: said))"
        let session = try home.onTerminal(
            ["-c", line], [(": ", "short\n"), (": ", "short\n")], program: "/bin/sh")
        #expect(session.status == 0, "\(session.text)")
        #expect(!session.text.contains("short\r\n"))
        let url = try home.run(login, environment: environment).line
        try home.run(["login", "--complete", try tenant.redirect(from: url)], environment: environment)
    }

    @Test func `A file that a passphrase locks`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        try signIn()
        let passphrase = try home.write("correct horse battery\n", to: "outside/right")
        let wrong = try home.write("wrong horse battery\n", to: "outside/wrong")
        try home.run(["store", "rekey", "--passphrase-file", passphrase])
        let cached = ["CREDMGR_CACHE": "on"]
        for environment in [cached, cached.merging(["CREDMGR_PASSPHRASE_FILE": wrong]) { $1 }] {
            let said = try home.run(["token", "--force-refresh"], environment: environment, exits: 5).standardError
            let line = try command(in: said)
            #expect(line.hasSuffix("credmgr store unlock"))
            let words = ["-c", "PATH=\((Home.program as NSString).deletingLastPathComponent):$PATH; \(line)"]
            let session = try home.onTerminal(
                words, [(": ", "correct horse battery\n")], environment: environment, program: "/bin/sh")
            #expect(session.status == 0, "\(session.text)")
            #expect(!session.text.contains("correct horse"))
            try home.run(["store", "lock"], environment: cached)
        }
        // The command of the hint does not name itself when it fails.
        let again = try home.run(["store", "unlock"], exits: 5).standardError
        #expect(again.contains("hint: run this in a terminal, or set CREDMGR_PASSPHRASE_FILE"))
    }
}

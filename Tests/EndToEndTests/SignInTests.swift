import CredentialCore
import DemoProvider
import StrictJSON
import TestSupport
import Testing

@Suite struct `Signing in` {
    @Test func `The two halves run in processes of their own`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).standardOutput
        #expect(url.hasSuffix("\n") && url.filter(\.isNewline).count == 1)
        for part in ["code_challenge_method=S256", "code_challenge=", "state=", "nonce=", "response_type=code"] {
            #expect(url.contains(part), "\(part)")
        }
        #expect(url.contains("redirect_uri=urn%3Aietf%3Awg%3Aoauth%3A2.0%3Aoob"))
        let redirect = try tenant.redirect(from: String(url.dropLast()))
        let done = try home.run(["login", "--complete", redirect])
        let words = done.line.split(separator: "\t")
        #expect(words.count == 2 && words.last == "alice@example.com")
        #expect(words.first?.count == 16)
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))
    }

    @Test(arguments: [true, false])
    func `An out-of-band redirect, or its code alone, is read as one line of standard input`(isWhole: Bool) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        // A person copies the URL from one window to the other; here the pipe is a script's.
        let script = try home.write(
            """
            #!/bin/sh
            exec '\(Home.program)' login --type \(DemoTenant.typeName) --no-browser <answer 2>question

            """, to: "login", mode: 0o700)
        let browser = try Browser(in: home)
        let outcome = try ChildProcess(
            "/bin/sh",
            [
                "-c",
                """
                cd '\(home.path)' && mkfifo answer && : > question && { '\(script)' & } && exec 3> answer
                until url=$(grep -o 'http://[^ ]*' question); do :; done
                answer=$('\(browser.environment["BROWSER"] ?? "")' "$url")
                if [ \(isWhole) = false ]; then answer=${answer#*code=}; answer=${answer%%&*}; fi
                echo "$answer" >&3; exec 3>&-; wait $!
                """,
            ], environment: home.environment
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)\(home.text(of: "question") ?? "")")
        #expect(outcome.standardOutput.contains("\talice@example.com\n"))
        #expect(home.text(of: "question")?.contains("standard input") == true)
    }

    @Test(arguments: ["http://localhost/auth/openid/return", "http://localhost", "http://127.0.0.1"])
    func `The browser's redirect to the loopback is caught`(redirectURI: String) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home, settings: AppSettings(base: tenant.base, redirectURI: redirectURI))
        let browser = try Browser(in: home)
        let done = try home.run(["login", "--type", DemoTenant.typeName], environment: browser.environment)
        #expect(done.line.hasSuffix("\talice@example.com"))
        #expect(done.standardError.contains(browser.receivedAddress.trimmingNewline))
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))
    }

    @Test func `Close the terminal, open another: one command prints a token`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        // Only the files of the first session are left.
        let fresh = ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"].reduce(into: [String: String]()) {
            $0[$1] = home.environment[$1]
        }
        let outcome = try ChildProcess(
            Home.program, ["token", "--type", DemoTenant.typeName],
            environment: fresh.merging(["CREDMGR_CACHE": "off"]) { $1 }
        ).run()
        #expect(outcome.exitStatus == 0)
        #expect(outcome.standardError.isEmpty)
        #expect(outcome.standardOutput.hasPrefix("ey"))
        #expect(outcome.standardOutput.filter(\.isNewline).count == 1)
    }

    @Test func `Signing in again refreshes the account, --duplicate makes another`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let first = try tenant.signIn(at: home)
        #expect(try tenant.signIn(at: home) == first)
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)
        let second = try tenant.signIn(at: home, more: ["--duplicate"])
        #expect(second != first)
        #expect(try home.json(["accounts", "--json"]).array?.count == 2)
    }

    @Test func `--show-claims shows them to the person, not on standard output`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        let done = try home.run(["login", "--complete", redirect, "--show-claims"])
        #expect(done.standardError.contains("Alice Example"))
        #expect(done.standardOutput.filter(\.isNewline).count == 1)
    }

    @Test func `An empty client secret is never sent`() throws {
        let home = try Home(), tenant = try DemoTenant { $0.refusesEmptySecret = true }
        try tenant.signIn(at: home)
        try home.run(["token", "--force-refresh"])
        #expect(tenant.provider.counters.refreshes == 1)
    }

    @Test func `A password is read from a file or from standard input`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try home.run([
            "types", "add", "Ropc", "--adapter", "azure-b2c", "--authority", tenant.base, "--tenant",
            DemoTenant.tenant, "--policy", "in=B2C_1_ropc", "--default-policy", "in", "--client-id",
            DemoTenant.clientID, "--scope", "openid \(DemoTenant.clientID) offline_access", "--flow", "password",
        ])
        let login = ["login", "--type", "Ropc", "--username", DemoTenant.alice.email, "--password-file"]
        let done = try home.run(login + ["-"], input: DemoTenant.alice.password.reveal() + "\n")
        #expect(done.line.hasSuffix("\talice@example.com"))
        let file = try home.write("wrong", to: "password")
        #expect(try home.run(login + [file], exits: 7).standardError.contains("password"))
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))
    }

    @Test func `Sign-ins of two types and one redirect wait at once, and each answer finds its own`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let types = ["First", "Second", "First"]
        for type in Set(types) { try tenant.define(type, at: home) }
        let redirects = try types.map { type in
            let user = type == "First" ? DemoTenant.alice : DemoTenant.bob
            return try tenant.redirect(
                from: home.run(["login", "--type", type, "--print-url"]).line, user: user)
        }
        for redirect in redirects.reversed() { try home.run(["login", "--complete", redirect]) }
        let accounts = try home.json(["accounts", "--json"]).array?.compactMap(\.object) ?? []
        #expect(
            Set(accounts.map { [$0["type"]?.string, $0["username"]?.string] })
                == [["First", "alice@example.com"], ["Second", "bob@example.com"]])
        #expect(tenant.provider.counters.grants["authorization_code"] == 3)
    }

    // MARK: Redirects that are refused

    @Test func `A redirect counts once`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        try home.run(["login", "--complete", redirect])
        let token = try home.run(["token"]).standardOutput
        let again = try home.run(["login", "--complete", redirect], exits: 7)
        #expect(again.standardError.contains("already completed"))
        #expect(try home.run(["token"]).standardOutput == token)
    }

    @Test(arguments: [DemoSwitches.StateForm.wrong, .ofAnotherSignIn])
    func `A state that was not sent signs no user in`(form: DemoSwitches.StateForm) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let first = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        _ = try tenant.redirect(from: first)
        let second = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        tenant.provider.change { $0.stateForm = form }
        let redirect = try tenant.redirect(from: second)
        try home.run(["login", "--complete", redirect], exits: 7)
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }

    @Test(arguments: [
        ("no state", "urn:ietf:wg:oauth:2.0:oob?code=abc", Int32(2)),
        ("somebody else's sign-in", "urn:ietf:wg:oauth:2.0:oob?code=abc&state=foreign", 7),
        ("not a URL", "hello", 2),
        ("nothing", "", 2),
        ("two states", "urn:ietf:wg:oauth:2.0:oob?code=abc&state=a&state=b", 2),
    ])
    func `A foreign redirect is refused`(kind: String, redirect: String, status: Int32) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        try home.run(["login", "--type", DemoTenant.typeName, "--print-url"])
        try home.run(["login", "--complete", redirect], exits: status)
        try home.run(["login", "--complete", "-"], input: redirect + "\n", exits: status)
        #expect(tenant.provider.counters.tokenRequests == 0)
    }

    @Test func `A redirect to another place than ours is refused, and the sign-in waits on`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        try home.run(["login", "--complete", "https://evil.example.com/" + redirect.drop { $0 != "?" }], exits: 7)
        #expect(tenant.provider.counters.tokenRequests == 0)
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
        #expect(try home.run(["login", "--complete", redirect]).line.hasSuffix("\talice@example.com"))
    }

    @Test(arguments: [
        ("another type's redirect URI", "://auth", "://elsewhere"), ("no code", "code=", "cod="),
        ("another issuer", "state=", "iss=https%3A%2F%2Fevil.example.com&state="),
    ])
    func `A redirect on a private scheme that does not fit is refused, and the sign-in waits on`(
        kind: String, part: String, other: String
    ) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(
            at: home,
            settings: AppSettings(base: tenant.base, redirectURI: "msal\(DemoTenant.clientID)://auth"))
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        let unfit = redirect.replacingOccurrences(of: part, with: other)
        #expect(unfit != redirect)
        for _ in 0..<2 { try home.run(["login", "--complete", unfit], exits: 7) }
        #expect(tenant.provider.counters.tokenRequests == 0)
        #expect(try home.run(["login", "--complete", redirect]).line.hasSuffix("\talice@example.com"))
        let again = try home.run(["login", "--complete", redirect], exits: 7)
        #expect(again.standardError.contains("already completed"))
    }

    @Test func `Cancelling and a forgotten password are told apart`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        for (act, words) in [(DemoSignIn.Act.cancel, "cancelled"), (.forgotPassword, "forgotten")] {
            let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
            let redirect = try tenant.redirect(from: url, act: act)
            let error = try home.run(["login", "--complete", redirect], exits: 7).standardError
            #expect(error.contains(words))
            #expect(!error.contains("\r"))
        }
    }

    @Test func `Repeated parameters in a redirect are refused`() throws {
        let home = try Home(), tenant = try DemoTenant { $0.repeatsRedirectParameters = true }
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        try home.run(["login", "--complete", try tenant.redirect(from: url)], exits: 2)
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }
}

extension String {
    var trimmingNewline: String { String(prefix { !$0.isNewline }) }
}

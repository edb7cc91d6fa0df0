import CredentialCore
import DemoProvider
import StrictJSON
import TestSupport
import Testing

/// The messages of a sign-in, and their times.
@Suite struct `What a sign-in says` {
    private let kept = "the grant is stored in the encrypted file"

    @Test func `The store is named once, when the sign-in is stored`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        for act in [DemoSignIn.Act.cancel, .submit()] {
            let prepared = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"])
            #expect(prepared.standardError.isEmpty)
            let redirect = try tenant.redirect(from: prepared.line, act: act)
            if case .cancel = act {
                let cancelled = try home.run(["login", "--complete", redirect], exits: 7)
                #expect(!cancelled.standardError.contains(kept))
            } else {
                let done = try home.run(["login", "--complete", redirect]).standardError
                #expect(done.components(separatedBy: kept).count == 2)
                #expect(done.contains("is stored in the encrypted file: "))
            }
        }
        // A user who asked for the file knows.
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url", "--store", "file"]).line
        let done = try home.run(["login", "--complete", try tenant.redirect(from: url)])
        // From the next second on there are fewer than 14 days left.
        #expect(
            done.standardError.replacing("in 13 days", with: "in 14 days") == """
                Signed in as alice@example.com to \(DemoTenant.typeName); stored in the encrypted file; it renews itself until it ends in 14 days
                Next: credmgr token --type \(DemoTenant.typeName)

                """)
    }

    @Test func `In one go it is said after the address, and not when the sign-in fails`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let login = ["login", "--type", DemoTenant.typeName, "--no-browser"]
        #expect(!(try home.run(login, input: "nonsense\n", exits: 4).standardError.contains(kept)))
        let unsupported = try home.run(login + ["--flow", "device"], exits: 2)
        #expect(!unsupported.standardError.contains(kept))
    }

    @Test func `A failed sign-in is an event, a call that makes no sense is none`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let login = ["login", "--type", DemoTenant.typeName]
        try home.run(login + ["--flow", "device"], exits: 2)
        try home.run(
            login + ["--flow", "password", "--username", "u", "--password-file", "-"], input: "p", exits: 2)
        try home.run(login + ["--policy", "b2c 1"], exits: 2)
        #expect(home.text(of: log) == nil)

        let url = try home.run(login + ["--print-url"]).line
        try home.run(["login", "--complete", try tenant.redirect(from: url, act: .cancel)], exits: 7)
        try home.run(login + ["--no-browser"], input: "nonsense\n", exits: 4)
        let events = try #require(home.text(of: log)).split(separator: "\n").map {
            try JSONValue.parse(Array($0.utf8)).object?["event"]?.string
        }
        #expect(events == ["login.failed", "login.failed"])
    }

    private let log = "data/credmgr/groups/\(DemoTenant.group)/events.jsonl"

    @Test func `Before a browser starts, login --resource names the page, the receiver and the scopes`() throws {
        let home = try Home(["CREDMGR_STORE": "file"])
        let scenario = try AuthorizationScenario("scope-from-www-authenticate")
        // Standard error is a file, which the browser copies before it opens the page.
        let printed = "outside/printed", seen = "outside/seen"
        let browser = try home.write(
            """
            #!/bin/sh
            cp '\(home.path)/\(printed)' '\(home.path)/\(seen)'
            exec curl -sL -o /dev/null "$1"

            """, to: "outside/browser", mode: 0o700)
        let login = home.command(["login", "--resource", scenario.api], ["BROWSER": browser])
        let shell = ChildProcess(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" 2>'\(home.path)/\(printed)'", login.program] + login.arguments,
            environment: login.environment)
        #expect(try shell.run().exitStatus == 0, "\(home.text(of: printed) ?? "")")
        let notice = """
            \(scenario.origin) names the authorization server \(scenario.issuer). The page is of \(scenario.issuer); \
            \(scenario.issuer) receives the tokens; scope: mcp:basic

            """
        let before = try #require(home.text(of: seen))
        #expect(before.contains(notice), "\(before)")
        #expect(!before.contains("Signed in as"))
        #expect(try scenario.requests(to: "/token").count == 1)
    }

    @Test func `With a private scheme the handler that saves the pasting is named`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let scheme = "msal\(DemoTenant.clientID)"
        try tenant.definePolicies(at: home, ["redirect_uri": .string(scheme + "://auth")])
        let outcome = try home.run(
            ["login", "--type", "Tasks", "--no-browser"], input: "nonsense\n", exits: 7)
        #expect(
            outcome.standardError.contains("xdg-mime default credmgr-redirect.desktop x-scheme-handler/\(scheme)"))
        try tenant.definePolicies(at: home)
        let pasted = try home.run(["login", "--type", "Tasks", "--no-browser"], input: "nonsense\n", exits: 4)
        #expect(!pasted.standardError.contains("xdg-mime"))
    }
}

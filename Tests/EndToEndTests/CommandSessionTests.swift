import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `The program as a process` {
    @Test(arguments: [SIGINT, SIGTERM])
    func `An interrupted sign-in leaves no account and no listener`(number: Int32) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home, settings: AppSettings(base: tenant.base, redirectURI: "http://localhost"))
        let process = try home.start(["login", "--type", DemoTenant.typeName, "--no-browser"])
        try process.wait(for: "code_challenge_method=S256")
        process.send(number)
        // A shell tells 130 of a program that ended with it and of one that died by SIGINT alike.
        #expect(try process.status() == 128 + number)
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
        try tenant.signIn(at: home)
    }

    @Test func `No redirect from the browser: exit 6 after the time allowed`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home, settings: AppSettings(base: tenant.base, redirectURI: "http://localhost"))
        let login = ["login", "--type", DemoTenant.typeName, "--timeout", "1"]
        try home.run(login, environment: ["BROWSER": "true"], exits: 6)
        // A browser that does not start is said; the address is there to open by hand.
        let outcome = try home.run(login, environment: ["BROWSER": "/nowhere/browser"], exits: 6)
        #expect(outcome.standardError.contains("open the address yourself"))
    }

    @Test func `A refusal that comes over the loopback is told, and the browser sees a page`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home, settings: AppSettings(base: tenant.base, redirectURI: "http://localhost"))
        let robot = try home.write(
            """
            #!/bin/sh
            url="$1&demo_action=cancel"
            exec python3 -c 'import sys, urllib.request; sys.stdout.write(
                urllib.request.urlopen(sys.argv[1]).read().decode())' "$url" > '\(home.path)/outside/page'

            """, to: "outside/browser", mode: 0o700)
        let outcome = try home.run(
            ["login", "--type", DemoTenant.typeName], environment: ["BROWSER": robot], exits: 7)
        #expect(outcome.standardError.contains("cancelled"))
    }

    @Test func `A program that guesses the port signs no user in`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home, settings: AppSettings(base: tenant.base, redirectURI: "http://localhost"))
        let robot = try home.write(
            """
            #!/bin/sh
            at=$(echo "$1" | grep -o 'redirect_uri=[^&]*' | sed 's/redirect_uri=//; s/%3A/:/g; s/%2F/\\//g')
            python3 - "$at" > '\(home.path)/outside/statuses' <<'END'
            import sys, urllib.request, urllib.error
            for query in ("?code=evil&state=guess", "?code=evil", "?error=access_denied&state=guess", "x"):
                try:
                    print(urllib.request.urlopen(sys.argv[1] + "/" + query).status)
                except urllib.error.HTTPError as error:
                    print(error.code)
            END

            """, to: "outside/browser", mode: 0o700)
        let login = ["login", "--type", DemoTenant.typeName, "--timeout", "20"]
        try home.run(login, environment: ["BROWSER": robot], exits: 6)
        #expect(home.text(of: "outside/statuses") == "400\n400\n400\n404\n")
        #expect(tenant.provider.counters.tokenRequests == 0)
    }

    @Test func `Names that a provider gives cannot write on the terminal`() throws {
        let home = try Home()
        let user = DemoUser(
            email: "eve@example.com", password: Secret("p"), objectID: "e0e0e0e0-0e2f-4a68-9c5d-7b8e9f0a1b2c",
            name: "Eve\u{1B}[2J\u{202E}\nfake line\u{7}" + String(repeating: "x", count: 5_000))
        let tenant = try DemoTenant(users: [user])
        let id = try tenant.signIn(user, at: home)
        let shown = [["accounts"], ["claims"], ["which"], ["accounts", "--json"], ["claims", "--json"]]
        for words in shown {
            let text = try home.run(words).standardOutput
            #expect(!text.contains("\u{1B}") && !text.contains("\u{7}"), "\(words)")
            // JSON is data: characters that only turn text around stay.
            #expect(words.contains("--json") || !text.contains("\u{202E}"), "\(words)")
            #expect(!text.contains("\nfake line"), "\(words)")
        }
        #expect(try home.run(["accounts"]).standardOutput.count < 2_000)
        try home.run(["logout", "--account", id])
    }

    @Test func `Events are told without a token in them`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        try home.run(["token", "--force-refresh"])
        tenant.provider.revokeRefreshTokens()
        try home.run(["token", "--force-refresh"], exits: 4)
        try home.run(["logout", "--account", id])
        let log = try #require(home.text(of: "data/credmgr/groups/\(DemoTenant.group)/events.jsonl"))
        let events = try log.split(separator: "\n").map { try JSONValue.parse(Array($0.utf8)).object }
        #expect(
            events.map { $0?["event"]?.string } == [
                "account.added", "token.refreshed", "token.lost", "account.removed",
            ])
        #expect(events.allSatisfy { $0?["account"]?.string == id })
        for secret in tenant.provider.secrets { #expect(!log.contains(secret)) }
    }

    @Test func `Without a home there is nothing to work with`() throws {
        let outcome = try ChildProcess(Home.program, ["accounts"], environment: ["PATH": "/usr/bin:/bin"]).run()
        #expect(outcome.exitStatus == 2 || outcome.exitStatus == 0)
        #expect(outcome.exitStatus == 0 || outcome.standardError.hasPrefix("credmgr: error: "))
    }
}

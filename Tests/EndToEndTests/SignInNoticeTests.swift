import CredentialCore
import DemoProvider
import StrictJSON
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
        #expect(
            done.standardError == """
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

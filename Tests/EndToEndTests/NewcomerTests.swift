import DemoProvider
import Foundation
import TestSupport
import Testing

/// The messages for a newcomer who has a server's URL and a client ID, and makes a mistake.
@Suite struct `A newcomer's slips` {
    private let home: Home

    init() throws { home = try Home() }

    private func said(_ words: [String], exits status: Int32) throws -> String {
        let error = try home.run(words, exits: status).standardError
        #expect(try home.json(["types", "--json"]) == [])
        return error
    }

    @Test func `A missing value is reported by its option`() throws {
        let error = try said(["types", "add", "Work", "--issuer", "https://login.example.com"], exits: 2)
        #expect(error.contains("error: --client-id is missing\n") && error.contains("--register"))
        let bare = try said(
            ["types", "add", "Work", "--issuer", "login.example.com", "--client-id", "x"], exits: 2)
        #expect(bare.contains("hint: --issuer https://login.example.com\n"))
        let plain = try said(
            ["types", "add", "Work", "--issuer", "http://login.example.com", "--client-id", "x"], exits: 2)
        #expect(plain.contains("https"))
    }

    @Test func `An issuer that is not quite right is corrected, or told with what to look at`() throws {
        let server = try Glewlwyd(), issuer = server.issuer
        func add(_ issuer: String, exits status: Int32) throws -> String {
            try said(["types", "add", "Work", "--issuer", issuer, "--client-id", "native"], exits: status)
        }
        let base = String(issuer.dropLast("/api/oidc".count))
        #expect(
            try add(base, exits: 2)
                .contains(
                    "check the issuer and its path: \(base)/.well-known/openid-configuration does not exist"))
        for (name, url) in [("Slash", issuer + "/"), ("Document", issuer + "/.well-known/openid-configuration")] {
            let outcome = try home.run(["types", "add", name, "--issuer", url, "--client-id", "native"])
            #expect(outcome.standardError.contains("the issuer is \(issuer), not \(url)\n"))
            #expect(try home.json(["types", "show", name, "--json"]).object?["issuer"]?.string == issuer)
        }
    }

    @Test func `A host that does not answer defines no type, and the hint is how to do without it`() throws {
        let error = try said(
            ["types", "add", "Work", "--issuer", "https://login.example.invalid", "--client-id", "x"], exits: 6)
        #expect(error.contains("the type is not defined: cannot get the metadata of its issuer"))
        #expect(error.contains("https://login.example.invalid --client-id x --offline\n"))
    }

    @Test func `The redirect URI to register is told, unless it was named`() throws {
        let provider = try ScriptedProvider()
        let common = ["--issuer", provider.base, "--client-id", "x", "--scope", "api"]
        let note = "redirect URI to register: http://127.0.0.1 ("
        #expect(try home.run(["types", "add", "A"] + common).standardError.contains(note))
        for more in [["--redirect-uri", "http://127.0.0.1:8400"], ["--flow", "device"]] {
            let outcome = try home.run(["types", "add", "B", "--force"] + common + more)
            #expect(!outcome.standardError.contains("redirect URI"))
        }
    }

    @Test func `A wrong secret is exit 2 and names the setting to check`() throws {
        let redirect = "http://127.0.0.1:\(try freePort())/callback"
        var settings = Glewlwyd.Settings()
        settings.redirectURIs = [redirect]
        let server = try Glewlwyd(settings)
        try home.run(
            [
                "types", "add", "Work", "--issuer", server.issuer, "--client-id", "web", "--client-secret-file",
                "-",
                "--redirect-uri", redirect,
            ], input: "wrong-secret-wrong-secret\n")
        let browser = try Browser(in: home, user: "alice", password: server.password(of: "alice"))
        let error = try home.run(["login", "--type", "Work"], environment: browser.environment, exits: 2)
        #expect(error.standardError.contains("check client_id and client_secret of account type 'Work'"))
        #expect(!home.printed.contains("wrong-secret-wrong-secret"))
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    // MARK: What the hint says helps when it is typed

    @Test func `Without a type the hint is the next step`() throws {
        for words in [["token"], ["login"]] {
            #expect(
                try said(words, exits: words == ["login"] ? 2 : 3)
                    .contains("hint: define an account type first: credmgr types add --help\n"))
        }
        let tenant = try DemoTenant()
        try tenant.define("Solo", at: home)
        for words in [["token"], ["login", "Solo"], ["use", "ann"]] {
            let status: Int32 = words.first == "login" ? 2 : 3
            #expect(
                try home.run(words, exits: status).standardError.contains("hint: credmgr login --type Solo\n"),
                "\(words)")
        }
        // One candidate is enough for `login`.
        #expect(try home.run(["login"], exits: 4).standardError.contains("hint: credmgr login --type Solo --print"))
        try tenant.define("Second", at: home)
        #expect(try home.run(["login"], exits: 2).standardError.contains("hint: credmgr login --type Second\n"))
        let unasked = try home.run(["login", "--type", "Solo"], exits: 4).standardError
        #expect(
            unasked.contains("hint: credmgr login --type Solo --print-url && credmgr login --complete -\n"))
    }

    @Test func `The options of a command to run need two dashes before it`() throws {
        let error = try said(["exec", "ls", "-l"], exits: 2)
        #expect(error.contains("hint: put '--' before the command to run: credmgr exec --help\n"))
        #expect(
            try home.run(["exec", "--help"]).standardOutput
                .hasPrefix("Usage: credmgr exec [OPTION…] -- COMMAND [ARGUMENT…]\n"))
    }

    @Test func `A redirect URI is not taken for a private scheme called localhost`() throws {
        let words = ["types", "add", "Work", "--issuer", "https://login.example.com", "--client-id", "x"]
        let error = try said(words + ["--redirect-uri", "localhost:8400/callback"], exits: 2)
        #expect(error.contains("key 'redirect_uri' must begin with 'http://'"))
    }

    @Test func `A port that another program has is told with how to find that`() throws {
        let tenant = try DemoTenant()
        let port = try #require(URL(string: tenant.base)?.port)
        try tenant.define(at: home, settings: AppSettings(base: tenant.base, redirectURI: tenant.base))
        let error = try home.run(["login", "--type", DemoTenant.typeName], exits: 6).standardError
        #expect(error.contains("cannot listen on port \(port) of the loopback"))
        #expect(error.contains("ss -ltnp 'sport = :\(port)'"))
    }

    @Test func `A second account is told which one stays the default`() throws {
        let tenant = try DemoTenant()
        func complete(_ user: DemoUser) throws -> String {
            let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
            return try home.run(["login", "--complete", tenant.redirect(from: url, user: user)]).standardError
        }
        let note = "; the default stays \(DemoTenant.alice.email); to make this account the default: credmgr use "
        try tenant.define(at: home)
        #expect(try !complete(DemoTenant.alice).contains("default"))
        #expect(try complete(DemoTenant.bob).contains(note))
        #expect(try !complete(DemoTenant.alice).contains("default"))
    }

    @Test func `An empty import reports no storage location`() throws {
        let tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let passphrase = try home.write("a passphrase\n", to: "outside/passphrase")
        let file = home.path + "/outside/exported", options = ["--passphrase-file", passphrase]
        #expect(
            try home.run(["accounts", "export", file] + options).standardError.contains("1 account is in \(file)"))
        let again = try home.run(["accounts", "import", file] + options).standardError
        #expect(again.contains("already signed in on this machine") && !again.contains("is stored in"))
    }

    @Test func `A wrong passphrase is reported with its source`() throws {
        let tenant = try DemoTenant()
        let right = try home.write("right one\n", to: "outside/right")
        let wrong = try home.write("wrong one\n", to: "outside/wrong")
        try tenant.signIn(at: home)
        try home.run(["store", "rekey", "--passphrase-file", right])
        let error = try home.run(["token"], environment: ["CREDMGR_PASSPHRASE_FILE": wrong], exits: 5).standardError
        #expect(error.contains("hint: to ignore the passphrase of CREDMGR_PASSPHRASE_FILE: "))
        try home.run(["token"], environment: ["CREDMGR_PASSPHRASE_FILE": right])
    }

    @Test func `A literal secret that others can read is told with the command that closes it`() throws {
        let file = try home.write(
            #"{"issuer": "https://login.example.com", "client_id": "x", "client_secret": "abc"}"#,
            to: "config/credmgr/types/Open.json", mode: 0o644)
        let error = try home.run(["login", "--type", "Open"], exits: 2).standardError
        #expect(error.contains("or run: chmod 600 \(file)\n"))
    }

    @Test func `Doctor tells of another installation in PATH`() throws {
        let helper = try home.write("#!/bin/sh\n", to: "old/git-credential-credmgr", mode: 0o755)
        let path = "\(home.path)/old:" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        let found = try home.run(["doctor"], environment: ["PATH": path]).standardOutput
        #expect(found.contains("note     programs: \(helper) in PATH is from a different installation"), "\(found)")
        #expect(try !home.run(["doctor"]).standardOutput.contains("programs: \(helper)"))
    }

    @Test(.needs(.namespaces)) func `a home that is mounted read-only is reported with the remedy`() throws {
        let folder = home.path + "/config"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script =
            "mount -t tmpfs -o ro none '\(folder)' && exec '\(Home.program)' types add Work --offline "
            + "--issuer https://login.example.com --client-id app"
        let outcome = try ChildProcess("unshare", ["-rm", "sh", "-c", script], environment: home.environment).run()
        #expect(outcome.exitStatus == 1)
        #expect(
            outcome.standardError.hasSuffix(
                "cannot create the directory \(folder)/credmgr: Read-only file system\n"
                    + "credmgr: hint: set XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME to writable directories\n"
            ), "\(outcome.standardError)")
    }

    @Test(.needs(.namespaces)) func `Doctor says that the folder cannot be made`() throws {
        let folder = home.path + "/data"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = "mount -t tmpfs -o ro none '\(folder)' && exec '\(Home.program)' doctor"
        let outcome = try ChildProcess("unshare", ["-rm", "sh", "-c", script], environment: home.environment).run()
        #expect(outcome.exitStatus == 1)
        #expect(
            outcome.standardOutput.contains(
                "PROBLEM  files: cannot create the directory \(folder)/credmgr: Read-only file system\n"
                    + "           set XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME to writable directories\n"),
            "\(outcome.standardOutput)")
    }

    @Test(
        .needs(.namespaces),
        arguments: [("size=32k", "is full"), ("ro", "is read-only")])
    func `Doctor says that nothing can be written`(options: String, reason: String) throws {
        let folder = home.path + "/data/credmgr"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = "mount -t tmpfs -o mode=700,\(options) none '\(folder)' && exec '\(Home.program)' doctor"
        let outcome = try ChildProcess("unshare", ["-rm", "sh", "-c", script], environment: home.environment).run()
        #expect(outcome.exitStatus == 1)
        #expect(outcome.standardOutput.contains("cannot write to \(folder): the file system \(reason)"))
    }
}

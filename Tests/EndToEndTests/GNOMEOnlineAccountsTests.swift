import CredentialCore
import Foundation
import TestSupport
import Testing

/// Sign-ins of GNOME Online Accounts, kept by its own daemon and by the library that it keeps them with.
@Suite(
    .needs(.keyring),
    .needs(Need("gnome-online-accounts", isThere: FileManager.default.isExecutableFile(atPath: daemon))))
struct `Sign-ins of GNOME Online Accounts` {
    private let keyring: PrivateKeyring
    private let home: Home
    private let provider: ScriptedProvider
    private static let google = "44438659992-7kgjeitenc16ssihbtdjbgguch7ju55s.apps.googleusercontent.com"

    init() throws {
        keyring = try PrivateKeyring()
        home = try Home(["DBUS_SESSION_BUS_ADDRESS": keyring.busAddress])
        provider = try ScriptedProvider()
    }

    /// Has the daemon add an account of Google's, as its dialog does after a sign-in; gives its `accounts.conf`.
    private func addGoogle(_ refreshToken: String) throws -> String {
        // Its later calls have no network.
        let goa = try ChildProcess(
            daemon, environment: keyring.environment.merging(["https_proxy": "http://127.0.0.1:1"]) { $1 }
        ).start()
        defer { goa.kill() }
        let name = "org.gnome.OnlineAccounts"
        let added = try ChildProcess(
            "sh",
            [
                "-c", #"gdbus wait --session --timeout 60 \#(name) && gdbus call --session --dest "$@""#, "sh",
                name,
                "--object-path", "/org/gnome/OnlineAccounts/Manager", "--method", name + ".Manager.AddAccount",
                "google", "ada@example.com", "ada@example.com",
                "{'access_token': <'at-0'>, 'access_token_expires_at': <int64 1900000000>, "
                    + "'refresh_token': <'\(refreshToken)'>}", "{'MailEnabled': 'true'}",
            ], environment: keyring.environment
        ).run(seconds: 90)
        #expect(added.standardOutput.contains("/Accounts/account_"), "\(added.standardError)")
        return (keyring.environment["XDG_CONFIG_HOME"] ?? "") + "/goa-1.0/accounts.conf"
    }

    /// Keeps an item as the daemon does, with libsecret; of a provider that the daemon of this machine does not
    /// have.
    private func keep(_ identity: String, _ text: String) throws {
        let script = """
            import gi, sys
            gi.require_version("Secret", "1")
            from gi.repository import Secret
            string = Secret.SchemaAttributeType.STRING
            schema = Secret.Schema.new(
                "org.gnome.OnlineAccounts", Secret.SchemaFlags.DONT_MATCH_NAME, {"goa-identity": string})
            Secret.password_store_sync(
                schema, {"goa-identity": sys.argv[1]}, Secret.COLLECTION_DEFAULT, "GOA credentials", sys.argv[2], None)
            """
        let done = try ChildProcess("python3", ["-c", script, identity, text], environment: keyring.environment)
            .run(seconds: 60)
        #expect(done.exitStatus == 0, "\(done.standardError)")
    }

    @Test func `an account that the daemon keeps is taken over, by the client that it was signed in with`() throws {
        let file = try addGoogle("1//it\\'s \"rt\"")
        // Google's issuer; the endpoints are ours.
        try home.write(
            """
            {"adapter": "oauth2", "issuer": "https://accounts.google.com", "client_id": "\(Self.google)",
            "authorization_endpoint": "\(provider.base)/authorize", "token_endpoint": "\(provider.base)/token",
            "userinfo_endpoint": "\(provider.base)/userinfo"}
            """, to: "config/credmgr/types/Google.json")
        let taken = try home.run(["accounts", "import", file])
        #expect(provider.forms.last?["refresh_token"] == "1//it's \"rt\"")
        #expect(
            taken.line.hasSuffix("\tada@example.test")
                && taken.standardError.contains("a refresh of one ends the other"))
        #expect(try home.run(["token"]).line == "at-1")
        // It stays signed in there.
        let kept = try ChildProcess(
            "secret-tool", ["search", "--all", "xdg:schema", "org.gnome.OnlineAccounts"],
            environment: keyring.environment
        ).run(seconds: 20)
        #expect((kept.standardOutput + kept.standardError).contains("goa-identity = google:gen"))
    }

    @Test func `its tokens are shown to their provider alone`() throws {
        let file = try home.write(
            """
            [Account account_1_0]
            Provider=google
            Identity=ada@example.com

            [Account account_2_0]
            Provider=ms_graph
            PresentationIdentity=ada@example.org
            OAuth2ClientId=app
            OAuth2TokenUri=https://login.example.org/common/oauth2/v2.0/token

            [Account account_3_0]
            Provider=imap_smtp

            [Account account_4_0]
            Provider=unheard_of

            """, to: "accounts.conf")
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
        let none = try home.run(["accounts", "import", file], exits: 2)
        #expect(none.standardError.contains("the keyring has no refresh token of "))
        for (identity, text) in [
            // The newest generation counts.
            ("google:gen9:account_1_0", "{'refresh_token': <'rt-old'>}"),
            ("google:gen11:account_1_0", "{'refresh_token': <'rt-google'>}"),
            ("ms_graph:gen2:account_2_0", "{'refresh_token': <'rt-graph'>}"),
            ("imap_smtp:gen0:account_3_0", "{'imap-password': <'secret'>}"),
            ("unheard_of:gen0:account_4_0", "{'refresh_token': <'rt-unheard-of'>}"),
            ("ms_graph:gen2:account_9_0", "{'refresh_token': <'rt-of-another-file'>}"),
        ] { try keep(identity, text) }
        // A client of the same ID at another provider must see no account of these.
        let before = provider.paths.count
        try home.run(["accounts", "import", file], exits: 2)
        let named = try home.run(["accounts", "import", file, "--type", "Work"], exits: 2)
        #expect(
            named.standardError.contains("is for client \(Self.google), which does not match account type Work"))
        #expect(
            named.standardError.contains(
                "is for login.example.org, but account type Work with the same client ID is for \(provider.base)\n")
        )
        #expect(provider.paths.count == before)
        #expect(!named.standardError.contains("rt-"))

        let own = try #require(home.text(of: "accounts.conf")).replacing(
            "https://login.example.org", with: provider.base)
        try home.write(own, to: "accounts.conf")
        // One that cannot be taken keeps the others back no more than for other programs.
        let some = try ChildProcess(Home.program, ["accounts", "import", file], environment: home.environment).run()
        #expect(some.exitStatus == 2 && some.line.hasSuffix("\tada@example.test"))
        #expect(provider.forms.last?["refresh_token"] == "rt-graph")
        #expect(provider.forms.count { $0["refresh_token"] != nil } == 1)
        #expect(some.standardError.contains("no account type found for the client id \(Self.google)"))
        #expect(try home.run(["token", "--type", "Work"]).line == "at-1")
    }

    @Test func `a locked keyring, or none, is told as such`() throws {
        let file = try home.write("[Account account_1_0]\nProvider=google\n", to: "accounts.conf")
        try keyring.lock()
        try home.run(["accounts", "import", file, "--no-input"], exits: 5)
        try Home().run(["accounts", "import", file], exits: 5)
    }
}

private let daemon = "/usr/libexec/goa-daemon"

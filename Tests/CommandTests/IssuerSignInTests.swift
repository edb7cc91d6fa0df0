import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import TestCommands
import TestPorts
import Testing

/// `login URL`: an account type for an issuer that the user names, and the sign-in under it.
@Suite struct IssuerSignInTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    init() {
        scene.machine.add(GenericOAuth2Adapter())
        serve("https://op.example", spelled: "https://op.example")
        scene.transport.serve("https://op.example/authorize", json: "{}")
        scene.transport.serve(
            "https://op.example/token",
            json: #"{"access_token": "at", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt"}"#)
        scene.expectBrowser("code")
    }

    /// Has an issuer's metadata at its well-known place.
    private func serve(_ issuer: String, spelled: String, more: String = "") {
        scene.transport.serve(
            "\(issuer)/.well-known/openid-configuration",
            json:
                #"{"issuer": "\#(spelled)", "authorization_endpoint": "https://op.example/authorize", "token_endpoint": "https://op.example/token"\#(more)}"#
        )
    }

    private func definition(_ name: String) -> String? { scene.machine.file("/memory/types/\(name).json") }

    @Test func `login with a URL and a client defines the type and signs in`() throws {
        let outcome = scene.run("login", "https://op.example", "--client-id", "app")
        #expect(outcome.status == 0, "\(outcome.notices)")
        let written = try #require(definition("op.example"))
        #expect(written.contains(#""client_id": "app""#) && written.contains(#""issuer": "https://op.example""#))
        #expect(outcome.notices.contains("account type op.example is defined in /memory/types/op.example.json"))
        #expect(scene.run("token", "--type", "op.example").output == "at\n")
    }

    @Test(arguments: [
        "https://op.example/", "https://op.example/.well-known/openid-configuration",
        "https://op.example/.well-known/oauth-authorization-server",
    ])
    func `login with another address of the issuer takes the provider's spelling, and says so`(url: String) throws {
        let outcome = scene.run("login", url, "--client-id", "app", "--name", "Work")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(outcome.notices.contains("the issuer is https://op.example, not \(url)"), "\(outcome.notices)")
        #expect(try #require(definition("Work")).contains(#""issuer": "https://op.example""#))
    }

    @Test func `login takes the slash that the provider's issuer has`() throws {
        serve("https://slash.example", spelled: "https://slash.example/")
        let outcome = scene.run("login", "https://slash.example", "--client-id", "app")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(try #require(definition("slash.example")).contains(#""issuer": "https://slash.example/""#))
    }

    @Test func `login with a path in the well-known address names the issuer behind it`() throws {
        scene.transport.serve("https://op.example/t/.well-known/openid-configuration", json: "{}", status: 404)
        scene.transport.serve(
            "https://op.example/.well-known/oauth-authorization-server/t",
            json:
                #"{"issuer": "https://op.example/t", "authorization_endpoint": "https://op.example/authorize", "token_endpoint": "https://op.example/token"}"#
        )
        let outcome = scene.run(
            "login", "https://op.example/.well-known/oauth-authorization-server/t", "--client-id", "app")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(try #require(definition("op.example")).contains(#""issuer": "https://op.example/t""#))
    }

    // MARK: Types that are there

    @Test func `a type with the same issuer and client is used, and none is defined`() throws {
        #expect(scene.run("login", "https://op.example", "--client-id", "app", "--name", "Work").status == 0)
        for url in ["https://op.example", "https://op.example/"] {
            let outcome = scene.run("login", url, "--client-id", "app")
            #expect(outcome.status == 0, "\(outcome.notices)")
            #expect(outcome.notices.contains("using account type Work, which has this issuer and client"))
        }
        #expect(scene.run("login", "https://op.example").status == 0)
        #expect(scene.run("login", "https://op.example", "--client-id", "app", "--name", "Work").status == 0)
        #expect(scene.run("types").output.split(separator: "\n").count == 2)
    }

    @Test func `another client at the issuer gets a name of its own`() throws {
        for client in ["one", "two"] {
            let outcome = scene.run("login", "https://op.example", "--client-id", client)
            #expect(outcome.status == 0, "\(outcome.notices)")
        }
        #expect(try #require(definition("op.example-2")).contains(#""client_id": "two""#))
        let several = scene.run("login", "https://op.example")
        #expect(several.status == 2 && several.notices.contains("op.example, op.example-2"), "\(several.notices)")
        let picked = scene.run(["login", "https://op.example"], answers: ["2"])
        #expect(picked.status == 0 && picked.notices.contains("to op.example-2"), "\(picked.notices)")
    }

    @Test func `a name that another client or issuer has is refused before anything is sent`() {
        #expect(scene.run("login", "https://op.example", "--client-id", "app", "--name", "Work").status == 0)
        // The request beside the browser may come after the sign-in has ended.
        func sent() -> Int { scene.transport.requests.count { $0.address.path != "/authorize" } }
        let before = sent()
        for words in [
            ["https://op.example", "--client-id", "other"], ["https://other.example", "--client-id", "app"],
        ] {
            let outcome = scene.run(["login"] + words + ["--name", "Work"])
            #expect(outcome.status == 2, "\(outcome.notices)")
            #expect(outcome.notices.contains("account type 'Work' is for another issuer or client"))
        }
        #expect(sent() == before)
    }

    @Test func `a definition that sends the code elsewhere is not taken for the issuer's`() throws {
        scene.machine.setFile(
            "/memory/types/Evil.json",
            #"{"adapter": "oauth2", "client_id": "app", "issuer": "https://op.example", "token_endpoint": "https://evil.example/token"}"#
        )
        let outcome = scene.run("login", "https://op.example", "--client-id", "app")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(definition("op.example") != nil)
        #expect(!scene.transport.requests.contains { $0.address.host == "evil.example" })
    }

    // MARK: The client

    @Test func `--register registers a client once`() throws {
        serve(
            "https://reg.example", spelled: "https://reg.example",
            more: #", "registration_endpoint": "https://reg.example/register""#)
        scene.transport.serve(
            "https://reg.example/register", json: #"{"client_id": "made", "token_endpoint_auth_method": "none"}"#,
            status: 201)
        // The redirect URI of a registration has a path of its own.
        scene.redirects.visit { [scene] in
            let page = scene.programs.started.last?.last.flatMap { scene.machine.file($0) } ?? ""
            let state = page.split(separator: "state=").dropFirst().first?.prefix { $0 != "\"" && $0 != "&" } ?? ""
            let path =
                (scene.machine.file("/memory/types/reg.example.json") ?? "").split(separator: "/cb/").last ?? ""
            return "http://127.0.0.1/cb/\(path.prefix(16))?state=\(state)&code=code"
        }
        let outcome = scene.run("login", "https://reg.example", "--register")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(try #require(definition("reg.example")).contains(#""client_id": "made""#))
        #expect(scene.run("login", "https://reg.example", "--register").status == 0)
        #expect(scene.transport.requests.count { $0.address.path == "/register" } == 1)
    }

    @Test(arguments: [
        ("https://op.example", "http://127.0.0.1:631/c", true),
        ("https://op.example", "https://op.example/c", false),
        ("http://127.0.0.1:8400", "http://127.0.0.1:8400/c", false),
    ])
    func `types remove asks a registration on this machine to end only if the issuer is here`(
        issuer: String, address: String, isRefused: Bool
    ) {
        scene.machine.setFile(
            "/memory/types/Work.json",
            #"{"adapter": "oauth2", "client_id": "app", "issuer": "\#(issuer)", "registration_client_uri": "\#(address)"}"#
        )
        let outcome = scene.run("types", "remove", "Work")
        #expect(outcome.status == 0, "\(outcome.notices)")
        let rule =
            "registration_client_uri is at http://127.0.0.1:631, on this machine or its network: "
            + "the issuer at op.example must not use this address"
        #expect(outcome.notices.contains(rule) == isRefused, "\(outcome.notices)")
        let isTokenSought = outcome.notices.contains("the registration access token is missing")
        #expect(isTokenSought != isRefused, "\(outcome.notices)")
        #expect(scene.transport.requests.isEmpty)
    }

    @Test func `without a client the hint is the way that the provider has`() {
        let plain = scene.run("login", "https://op.example")
        #expect(plain.status == 2 && plain.notices.contains("--client-id is missing"), "\(plain.notices)")
        #expect(plain.notices.contains("register a client at the provider, then set --client-id"))
        serve(
            "https://reg.example", spelled: "https://reg.example",
            more: #", "registration_endpoint": "https://reg.example/register""#)
        let registers = scene.run("login", "https://reg.example/")
        #expect(registers.status == 2)
        #expect(
            registers.notices.contains(": credmgr login https://reg.example/ --register\n"), "\(registers.notices)")
        let named = scene.run("login", "https://reg.example", "--name", "N", "--scope", "a b")
        #expect(
            named.notices.contains(
                ": credmgr login https://reg.example --name N --scope 'a b' --register\n"), "\(named.notices)")
    }

    @Test func `--register takes no type of another client for the one that it registered`() throws {
        serve(
            "https://reg.example", spelled: "https://reg.example",
            more: #", "registration_endpoint": "https://reg.example/register""#)
        scene.transport.serve(
            "https://reg.example/register", json: #"{"client_id": "made", "token_endpoint_auth_method": "none"}"#,
            status: 201)
        scene.machine.setFile(
            "/memory/types/reg.example.json",
            #"{"adapter": "oauth2", "client_id": "app", "issuer": "https://reg.example"}"#)
        let named = scene.run("login", "https://reg.example", "--register", "--name", "reg.example")
        #expect(named.status == 2, "\(named.notices)")
        #expect(named.notices.contains("account type 'reg.example' is for another issuer or client"))
        #expect(!scene.transport.requests.contains { $0.address.path == "/register" })
        // The page is printed only: its response is not of concern here.
        let outcome = scene.run("login", "https://reg.example", "--register", "--print-url")
        #expect(outcome.status == 0 && outcome.output.contains("client_id=made"), "\(outcome.notices)")
        #expect(try #require(definition("reg.example-2")).contains(#""client_id": "made""#))
        #expect(try #require(definition("reg.example")).contains(#""client_id": "app""#))
    }

    // MARK: What is no issuer

    @Test func `login with a word says what the word is`() throws {
        scene.define("Tasks")
        #expect(scene.signIn("ada").status == 0)
        for (word, hint) in [
            ("Tasks", "credmgr login --type Tasks"), ("ada@example.com", "credmgr login --account ada@example.com"),
            ("op.example", "credmgr login https://op.example"),
        ] {
            let outcome = scene.run("login", word)
            #expect(outcome.status == 2 && outcome.notices.contains("hint: \(hint)\n"), "\(outcome.notices)")
        }
    }

    @Test(arguments: [
        "Wrok", "gho_16C7e42F292c6912E7710c838347Ae178B4a", "eyJhbGciOiJub25l.secret.token", "op.example.123",
        "a0123456789012345678901234567890123456789.example", "-op.example",
    ])
    func `login with a word that may be a token does not show it`(word: String) {
        let outcome = scene.run("login", word)
        #expect(outcome.status == 2, "\(outcome.notices)")
        #expect(!outcome.notices.contains(word) && outcome.notices.contains("hint: credmgr login --help\n"))
    }

    @Test(arguments: [
        ["http://op.example"], ["https://op.example/?code=secret&state=x"], ["ftp://op.example"],
        ["https://op.example", "--type", "Work"], ["https://op.example", "--resource", "https://api.example"],
        ["https://op.example", "--client-id", "app", "--register"], ["https://op.example", "--account", "x"],
        ["--register"], ["--name", "Work"], ["--client-id", "x"],
    ])
    func `login refuses what is no issuer, and options that exclude each other`(words: [String]) {
        let outcome = scene.run(["login"] + words)
        #expect(outcome.status == 2, "\(outcome.notices)")
        #expect(!outcome.notices.contains("secret"))
        #expect(scene.transport.requests.isEmpty)
    }

    @Test func `--if-needed says once which type it uses`() {
        scene.machine.setFile(
            "/memory/types/Work.json", #"{"adapter": "oauth2", "client_id": "app", "issuer": "https://op.example"}"#
        )
        let outcome = scene.run("login", "https://op.example", "--client-id", "app", "--if-needed")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(outcome.notices.split(separator: "using account type Work, which has this issuer").count == 2)
    }

    @Test func `--if-needed defines the type only if it is missing`() {
        let words = ["login", "https://op.example", "--client-id", "app", "--if-needed"]
        #expect(scene.run(words).status == 0)
        #expect(scene.run(words).status == 0)
        #expect(scene.transport.requests.count { $0.address.path == "/token" } == 1)
    }
}

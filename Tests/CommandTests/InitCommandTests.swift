import AzureB2CAdapter
import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import TestCommands
import TestPorts
import Testing

/// `credmgr init` on a machine in memory: its questions, its output and the saved files.
@Suite struct InitCommandTests {
    private let scene = CommandScene(cryptography: LibCryptography(), environment: ["NO_COLOR": "1"])

    init() {
        scene.machine.add(GenericOAuth2Adapter())
        scene.machine.add(AzureB2CAdapter())
        serve("https://op.example")
        scene.transport.serve("https://op.example/authorize", json: "{}")
        scene.transport.serve(
            "https://op.example/token",
            json: #"{"access_token": "at", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt"}"#)
        expectBrowser()
    }

    private func serve(_ issuer: String, more: String = "") {
        scene.transport.serve(
            "\(issuer)/.well-known/openid-configuration",
            json:
                #"{"issuer": "\#(issuer)", "authorization_endpoint": "https://op.example/authorize", "token_endpoint": "https://op.example/token"\#(more)}"#
        )
    }

    /// Lets the browser come back to the redirect URI of the page.
    private func expectBrowser() {
        scene.expectBrowser("code")
        scene.redirects.visit { [scene] in
            let page = scene.programs.started.last?.last.flatMap { scene.machine.file($0) } ?? ""
            func value(_ name: String) -> String {
                let rest = page.split(separator: "\(name)=").dropFirst().first ?? ""
                return String(rest.prefix { $0 != "\"" && $0 != "&" })
            }
            let redirect = FormCodingText.decoded(value("redirect_uri"))
            return "\(redirect)?state=\(value("state"))&code=code"
        }
    }

    private func definition(_ name: String) -> String? { scene.machine.file("/memory/types/\(name).json") }

    @Test func `init asks, shows what to register, signs in and shows the commands`() throws {
        let outcome = scene.run(["init"], answers: ["other", "https://op.example/", "app", "", "Work"])
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(outcome.output.contains("\t"))
        let shown = outcome.notices
        #expect(shown.contains("the issuer is https://op.example, not https://op.example/"), "\(shown)")
        #expect(shown.contains("Register an application at https://op.example:"), "\(shown)")
        #expect(shown.contains("redirect URI  http://127.0.0.1:8400/callback\n"), "\(shown)")
        #expect(
            shown.hasSuffix(
                """
                In a script:
                  TOKEN=$(credmgr token --type Work)
                The same without questions:
                  credmgr types add Work --issuer https://op.example --redirect-uri http://127.0.0.1:8400/callback --client-id app
                  credmgr login --type Work

                """), "\(shown)")
        #expect(scene.run("token", "--type", "Work").output == "at\n")
        // The commands that it shows do the same.
        #expect(scene.run("types", "remove", "Work").status == 0)
        let again = scene.run(
            "types", "add", "Work", "--issuer", "https://op.example", "--redirect-uri",
            "http://127.0.0.1:8400/callback", "--client-id", "app")
        #expect(again.status == 0, "\(again.notices)")
        #expect(scene.run("token", "--type", "Work").output == "at\n")
    }

    @Test func `the client secret is not shown, and is stored for the client`() throws {
        let outcome = scene.run(
            ["init", "--name", "Work"], answers: ["other", "op.example", "app", "s3cret-of-app"])
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(!outcome.notices.contains("s3cret-of-app") && !outcome.output.contains("s3cret-of-app"))
        let written = try #require(definition("Work"))
        #expect(written.contains(#""store": true"#) && !written.contains("s3cret-of-app"))
        #expect(outcome.notices.contains("--client-id app --client-secret-file -\n"), "\(outcome.notices)")
        let sent = scene.transport.requests.last { $0.address.path == "/token" }
        #expect(sent?.headers.contains { $0.name.lowercased() == "authorization" } == true)
    }

    @Test func `an issuer that cannot be asked is asked for again with the reason`() {
        scene.transport.serve("https://wrong.example/.well-known/openid-configuration", json: "{}", status: 404)
        scene.transport.serve(
            "https://wrong.example/.well-known/oauth-authorization-server", json: "{}", status: 404)
        let outcome = scene.run(
            ["init", "--name", "Work"], answers: ["other", "wrong.example", "op.example", "app", ""])
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(outcome.notices.contains("HTTP status 404"), "\(outcome.notices)")
    }

    @Test func `a wrong realm of a preset is found before anything is registered`() {
        scene.transport.serve(
            "https://sso.example/realms/wrong/.well-known/openid-configuration", json: "{}", status: 404)
        scene.transport.serve(
            "https://sso.example/.well-known/oauth-authorization-server/realms/wrong", json: "{}", status: 404)
        scene.transport.serve(
            "https://sso.example/.well-known/openid-configuration/realms/wrong", json: "{}", status: 404)
        serve("https://sso.example/realms/staff")
        let outcome = scene.run(
            ["init", "--name", "Work"],
            answers: ["keycloak", "https://sso.example", "wrong", "https://sso.example", "staff"],
            endsAfterAnswers: true)
        #expect(outcome.notices.contains("HTTP status 404"), "\(outcome.notices)")
        #expect(outcome.notices.contains("Register an application at Keycloak"), "\(outcome.notices)")
        #expect(outcome.notices.contains("https://www.keycloak.org/securing-apps/oidc-layers"))
        #expect(outcome.notices.contains("scopes        openid profile email"), "\(outcome.notices)")
    }

    @Test func `a failed sign-in leaves nothing, and another client ID is tried`() throws {
        scene.transport.serve("https://op.example/token", json: #"{"error": "invalid_client"}"#, status: 401)
        let failed = scene.run(
            ["init", "--name", "Work"], answers: ["other", "op.example", "wrong", ""], endsAfterAnswers: true)
        #expect(failed.status == 7, "\(failed.notices)")
        #expect(failed.notices.contains("credmgr: error: the provider refused the client"), "\(failed.notices)")
        #expect(!failed.notices.contains("credmgr types show"), "the type is not saved: \(failed.notices)")
        #expect(definition("Work") == nil && scene.machine.accounts().isEmpty)
    }

    @Test func `a tenant's domain is resolved by its metadata`() {
        scene.transport.serve(
            "https://login.microsoftonline.com/contoso.com/v2.0/.well-known/openid-configuration",
            json:
                #"{"issuer": "https://login.microsoftonline.com/7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77/v2.0", "authorization_endpoint": "https://login.microsoftonline.com/authorize", "token_endpoint": "https://login.microsoftonline.com/token"}"#
        )
        serve("https://login.microsoftonline.com/7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77/v2.0")
        let outcome = scene.run(["init"], answers: ["entra-id", "contoso.com"], endsAfterAnswers: true)
        #expect(outcome.notices.contains("The ID of this tenant is 7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77."))
        #expect(outcome.notices.contains("http://localhost (with any port)"), "\(outcome.notices)")
        let added = scene.run(
            "types", "add", "Staff", "--preset", "entra-id", "--tenant", "contoso.com", "--client-id", "app")
        #expect(added.status == 0 && definition("Staff")?.contains("7d3c1e0a") == true, "\(added.notices)")
    }

    @Test func `a policy that a B2C tenant does not have is asked for again`() {
        scene.transport.serve(
            "https://exampleb2c.b2clogin.com/exampleb2c.onmicrosoft.com/B2C_1_wrong/v2.0/.well-known/openid-configuration",
            json: "{}", status: 404)
        let outcome = scene.run(
            ["init"], answers: ["azure-b2c", "exampleb2c.onmicrosoft.com", "B2C_1_wrong"], endsAfterAnswers: true)
        #expect(outcome.notices.contains("or its tenant not found"), "\(outcome.notices)")
    }

    @Test func `a registered client is saved with its type`() throws {
        serve("https://op.example", more: #", "registration_endpoint": "https://op.example/register""#)
        scene.transport.serve(
            "https://op.example/register", json: #"{"client_id": "made", "token_endpoint_auth_method": "none"}"#,
            status: 201)
        let outcome = scene.run(["init", "--name", "Work"], answers: ["other", "op.example", ""])
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(try #require(definition("Work")).contains(#""client_id": "made""#))
        #expect(outcome.notices.contains("credmgr types add Work --issuer https://op.example --register\n"))
    }

    // MARK: What is confirmed

    private static let leaking = #""client_secret": {"command": ["leak"]}, "issuer": "https://op.example""#

    /// Whether the command of the definition was run, or anything sent to the token endpoint.
    private var hasLeaked: Bool {
        scene.programs.started.contains { $0.first?.hasSuffix("leak") == true }
            || scene.transport.requests.contains { $0.address.path == "/token" }
    }

    @Test func `a command of a file is asked about before the sign-in, and a no leads back to the file`() throws {
        scene.programs.install("leak") { _, _ in ProcessResult(output: Array("s3cret\n".utf8), exitStatus: 0) }
        let file = "/memory/home/evil.json"
        scene.machine.setFile(file, #"{"adapter": "oauth2", "client_id": "app", \#(Self.leaking)}"#)
        let refused = scene.run(["init", "--name", "Work"], answers: ["plist", file, "n"], endsAfterAnswers: true)
        #expect(refused.status == 7, "\(refused.notices)")
        #expect(
            refused.notices.contains("nothing was defined: client_secret of \(file) is not confirmed"),
            "\(refused.notices)")
        #expect(!hasLeaked && definition("Work") == nil)
        #expect(!refused.notices.contains("Register an application"), "\(refused.notices)")
        let outcome = scene.run(["init", "--name", "Work"], answers: ["plist", file, "n", file, "y"])
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(hasLeaked && definition("Work") != nil)
        #expect(outcome.notices.contains("types import \(file) --name Work --trust\n"), "\(outcome.notices)")
        #expect(scene.run("types", "trust", "Work").notices.contains("confirmed already"))
    }

    @Test func `a command of a foreign preset is asked about before the sign-in`() throws {
        scene.programs.install("leak") { _, _ in ProcessResult(output: Array("s3cret\n".utf8), exitStatus: 0) }
        scene.machine.setFile(
            "/memory/presets/foreign.json",
            #"{"title": "Foreign", "summary": "one of another program", "definition": {"adapter": "oauth2", "identity_token": {"command": ["leak"]}, "issuer": "https://op.example"}}"#
        )
        let refused = scene.run(
            ["init", "--name", "Work"], answers: ["foreign", "n"], endsAfterAnswers: true)
        #expect(refused.status == 7, "\(refused.notices)")
        #expect(
            refused.notices.contains("nothing was defined: identity_token of Foreign is not confirmed"),
            "\(refused.notices)")
        #expect(!hasLeaked && definition("Work") == nil)
        let outcome = scene.run(["init", "--name", "Work"], answers: ["foreign", "n", "foreign", "y", "app"])
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(hasLeaked)
        #expect(outcome.notices.contains("--preset foreign --trust --client-id app\n"), "\(outcome.notices)")
    }

    // MARK: What to register

    @Test(arguments: [
        ("urn:ietf:wg:oauth:2.0:oob", false), ("myapp://cb", false), ("http://127.0.0.1:8400/cb", false),
        ("http://127.0.0.1/cb", true),
    ])
    func `the redirect URI is that of the sign-in, and only a loopback one has any port`(uri: String, isFree: Bool)
    {
        let file = "/memory/home/app.json"
        scene.machine.setFile(
            file,
            #"{"adapter": "oauth2", "client_id": "app", "issuer": "https://op.example", "redirect_uri": "\#(uri)"}"#
        )
        let shown = scene.run(["init"], answers: ["plist", file], endsAfterAnswers: true).notices
        #expect(shown.contains("redirect URI  \(uri)\(isFree ? " (with any port)" : "")\n"), "\(shown)")
    }

    @Test func `what to register is shown only after a no to a registration`() {
        serve("https://op.example", more: #", "registration_endpoint": "https://op.example/register""#)
        for (answers, isShown) in [(["other", "op.example"], false), (["other", "op.example", "n"], true)] {
            let shown = scene.run(["init"], answers: answers, endsAfterAnswers: true).notices
            #expect(shown.contains("Register an application at https://op.example:") == isShown, "\(shown)")
        }
    }

    // MARK: Who begins it

    @Test func `login and types add without arguments begin it if there is no type and a terminal`() {
        for words in [["login"], ["types", "add"]] {
            let outcome = scene.run(words, answers: ["other", "op.example", "app", "", "Work"])
            #expect(outcome.status == 0 && outcome.notices.contains("Which provider?"), "\(outcome.notices)")
            #expect(scene.run("logout", "--type", "Work").status == 0)
            #expect(scene.run("types", "remove", "Work").status == 0)
        }
        scene.define()
        scene.expectBrowser("ada")
        let login = scene.run(["login"], answers: [])
        #expect(login.status == 0 && !login.notices.contains("Which provider?"), "\(login.notices)")
        let add = scene.run(["types", "add"], answers: [])
        #expect(add.status == 2 && add.notices.contains("NAME and --client-id are missing"), "\(add.notices)")
        #expect(add.notices.contains("hint: credmgr init\n"))
    }

    @Test func `login with a URL and no client asks for what is missing`() {
        let outcome = scene.run(["login", "https://op.example", "--name", "Work"], answers: ["app", ""])
        #expect(outcome.status == 0 && !outcome.notices.contains("Which provider?"), "\(outcome.notices)")
        #expect(definition("Work") != nil)
    }

    @Test func `without a terminal init exits with 2 and shows the commands`() {
        for words in [["init"], ["init", "--no-input"]] {
            let outcome = scene.run(words, answers: words.count == 1 ? nil : [])
            #expect(outcome.status == 2)
            #expect(outcome.notices.contains("for example: credmgr login https://login.example.com --client-id"))
            #expect(outcome.notices.contains("for example: credmgr types add Work --issuer https://login.example"))
        }
        for words in [["login"], ["types", "add"]] { #expect(scene.run(words).status == 2) }
        #expect(scene.transport.requests.isEmpty)
    }

    @Test func `a name that is taken is refused before the first question`() {
        scene.define()
        let outcome = scene.run(["init", "--name", "Tasks"], answers: [])
        #expect(outcome.status == 2 && outcome.notices.contains("account type 'Tasks' is already defined"))
    }

    @Test func `the end of the answers at any question leaves nothing`() {
        let answers = ["other", "op.example", "app", "", "Work"]
        for count in 0..<answers.count {
            let outcome = scene.run(["init"], answers: Array(answers.prefix(count)), endsAfterAnswers: true)
            #expect(outcome.status == 7, "\(outcome.notices)")
            #expect(
                scene.machine.accounts().isEmpty && definition("Work") == nil && definition("op.example") == nil)
        }
    }

    @Test func `google without a secret fails at once`() {
        let outcome = scene.run("types", "add", "G", "--preset", "google", "--client-id", "app")
        #expect(outcome.status == 2 && outcome.notices.contains("the preset google requires the client secret"))
        #expect(
            outcome.notices.contains(
                "hint: credmgr types add G --preset google --client-id app --client-secret-file -\n"))
        #expect(definition("G") == nil)
    }
}

/// Percent-coding of a query, as far as these tests need it.
private enum FormCodingText {
    static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import TestCommands
import TestPorts
import Testing

/// Hints that once led the wrong way: each names the right remedy.
@Suite struct RemedyTests {
    private let scene = CommandScene(cryptography: LibCryptography(), environment: ["NO_COLOR": "1"])

    init() { scene.machine.add(GenericOAuth2Adapter()) }

    private func hint(_ words: String..., status: Int32 = 2) -> String {
        let outcome = scene.run(words)
        #expect(outcome.status == status, "\(outcome.notices)")
        return outcome.notices.split(separator: "\n").filter { $0.hasPrefix("credmgr: hint: ") }
            .map { String($0.dropFirst("credmgr: hint: ".count)) }.joined(separator: "\n")
    }

    // MARK: Words without a place

    @Test func `a word that is an account leads to --account, and one that is a type to --type`() {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let id = scene.machine.accounts()[0].id
        #expect(scene.run("label", id, "alice").status == 0)
        for command in ["token", "logout", "claims", "login"] {
            #expect(hint(command, "alice") == "credmgr \(command) --account alice")
            #expect(hint(command, "ada@example.com") == "credmgr \(command) --account ada@example.com")
            #expect(hint(command, "Tasks") == "credmgr \(command) --type Tasks")
        }
        #expect(scene.run("token", "--account", "alice").output == "access-ada-1\n")
        // A word that is neither may be a token.
        let secret = scene.run("token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEiLCJpc3MiOiJvcCJ9.c2ln")
        #expect(secret.status == 2 && !secret.notices.contains("eyJ"), "\(secret.notices)")
    }

    @Test func `a command below a word of another program is named without the word`() {
        #expect(hint("auth", "login") == "did you mean 'credmgr login'?")
        #expect(hint("auth", "types", "add", "x") == "did you mean 'credmgr types add'?")
        #expect(hint("tokne") == "did you mean 'credmgr token'?")
    }

    @Test func `all missing arguments are named at once`() {
        let outcome = scene.run("request")
        #expect(outcome.status == 2 && outcome.notices.contains("error: METHOD and URL are missing"))
        #expect(scene.run("label").notices.contains("error: ACCOUNT and TEXT are missing"))
    }

    @Test func `request with a URL alone gets a method in front of it`() {
        #expect(
            hint("request", "https://api.example/x", "--type", "T")
                == "credmgr request GET https://api.example/x --type T")
        #expect(hint("request", "--type", "T", "/x") == "credmgr request --type T GET /x")
        #expect(hint("request", "GET") == "credmgr request --help")
    }

    // MARK: Options of another command

    @Test func `types set with an option of types add names the key`() {
        scene.define()
        #expect(hint("types", "set", "Tasks", "--scope", "openid x") == "credmgr types set Tasks 'scope=openid x'")
        #expect(
            hint("types", "set", "Tasks", "--api-base=https://api.example/")
                == "credmgr types set Tasks api_base=https://api.example/")
        #expect(hint("types", "set", "--scope", "x").contains("scope=…"))
        #expect(scene.run("types", "set", "Tasks", "scope=openid x").status == 0)
    }

    @Test func `token --json leads to the form of the output`() {
        #expect(hint("token", "--json", "--type", "T") == "credmgr token --format json --type T")
    }

    @Test func `a part of the names of presets names them all`() {
        #expect(
            hint("types", "add", "E", "--preset", "entra", "--client-id", "c")
                == "did you mean one of entra-external-id, entra-id?")
        #expect(hint("types", "add", "E", "--preset", "b2c", "--client-id", "c") == "did you mean 'azure-b2c'?")
        #expect(
            hint("types", "add", "E", "--preset", "keycloack", "--client-id", "c") == "did you mean 'keycloak'?")
    }

    @Test func `setup without a server names a whole command`() {
        scene.define()
        #expect(hint("setup", "docker").hasSuffix("credmgr setup docker --host git.example.com"))
    }

    // MARK: Accounts

    @Test func `accounts of several types lead to --type`() {
        for (type, client) in [("Home", "h"), ("Work", "w")] {
            scene.machine.setFile(
                "/memory/types/\(type).json", #"{"adapter": "memory", "client_id": "\#(client)", "scope": "read"}"#)
        }
        for person in ["ada", "bob"] { #expect(scene.signIn(person, to: "Home").status == 0) }
        #expect(scene.signIn("eve", to: "Work").status == 0)
        let hint = hint("token", status: 3)
        #expect(hint == "use --type, or choose a type for this terminal, such as: export CREDMGR_TYPE=Work")
        #expect(scene.run("token", "--type", "Work").output.hasPrefix("access-eve"))
    }

    @Test func `logout --all asks on a terminal, and names the whole command without one`() {
        scene.define()
        for person in ["ada", "bob"] { #expect(scene.signIn(person).status == 0) }
        #expect(hint("logout", "--type", "Tasks", "--all") == "credmgr logout --type Tasks --all --yes")
        for answer in ["", "n", "perhaps"] {
            let outcome = scene.run(["logout", "--type", "Tasks", "--all"], answers: [answer])
            #expect(outcome.status == 7 && outcome.notices.contains("account was forgotten"), "\(outcome.notices)")
        }
        #expect(scene.machine.accounts().count == 2)
        #expect(scene.run(["logout", "--type", "Tasks", "--all"], answers: ["y"]).status == 0)
        #expect(scene.machine.accounts().isEmpty)
    }

    // MARK: APIs

    @Test func `an origin that may not have the token is allowed by the command of the hint`() {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let command = "credmgr types set Tasks api_base=https://api.example"
        #expect(
            hint("request", "GET", "https://api.example/x", "--type", "Tasks", status: 7).hasSuffix(": \(command)"))
        #expect(hint("request", "GET", "/x", "--type", "Tasks").hasSuffix(": \(command).com"))
        #expect(scene.run("types", "set", "Tasks", "api_base=https://api.example").status == 0)
        scene.transport.serve("https://api.example/x", json: "{}")
        #expect(scene.run("request", "GET", "https://api.example/x", "--type", "Tasks").output == "{}")
        // Another origin beside an api_base takes a decision of the user's.
        #expect(
            !hint("request", "GET", "https://evil.example/", "--type", "Tasks", status: 7).contains("api_base="))
    }

    // MARK: Providers

    @Test func `an issuer with a slash too many, or of its metadata, is corrected by types add`() {
        scene.transport.serve(
            "https://op.example/.well-known/openid-configuration",
            json:
                #"{"issuer": "https://op.example", "authorization_endpoint": "https://op.example/a", "token_endpoint": "https://op.example/t"}"#
        )
        for (name, url, more) in [
            ("A", "https://op.example/", []), ("B", "https://op.example/.well-known/openid-configuration", []),
            ("C", "https://op.example/", ["--scope", "openid"]),
            ("D", "https://op.example/.well-known/openid-configuration", ["--offline"]),
        ] as [(String, String, [String])] {
            let outcome = scene.run(["types", "add", name, "--issuer", url, "--client-id", "c"] + more)
            #expect(outcome.status == 0, "\(outcome.notices)")
            #expect(outcome.notices.contains("the issuer is https://op.example, not \(url)"), "\(outcome.notices)")
            #expect(
                scene.machine.file("/memory/types/\(name).json")?.contains(#""issuer": "https://op.example""#)
                    == true)
        }
    }

    @Test func `a wrong URL or realm of Keycloak fails at types add, and the options are named`() {
        for path in [
            "/realms/wrong/.well-known/openid-configuration",
            "/.well-known/oauth-authorization-server/realms/wrong",
            "/.well-known/openid-configuration/realms/wrong",
        ] {
            scene.transport.serve("https://sso.example\(path)", json: "{}", status: 404)
        }
        let words = [
            "types", "add", "K", "--preset", "keycloak", "--set", "url=https://sso.example", "--set", "realm=wrong",
            "--client-id", "c",
        ]
        let outcome = scene.run(words)
        #expect(outcome.status == 2, "\(outcome.notices)")
        #expect(
            outcome.notices.contains("hint: check the values of --set url, --set realm\n"), "\(outcome.notices)")
        #expect(scene.machine.file("/memory/types/K.json") == nil)
        #expect(scene.run(words + ["--offline"]).status == 0)
    }

    @Test func `a certificate that is not trusted keeps its own hint`() {
        for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
            scene.transport.serve(
                "https://op.example\(path)",
                .failure(CredentialError(.denied, "the certificate does not hold", hint: "name its authority")))
        }
        #expect(
            hint("types", "add", "A", "--issuer", "https://op.example", "--client-id", "c", status: 7)
                == "name its authority")
    }

    @Test func `a public client that is refused is told of the secret that it may have`() {
        scene.machine.setFile(
            "/memory/types/Work.json",
            #"{"adapter": "oauth2", "client_id": "c", "flow": "device", "device_authorization_endpoint": "https://op.example/d", "token_endpoint": "https://op.example/t"}"#
        )
        scene.transport.serve("https://op.example/d", json: #"{"error": "invalid_client"}"#, status: 401)
        let hint = hint("login", "--type", "Work")
        #expect(
            hint.contains("if the client has a secret: credmgr types set Work --client-secret-file -"), "\(hint)")
    }

    // MARK: Browsers

    @Test func `a browser that does not start is not said to open`() {
        let scene = CommandScene(
            cryptography: LibCryptography(), environment: ["NO_COLOR": "1", "BROWSER": "missing"])
        scene.define()
        scene.programs.refuse("missing", with: CredentialError(.inputOutput, "cannot start missing: not found"))
        scene.redirects.visit { "http://127.0.0.1/?state=x&code=ada" }
        let outcome = scene.run("login", "--type", "Tasks")
        #expect(outcome.notices.contains("cannot start the browser"), "\(outcome.notices)")
        #expect(outcome.notices.contains("Open this address to sign in:"), "\(outcome.notices)")
        #expect(!outcome.notices.contains("opens in the browser"))
    }

    @Test(
        arguments: [
            ["request", "https://api.example.com/a", "--form", "password=geheim"],
            ["request", "https://api.example.com/a", "--header", "X-Key:geheim"],
            ["request", "https://api.example.com/a?key=geheim"],
        ])
    func `a hint repeats no header, field or query of a request`(_ words: [String]) {
        let outcome = CommandScene(cryptography: LibCryptography()).run(words)
        #expect(outcome.status == 2 && !outcome.notices.contains("geheim"), "\(outcome.notices)")
    }

    @Test func `a hint repeats no word that is cut`() {
        let long = "https://api.example.com/" + String(repeating: "x", count: 600)
        for words in [["request", long], ["token", "--json", "--audience", long]] {
            #expect(!CommandScene(cryptography: LibCryptography()).run(words).notices.contains("…"), "\(words[0])")
        }
    }
}

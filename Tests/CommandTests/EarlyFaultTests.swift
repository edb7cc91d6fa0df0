import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON
import TestCommands
import TestPorts
import Testing

@testable import Commands

/// Known faults are reported before the user is asked for anything, and with a remedy.
@Suite struct EarlyFaultTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    @Test func `the URL of a sign-in is an object if JSON is requested`() throws {
        scene.define()
        let plain = scene.run("login", "--type", "Tasks", "--print-url")
        #expect(plain.status == 0 && plain.output.hasPrefix(MemoryProvider.issuer))
        let outcome = scene.run("login", "--type", "Tasks", "--print-url", "--json")
        let url = try JSONValue.parse(Array(outcome.output.utf8)).object?["url"]?.string
        #expect(url?.hasPrefix(MemoryProvider.issuer) == true)
    }

    @Test func `an invalid policy name is a usage error, even if no user is signed in`() {
        scene.define()
        for words in [["token"], ["claims"], ["exec"], ["login"]] {
            let command = words == ["exec"] ? ["--", "true"] : []
            let outcome = scene.run(words + ["--type", "Tasks", "--policy", "bad name"] + command)
            #expect(outcome.status == 2, "\(words)")
            #expect(outcome.notices.contains("--policy must be 1 to 128 letters"), "\(outcome.notices)")
        }
    }

    @Test(arguments: [#"{"env": "SECR"}"#, #"{"store": true}"#, #"{"file": "/none"}"#, #"{"file": "~/none"}"#])
    func `a client's secret that is missing is told before the browser opens`(source: String) {
        scene.define("Tasks", #""client_secret": \#(source)"#)
        let outcome = scene.run("login", "--type", "Tasks", "--no-browser", input: "\n")
        #expect(outcome.status == 2, "\(outcome.notices)")
        #expect(outcome.notices.contains("the client_secret of account type Tasks"))
        #expect(!outcome.notices.contains("\(MemoryProvider.issuer)/authorize"))
        #expect(scene.machine.events.isEmpty)
    }

    @Test(arguments: ["client_secret", "private_key", "identity_token"])
    func `a file with a secret is named from the root or from home`(key: String) {
        scene.define("Tasks", #""\#(key)": {"file": "secret.txt"}"#)
        let outcome = scene.run("types", "show", "Tasks")
        #expect(outcome.status == 2)
        #expect(outcome.notices.contains("\(key)' must be an absolute path"), "\(outcome.notices)")
    }

    @Test func `the default account of another client of the provider is known`() throws {
        scene.define()
        scene.machine.setFile("/memory/types/Other.json", #"{"adapter": "memory", "client_id": "o"}"#)
        for person in ["ada", "bob"] { #expect(scene.signIn(person).status == 0) }
        func known() throws -> String? {
            let session = try scene.session()
            let type = try TargetResolver(session).type(named: "Other")
            let request = SignInRequest(
                type: type, flow: .code, policy: "", scope: [], redirectURI: "http://127.0.0.1")
            return try SignInPlan.knownUser(
                for: request, scene.machine.provider, among: session.context.records.index(of: .standard, .none))
        }
        #expect(try known() == "ada@example.com")
        #expect(scene.run("use", "bob").status == 0)
        #expect(try known() == "bob@example.com")
    }

    @Test func `claims that are none are a fault of the call`() {
        scene.define()
        for words in [["--param", "claims=x"], ["--claims", "x"]] {
            let outcome = scene.run(["login", "--type", "Tasks", "--no-browser"] + words)
            #expect(outcome.status == 2 && outcome.notices.contains("the requested claims must be a JSON object"))
        }
    }

    @Test func `a password is a line of standard input if no terminal can prompt`() throws {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let ada = try #require(scene.machine.accounts().first).id
        let words = ["login", "--account", ada, "--flow", "password"]
        #expect(scene.run(words + ["--username", "ada"], input: "p\n").status == 0)
        let none = scene.run(words, input: "")
        #expect(none.status == 2 && none.notices.contains("a line of standard input"))
        let other = scene.run(words + ["--username", "bob"], input: "p\n")
        #expect(other.status == 7)
        // That is for a page, which this flow has not.
        #expect(!other.notices.contains("--prompt"), "\(other.notices)")
    }

    @Test func `an account without its type is kept by --revoke, and removed by --force`() throws {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let ada = try #require(scene.machine.accounts().first).id
        #expect(scene.run("types", "remove", "Tasks").status == 0)
        let kept = scene.run("logout", "--account", ada, "--revoke")
        #expect(kept.status == 2)
        #expect(
            kept.notices.hasSuffix("hint: credmgr logout --account \(ada) --group default --revoke --force\n"))
        #expect(scene.run("logout", "--account", ada, "--group", "default", "--revoke", "--force").status == 0)
        #expect(scene.machine.accounts().isEmpty)
    }

    @Test func `an output that is none, and standard output`() {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let none = scene.run("token", "--type", "Tasks", "--output", "")
        #expect(none.status == 2 && none.notices.contains("--output must name a file"))
        #expect(scene.run("token", "--type", "Tasks", "--output", "-").output.hasPrefix("access-ada"))
        #expect(scene.run("token", "--type", "Tasks", "--output", "-", "--keep").status == 2)
    }

    @Test func `az takes several scopes behind its option`() throws {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let az = ["az", "account", "get-access-token", "--type", "Tasks"]
        #expect(scene.run(az + ["--scope", "a", "b", "-o", "tsv"]).status == 0)
        #expect(scene.machine.provider.refreshes.last?.key.scope.contains("b") == true)
        #expect(scene.run(az + ["b"]).notices.contains("scopes must follow --scope"))
    }

    @Test func `an AWS response is parsed as XML`() throws {
        let said =
            "<Error><Code>Denied</Code><Message>no &lt;role&gt; of a&amp;lt;b &quot;x&quot;</Message></Error>"
        let error = #expect(throws: CredentialError.self) {
            try STSReply(HTTPResponse(status: 403, body: Array(said.utf8)), place: "https://sts.example")
        }
        #expect(error?.message.contains(#"no <role> of a&lt;b "x""#) == true)
    }
}

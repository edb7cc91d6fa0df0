import CredentialCore
import CryptoSupport
import StrictJSON
import TestCommands
import TestPorts
import Testing

/// A definition that the user has not confirmed shares accounts, and does not decide to which addresses their
/// tokens go.
@Suite struct DefinitionTrustTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    private static let evil = "https://evil.example"

    init() {
        scene.define("Tasks", #""scope": "read", "api_base": "https://api.example.com/""#)
    }

    /// Imports a definition of the same client.
    private func importing(
        _ members: String = #""api_base": "https://evil.example/", "api_origins": ["https://git.evil.example"]"#,
        name: String = "Evil", _ more: String..., answers: [String]? = nil
    ) -> CommandScene.Outcome {
        scene.machine.setFile(
            "/memory/home/\(name).json", #"{"adapter": "memory", "client_id": "c", \#(members)}"#)
        return scene.run(["types", "import", "/memory/home/\(name).json"] + more, answers: answers)
    }

    private func get(_ address: String, type: String) -> CommandScene.Outcome {
        scene.transport.answer(.success(HTTPResponse(status: 200, headers: [], body: Array("ok".utf8))))
        return scene.run("request", "GET", address, "--type", type)
    }

    private func expectRefusal(_ type: String = "Evil", at address: String = "https://evil.example/x") {
        let outcome = scene.run("request", "GET", address, "--type", type)
        #expect(outcome.status == 7 && outcome.output.isEmpty, "\(outcome.notices)")
        #expect(outcome.notices.hasSuffix("hint: credmgr types trust \(type)\n"), "\(outcome.notices)")
        #expect(outcome.notices.contains("account type \(type) is not confirmed"), "\(outcome.notices)")
    }

    @Test func `an imported definition gives no other type's tokens new destinations until the user confirms it`()
        throws
    {
        #expect(scene.signIn("ada").status == 0)
        let id = try #require(scene.machine.accounts().first?.id)
        let imported = importing()
        #expect(imported.status == 0, "\(imported.notices)")
        #expect(
            imported.notices.contains("the type sees the account ada@example.com (\(id)), signed in under Tasks"))
        #expect(
            imported.notices.contains(
                "tokens of its accounts may go to https://evil.example, https://git.evil.example"))
        // Single sign-on is as before.
        #expect(scene.run("token", "--type", "Evil").output.hasPrefix("access-ada-"))
        expectRefusal()
        let git = scene.run("git-credential", "get", input: "protocol=https\nhost=git.evil.example\n\n")
        #expect(git.status == 7 && git.output.isEmpty, "\(git.notices)")
        #expect(git.notices.contains("credmgr types trust Evil"))
        #expect(scene.transport.requests.isEmpty)
        // The place that the account's own definition names is no wider.
        #expect(get("https://api.example.com/x", type: "Tasks").status == 0)

        // A change by a command does not confirm a definition.
        #expect(scene.run("types", "set", "Evil", "scope=read write").status == 0)
        expectRefusal()
        let trusted = scene.run("types", "trust", "Evil")
        #expect(
            trusted.status == 0 && trusted.notices.contains("may go to https://evil.example"), "\(trusted.notices)")
        #expect(get("https://evil.example/x", type: "Evil").status == 0)
        #expect(
            scene.run("git-credential", "get", input: "protocol=https\nhost=git.evil.example\n\n").output
                .contains("password=access-ada-"))
        #expect(scene.run("types", "trust", "Evil").notices.contains("confirmed already"))
        // Another definition in its place has to be confirmed again.
        #expect(importing(#""api_base": "https://evil.example/other""#, "--force").status == 0)
        expectRefusal()
    }

    @Test func `an import that takes the place of the account's own definition directs nothing of it`() throws {
        #expect(scene.signIn("ada").status == 0)
        scene.machine.clock.pass(10)
        #expect(importing(#""api_base": "https://evil.example/""#, name: "Tasks", "--force").status == 0)
        expectRefusal("Tasks")
        // An account that is signed in under it after that is its own.
        #expect(scene.signIn("bob").status == 0)
        scene.transport.answer(.success(HTTPResponse(status: 200, headers: [], body: [])))
        #expect(scene.run("request", "GET", "x", "--type", "Tasks", "--account", "bob@example.com").status == 0)
    }

    @Test func `definitions of the user, of root and of a checked preset count as confirmed, others do not`() throws
    {
        #expect(scene.signIn("ada").status == 0)
        let definition = #"{"adapter": "memory", "client_id": "c", "api_base": "https://other.example/"}"#
        scene.machine.setFile("/memory/types/Mine.json", definition)
        scene.machine.setFile("/usr/share/credmgr/types/Packaged.json", definition)
        scene.machine.setFile("/opt/other/credmgr/types/Foreign.json", definition)
        #expect(
            scene.run(
                "types", "add", "Added", "--adapter", "memory", "--client-id", "c", "--api-base",
                "https://other.example/"
            ).status == 0)
        for type in ["Mine", "Packaged", "Added"] {
            let outcome = get("https://other.example/x", type: type)
            #expect(outcome.status == 0, "\(type): \(outcome.notices)")
        }
        expectRefusal("Foreign", at: "https://other.example/x")
        // Nor does a change of it by a command make it the user's word.
        #expect(scene.run("types", "set", "Foreign", "scope=read").status == 0)
        expectRefusal("Foreign", at: "https://other.example/x")
        #expect(scene.run("types", "trust", "Foreign").status == 0)
        #expect(get("https://other.example/x", type: "Foreign").status == 0)
        // An imported definition that is rewritten by hand is the user's own.
        #expect(importing(#""api_base": "https://other.example/""#, name: "Again").status == 0)
        expectRefusal("Again", at: "https://other.example/x")
        scene.machine.setFile("/memory/types/Again.json", definition)
        #expect(get("https://other.example/x", type: "Again").status == 0)
    }

    @Test func `a confirmation is the digest of the file, which a configuration manager may write`() throws {
        #expect(scene.signIn("ada").status == 0)
        #expect(importing().status == 0)
        let file = try #require(scene.machine.file("/memory/types/Evil.json"))
        let digest = try LibCryptography().sha256(Array(file.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        scene.machine.setFile("/memory/trusted.json", #"{"\#(digest)": "Evil"}"#)
        #expect(get("https://evil.example/x", type: "Evil").status == 0)
        // Files that have lost their content do not confirm a definition.
        scene.machine.setFile("/memory/trusted.json", "{")
        expectRefusal()
    }

    // MARK: Commands, files and variables

    @Test(arguments: [
        (
            #""client_secret": {"command": ["pass", "show", "a b"]}"#,
            "client_secret: the output of the command pass show 'a b'"
        ),
        (#""client_secret": {"env": "NPM_TOKEN"}"#, "client_secret: the variable NPM_TOKEN"),
        (
            #""identity_token": {"file": "/home/ada/.netrc"}"#,
            "identity_token: the content of the file /home/ada/.netrc"
        ),
        (
            #""identity_token": {"github_actions": {"audience": "A"}}"#,
            "identity_token: an identity token of GitHub Actions for A (variables ACTIONS_ID_TOKEN_REQUEST_URL,"
        ),
        (
            #""identity_token": {"azure_devops": {"service_connection": "C"}}"#,
            "identity_token: an identity token of Azure DevOps for C (variables SYSTEM_OIDCREQUESTURI,"
        ),
        (
            #""private_key": {"file": "/home/ada/.ssh/id"}"#,
            "private_key: the content of the file /home/ada/.ssh/id"
        ),
        (#""tls_client_certificate": "/c.pem", "tls_client_key": "/k.pem""#, "tls_client_key: the file /k.pem"),
    ])
    func `an import shows the local sources and the destinations of a definition, and requires confirmation`(
        members: String, shown: String
    ) throws {
        let members = members + #", "token_endpoint": "https://evil.example/token""#
        let refused = importing(members)
        #expect(refused.status == 2, "\(refused.notices)")
        #expect(refused.notices.contains(shown), "\(refused.notices)")
        #expect(refused.notices.contains("https://evil.example/token"), "\(refused.notices)")
        #expect(refused.notices.contains("types import /memory/home/Evil.json --trust"), "\(refused.notices)")
        // Without notes the question and the error still show it.
        let quiet = importing(members, "--quiet")
        #expect(quiet.status == 2 && quiet.notices.contains(shown), "\(quiet.notices)")
        #expect(importing(members, answers: ["n"]).status == 7)
        #expect(scene.machine.file("/memory/types/Evil.json") == nil)
        #expect(importing(members, answers: ["y"]).status == 0)
        #expect(scene.run("types", "trust", "Evil").notices.contains("confirmed already"))
        #expect(importing(members, name: "Other", "--trust").status == 0)
        #expect(scene.run("types", "trust", "Other").notices.contains("confirmed already"))
        let json = try JSONValue.parse(importing(members, name: "Third", "--trust", "--json").output).object
        #expect(json?["uses"]?.array?.contains { $0.string?.hasPrefix(shown) ?? false } == true)
    }

    @Test func `an import without commands, files and variables asks nothing`() {
        #expect(importing(#""scope": "read""#, answers: []).status == 0)
    }

    @Test func `a preset in another program's directory requires confirmation for the values that it reads`() {
        scene.machine.setFile(
            "/memory/presets/foreign.json",
            #"{"title": "Foreign", "summary": "one of another program", "definition": {"adapter": "memory", "identity_token": {"command": ["leak"]}}}"#
        )
        let words = ["types", "add", "Foreign", "--preset", "foreign", "--client-id", "c"]
        let refused = scene.run(words)
        #expect(refused.status == 2 && refused.notices.contains("--trust"), "\(refused.notices)")
        #expect(scene.run(words, answers: ["n"]).status == 7)
        #expect(scene.machine.file("/memory/types/Foreign.json") == nil)
        #expect(scene.run(words + ["--trust"]).status == 0)
    }

    @Test func `a command of a definition that is not confirmed is not run`() {
        scene.machine.setFile(
            "/opt/other/credmgr/types/Foreign.json",
            #"{"adapter": "memory", "client_id": "c", "client_secret": {"command": ["leak"]}}"#)
        let services = try? scene.session()
        let type = try? services?.catalog.definition(of: "Foreign").type
        guard let services, let type else {
            Issue.record("the definition cannot be read")
            return
        }
        let secrets = services.services(services.stores()).adapterContext.clientSecrets
        let error = #expect(throws: CredentialError.self) { try secrets.clientSecret(of: type) }
        #expect(error?.code == .denied && error?.hint == "credmgr types trust Foreign")
        // The variables of a platform are not read, either.
        var workload = type
        workload.identityToken = .githubActions(audience: "A")
        let variables = #expect(throws: CredentialError.self) { try secrets.identityTokenRequest(of: workload) }
        #expect(variables?.code == .denied && variables?.hint == "credmgr types trust Foreign")
    }

    // MARK: What a store keeps

    @Test func `doctor lists a stored secret that no account type uses any more`() throws {
        let file = "/memory/home/secret"
        scene.machine.setFile(file, "s3cret-value\n")
        #expect(scene.run("types", "set", "Tasks", "--client-secret-file", file).status == 0)
        let item = SecretItem(
            group: .standard, owner: "\(MemoryProvider.issuer) client_id=c", kind: .clientSecret)
        let place = try #require(
            [StoreKind.file, .secretService].first { scene.machine.item(item, in: $0) != nil })
        #expect(!scene.run("doctor").output.contains("no account type uses"))
        // Another client under the same name does not get it, and it is kept.
        scene.machine.setFile(
            "/memory/home/Tasks.json",
            #"{"adapter": "memory", "client_id": "other", "client_secret": {"store": true}}"#)
        #expect(scene.run("types", "import", "/memory/home/Tasks.json", "--force").status == 0)
        let session = try scene.session(), type = try session.catalog.definition(of: "Tasks").type
        let secrets = session.services(session.stores()).adapterContext.clientSecrets
        let error = #expect(throws: CredentialError.self) { try secrets.clientSecret(of: type) }
        #expect(error?.code == .configuration)
        #expect(scene.machine.item(item, in: place) != nil)
        let doctor = scene.run("doctor")
        #expect(doctor.output.contains("client-secret of \(MemoryProvider.issuer) client_id=c"), "\(doctor.output)")
    }
}

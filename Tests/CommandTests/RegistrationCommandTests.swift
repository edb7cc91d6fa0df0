import AzureB2CAdapter
import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import StrictJSON
import TestCommands
import TestPorts
import Testing

/// Which definitions share their accounts, and how accounts change when a definition names another provider or
/// client.
@Suite struct RegistrationCommandTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    init() {
        scene.machine.add(GenericOAuth2Adapter())
        scene.machine.add(AzureB2CAdapter())
    }

    private static let metadata =
        #"{"issuer": "https://op.example", "token_endpoint": "https://op.example/token", "revocation_endpoint": "https://op.example/revoke"}"#

    private func define(_ name: String, _ members: String) {
        scene.machine.setFile(
            "/memory/types/\(name).json",
            #"{"adapter": "oauth2", "client_id": "app", "client_secret": "s", "flow": "client_credentials", \#(members)}"#
        )
    }

    private func answer(_ body: String, status: Int = 200) {
        scene.transport.answer(
            .success(
                HTTPResponse(
                    status: status, headers: [("content-type", "application/json")], body: Array(body.utf8))))
    }

    /// Signs in under a type.
    ///
    /// - Returns: the account's ID.
    private func signIn(_ name: String) throws -> String {
        answer(#"{"access_token": "token-of-\#(name)", "token_type": "Bearer", "expires_in": 3600}"#)
        let outcome = scene.run("login", "--type", name)
        try #require(outcome.status == 0, "\(outcome.notices)")
        return String(try #require(outcome.output.split(separator: "\t").first))
    }

    private static func realm(_ name: String) -> String {
        #""authorization_endpoint": "https://sso.example/realms/\#(name)/authorize", "token_endpoint": "https://sso.example/realms/\#(name)/token""#
    }

    /// Writes the registration of an account as credmgr did before.
    private func makeEarlier(_ id: String, _ provider: String) {
        scene.machine.change(id) { $0.registration = ClientIdentity(provider: provider, clientID: "app") }
    }

    // MARK: Whose accounts a definition sees

    @Test func `two tenants on one host with one client ID do not share accounts`() throws {
        define("A", Self.realm("a"))
        define("B", Self.realm("b"))
        _ = try signIn("A")
        #expect(scene.run("token", "--type", "A").output == "token-of-A\n")
        let sent = scene.transport.requests.count
        for words in [["token", "--type", "B"], ["token", "--type", "B", "--force-refresh"]] {
            let outcome = scene.run(words)
            #expect(outcome.status == 3 && outcome.output.isEmpty, "\(outcome.notices)")
            #expect(outcome.notices.contains("signed in under A, with other endpoints"), "\(outcome.notices)")
        }
        #expect(scene.transport.requests.count == sent)
    }

    @Test(arguments: [
        "token_endpoint", "device_authorization_endpoint", "revocation_endpoint", "introspection_endpoint",
        "userinfo_endpoint", "pushed_authorization_request_endpoint", "registration_endpoint",
    ])
    func `a definition with the issuer and client of another and an endpoint of its own is another registration`(
        key: String
    ) throws {
        define("A", #""issuer": "https://op.example""#)
        define("B", #""issuer": "https://op.example", "\#(key)": "https://evil.example/x""#)
        define("Same", #""issuer": "https://op.example", "scope": "more""#)
        answer(Self.metadata)
        let id = try signIn("A")
        let sent = scene.transport.requests.count
        for words in [
            ["token", "--type", "B"], ["token", "--type", "B", "--account", id],
            ["request", "GET", "https://evil.example/", "--type", "B"],
        ] {
            let outcome = scene.run(words)
            #expect(outcome.status == 3 && outcome.output.isEmpty, "\(words): \(outcome.notices)")
        }
        #expect(scene.transport.requests.count == sent)
        #expect(scene.run("token", "--type", "A").output == "token-of-A\n")
        #expect(scene.run("accounts", "--type", "Same").output.contains(id))
    }

    @Test func `Azure AD B2C definitions of every form share the accounts of host and tenant`() throws {
        let base = "https://exampleb2c.b2clogin.com/exampleb2c.onmicrosoft.com"
        var texts: Set<String> = []
        for members in [
            #""authority": "\#(base)", "policies": {"sign_in": "b2c_1_a", "edit": "b2c_1_b"}"#,
            #""authorization_endpoint": "\#(base)/b2c_1_a/oauth2/v2.0/authorize", "token_endpoint": "\#(base)/b2c_1_a/oauth2/v2.0/token""#,
            #""authorization_endpoint": "\#(base)/oauth2/v2.0/authorize?p=b2c_1_b", "token_endpoint": "\#(base)/oauth2/v2.0/token?p=b2c_1_b""#,
            #""tenant": "exampleb2c", "default_policy": "b2c_1_a""#,
        ] {
            let json = try #require(
                try JSONValue.parse(#"{"adapter": "azure-b2c", "client_id": "app", \#(members)}"#).object)
            let type = try AccountType(name: "T", json: json, isPrivateFile: true, place: nil)
            texts.insert(try AzureB2CAdapter().provider(of: type))
        }
        #expect(texts == ["b2c:https://exampleb2c.b2clogin.com/exampleb2c.onmicrosoft.com"])
    }

    // MARK: Records of the earlier form

    @Test func `a record of the earlier form is its type's, and of no type with other endpoints`() throws {
        define("A", Self.realm("a"))
        define("Same", Self.realm("a") + #", "scope": "more""#)
        define("B", Self.realm("b"))
        let id = try signIn("A")
        makeEarlier(id, "https://sso.example")
        #expect(scene.run("token", "--type", "A").output == "token-of-A\n")
        #expect(scene.run("token", "--account", id).output == "token-of-A\n")
        #expect(scene.run("accounts", "--type", "A").output.contains(id))
        #expect(scene.run("accounts", "--type", "Same").output.contains(id))
        #expect(!scene.run("accounts", "--type", "B").output.contains(id))
        #expect(scene.run("token", "--type", "B").status == 3)
        // The next sign-in of the same person is the same account, and the record is of the form of now.
        #expect(try signIn("Same") == id)
        #expect(
            scene.machine.accounts().map(\.registration.provider)
                == ["oauth2 token_endpoint=https://sso.example/realms/a/token"])
    }

    @Test func `an account without its type is listed as such, and returns with the type`() throws {
        define("A", #""issuer": "https://op.example", "revocation_endpoint": "https://op.example/revoke""#)
        answer(Self.metadata)
        let id = try signIn("A")
        makeEarlier(id, "https://op.example")
        scene.machine.setFile("/memory/types/A.json", nil)
        let listed = scene.run("accounts")
        #expect(listed.output.contains("A (type missing)") && listed.output.contains(id), "\(listed.output)")
        let json = try JSONValue.parse(scene.run("accounts", "--json").output).array?.first?.object
        #expect(json?["type_missing"] == true && json?["type"] == "A")
        define("A", #""issuer": "https://op.example", "revocation_endpoint": "https://op.example/revoke""#)
        #expect(scene.run("token", "--type", "A").output == "token-of-A\n")
        #expect(!scene.run("accounts").output.contains("missing"))
    }

    @Test func `an import in the place of a definition gets no account of the earlier form`() throws {
        define("A", #""issuer": "https://op.example""#)
        answer(Self.metadata)
        let id = try signIn("A")
        makeEarlier(id, "https://op.example")
        scene.machine.setFile(
            "/memory/home/A.json",
            #"{"adapter": "oauth2", "client_id": "app", "issuer": "https://op.example", "token_endpoint": "https://evil.example/t"}"#
        )
        #expect(scene.run("types", "import", "/memory/home/A.json", "--force").status == 0)
        let sent = scene.transport.requests.count
        for words in [["token", "--type", "A"], ["token", "--account", id, "--force-refresh"]] {
            let outcome = scene.run(words)
            #expect(outcome.status == 3 && outcome.output.isEmpty, "\(outcome.notices)")
        }
        #expect(scene.transport.requests.count == sent)
        define("A", #""issuer": "https://op.example""#)
        #expect(scene.run("token", "--type", "A").output == "token-of-A\n")
    }

    @Test func `an import that hides a definition of another folder gets no account of the earlier form`() throws {
        scene.machine.setFile(
            "/usr/share/credmgr/types/A.json",
            #"{"adapter": "oauth2", "client_id": "app", "client_secret": {"env": "SECRET"}, "flow": "client_credentials", "issuer": "https://op.example"}"#
        )
        define("Same", #""issuer": "https://op.example""#)
        answer(Self.metadata)
        let id = try signIn("Same")
        scene.machine.change(id) { account in
            account.type = "A"
            account.registration = ClientIdentity(provider: "https://op.example", clientID: "app")
        }
        scene.machine.setFile(
            "/memory/home/A.json",
            #"{"adapter": "oauth2", "client_id": "app", "issuer": "https://op.example", "token_endpoint": "https://evil.example/t"}"#
        )
        #expect(scene.run("types", "import", "/memory/home/A.json").status == 0)
        #expect(scene.run("token", "--type", "A").status == 3)
        #expect(scene.run("accounts", "--type", "Same").output.contains(id))
    }

    @Test func `an archive of the earlier form is of the registration that its own definition has`() throws {
        define("A", Self.realm("a"))
        _ = try signIn("A")
        let account = try #require(scene.machine.accounts().first)
        let archive = try Self.transfer(scene).archive(of: [(.standard, account)]) {
            (error) throws(CredentialError) in throw error
        }
        let now = "oauth2 token_endpoint=https://sso.example/realms/a/token"
        let text = JSONValue.object(archive.json).text()
        #expect(text.contains(now))
        let earlier = try #require(
            try JSONValue.parse(text.split(separator: now).joined(separator: "https://sso.example")).object)
        // There is no type of this name, the same, or one with other endpoints.
        for (realm, taken) in [(nil, [now]), ("a", [now]), ("b", [])] as [(String?, [String])] {
            let other = Self()
            if let realm { other.define("A", Self.realm(realm)) }
            _ = try Self.transfer(other.scene).take(AccountExport(json: earlier), into: .file) {
                (_) throws(CredentialError) in
            }
            #expect(other.scene.machine.accounts().map(\.registration.provider) == taken, "\(realm ?? "none")")
        }
    }

    private static func transfer(_ scene: CommandScene) throws -> AccountTransfer {
        let session = try scene.session(), catalog = session.catalog
        return AccountTransfer(
            session.services(session.stores()), group: nil,
            definition: { (name) throws(CredentialError) in try catalog.definition(of: name).type }, note: { _ in })
    }

    // MARK: Changes of a definition

    @Test func `a change of the registration names the accounts, and takes them along when that is said`() throws {
        define("A", Self.realm("a"))
        let id = try signIn("A"), before = scene.machine.file("/memory/types/A.json")
        let change = ["types", "set", "A", "token_endpoint=https://sso.example/realms/new/token"]
        let refused = scene.run(change)
        #expect(refused.status == 2 && refused.notices.contains(id), "\(refused.notices)")
        #expect(refused.notices.contains("--move-accounts"))
        #expect(scene.run(change, answers: ["n"]).status == 7)
        #expect(scene.machine.file("/memory/types/A.json") == before)
        #expect(scene.run("token", "--type", "A").status == 0)

        let moved = scene.run(change + ["--move-accounts"])
        #expect(moved.status == 0 && moved.notices.contains(id), "\(moved.notices)")
        #expect(scene.run("token", "--type", "A").output == "token-of-A\n")
        let again = ["types", "set", "A", "token_endpoint=https://sso.example/realms/a/token"]
        #expect(scene.run(again, answers: ["y"]).status == 0)
        #expect(scene.run("token", "--type", "A").output == "token-of-A\n")
        // An endpoint of the token endpoint's origin is not the registration's.
        #expect(
            scene.run("types", "set", "A", "revocation_endpoint=https://sso.example/realms/a/revoke").status == 0)
        #expect(scene.run("token", "--type", "A").status == 0)
    }

    @Test func `an endpoint that equals the issuer's metadata is left out of a definition, and named`() throws {
        define("A", #""issuer": "https://op.example""#)
        answer(Self.metadata)
        let id = try signIn("A")
        let set = scene.run("types", "set", "A", "token_endpoint=https://op.example/token")
        #expect(set.status == 0 && set.notices.contains("token_endpoint is left out"), "\(set.notices)")
        #expect(scene.run("token", "--type", "A").status == 0)

        scene.machine.setFile(
            "/memory/home/Other.json",
            #"{"adapter": "oauth2", "client_id": "app", "issuer": "https://op.example", "token_endpoint": "https://op.example/token", "revocation_endpoint": "https://op.example/other"}"#
        )
        answer(Self.metadata)
        let imported = scene.run("types", "import", "/memory/home/Other.json")
        #expect(
            imported.status == 0 && imported.notices.contains("token_endpoint is left out"), "\(imported.notices)")
        let written = try #require(scene.machine.file("/memory/types/Other.json"))
        #expect(!written.contains("token_endpoint\"") && written.contains("https://op.example/other"))
        #expect(!imported.notices.contains(id))

        // An issuer that cannot be asked does not stop the command.
        scene.transport.answer(.failure(CredentialError(.temporary, "no network")))
        let added = scene.run(
            "types", "add", "Third", "--issuer", "https://down.example", "--client-id", "app", "--scope", "openid",
            "--token-endpoint", "https://down.example/token")
        #expect(
            added.status == 0 && added.notices.contains("cannot get the metadata of its issuer"), "\(added.notices)"
        )
    }
}

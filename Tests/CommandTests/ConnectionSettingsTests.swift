import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import TestCommands
import TestPorts
import Testing

/// `ca_certificate` and `proxy` of account types and of `config.json`.
@Suite struct ConnectionSettingsTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    private static let certificates =
        "-----BEGIN CERTIFICATE-----\nMIED\(String(repeating: "A", count: 1380))\n-----END CERTIFICATE-----\n"
    private static let proxy = "http://proxy.example:3128"

    init() {
        scene.machine.add(GenericOAuth2Adapter())
        scene.machine.setFile("/own/ca.pem", Self.certificates)
    }

    private func define(_ members: String, at path: String = "/memory/types/Work.json") {
        scene.machine.setFile(
            path,
            #"{"adapter": "oauth2", "client_id": "app", "client_secret": "s", "flow": "client_credentials", "token_endpoint": "https://op.example/token", "api_base": "https://api.example/", \#(members)}"#
        )
    }

    private func answer(_ body: String) {
        scene.transport.answer(
            .success(
                HTTPResponse(
                    status: 200, headers: [("content-type", "application/json")], body: Array(body.utf8))))
    }

    private func answerToken(_ token: String) {
        answer(#"{"access_token": "\#(token)", "token_type": "Bearer", "expires_in": 3600}"#)
    }

    // MARK: Requests

    @Test func `a sign-in, a refresh in the worker and a call of the API are made with the settings of the type`()
        throws
    {
        define(#""ca_certificate": "/own/ca.pem", "proxy": "\#(Self.proxy)""#)
        answerToken("one")
        let login = scene.run("login", "--type", "Work")
        #expect(login.status == 0, "\(login.notices)")
        answerToken("two")
        let token = scene.run("token", "--type", "Work", "--force-refresh")
        #expect(token.status == 0 && token.output == "two\n", "\(token.notices)")
        answer("{}")
        let call = scene.run("request", "GET", "x", "--type", "Work")
        #expect(call.status == 0, "\(call.notices)")
        let expected = ConnectionSettings(
            .type("Work"), certificateFile: "/own/ca.pem", proxy: Self.proxy)
        #expect(scene.transport.requests.map(\.connection) == [expected, expected, expected])
    }

    @Test func `a request of a type without settings says which type it is of`() throws {
        define(#""scope": "a""#)
        answerToken("one")
        #expect(scene.run("login", "--type", "Work").status == 0)
        #expect(scene.transport.requests.map(\.connection) == [ConnectionSettings(.type("Work"))])
    }

    // MARK: Definitions

    @Test func `types add and types set write the keys, and refuse a file that is none of certificates`() throws {
        let added = scene.run(
            "types", "add", "New", "--adapter", "oauth2", "--token-endpoint", "https://op.example/token",
            "--client-id", "app", "--flow", "client_credentials", "--ca-certificate", "/own/ca.pem", "--proxy",
            Self.proxy)
        #expect(added.status == 0, "\(added.notices)")
        let shown = scene.run("types", "show", "New").output
        #expect(shown.contains("/own/ca.pem") && shown.contains(Self.proxy), "\(shown)")
        for (file, content) in [("/own/none.pem", nil), ("/own/text.pem", "no certificate")] {
            if let content { scene.machine.setFile(file, content) }
            let refused = scene.run("types", "set", "New", "ca_certificate=\(file)")
            #expect(refused.status == 2, "\(refused.notices)")
            #expect(
                refused.notices.contains("ca_certificate of account type New: "),
                "\(refused.notices)")
        }
        #expect(scene.run("types", "set", "New", "--unset", "ca_certificate", "--unset", "proxy").status == 0)
        #expect(!scene.run("types", "show", "New").output.contains("/own/ca.pem"))
    }

    @Test func `types add names the option for the authority, and the proxy, where the issuer cannot be asked`() {
        let words = ["types", "add", "New", "--issuer", "https://op.example", "--client-id", "app"]
        for (code, hint, shown) in [
            (ErrorCode.denied, "credmgr types set New ca_certificate=FILE", "set --ca-certificate if"),
            (.temporary, "the request goes through the proxy p:1", "hint: the request goes through the proxy p:1"),
        ] {
            var failure = CredentialError(code, "no connection", hint: LocalizedMessage(verbatim: hint))
            failure.isBeforeRequest = true
            scene.transport.answer(.failure(failure))
            let refused = scene.run(words)
            #expect(refused.status == code.exitStatus && refused.notices.contains(shown), "\(refused.notices)")
            #expect(!refused.notices.contains("types set"), "\(refused.notices)")
        }
        var unreadable = CredentialError(.configuration, "ca_certificate names /x, which cannot be read")
        unreadable.isBeforeRequest = true
        scene.transport.answer(.failure(unreadable))
        let refused = scene.run(words)
        #expect(refused.status == 2 && !refused.notices.contains("check the issuer"), "\(refused.notices)")
    }

    @Test(arguments: [
        "http://ada:secret@proxy.example:3128", "proxy.example:3128", "http://proxy.example",
        "ftp://proxy.example:3128", "http://proxy.example:3128/path", "http://:3128",
    ])
    func `a proxy is a URL with host and port, without user and password`(url: String) {
        define(#""scope": "a""#)
        let refused = scene.run("types", "set", "Work", "proxy=\(url)")
        #expect(refused.status == 2 && refused.notices.contains("proxy"), "\(refused.notices)")
        #expect(!refused.notices.contains("secret"))
        scene.machine.setFile("/memory/config.json", #"{"proxy": "\#(url)"}"#)
        let configured = scene.run("token", "--type", "Work")
        #expect(configured.status == 2 && !configured.notices.contains("secret"), "\(configured.notices)")
    }

    // MARK: Trust

    @Test func `an import shows both keys and needs a yes for them`() {
        scene.machine.setFile(
            "/memory/home/Evil.json",
            #"{"adapter": "memory", "client_id": "c", "ca_certificate": "/own/ca.pem", "proxy": "\#(Self.proxy)"}"#)
        let words = ["types", "import", "/memory/home/Evil.json"]
        let refused = scene.run(words)
        #expect(refused.status == 2, "\(refused.notices)")
        #expect(
            refused.notices.contains(
                "ca_certificate: credmgr trusts the certificate authorities in /own/ca.pem"),
            "\(refused.notices)")
        #expect(
            refused.notices.contains("proxy: requests go through the proxy \(Self.proxy)"), "\(refused.notices)")
        #expect(scene.run(words, answers: ["n"]).status == 7)
        #expect(scene.machine.file("/memory/types/Evil.json") == nil)
        #expect(scene.run(words + ["--trust"]).status == 0)
    }

    @Test(arguments: [#""ca_certificate": "/own/ca.pem""#, #""proxy": "http://proxy.example:3128""#])
    func `a definition of another program's directory sends nothing by them until the user confirms it`(
        member: String
    ) {
        define(member, at: "/opt/other/credmgr/types/Foreign.json")
        let key = member.contains("proxy") ? "proxy" : "ca_certificate"
        let refused = scene.run("login", "--type", "Foreign")
        #expect(refused.status == 7 && scene.transport.requests.isEmpty, "\(refused.notices)")
        #expect(
            refused.notices.contains("\(key) of account type Foreign is not used: the definition is not confirmed"),
            "\(refused.notices)")
        #expect(refused.notices.hasSuffix("hint: credmgr types trust Foreign\n"), "\(refused.notices)")
        #expect(scene.run("types", "trust", "Foreign").status == 0)
        answerToken("one")
        let login = scene.run("login", "--type", "Foreign")
        #expect(login.status == 0 && scene.transport.requests.count == 1, "\(login.notices)")
    }

    @Test func `an archive cannot bring them`() throws {
        for key in ["ca_certificate", "proxy"] {
            var type = AccountType(name: "Work", adapter: "oauth2", clientID: "c")
            (type.caCertificate, type.proxy) = key == "proxy" ? (nil, Self.proxy) : ("/own/ca.pem", nil)
            #expect(type.keysOfThisMachine == [key])
            #expect(
                try AccountType(name: "Work", json: type.json, isPrivateFile: true, place: nil).keysOfThisMachine
                    == [key])
        }
    }

    // MARK: Doctor

    @Test func `doctor shows the settings of types and config.json, and a file that cannot be used`() {
        define(#""ca_certificate": "/own/ca.pem", "proxy": "\#(Self.proxy)""#)
        scene.machine.setFile("/memory/config.json", #"{"ca_certificate": "/own/none.pem"}"#)
        let text = scene.run("doctor").output
        #expect(
            text.contains(
                "credmgr trusts the authorities in /own/ca.pem and those of the system; requests go "
                    + "through the proxy \(Self.proxy)"
            ), "\(text)")
        #expect(
            text.contains(
                "ca_certificate in /memory/config.json: cannot read /own/none.pem: file not found"
            ), "\(text)")
    }
}

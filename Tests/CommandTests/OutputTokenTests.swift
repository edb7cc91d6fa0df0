import CredentialCore
import CredmgrCommands
import StrictJSON
import TestSupport
import Testing

@Suite struct OutputTokenTests {
    private func presentation(
        _ token: String = "tok'en", type: String = "bearer", scope: [String] = ["a", "b"], policy: String? = "b2c_1"
    ) -> TokenPresentation {
        TokenPresentation(
            accessToken: Secret(token), tokenType: type, expiresAt: Instant(epochSeconds: 1_795_250_400),
            scope: scope, policy: policy, accountID: "0123456789abcdef", accountType: "ToDo", username: nil,
            refreshed: true)
    }

    private func text(_ format: TokenFormat, execInfo: String? = nil) throws -> String {
        String(decoding: try presentation().bytes(as: format, execInfo: execInfo), as: UTF8.self)
    }

    @Test func `the plain forms are one line each`() throws {
        #expect(try text(.token) == "tok'en\n")
        #expect(try text(.header) == "Authorization: Bearer tok'en\n")
        #expect(try text(.bearer) == "Bearer tok'en\n")
        let other = try presentation(type: "DPoP").bytes(as: .bearer)
        #expect(String(decoding: other, as: UTF8.self) == "DPoP tok'en\n")
    }

    @Test func `the shell form sets both variables in a real shell`() throws {
        #expect(
            try text(.env)
                == "export ACCESS_TOKEN='tok'\\''en'\nexport ACCESS_TOKEN_EXPIRES_ON='1795250400'\n")
        let outcome = try ChildProcess("sh", ["-s"], environment: ["PATH": "/usr/bin:/bin"])
            .run(input: try text(.env) + "printf '%s %s' \"$ACCESS_TOKEN\" \"$ACCESS_TOKEN_EXPIRES_ON\"")
        #expect(outcome.standardOutput == "tok'en 1795250400")
    }

    @Test func `the JSON form has the keys of the contract in order`() throws {
        #expect(
            try text(.json)
                == #"{"access_token":"tok'en","token_type":"bearer","expires_at":"2026-11-21T08:40:00Z","#
                + #""expires_on":1795250400,"scope":"a b","policy":"b2c_1","account":{"id":"0123456789abcdef","#
                + #""type":"ToDo","username":null},"refreshed":true}"# + "\n")
        let bare = try presentation(scope: [], policy: nil).bytes(as: .json)
        let object = try JSONValue.parse(bare).object
        #expect(object?["scope"] == .null)
        #expect(object?["policy"] == .null)
    }

    @Test(arguments: [
        (nil, "client.authentication.k8s.io/v1"), ("", "client.authentication.k8s.io/v1"),
        (#"{"apiVersion":"client.authentication.k8s.io/v1","spec":{}}"#, "client.authentication.k8s.io/v1"),
        (#"{"apiVersion":"client.authentication.k8s.io/v1beta1"}"#, "client.authentication.k8s.io/v1beta1"),
    ])
    func `the Kubernetes form echoes the version asked for`(_ info: String?, _ version: String) throws {
        #expect(
            try text(.execCredential, execInfo: info)
                == #"{"apiVersion":"\#(version)","kind":"ExecCredential","status":"#
                + #"{"expirationTimestamp":"2026-11-21T08:40:00Z","token":"tok'en"}}"# + "\n")
    }

    @Test func `another Kubernetes version is refused`() {
        for (info, code) in [
            (#"{"apiVersion":"client.authentication.k8s.io/v1alpha1"}"#, ErrorCode.unsupported), ("{}", .usage),
            ("not json", .usage), ("[]", .usage),
        ] {
            let error = #expect(throws: CredentialError.self) { try text(.execCredential, execInfo: info) }
            #expect(error?.code == code)
        }
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\n", "a\u{0}", "a\u{7F}", "tökn", ""], TokenFormat.allCases)
    func `a token that could break a header is refused and not shown`(_ token: String, _ format: TokenFormat) {
        let error = #expect(throws: CredentialError.self) { try presentation(token).bytes(as: format) }
        #expect(error?.code == .malformedReply)
        #expect(error?.message.contains("Evil") == false)
    }

    @Test(arguments: ["Bearer\r\nX: y", "", "Bear er", "Bearer:"])
    func `a type that could break a header is refused`(_ type: String) {
        let error = #expect(throws: CredentialError.self) { try presentation(type: type).bytes(as: .header) }
        #expect(error?.code == .malformedReply)
    }
}

@Suite struct OutputAccountTests {
    private func account() -> Account {
        Account(
            id: "0123456789abcdef", type: "ToDo", adapter: "azure-b2c",
            registration: Registration(provider: "b2c", clientID: "client"), subject: "sub", store: .secretService,
            now: Instant(epochSeconds: 0))
    }

    @Test func `an account has all keys in order and null for what is not known`() {
        let json = AccountPresentation.json([
            AccountPresentation(account(), group: .standard, isDefault: true)
        ])
        #expect(
            json.text()
                == #"[{"id":"0123456789abcdef","type":"ToDo","adapter":"azure-b2c","group":"default","#
                + #""username":null,"name":null,"subject":"sub","issuer":null,"client_id":"client","#
                + #""default":true,"status":"active","status_reason":null,"store":"secret-service","policies":[],"#
                + #""scope":null,"expires_at":null,"expires_on":null,"refresh_expires_at":null,"#
                + #""created_at":"1970-01-01T00:00:00Z","updated_at":"1970-01-01T00:00:00Z"}]"#)
    }

    @Test func `what is known is told`() {
        var account = account()
        account.username = "ann@example.com"
        account.displayName = "Ann"
        account.issuer = "https://idp.example"
        account.status = .needsLogin(reason: "revoked")
        account.policies = ["b2c_1"]
        account.scope = ["a", "b"]
        account.expiresAt = Instant(epochSeconds: 60)
        account.refreshExpiresAt = Instant(epochSeconds: 86_400)
        func object() -> JSONObject? {
            AccountPresentation(account, group: .standard, isDefault: false).json.object
        }
        #expect(object()?["name"] == "Ann")
        account.label = "work"
        let shown = object()
        #expect(shown?["name"] == "work")
        #expect(shown?["username"] == "ann@example.com")
        #expect(shown?["issuer"] == "https://idp.example")
        #expect(shown?["default"] == false)
        #expect(shown?["status"] == "needs-login")
        #expect(shown?["status_reason"] == "revoked")
        #expect(shown?["policies"] == ["b2c_1"])
        #expect(shown?["scope"] == "a b")
        #expect(shown?["expires_at"] == "1970-01-01T00:01:00Z")
        #expect(shown?["expires_on"] == 60)
        #expect(shown?["refresh_expires_at"] == "1970-01-02T00:00:00Z")
    }

    @Test func `the table marks the default and tells how long the token lasts`() {
        var lost = account()
        lost.label = "old\u{1B}"
        lost.status = .needsLogin(reason: "revoked")
        var good = account()
        good.username = "ann"
        good.expiresAt = Instant(epochSeconds: 2_520)
        let table = AccountPresentation.table(
            [
                AccountPresentation(good, group: .standard, isDefault: true),
                AccountPresentation(lost, group: .standard, isDefault: false),
            ], now: Instant(epochSeconds: 0))
        #expect(
            table.text(width: nil) == """
                   NAME  TYPE  GROUP    STATUS       TOKEN      STORE           ID
                *  ann   ToDo  default  active       in 42 min  secret-service  0123456789abcdef
                   old   ToDo  default  needs-login             secret-service  0123456789abcdef

                """)
    }
}

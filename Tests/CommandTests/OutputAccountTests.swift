import Commands
import CredentialCore
import StrictJSON
import Testing

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
                + #""created_at":"1970-01-01T00:00:00Z","updated_at":"1970-01-01T00:00:00Z","#
                + #""type_missing":false}]"#)
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

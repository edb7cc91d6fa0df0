import Commands
import CredentialCore
import StrictJSON
import Testing

@Suite struct OutputAccountTests {
    private func account(_ id: String = "0123456789abcdef") -> Account {
        Account(
            id: id, type: "ToDo", adapter: "azure-b2c",
            registration: ClientIdentity(provider: "b2c", clientID: "client"), subject: "sub",
            store: .secretService,
            now: Timestamp(epochSeconds: 0))
    }

    @Test func `an account has all keys in order and null for unknown values`() {
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

    @Test func `known values are shown`() {
        var account = account()
        account.username = "ann@example.com"
        account.displayName = "Ann"
        account.issuer = "https://idp.example"
        account.status = .needsLogin(reason: "revoked")
        account.policies = ["b2c_1"]
        account.scope = ["a", "b"]
        account.expiresAt = Timestamp(epochSeconds: 60)
        account.refreshExpiresAt = Timestamp(epochSeconds: 86_400)
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

    private func list(_ change: (inout Account, inout Account) -> Void = { _, _ in }) -> AccountTable {
        var good = account(), lost = account("01239876543210ff")
        good.username = "ann"
        good.expiresAt = Timestamp(epochSeconds: 2_520)
        lost.label = "old\u{1B}"
        lost.status = .needsLogin(reason: "revoked")
        change(&good, &lost)
        return AccountTable(
            [
                AccountPresentation(good, group: .standard, isDefault: true),
                AccountPresentation(lost, group: .standard, isDefault: false),
            ], shortIDs: ShortIDs(["0123456789abcdef", "01239876543210ff"]), now: Timestamp(epochSeconds: 0))
    }

    @Test func `programs get a table with every column and whole IDs`() {
        #expect(
            list().whole.text(width: nil) == """
                   NAME  TYPE  GROUP    STATUS       EXPIRES    STORE           ID
                *  ann   ToDo  default  active       in 42 min  secret-service  0123456789abcdef
                   old   ToDo  default  needs-login             secret-service  01239876543210ff

                """)
    }

    @Test func `a terminal gets short IDs, a legend, and group and store only if they differ`() {
        #expect(
            list().text(AccountTable.Form(width: 80)) == """
                   NAME  TYPE  STATUS       EXPIRES    ID
                *  ann   ToDo  active       in 42 min  01234
                   old   ToDo  needs-login             01239

                * is the default of its type

                """)
        #expect(list { $1.store = .file }.text(AccountTable.Form(width: 80)).contains("STORE"))
        let wide = list().text(AccountTable.Form(width: 80, isWide: true))
        #expect(wide.contains("0123456789abcdef") && wide.contains("default") && wide.contains("secret-service"))
    }

    @Test func `accounts of one type are listed together`() {
        let accounts = ["A", "B", "A"].enumerated().map { number, type in
            var account = account("\(number)123456789abcdef")
            account.type = type
            return account
        }
        let table = AccountTable(
            accounts.map { AccountPresentation($0, group: .standard, isDefault: false) },
            shortIDs: ShortIDs(accounts), now: Timestamp(epochSeconds: 0))
        let lines = table.text(AccountTable.Form(width: 80)).split(separator: "\n").dropFirst()
        #expect(lines.map { $0.suffix(4) } == ["0123", "2123", "1123"])
        #expect(!table.text(AccountTable.Form(width: 80)).contains("default of its type"), "there is none")
    }

    @Test func `a name that would be cut makes a list, as does accessible mode`() {
        let name = String(repeating: "n", count: 60)
        let text = list { good, _ in good.username = name }.text(AccountTable.Form(width: 80))
        #expect(
            text == """
                name: \(name)
                type: ToDo
                status: active
                expires: in 42 min
                default: yes
                id: 01234

                name: old
                type: ToDo
                status: needs-login
                id: 01239

                """)
        #expect(list().text(AccountTable.Form(width: 80, isList: true)).hasPrefix("name: ann\ntype: ToDo\n"))
        let types = list { good, lost in (good.type, lost.type) = (name, name) }
        #expect(types.text(AccountTable.Form(width: 80)).contains("nnn…"), "a type may be cut")
        let orphan = AccountTable(
            [AccountPresentation(account(), group: .standard, isDefault: false, isTypeMissing: true)],
            shortIDs: ShortIDs([account()]), now: Timestamp(epochSeconds: 0))
        #expect(orphan.text(AccountTable.Form(width: 40)).contains("type: ToDo (type missing)\n"))
    }

    @Test func `the status is coloured, and the columns stay where they are`() {
        let text = list().text(AccountTable.Form(width: 80, hasColour: true))
        #expect(text.contains("\u{1B}[32mactive\u{1B}[0m       in 42 min"))
        #expect(text.contains("\u{1B}[31mneeds-login\u{1B}[0m             01239"))
        let plain = text.replacing("\u{1B}[32m", with: "").replacing("\u{1B}[31m", with: "")
            .replacing("\u{1B}[0m", with: "")
        #expect(plain == list().text(AccountTable.Form(width: 80)))
    }

    @Test func `a token that a refresh replaces does not look like an end`() {
        func expires(_ change: (inout Account) -> Void) -> String {
            list { good, _ in
                good.expiresAt = Timestamp(epochSeconds: -5)
                change(&good)
            }.text(AccountTable.Form(width: 80))
        }
        #expect(expires { _ in }.contains("active       refreshes"))
        #expect(expires { $0.status = .needsLogin(reason: "revoked") }.contains("needs-login  expired"))
    }
}

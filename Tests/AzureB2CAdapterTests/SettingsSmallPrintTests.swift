import AzureB2CAdapter
import CredentialCore
import Testing

/// The settings that real projects write for the articles' apps.
@Suite struct SettingsSmallPrintTests {
    private func settings(
        name: String = "B2C_Acccount", host: String = "contoso.b2clogin.com",
        keychain: String = "com.example.shared"
    ) -> String {
        """
        // !$*UTF8*$!
        {
            accountIdentifier = "\(name)";
            clientID = 580e250c-8f26-49d0-bee8-1c078add1609;
            clientSecret = ""; /* a public client */
            authURL = "https://\(host)/contoso.onmicrosoft.com/oauth2/v2.0/authorize?p=b2c_1_sign_in";
            tokenURL = "https://\(host)/contoso.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_sign_in";
            bhh = "urn:ietf:wg:oauth:2.0:oob";
            keychain = "\(keychain)";
            taskAPI = "https://tasks.example.com"
        }

        """
    }

    private func read(
        _ text: String, name: String? = nil, fix: Bool = false
    ) throws -> (type: AccountType, report: [String]) {
        let (type, report) = try SettingsPlist.import(
            Array(text.utf8), name: name, fix: fix, place: "settings.plist")
        return (type, report.map(\.description))
    }

    @Test func `an OpenStep property list is read as an XML one, and its lines are told`() throws {
        let (type, report) = try read(settings())
        #expect(type.name == "B2C_Acccount")
        #expect(type.clientID == "580e250c-8f26-49d0-bee8-1c078add1609")
        #expect(type.clientSecret == nil)
        #expect(type.apiBase == "https://tasks.example.com")
        #expect(report.contains { $0.hasPrefix("accountIdentifier (line 3) used") })
        let error = #expect(throws: CredentialError.self) {
            try read(settings().replacing("580e250c-8f26-49d0-bee8-1c078add1609", with: "<client ID>"))
        }
        #expect(error?.message.contains("placeholder not filled in at key clientID, line 4") == true)
    }

    @Test(arguments: [
        "{ a = b", "{ a = (b c); }", "{ a = \"b; }", "{ a b; }", "{ a = b; a = c; }", "{ a = \"\\Ud800\"; }",
        "{ a = <0f0>; }", "{ a = b; } c", "{ a = b /* c", "{ a = \"\\q\"; }",
    ])
    func `a broken one is refused with its line`(text: String) {
        let error = #expect(throws: CredentialError.self) { try read(text) }
        #expect(error?.message.contains("is not a property list: ") == true)
        #expect(error?.message.contains("at line 1") == true)
    }

    @Test func `strings, data and lists have their forms`() throws {
        let text = """
            { authority = 'https://contoso.b2clogin.com/contoso.onmicrosoft.com/'; clientId = "a\\U0062c";
              scopes = ( "one", two, ); emailSignInPolicyId = b2c_1_in; userId = <0fA5 00>; showClaims = YES; }
            """
        let (type, report) = try read(text, name: "Tasks")
        #expect(type.clientID == "abc")
        #expect(type.scope == ["openid", "one", "two", "offline_access"])
        #expect(type.showClaims)
        #expect(report.contains { $0.hasPrefix("userId (line 2) ignored") })
    }

    @Test func `a name that is none here is told with the command that gives one`() throws {
        let error = #expect(throws: CredentialError.self) { try read(settings(name: "B2C Account")) }
        #expect(error?.code == .usage)
        #expect(error?.hint == "credmgr types import settings.plist --name B2C-Account")
        #expect(try read(settings(name: "B2C Account"), name: "B2C-Account").type.name == "B2C-Account")
    }

    @Test(arguments: ["$(AppIdentifierPrefix)", "$(TeamIdentifierPrefix)", "A1B2C3D4E5."])
    func `a placeholder for the Team prefix is dropped`(prefix: String) throws {
        let (type, report) = try read(settings(keychain: prefix + "com.example.shared"))
        #expect(type.keychainGroup.name == "com.example.shared")
        #expect(
            report.contains { $0.hasPrefix("keychain (line 9) changed into keychain_group com.example.shared") })
    }

    @Test(arguments: [
        ("login.microsoftonline.com", "contoso.b2clogin.com"), ("login.windows.net", "contoso.b2clogin.com"),
        ("login.microsoft.com", "contoso.b2clogin.com"), ("sts.windows.net", "contoso.b2clogin.com"),
        ("login.microsoftonline.us", "contoso.b2clogin.us"),
        ("login-us.microsoftonline.com", "contoso.b2clogin.us"),
        ("login.usgovcloudapi.net", "contoso.b2clogin.us"), ("login.microsoftonline.de", "contoso.b2clogin.de"),
        ("login.chinacloudapi.cn", "contoso.b2clogin.cn"),
        ("login.partner.microsoftonline.cn", "contoso.b2clogin.cn"),
    ])
    func `a host that B2C no longer serves is reported, and fixed with --fix`(old: String, new: String) throws {
        let (kept, warned) = try read(settings(host: old))
        #expect(kept.authority?.hasPrefix("https://\(old)/") == true)
        let left = "default_policy; B2C no longer responds at \(old): "
        #expect(
            warned.contains(
                "authURL (line 6) used for authority, tenant and \(left)its new host is \(new), "
                    + "--fix sets this host"),
            "\(warned)")
        let (mended, report) = try read(settings(host: old), fix: true)
        #expect(mended.authority == "https://\(new)/contoso.onmicrosoft.com?p=b2c_1_sign_in")
        #expect(
            report.contains("authURL (line 6) changed into authority, tenant and \(left)\(new) is used instead"),
            "\(report)")
        let (_, silent) = try read(settings())
        #expect(!silent.contains { $0.contains("no longer responds") })
    }

    @Test func `additional scopes are requested in the same cases as with ADAL`() throws {
        let text = """
            { authority = "https://contoso.b2clogin.com/contoso.onmicrosoft.com/"; clientId = abc; scopes = ( abc );
              additionalScopes = ( "https://contoso.example/notes" ); emailSignInPolicyId = b2c_1_in; }
            """
        let (type, report) = try read(text, name: "Tasks")
        #expect(type.scope == ["openid", "abc", "offline_access"])
        #expect(type.additionalScope == ["https://contoso.example/notes"])
        #expect(report.contains { $0.hasPrefix("additionalScopes (line 2) used as additional_scope") })
    }
}

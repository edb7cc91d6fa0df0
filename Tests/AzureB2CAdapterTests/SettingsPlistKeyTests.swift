import AzureB2CAdapter
import CredentialCore
import Testing

@Suite struct SettingsPlistKeyTests {
    struct Row: Sendable {
        var form = "form-a"
        let change: [String: String]
        let words: String

        init(_ old: String, _ new: String, _ words: String, form: String = "form-a") {
            change = [old: new]
            self.words = words
            self.form = form
        }
    }

    private static let tokenURL = "exampleb2c.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_sign_in"

    private static let refused: [Row] = [
        Row("580e250c-8f26-49d0-bee8-1c078add1609", "", "key clientID, line 7, is empty"),
        Row("<key>clientID</key>", "<key>clientid</key>", "key clientID is missing"),
        Row(
            "580e250c-8f26", "580e250c 8f26",
            "key clientID, line 7, has characters that are not valid in a client ID used as a scope"),
        Row(
            "http://localhost/tasks:3000", "http://localhost/tasks:3000#x",
            "key taskWebAPI, line 15, must not have a fragment", form: "form-b"),
        Row(
            "<string>580e250c-8f26-49d0-bee8-1c078add1609</string>", "<true/>",
            "key clientID, line 7, must be a string, not a boolean"),
        Row("authorize?p=b2c_1_sign_in", "authorize", "key authURL, line 11, names no policy"),
        Row(
            "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com/oauth2/v2.0/authorize",
            "http://login.example.com/exampleb2c.onmicrosoft.com/oauth2/v2.0/authorize",
            "key authURL, line 11, must be an https URL: http is only allowed for localhost"),
        Row(
            "authorize?p=b2c_1_sign_in", "authorize?p=b2c_1_sign_in&amp;state=1",
            "has the parameter 'state', which is set by credmgr"),
        Row(
            "authorize?p=b2c_1_sign_in", "authorize?p=b2c_1_sign_in&amp;ui=a%20b", "has an escaped parameter"),
        Row(
            "com/exampleb2c.onmicrosoft.com/login", "com/other.onmicrosoft.com/login",
            "key loginURL, line 13, has a different host or tenant than authURL"),
        Row(
            "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com/login",
            "https://evil.example.com/exampleb2c.onmicrosoft.com/login",
            "key loginURL, line 13, has a different host"),
        Row(
            tokenURL, "exampleb2c.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_sign_up",
            "key tokenURL, line 17, names policy b2c_1_sign_up, but authURL names b2c_1_sign_in"),
        Row(
            tokenURL, "other.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_sign_in",
            "key tokenURL, line 17, has a different host or tenant than authURL"),
        Row(
            tokenURL, "exampleb2c.onmicrosoft.com/b2c_1_x/oauth2/v2.0/token?p=b2c_1_sign_in",
            "key tokenURL, line 17, names one policy in its path and another as 'p'"),
        Row("urn:ietf:wg:oauth:2.0:oob", "oob", "key bhh, line 15, is not an absolute URL"),
        Row("urn:ietf:wg:oauth:2.0:oob", "http://example.com/cb", "key bhh, line 15, must be an https URL"),
        Row(
            "com.microsoft.azureactivedirectory.samples.graph.QuickStart", "a/b",
            "key keychain, line 19, is not a valid keychain group name"),
        Row(
            "application/x-www-form-urlencoded", "multipart/form-data",
            "key contentType, line 21, must be application/x-www-form-urlencoded"),
        Row(
            "application/x-www-form-urlencoded", "application/x-www-form-urlencodedX",
            "key contentType, line 21, must be application/x-www-form-urlencoded"),
        Row(
            "https://aadb2cplayground", "http://aadb2cplayground",
            "key taskAPI, line 23, must be an https URL: http is only allowed for localhost"),
        Row("https://aadb2cplayground.azurewebsites.net", "tasks", "key taskAPI, line 23, is not an absolute URL"),
        Row("https://login", "http://login", "key authority, line 2, must be an https URL", form: "form-b"),
        Row("exampleb2c.onmicrosoft.com/", "", "key authority, line 2, has no tenant in its path", form: "form-b"),
        Row(
            "http://localhost/tasks:3000", "http://example.com/tasks:3000",
            "key taskWebAPI, line 15, must be an https URL", form: "form-b"),
        Row("b2c_1_sign_up", "b2c/1", "key emailSignUpPolicyId, line 17, must be 1 to 128", form: "form-b"),
        Row(
            "\t\t<string>580e250c-8f26-49d0-bee8-1c078add1609</string>", "<true/>",
            "key scopes, line 6, must be an array of strings", form: "form-b"),
        Row(
            "\t\t<string>580e250c-8f26-49d0-bee8-1c078add1609</string>", "<string>a b</string>",
            "key scopes, line 6, contains characters", form: "form-b"),
        Row("<true/>", "<string>maybe</string>", "key showClaims, line 25, must be true or false", form: "form-b"),
        Row("PolicyId", "PolicyName", "requires a policy", form: "form-b"),
    ]

    @Test(arguments: refused.indices) func `a value that does not do is refused with its key and line`(
        _ index: Int
    ) throws {
        let row = Self.refused[index]
        let bytes = try SettingsPlistTests.fixture(row.form, replacing: row.change)
        let error = try #require(throws: CredentialError.self) {
            try SettingsPlistTests.read(bytes, name: "Tool")
        }
        #expect(error.code == .configuration)
        #expect(error.message.hasPrefix("settings.plist cannot be used: "))
        #expect(error.message.contains(row.words), "\(error.message)")
        #expect(error.details.contains { $0.contains("refused") })
    }

    @Test func `everything refused is said at once`() throws {
        let bytes = try SettingsPlistTests.fixture(
            "form-a", replacing: ["x-www-form-urlencoded": "json", "urn:ietf:wg:oauth:2.0:oob": "oob"])
        let error = try #require(throws: CredentialError.self) { try SettingsPlistTests.read(bytes) }
        #expect(error.message.contains("key bhh, line 15, "))
        #expect(error.message.contains("; key contentType, line 21, "))
    }

    private static let accepted: [(row: Row, key: String, fate: ImportLine.Disposition)] = [
        (
            Row("application/x-www-form-urlencoded", "Application/X-WWW-Form-URLEncoded; charset=utf-8", "always"),
            "contentType", .ignored
        ),
        (Row("com.microsoft.azure", "A1B2C3D4E5.com.microsoft.azure", "the Team prefix"), "keychain", .changed),
        (Row("urn:ietf:wg:oauth:2.0:oob", "http://localhost:8400/", "as redirect_uri"), "bhh", .used),
        (
            Row(
                "urn:ietf:wg:oauth:2.0:oob", "http://localhost:3000/auth/openid/return", "register a native client"),
            "bhh", .used
        ),
        (Row("urn:ietf:wg:oauth:2.0:oob", "", "redirects to localhost"), "bhh", .ignored),
        (
            Row("/oauth2/v2.0/token?p=b2c_1_sign_in", "/oauth2/v2.0/token", "the policy of authURL is added"),
            "tokenURL", .used
        ),
        (Row("token?p=b2c_1_sign_in", "token?p=B2C_1_Sign_In", "they agree"), "tokenURL", .used),
        (Row("<key>tokenURL</key>", "<key>tokenUrl</key>", "the value from authURL"), "tokenURL", .changed),
        (Row("<key>tokenURL</key>", "<key>tokenUrl</key>", "did you mean 'tokenURL'?"), "tokenUrl", .ignored),
        (
            Row(
                "<key>clientSecret</key>\n\t<string></string>", "<key>clientSecret</key><string>s3cret</string>",
                "as client_secret"), "clientSecret", .used
        ),
        (Row("<key>taskAPI</key>", "<key>zzz</key>", "unknown key"), "zzz", .ignored),
        (
            Row("authorize?p=b2c_1_sign_in", "authorize?p=b2c_1_sign_in&amp;domain_hint=x", "for authority"),
            "authURL", .used
        ),
        (Row("<false/>", "<string>NO</string>", "web view", form: "form-b"), "fullScreen", .ignored),
        (Row("<true/>", "<string>YES</string>", "as show_claims", form: "form-b"), "showClaims", .used),
        (
            Row("\t<key>fullScreen</key>", "\t<key>correlationId</key>", "each request", form: "form-b"),
            "correlationId", .ignored
        ),
        (Row("b2c_1_sign_in", "", "empty", form: "form-b"), "emailSignInPolicyId", .ignored),
        (
            Row("b2c_1_sign_in", "", "as policy facebook-sign-in, the default", form: "form-b"),
            "faceBookSignInPolicyId", .used
        ),
    ]

    @Test(arguments: accepted.indices) func `the result of each key is reported`(_ index: Int) throws {
        let (row, key, fate) = Self.accepted[index]
        let bytes = try SettingsPlistTests.fixture(row.form, replacing: row.change)
        let (_, report) = try SettingsPlistTests.read(bytes, name: "Tool")
        let lines = report.filter { $0.key == key }
        #expect(lines.contains { $0.fate == fate && $0.text.description.contains(row.words) }, "\(lines)")
        #expect(report.allSatisfy { !$0.description.contains("s3cret") })
    }

    @Test func `other parameters of the authorization URL go on being sent`() throws {
        let bytes = try SettingsPlistTests.fixture(
            "form-a", replacing: ["authorize?p=b2c_1_sign_in": "authorize?p=b2c_1_sign_in&amp;domain_hint=x"])
        let (type, _) = try SettingsPlistTests.read(bytes)
        #expect(type.authorizeParameters == ["domain_hint": "x"])
        #expect(type.authority == "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com?p=b2c_1_sign_in")
    }

    @Test func `a Team prefix is stripped from the keychain group only when it is one`() throws {
        for (written, group) in [
            ("A1B2C3D4E5.com.example", "com.example"), ("a1b2c3d4e5.com.example", "a1b2c3d4e5.com.example"),
            ("A1B2C3D4E.com.example", "A1B2C3D4E.com.example"), ("tools", "tools"),
        ] {
            let bytes = try SettingsPlistTests.fixture(
                "form-a",
                replacing: ["com.microsoft.azureactivedirectory.samples.graph.QuickStart": written])
            #expect(try SettingsPlistTests.read(bytes).type.keychainGroup.name == group)
        }
    }

    @Test(arguments: [
        ("<dict><key>clientID</key><string>c</string></dict>", "neither 'authURL' nor 'authority'"),
        (
            "<dict><key>authURL</key><string/><key>authority</key><string/></dict>",
            "both 'authURL' and 'authority'"
        ),
        ("<array/>", "must contain a dictionary"),
        ("{}", "neither 'authURL' nor 'authority'"),
        ("", "is not a property list"),
    ]) func `a file of no known form says so`(_ text: String, _ words: String) throws {
        let error = try #require(throws: CredentialError.self) {
            try SettingsPlistTests.read(Array(text.utf8), name: "Tool")
        }
        #expect(error.code == .configuration)
        #expect(error.message.contains(words))
    }
}

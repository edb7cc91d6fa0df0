import AzureB2CAdapter
import CredentialCore
import Foundation
import PropertyLists
import StrictJSON
import Testing

@Suite struct SettingsPlistTests {
    static func fixture(_ name: String) throws -> [UInt8] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return Array(try Data(contentsOf: folder.appendingPathComponent("Fixtures/settings/\(name).plist")))
    }

    /// A fixture with parts of its text replaced.
    static func fixture(_ name: String, replacing changes: [String: String]) throws -> [UInt8] {
        var text = String(decoding: try fixture(name), as: UTF8.self)
        for (old, new) in changes {
            try #require(text.contains(old), "\(old) is not in \(name)")
            text = text.replacingOccurrences(of: old, with: new)
        }
        return Array(text.utf8)
    }

    static func read(
        _ bytes: [UInt8], name: String? = nil, fix: Bool = false, exact: Bool = false
    ) throws -> (type: AccountType, report: [ImportLine]) {
        try SettingsPlist.import(bytes, name: name, fix: fix, exact: exact, place: "settings.plist")
    }

    private static let clientID = "580e250c-8f26-49d0-bee8-1c078add1609"

    // MARK: Whole forms

    @Test(arguments: ["form-a", "form-a-binary", "form-a-json"]) func `form A becomes a definition`(
        _ name: String
    ) throws {
        let (type, report) = try Self.read(try Self.fixture(name))
        var expected = AccountType(name: "B2C_Acccount", adapter: "azure-b2c", clientID: Self.clientID)
        expected.authority = "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com?p=b2c_1_sign_in"
        expected.tenant = "exampleb2c.onmicrosoft.com"
        expected.defaultPolicy = "b2c_1_sign_in"
        expected.redirectURI = "urn:ietf:wg:oauth:2.0:oob"
        expected.keychainGroup = try KeychainGroup("com.microsoft.azureactivedirectory.samples.graph.QuickStart")
        expected.apiBase = "https://aadb2cplayground.azurewebsites.net"
        expected.scope = ["openid", Self.clientID, "offline_access"]
        #expect(type == expected)
        #expect(
            report.map { "\($0.key) \($0.fate)" } == [
                "accountIdentifier used", "clientID used", "clientSecret ignored", "authURL used",
                "loginURL ignored", "bhh used", "tokenURL used", "keychain used", "contentType ignored",
                "taskAPI used", "(scope) changed",
            ])
        #expect(report.first?.line == (name == "form-a" ? 5 : nil))
    }

    @Test func `form B becomes a definition`() throws {
        let (type, report) = try Self.read(try Self.fixture("form-b"), name: "Tasks")
        var expected = AccountType(name: "Tasks", adapter: "azure-b2c", clientID: Self.clientID)
        expected.authority = "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com?p=b2c_1_sign_in"
        expected.tenant = "exampleb2c.onmicrosoft.com"
        expected.policies = [
            "email-sign-in": "b2c_1_sign_in", "facebook-sign-in": "b2c_1_facebook",
            "email-sign-up": "b2c_1_sign_up",
        ]
        expected.defaultPolicy = "email-sign-in"
        expected.redirectURI = "urn:ietf:wg:oauth:2.0:oob"
        expected.apiBase = "http://localhost/tasks:3000"
        expected.scope = ["openid", Self.clientID, "offline_access"]
        expected.showClaims = true
        #expect(type == expected)
        #expect(
            report.map { "\($0.key) \($0.fate)" } == [
                "authority used", "clientId used", "scopes changed", "additionalScopes ignored", "redirectUri used",
                "taskWebAPI used", "emailSignUpPolicyId used", "faceBookSignInPolicyId used",
                "emailSignInPolicyId used", "fullScreen ignored", "showClaims used",
            ])
    }

    @Test func `form C becomes a definition and is called legacy`() throws {
        let (type, report) = try Self.read(try Self.fixture("form-c"), name: "Old")
        #expect(type.authority == "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com?p=B2C_1_B2CSI")
        #expect(type.policies == ["sign-in": "B2C_1_B2CSI", "sign-up": "B2C_1_B2CSU"])
        #expect(type.defaultPolicy == "sign-in")
        #expect(type.apiBase == "http://localhost:8888/tasks")
        #expect(type.resource == nil)
        let authority = try #require(report.first { $0.key == "authority" })
        #expect(authority.fate == .changed)
        #expect(authority.text.description.contains("legacy"))
        #expect(report.first { $0.key == "resourceString" }?.text.description.contains("legacy") == true)
        #expect(report.first { $0.key == "userId" }?.fate == .ignored)
    }

    @Test(arguments: ["form-a", "form-a-sample", "form-a-loopback", "form-b", "form-b-skeleton", "form-c"])
    func `an imported type can be written, read again and used`(_ name: String) throws {
        let (type, report) = try Self.read(try Self.fixture(name), name: "Imported")
        let members = try #require(try JSONValue.parse(JSONValue.object(type.json).text()).object)
        #expect(try AccountType(name: "Imported", json: members, isPrivateFile: false, place: "x") == type)
        let authority = try B2CAuthority(of: type)
        let policy = try B2CPolicy.named(nil, of: type)
        #expect(authority.policy == policy)
        #expect(authority.form == .query)
        let dictionary = try #require(
            try PropertyList.parse(try Self.fixture(name), place: "x").dictionary)
        #expect(Set(report.map(\.key)).isSuperset(of: dictionary.entries.map(\.key)))
        #expect(report.allSatisfy { $0.fate != .refused && !$0.text.description.isEmpty })
    }

    @Test func `the real sample's plist is taken with its double slash and its unused key`() throws {
        let (type, report) = try Self.read(try Self.fixture("form-a-sample"))
        #expect(type.authority == "https://login.microsoftonline.com/isasample.site?p=b2c_1_sign_in")
        #expect(type.apiBase == "http://localhost:3000")
        #expect(
            report.first { $0.key == "authURL" }?.text.description.contains("'//' in its path collapsed") == true)
        #expect(report.first { $0.key == "kIDMOAuth2SuccessPagePrefix" }?.fate == .ignored)
    }

    @Test func `a provider on the loopback is taken in form A`() throws {
        let (type, _) = try Self.read(try Self.fixture("form-a-loopback"))
        let authority = try B2CAuthority(of: type)
        let policy = try B2CPolicy.named(nil, of: type)
        #expect(
            authority.address(of: .token, policy: policy).description
                == "http://localhost:8400/exampleb2c.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_sign_in")
    }

    @Test func `form B goes on writing the policy into the query wherever it is served`() throws {
        let bytes = try Self.fixture(
            "form-b", replacing: ["https://login.microsoftonline.com/": "http://localhost:8400/"])
        let (type, _) = try Self.read(bytes, name: "Demo")
        #expect(type.authority == "http://localhost:8400/exampleb2c.onmicrosoft.com?p=b2c_1_sign_in")
    }

    // MARK: Placeholders

    @Test(arguments: [
        (
            "form-a-placeholders",
            "key clientID, line 8; key authURL, line 12; key loginURL, line 14; "
                + "key tokenURL, line 18 (in settings.plist)"
        ),
        (
            "form-b-placeholders",
            "key authority, line 3; key clientId, line 5; key scopes, line 8; "
                + "key emailSignUpPolicyId, line 18; key faceBookSignInPolicyId, line 20; "
                + "key emailSignInPolicyId, line 22 (in settings.plist)"
        ),
        ("form-c-placeholders", "key authority, line 6; key clientId, line 8 (in settings.plist)"),
    ]) func `placeholders are all named`(_ name: String, _ places: String) throws {
        let error = try #require(throws: CredentialError.self) { try Self.read(try Self.fixture(name), name: "X") }
        #expect(error.code == .configuration)
        #expect(error.message == "placeholder not filled in at " + places)
    }

    // MARK: Names and scopes

    @Test func `form A may be renamed, form B must be named`() throws {
        let (type, report) = try Self.read(try Self.fixture("form-a"), name: "Other")
        #expect(type.name == "Other")
        #expect(report.first?.fate == .changed)
        let error = try #require(throws: CredentialError.self) { try Self.read(try Self.fixture("form-b")) }
        #expect(error.code == .usage)
        #expect(error.hint == "set the name with --name")
        #expect(throws: CredentialError.self) { try Self.read(try Self.fixture("form-b"), name: "a/b") }
        let unnamed = try Self.fixture("form-a", replacing: ["B2C_Acccount": ""])
        #expect(throws: CredentialError.self) { try Self.read(unnamed) }
    }

    @Test func `exact keeps the scopes of the app`() throws {
        #expect(try Self.read(try Self.fixture("form-a"), exact: true).type.scope == ["openid", Self.clientID])
        #expect(try Self.read(try Self.fixture("form-b"), name: "B", exact: true).type.scope == [Self.clientID])
        let blank = try Self.fixture(
            "form-b", replacing: ["\t\t<string>\(Self.clientID)</string>": "<string> </string>"])
        #expect(try Self.read(blank, name: "B", exact: true).type.scope == ["openid", Self.clientID])
    }

    @Test func `additional scopes are kept apart, blanks are not`() throws {
        #expect(
            try Self.read(try Self.fixture("form-b-skeleton"), name: "B").type.scope
                == ["openid", Self.clientID, "offline_access"])
        let bytes = try Self.fixture(
            "form-b-skeleton", replacing: ["<string></string>": "<string>https://x.example/read</string>"])
        let (type, report) = try Self.read(bytes, name: "B")
        #expect(type.scope == ["openid", Self.clientID, "offline_access"])
        #expect(type.additionalScope == ["https://x.example/read"])
        #expect(report.first { $0.key == "additionalScopes" }?.fate == .used)
    }

    @Test func `the port behind the path is mended only when asked`() throws {
        let (asIs, report) = try Self.read(try Self.fixture("form-b"), name: "B")
        #expect(asIs.apiBase == "http://localhost/tasks:3000")
        #expect(
            report.first { $0.key == "taskWebAPI" }?.text.description.contains("http://localhost:3000/tasks")
                == true)
        let (fixed, fixedReport) = try Self.read(try Self.fixture("form-b"), name: "B", fix: true)
        #expect(fixed.apiBase == "http://localhost:3000/tasks")
        #expect(fixedReport.first { $0.key == "taskWebAPI" }?.fate == .changed)
    }

    @Test func `settings in a folder of types are named by their file`() throws {
        let bytes = try Self.fixture("form-a")
        let type = try SettingsPlist.definition(bytes, name: "Mine", isPrivate: false, place: "Mine.plist")
        #expect(type.name == "Mine")
        let secret = try Self.fixture(
            "form-a",
            replacing: [
                "<key>clientSecret</key>\n\t<string></string>": "<key>clientSecret</key><string>s3cret</string>"
            ])
        let error = try #require(throws: CredentialError.self) {
            try SettingsPlist.definition(secret, name: "Mine", isPrivate: false, place: "Mine.plist")
        }
        #expect(error.hint == "chmod 600 Mine.plist")
        #expect(!error.message.contains("s3cret"))
        let own = try SettingsPlist.definition(secret, name: "Mine", isPrivate: true, place: "Mine.plist")
        #expect(own.clientSecret == .literal(Secret("s3cret")))
    }

    @Test(arguments: [
        ("form-a", "<key>bhh</key>", "<key>client_ID</key>", "did you mean 'clientID'?"),
        ("form-b", "<key>fullScreen</key>", "<key>fullScrene</key>", "did you mean 'fullScreen'?"),
    ]) func `an unknown key of settings in a folder of types is an error, in an import it is reported`(
        name: String, key: String, slip: String, hint: String
    ) throws {
        let bytes = try Self.fixture(name, replacing: [key: slip])
        let error = try #require(throws: CredentialError.self) {
            try SettingsPlist.definition(bytes, name: "Mine", isPrivate: true, place: "/etc/Mine.plist")
        }
        #expect(error.code == .configuration)
        let shown = slip.dropFirst(5).prefix { $0 != "<" }
        #expect(error.message.hasPrefix("/etc/Mine.plist cannot be used: key \(shown), line "))
        #expect(error.message.hasSuffix("is unknown, \(hint)"))
        let report = try Self.read(bytes, name: "Mine").report
        #expect(report.first { $0.key == shown }?.fate == .ignored)
    }

    @Test(arguments: ["form-a", "form-a-sample", "form-b", "form-b-skeleton", "form-c"])
    func `the samples' own settings work as they are in a folder of types`(name: String) throws {
        let type = try SettingsPlist.definition(
            try Self.fixture(name), name: "Mine", isPrivate: true, place: "/etc/Mine.plist")
        #expect(type.name == "Mine")
    }
}

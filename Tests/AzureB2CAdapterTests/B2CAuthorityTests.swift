import AzureB2CAdapter
import CredentialCore
import Testing

@Suite struct B2CAuthorityTests {
    private static let tenant = "exampleb2c.onmicrosoft.com"
    private static let guid = "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"

    private struct Row: Sendable {
        let url: String
        let base: String
        var tenant = B2CAuthorityTests.tenant
        var policy: String? = "b2c_1_sign_in"
        var form = B2CAuthority.Form.path
        var hasTFP = false
    }

    private static let old = "https://login.microsoftonline.com"
    private static let new = "https://exampleb2c.b2clogin.com"

    private static let rows: [Row] = [
        // U1
        Row(url: "\(old)/\(tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in", base: old, form: .query),
        Row(url: "\(old)/\(tenant)/oauth2/v2.0/token?p=b2c_1_sign_in", base: old, form: .query),
        Row(url: "\(old)/\(tenant)/oauth2/v2.0/logout?P=b2c_1_sign_in", base: old, form: .query),
        // U2
        Row(url: "\(old)/\(tenant)/b2c_1_sign_in/oauth2/v2.0/authorize", base: old),
        Row(url: "\(old)/tfp/\(tenant)/b2c_1_sign_in/oauth2/v2.0/authorize", base: old, hasTFP: true),
        // U3
        Row(url: "\(new)/\(tenant)/b2c_1_sign_in/oauth2/v2.0/authorize", base: new),
        // U4
        Row(url: "\(new)/\(tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in", base: new, form: .query),
        // U5
        Row(url: "\(old)/\(guid)/oauth2/v2.0/authorize?p=b2c_1_sign_in", base: old, tenant: guid, form: .query),
        Row(url: "\(new)/\(guid)/b2c_1_sign_in/oauth2/v2.0/token", base: new, tenant: guid),
        Row(url: "\(new)/tfp/\(guid)/b2c_1_sign_in", base: new, tenant: guid, hasTFP: true),
        // U6
        Row(
            url: "https://login.example.com/\(tenant)/b2c_1_sign_in/oauth2/v2.0/authorize",
            base: "https://login.example.com"),
        Row(
            url: "https://Login.Example.com:443/\(guid)/b2c_1_sign_in/v2.0/", base: "https://login.example.com",
            tenant: guid),
        // U7
        Row(url: "\(new)/tfp/\(tenant)/b2c_1_sign_in/oauth2/v2.0/authorize", base: new, hasTFP: true),
        // U8
        Row(
            url: "https://exampleb2c.b2clogin.cn/exampleb2c.partner.onmschina.cn/b2c_1_sign_in/oauth2/v2.0/token",
            base: "https://exampleb2c.b2clogin.cn", tenant: "exampleb2c.partner.onmschina.cn"),
        Row(
            url: "https://exampleb2c.b2clogin.us/\(tenant)/b2c_1_sign_in", base: "https://exampleb2c.b2clogin.us"),
        Row(
            url: "https://exampleb2c.b2clogin.de/\(tenant)/b2c_1_sign_in", base: "https://exampleb2c.b2clogin.de"),
        Row(
            url: "https://login.chinacloudapi.cn/\(tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in",
            base: "https://login.chinacloudapi.cn", form: .query),
        // Authorities, discovery and key URLs
        Row(url: "\(old)/\(tenant)/", base: old, policy: nil, form: .query),
        Row(url: "\(old)/\(tenant)/login", base: old, policy: nil, form: .query),
        Row(url: "\(new)/\(tenant)", base: new, policy: nil),
        Row(url: "\(new)/\(tenant)/b2c_1_sign_in/", base: new),
        Row(url: "\(new)/\(tenant)?p=b2c_1_sign_in", base: new, form: .query),
        Row(url: "\(new)/\(tenant)/b2c_1_sign_in/v2.0/.well-known/openid-configuration", base: new),
        Row(
            url: "\(new)/\(tenant)/v2.0/.well-known/openid-configuration?p=b2c_1_sign_in", base: new, form: .query),
        Row(url: "\(new)/\(tenant)/b2c_1_sign_in/discovery/v2.0/keys", base: new),
        Row(url: "\(new)/\(tenant)/b2c_1_sign_in/openid/v2.0/userinfo", base: new),
        // Path and query agree
        Row(url: "\(new)/\(tenant)/b2c_1_sign_in/oauth2/v2.0/authorize?p=B2C_1_Sign_In", base: new),
        // Custom policies, and another spelling
        Row(url: "\(new)/\(tenant)/B2C_1A_SignUp_SignIn", base: new, policy: "B2C_1A_SignUp_SignIn"),
        // Double slashes
        Row(url: "\(old)//\(tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in", base: old, form: .query),
        Row(url: "\(new)/\(tenant)//b2c_1_sign_in///oauth2/v2.0/authorize", base: new),
        // Loopback, for the demo
        Row(
            url: "http://localhost:8400/\(tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in",
            base: "http://localhost:8400", form: .query),
        Row(url: "http://127.0.0.1:8400/\(tenant)/b2c_1_sign_in", base: "http://127.0.0.1:8400"),
        Row(url: "http://[::1]:8400/\(tenant)/b2c_1_sign_in", base: "http://[::1]:8400"),
    ]

    @Test(arguments: rows.indices) func `every form gives host, tenant and policy`(_ index: Int) throws {
        let row = Self.rows[index]
        let authority = try B2CAuthority(row.url)
        #expect(authority.base.description == row.base)
        #expect(authority.tenant == row.tenant)
        #expect(authority.policy?.written == row.policy)
        #expect(authority.form == row.form)
        #expect(authority.hasTFP == row.hasTFP)
        #expect(authority.isTenantGUID == (row.tenant == Self.guid))
        #expect(authority.otherQuery == [])
        #expect(authority.isCollapsed == row.url.dropFirst(8).contains("//"))
        // An authority that is built again gives the same once more.
        let again = try B2CAuthority(authority.address(policy: authority.policy).description)
        #expect(again.provider == authority.provider)
        #expect(again.policy == authority.policy)
        #expect(again.form == authority.form)
        for endpoint in B2CAuthority.Endpoint.allCases {
            guard let policy = authority.policy else { continue }
            let read = try B2CAuthority(authority.address(of: endpoint, policy: policy).description)
            #expect(read.provider == authority.provider)
            #expect(read.form == authority.form)
            #expect(read.policy == policy)
        }
    }

    private static let faults: [(url: String, words: String)] = [
        ("login.microsoftonline.com/x", "is not an absolute URL"),
        ("https://login.microsoftonline.com", "has no tenant"),
        ("https://login.microsoftonline.com/tfp/", "has no tenant"),
        ("http://login.microsoftonline.com/\(tenant)", "http is only allowed for localhost"),
        ("http://localhost.example.com/\(tenant)", "http is only allowed for localhost"),
        ("ftp://localhost/\(tenant)", "must be an https URL"),
        ("https://user@\(tenant)/x", "is not an absolute URL"),
        ("\(old)/\(tenant)#p", "must not have a fragment"),
        ("\(old)/common/oauth2/v2.0/authorize?p=b2c_1_a", "does not name a tenant"),
        ("\(old)/ex%61mple/oauth2/v2.0/authorize?p=b2c_1_a", "does not name a tenant"),
        ("\(old)/../\(tenant)", "does not name a tenant"),
        ("\(old)/\(tenant)/b2c_1_a/oauth2/v2.0/authorize?p=b2c_1_b", "one policy in its path and another"),
        ("\(old)/\(tenant)/oauth2/v2.0/authorize?p=b2c_1_a&p=b2c_1_b", "names two policies"),
        ("\(old)/\(tenant)/oauth2/v2.0/authorize?p=", "has no valid policy name"),
        ("\(old)/\(tenant)/oauth2/v2.0/authorize?p", "has no valid policy name"),
        ("\(old)/\(tenant)/oauth2/v2.0/authorize?p=b2c_1_a%26x", "has no valid policy name"),
        ("\(old)/\(tenant)/oauth2/v2.0/elsewhere?p=b2c_1_a", "has a path that B2C does not support"),
        ("\(old)/\(tenant)/b2c_1_a/b2c_1_b/oauth2/v2.0/token", "has a path that B2C does not support"),
        ("\(old)/\(tenant)/b2c_1_a/oauth2/v2.0/token/more", "has a path that B2C does not support"),
        ("\(old)/\(tenant)/saml~x/y", "has a path that B2C does not support"),
    ]

    @Test(arguments: faults.indices) func `a URL that is not an authority is refused with the reason`(_ index: Int)
        throws
    {
        let (url, words) = Self.faults[index]
        let problem = try #require(throws: B2CAuthority.Problem.self) { try B2CAuthority(url) }
        #expect(problem.description.contains(words), "\(problem)")
    }

    @Test func `endpoints are built in the form given`() throws {
        let sent = try #require(B2CPolicy("B2C_1_Edit"))
        let query = try B2CAuthority("\(Self.old)/\(Self.tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in")
        #expect(
            query.address(of: .token, policy: sent).description
                == "\(Self.old)/\(Self.tenant)/oauth2/v2.0/token?p=B2C_1_Edit")
        #expect(
            query.address(of: .discovery, policy: sent).description
                == "\(Self.old)/\(Self.tenant)/v2.0/.well-known/openid-configuration?p=B2C_1_Edit")
        #expect(
            query.address(of: .keys, policy: sent).description
                == "\(Self.old)/\(Self.tenant)/discovery/v2.0/keys?p=B2C_1_Edit")
        let path = try B2CAuthority("\(Self.new)/tfp/\(Self.tenant)/b2c_1_sign_in/")
        #expect(
            path.address(of: .authorize, policy: sent).description
                == "\(Self.new)/tfp/\(Self.tenant)/B2C_1_Edit/oauth2/v2.0/authorize")
        #expect(
            path.address(of: .logout, policy: sent).description
                == "\(Self.new)/tfp/\(Self.tenant)/B2C_1_Edit/oauth2/v2.0/logout")
        #expect(
            path.address(of: .keys, policy: sent).description
                == "\(Self.new)/tfp/\(Self.tenant)/B2C_1_Edit/discovery/v2.0/keys")
        #expect(
            path.address(of: .userinfo, policy: sent).description
                == "\(Self.new)/tfp/\(Self.tenant)/B2C_1_Edit/openid/v2.0/userinfo")
    }

    @Test func `the provider is host and tenant, whatever the form`() throws {
        let provider = "b2c:https://login.microsoftonline.com/exampleb2c.onmicrosoft.com"
        for text in [
            "\(Self.old)/\(Self.tenant)/oauth2/v2.0/authorize?p=b2c_1_a", "\(Self.old)/tfp/\(Self.tenant)/b2c_1_b",
            "https://LOGIN.microsoftonline.com:443/ExampleB2C.OnMicrosoft.com/",
        ] {
            #expect(try B2CAuthority(text).provider == provider)
        }
        #expect(try B2CAuthority("\(Self.old)/\(Self.guid)/").provider != provider)
        #expect(try B2CAuthority("\(Self.new)/\(Self.tenant)/").provider != provider)
    }

    @Test func `the first version of the endpoints and other parameters are noticed`() throws {
        let authority = try B2CAuthority("\(Self.old)/\(Self.tenant)/oauth2/authorize?api-version=1.0")
        #expect(authority.isLegacy)
        #expect(authority.otherQuery == ["api-version=1.0"])
    }
}

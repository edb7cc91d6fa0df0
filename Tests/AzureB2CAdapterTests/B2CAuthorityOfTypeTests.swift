import AzureB2CAdapter
import CredentialCore
import Testing

@Suite struct B2CAuthorityOfTypeTests {
    private static func type(_ change: (inout AccountType) -> Void) -> AccountType {
        var type = AccountType(name: "Tool", adapter: "azure-b2c", clientID: "c")
        change(&type)
        return type
    }

    private static let good: [(change: @Sendable (inout AccountType) -> Void, address: String)] = [
        (
            { $0.authority = "https://login.microsoftonline.com/t.onmicrosoft.com" },
            "https://login.microsoftonline.com/t.onmicrosoft.com?p=b2c_1_x"
        ),
        (
            {
                $0.authority = "https://login.microsoftonline.com/"
                $0.tenant = "t.onmicrosoft.com"
            }, "https://login.microsoftonline.com/t.onmicrosoft.com?p=b2c_1_x"
        ),
        (
            {
                $0.authority = "https://login.example.com/tfp"
                $0.tenant = "t.onmicrosoft.com"
            }, "https://login.example.com/tfp/t.onmicrosoft.com/b2c_1_x"
        ),
        (
            {
                $0.authority = "https://t.b2clogin.com/T.onmicrosoft.com"
                $0.tenant = "t.OnMicrosoft.com"
            }, "https://t.b2clogin.com/T.onmicrosoft.com/b2c_1_x"
        ),
        ({ $0.tenant = "T.onmicrosoft.com" }, "https://t.b2clogin.com/T.onmicrosoft.com/b2c_1_x"),
        ({ $0.tenant = "t" }, "https://t.b2clogin.com/t.onmicrosoft.com/b2c_1_x"),
        (
            {
                $0.endpoints[.authorization] =
                    "https://t.b2clogin.com/t.onmicrosoft.com/oauth2/v2.0/authorize?p=b2c_1_a"
                $0.endpoints[.token] = "https://t.b2clogin.com/t.onmicrosoft.com/oauth2/v2.0/token?p=B2C_1_A"
            }, "https://t.b2clogin.com/t.onmicrosoft.com?p=b2c_1_x"
        ),
        (
            { $0.endpoints[.token] = "https://t.b2clogin.com/t.onmicrosoft.com/b2c_1_a/oauth2/v2.0/token" },
            "https://t.b2clogin.com/t.onmicrosoft.com/b2c_1_x"
        ),
    ]

    @Test(arguments: good.indices) func `a definition gives its authority`(_ index: Int) throws {
        let policy = try #require(B2CPolicy("b2c_1_x"))
        let authority = try B2CAuthority(of: Self.type(Self.good[index].change))
        #expect(authority.address(policy: policy).description == Self.good[index].address)
    }

    private static let bad: [(change: @Sendable (inout AccountType) -> Void, words: String)] = [
        ({ _ in }, "has neither 'authority' nor 'tenant'"),
        (
            { $0.authority = "https://login.microsoftonline.com/" },
            "key 'authority' of account type 'Tool' has no tenant"
        ),
        ({ $0.authority = "https://a.example.com/t?p=b2c_1_a&x=y" }, "has a query other than 'p'"),
        (
            {
                $0.authority = "https://a.example.com/t.onmicrosoft.com"
                $0.tenant = "u.onmicrosoft.com"
            }, "key 'tenant' of account type 'Tool' differs from"
        ),
        (
            {
                $0.authority = "https://a.example.com/t"
                $0.endpoints[.token] = "https://b.example.com/t/oauth2/v2.0/token"
            }, "key 'token_endpoint' of account type 'Tool' has a different host"
        ),
        (
            {
                $0.endpoints[.authorization] = "https://a.example.com/t/oauth2/v2.0/authorize?p=b2c_1_a"
                $0.endpoints[.token] = "https://a.example.com/t/oauth2/v2.0/token?p=b2c_1_b"
            }, "key 'token_endpoint' of account type 'Tool' names a different policy"
        ),
        ({ $0.tenant = "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77" }, "does not identify the host"),
        ({ $0.tenant = "login.example.com" }, "does not identify the host"),
    ]

    @Test(arguments: bad.indices) func `a definition that makes no sense names the key`(_ index: Int) throws {
        let error = try #require(throws: CredentialError.self) {
            try B2CAuthority(of: Self.type(Self.bad[index].change))
        }
        #expect(error.code == .configuration)
        #expect(error.message.contains(Self.bad[index].words), "\(error.message)")
    }

    // MARK: Policies

    private static let tool = type {
        $0.authority = "https://t.b2clogin.com/t.onmicrosoft.com/B2C_1_Authority"
        $0.policies = ["email-sign-in": "B2C_1_Sign_In", "profile": "Edit_Profile"]
        $0.passwordResetPolicy = "B2C_1_Reset"
    }

    @Test(
        arguments: [
            (nil, "B2C_1_Authority"), ("email-sign-in", "B2C_1_Sign_In"), ("b2c_1_sign_in", "B2C_1_Sign_In"),
            ("B2C_1_SIGN_IN", "B2C_1_Sign_In"), ("profile", "Edit_Profile"), ("edit_profile", "Edit_Profile"),
            ("b2c_1_reset", "B2C_1_Reset"), ("b2c_1_authority", "B2C_1_Authority"), ("b2c_1_other", "b2c_1_other"),
            ("B2C_1A_Custom", "B2C_1A_Custom"),
        ] as [(String?, String)]) func `a policy is found by alias or name and sent as written`(
            _ name: String?, _ written: String
        ) throws
    {
        let policy = try B2CPolicy.named(name, of: Self.tool)
        #expect(policy.written == written)
        #expect(policy.canonical == written.lowercased())
    }

    @Test func `the default is the definition's, else the authority's, else the only one`() throws {
        var type = Self.tool
        type.defaultPolicy = "email-sign-in"
        #expect(try B2CPolicy.named(nil, of: type).written == "B2C_1_Sign_In")
        type.defaultPolicy = "B2C_1_Named"
        #expect(try B2CPolicy.named(nil, of: type).written == "B2C_1_Named")
        #expect(try B2CPolicy.named("b2c_1_named", of: type).written == "B2C_1_Named")
        type = Self.type { $0.tenant = "t" }
        type.policies = ["only": "B2C_1_Only"]
        #expect(try B2CPolicy.named(nil, of: type).written == "B2C_1_Only")
        type.policies = ["one": "B2C_1_One", "two": "B2C_1_Two"]
        let error = try #require(throws: CredentialError.self) { try B2CPolicy.named(nil, of: type) }
        #expect(error.code == .configuration)
    }

    @Test func `an unknown policy is named with the nearest alias`() throws {
        let error = try #require(throws: CredentialError.self) {
            try B2CPolicy.named("email-sing-in", of: Self.tool)
        }
        #expect(error.code == .usage)
        #expect(error.hint == "did you mean 'email-sign-in'?")
        #expect(throws: CredentialError.self) { try B2CPolicy.named("a/b", of: Self.tool) }
    }

    @Test func `policies are equal in any case`() {
        #expect(B2CPolicy("B2C_1_A") == B2CPolicy("b2c_1_a"))
        #expect(Set([B2CPolicy("B2C_1_A"), B2CPolicy("b2c_1_a")]).count == 1)
        #expect(B2CPolicy("b2c_1a_x")?.hasPolicyPrefix == true)
        #expect(B2CPolicy("B2C_1_x")?.hasPolicyPrefix == true)
        #expect(B2CPolicy("b2c_2_x")?.hasPolicyPrefix == false)
        #expect(B2CPolicy("a b") == nil)
    }
}

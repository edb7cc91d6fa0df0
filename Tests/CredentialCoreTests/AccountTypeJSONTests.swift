import CredentialCore
import StrictJSON
import Testing

@Suite struct AccountTypeJSONTests {
    private static func type(
        _ json: String, isPrivate: Bool = false
    ) throws -> AccountType {
        let members = try #require(try JSONValue.parse(json, dialect: .commented).object)
        return try AccountType(name: "Work", json: members, isPrivateFile: isPrivate, place: "/etc/Work.json")
    }

    /// A definition with one more member.
    private static func type(with member: String, isPrivate: Bool = false) throws -> AccountType {
        try type(#"{"adapter":"oauth2","client_id":"c",\#(member)}"#, isPrivate: isPrivate)
    }

    private static let whole = #"""
        {
          "adapter": "azure-b2c",
          "issuer": "https://issuer.example.com/path",
          "authorization_endpoint": "https://a.example.com/authorize?p=x",
          "token_endpoint": "https://a.example.com/token",
          "device_authorization_endpoint": "https://a.example.com/device",
          "revocation_endpoint": "https://a.example.com/revoke",
          "introspection_endpoint": "https://a.example.com/introspect",
          "end_session_endpoint": "https://a.example.com/logout",
          "jwks_uri": "https://a.example.com/keys",
          "pushed_authorization_request_endpoint": "https://a.example.com/par",
          "userinfo_endpoint": "https://a.example.com/me",
          "registration_endpoint": "https://a.example.com/register",
          "client_id": "client",
          "client_secret": {"command": ["pass", "show", "client"]},
          "token_endpoint_auth_method": "private_key_jwt",
          "token_endpoint_auth_signing_alg": "PS256",
          "private_key": {"file": "/keys/client.pem"},
          "identity_token": {"file": "/run/secrets/token"},
          "identity_audience": "https://work.example.com",
          "tls_client_certificate": "/keys/client.crt",
          "tls_client_key": "/keys/client.key",
          "ca_certificate": "/keys/ca.pem",
          "proxy": "http://proxy.example.com:3128",
          "registration_client_uri": "https://a.example.com/register/client",
          "scope": "openid offline_access https://api.example.com/read",
          "additional_scope": "https://api.example.com/consent",
          "redirect_uri": "http://localhost:8400/callback",
          "response_mode": "form_post",
          "require_pushed_authorization_requests": true,
          "dpop_bound_access_tokens": true,
          "resource": "https://api.example.com",
          "audience": "api",
          "token_exchange": true,
          "refresh_reuse": "tolerated",
          "flow": "device",
          "extra_parameters": {"authorize": {"domain_hint": "x.example"}, "token": {"t": "1"}},
          "headers": {"X-Tenant": "one"},
          "bearer": "id_token",
          "keychain_group": "com.example.tools",
          "api_base": "http://127.0.0.1:3000/api",
          "api_origins": ["https://other.example.com"],
          "tenant": "exampleb2c.onmicrosoft.com",
          "authority": "https://exampleb2c.b2clogin.com/exampleb2c.onmicrosoft.com",
          "policies": {"email-sign-in": "B2C_1_Sign_In", "reset": "B2C_1_Reset"},
          "default_policy": "email-sign-in",
          "password_reset_policy": "reset",
          "adapter_settings": {"site": "forge.example.com"},
          "show_claims": true, "issuer_named_by_api": true
        }
        """#

    @Test func `a definition with every key is read and written back the same`() throws {
        let source = try #require(try JSONValue.parse(Self.whole).object)
        // One excludes the other.
        let keys = AccountType.keys.filter { $0 != "identity_provider" }
        #expect(source.keys == keys)
        let type = try Self.type(Self.whole)
        #expect(type.json == source)
        #expect(type.json.keys == keys)
        #expect(
            try AccountType(name: "Work", json: type.json, isPrivateFile: false, place: "x") == type)
        #expect(type.scope == ["openid", "offline_access", "https://api.example.com/read"])
        #expect(type.clientSecret == .command(["pass", "show", "client"]))
        #expect(type.policies["email-sign-in"] == "B2C_1_Sign_In")
        #expect(type.endpoints.count == AccountType.Endpoint.allCases.count)
    }

    @Test func `a written definition holds only the keys that are set`() {
        let type = AccountType(name: "Work", adapter: "oauth2", clientID: "c")
        #expect(JSONValue.object(type.json).text() == #"{"adapter":"oauth2","client_id":"c"}"#)
    }

    @Test(arguments: [
        (#""issuer":"https://i.example.com""#, "oauth2"),
        (#""token_endpoint":"https://i.example.com/t""#, "oauth2"),
        (#""tenant":"t.onmicrosoft.com""#, "azure-b2c"),
        (#""authority":"https://t.b2clogin.com/t.onmicrosoft.com""#, "azure-b2c"),
        (#""policies":{"a":"b2c_1_a"},"issuer":"https://i.example.com""#, "azure-b2c"),
        (#""adapter":"my-provider","tenant":"t""#, "my-provider"),
    ]) func `the adapter follows from the given keys`(_ members: String, _ adapter: String) throws {
        #expect(try Self.type(#"{"client_id":"c",\#(members)}"#).adapter == adapter)
    }

    @Test func `without provider or client there is no type`() throws {
        let provider = try #require(throws: CredentialError.self) { try Self.type(#"{"client_id":"c"}"#) }
        #expect(provider.message == "no provider in /etc/Work.json")
        let client = try #require(throws: CredentialError.self) { try Self.type(#"{"adapter":"oauth2"}"#) }
        #expect(client.message == "key 'client_id' is missing in /etc/Work.json")
    }

    @Test(arguments: [
        ("clientid", "did you mean 'client_id'?"), ("scopes", "did you mean 'scope'?"),
        ("Authority", "did you mean 'authority'?"), ("default-policy", "did you mean 'default_policy'?"),
    ]) func `an unknown key is named with the file and the nearest key`(_ key: String, _ hint: String) throws {
        let error = try #require(throws: CredentialError.self) { try Self.type(with: #""\#(key)":"x""#) }
        #expect(error.code == .configuration)
        #expect(error.message == "unknown key '\(key)' in /etc/Work.json")
        #expect(error.hint == hint)
    }

    @Test func `an unknown key far from all lists them`() throws {
        let error = try #require(throws: CredentialError.self) { try Self.type(with: #""zzzzzzzz":1"#) }
        #expect(error.hint?.hasPrefix("known keys: adapter, issuer") == true)
        let nested = try #require(throws: CredentialError.self) {
            try Self.type(with: #""extra_parameters":{"autorize":{}}"#)
        }
        #expect(nested.message == "unknown key 'extra_parameters.autorize' in /etc/Work.json")
        #expect(nested.hint == "did you mean 'extra_parameters.authorize'?")
    }

    private static let faults: [(member: String, words: String)] = [
        (#""scope":1"#, "key 'scope' must be a string or an array of strings, not a number,"),
        (#""scope":[1]"#, "key 'scope' must be an array of strings"),
        (#""scope":["a b"]"#, "key 'scope' contains characters"),
        (#""scope":"a\"b""#, "key 'scope' contains characters"),
        (#""scope":"a\\b""#, "key 'scope' contains characters"),
        (#""scope":"aé""#, "key 'scope' contains characters"),
        (#""scope":"a\u007f""#, "key 'scope' contains characters"),
        (#""redirect_uri":true"#, "key 'redirect_uri' must be a string, not a boolean,"),
        (#""redirect_uri":null"#, "must be a string, not null,"),
        (#""redirect_uri":"""#, "key 'redirect_uri' is empty"),
        (#""redirect_uri":"/callback""#, "is not an absolute URL"),
        (#""redirect_uri":"http://example.com/cb""#, "http is only allowed for localhost"),
        (#""redirect_uri":"https://example.com/cb#x""#, "must not have a fragment"),
        (#""redirect_uri":"javascript:alert(1)""#, "has a scheme that cannot receive a redirect"),
        (#""issuer":"https://i.example.com/?a=b""#, "key 'issuer' must not have a query"),
        (#""issuer":"http://i.example.com""#, "http is only allowed for localhost, not for http://i.example.com"),
        (#""issuer":"i.example.com""#, "is not an absolute URL"),
        (#""token_endpoint":"ftp://i.example.com/""#, "is not an https URL"),
        (#""token_endpoint":"https://u:p@i.example.com/""#, "is not an absolute URL"),
        (#""jwks_uri":"file:///etc/passwd""#, "key 'jwks_uri' is not an absolute URL"),
        (#""api_base":"http://api.example.com""#, "key 'api_base' must be an https URL"),
        (#""api_base":"<your API>""#, "key 'api_base' still contains a placeholder"),
        (#""api_origins":"https://a.example.com""#, "must be an array of strings, not a string,"),
        (#""api_origins":["https://a.example.com/path"]"#, "must be an origin"),
        (#""resource":"api""#, "is not an absolute URI"),
        (#""audience":"a\u0007""#, "contains control characters"),
        (#""flow":"implicit""#, "must be one of code, device, password, client_credentials, jwt_bearer"),
        (#""bearer":"token""#, "must be one of access_token, id_token"),
        (#""adapter_settings":{"a b":"c"}"#, "'adapter_settings.a b'"),
        (#""adapter_settings":{"a":1}"#, "must be a string"),
        (#""show_claims":"yes""#, "must be true or false, not a string,"),
        (#""keychain_group":"a/b""#, "key 'keychain_group' must be 1 to 128"),
        (#""tenant":"a/b""#, "is neither a domain name nor a GUID"),
        (#""policies":["a"]"#, "must be an object of strings, not an array,"),
        (#""policies":{"a":1}"#, "key 'policies.a' must be a string, not a number,"),
        (#""policies":{"a b":"b2c_1_x"}"#, "key 'policies.a b' must be 1 to 128"),
        (#""policies":{"a":"b/c"}"#, "key 'policies.a' names a policy that must be 1 to 128"),
        (#""extra_parameters":{"authorize":{"state":"x"}}"#, "key 'extra_parameters.authorize.state' is set by"),
        (#""extra_parameters":{"token":{"Client_Secret":"x"}}"#, "key 'extra_parameters.token.Client_Secret' is"),
        (#""extra_parameters":{"token":{"":"x"}}"#, "is not a valid name of a parameter"),
        (#""extra_parameters":[]"#, "key 'extra_parameters' must be an object, not an array,"),
        (#""headers":{"Authorization":"x"}"#, "key 'headers.Authorization' is set by credmgr"),
        (#""headers":{"Cookie":"x"}"#, "is set by credmgr"),
        (#""headers":{"host":"x"}"#, "is set by credmgr"),
        (#""headers":{"Content-Type":"x"}"#, "is set by credmgr"),
        (#""headers":{"X-A":"a\r\nB: c"}"#, "key 'headers.X-A' contains characters"),
        (#""headers":{"X A":"a"}"#, "is not a valid name of a header field"),
        (#""headers":{"X-A\n":"a"}"#, "is not a valid name of a header field"),
        (#""headers":{"X-A":"1","x-a":"2"}"#, "key 'headers' has a header field twice"),
        (#""client_secret":{"vault":"x"}"#, "key 'client_secret' is not a valid secret source"),
        (#""client_secret":{"store":false}"#, "is not a valid secret source"),
        (#""client_secret":{"command":[]}"#, "is not a valid secret source"),
        (#""client_secret":{"env":"A","file":"B"}"#, "is not a valid secret source"),
        (#""client_secret":"s3cret""#, "key 'client_secret' contains a secret that other users can read"),
        (#""private_key":"s3cret""#, "key 'private_key' contains a secret that other users can read"),
    ]

    @Test(arguments: faults.indices) func `a value that does not do is named`(_ index: Int) throws {
        let (member, words) = Self.faults[index]
        let error = try #require(throws: CredentialError.self) { try Self.type(with: member) }
        #expect(error.code == .configuration)
        #expect(error.message.contains(words), "\(error.message)")
        #expect(error.message.hasSuffix(" in /etc/Work.json"))
        #expect(!error.message.contains("s3cret"))
    }

    @Test(arguments: [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "code", "code_verifier", "grant_type", "refresh_token", "username", "password",
        "client_secret", "client_assertion", "client_assertion_type", "assertion", "request", "request_uri",
    ]) func `parameters of the protocol cannot be set from outside`(_ name: String) {
        #expect(DefinitionValidation.parameter(name, "x") != nil)
        #expect(DefinitionValidation.parameter(name.uppercased(), "x") != nil)
    }

    @Test(arguments: [
        #""redirect_uri":"urn:ietf:wg:oauth:2.0:oob""#,
        #""redirect_uri":"msal580e250c-8f26-49d0-bee8-1c078add1609://auth""#,
        #""redirect_uri":"com.example.app:/oauth2redirect""#,
        #""redirect_uri":"http://localhost""#,
        #""redirect_uri":"http://127.0.0.1:8400/callback""#,
        #""redirect_uri":"http://[::1]:8400/callback""#,
        #""redirect_uri":"https://login.microsoftonline.com/tfp/oauth2/nativeclient""#,
        #""resource":"api://580e250c-8f26-49d0-bee8-1c078add1609""#,
        #""tenant":"7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77""#,
        #""headers":{"X-A":"b\tc"}"#,
    ]) func `values that do are taken`(_ member: String) throws {
        let type = try Self.type(with: member)
        let source = try #require(try JSONValue.parse("{\(member)}").object)
        for (name, value) in source.members { #expect(type.json[name] == value) }
    }

    @Test func `scopes are a string or an array, each once`() throws {
        #expect(try Self.type(with: #""scope":" openid  a openid b ""#).scope == ["openid", "a", "b"])
        #expect(try Self.type(with: #""scope":["openid","a","openid"]"#).scope == ["openid", "a"])
        #expect(try Self.type(with: #""scope":"!#[]~""#).scope == ["!#[]~"])
        #expect(try Self.type(with: #""scope":"""#).scope == [])
    }

    @Test func `a secret written out is taken from a private file only`() throws {
        let type = try Self.type(with: #""client_secret":"s3cret""#, isPrivate: true)
        #expect(type.clientSecret == .literal(Secret("s3cret")))
        #expect(type.json["client_secret"] == "s3cret")
        #expect(try Self.type(with: #""client_secret":"""#).clientSecret == nil)
        #expect(try Self.type(with: #""client_secret":{"store":true}"#).clientSecret == .store)
        #expect(try Self.type(with: #""client_secret":{"env":"E"}"#).clientSecret == .environment("E"))
    }

    @Test func `origins are kept as browsers compare them`() throws {
        let type = try Self.type(with: #""api_origins":["HTTPS://A.example.com:443/"]"#)
        #expect(type.apiOrigins == ["https://a.example.com"])
    }

    @Test(arguments: ["", "../x", "a b", ".x", "é"]) func `a bad name is a usage error`(_ name: String) {
        #expect {
            try AccountType(name: name, json: JSONObject(), isPrivateFile: true, place: "x")
        } throws: {
            ($0 as? CredentialError)?.code == .usage
        }
    }
}

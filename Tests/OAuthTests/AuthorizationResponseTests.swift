import CredentialCore
import OAuth
import Testing

@Suite struct AuthorizationResponseTests {
    private static let loopback = "http://localhost:51873/"
    private static let outOfBand = "urn:ietf:wg:oauth:2.0:oob"

    @Test(arguments: [
        (loopback, "http://localhost:51873/?state=s&code=abc", "abc"),
        (loopback, "HTTP://LOCALHOST:51873/?code=abc&state=s", "abc"),
        (loopback, "http://localhost:9/?code=abc&state=s", "abc"),
        (loopback, "http://127.0.0.1:51873/?code=abc&state=s", "abc"),
        (loopback, "http://localhost:51873?code=abc&state=s", "abc"),
        (loopback, "http://localhost:51873/#code=abc&state=s", "abc"),
        (loopback, "http://localhost:51873/?code=abc==&x=1&state=s", "abc=="),
        (loopback, "http://localhost:51873/?code=a%2Bb%2F+c&state=s#", "a+b/ c"),
        (loopback, "http://localhost:51873/?scope=a+b&code=abc&state=s&session_state=1#_=_", "abc"),
        (loopback, " \"http://localhost:51873/?state=s&code=abc\" \n", "abc"),
        (loopback, "<http://localhost:51873/?state=s&code=abc>", "abc"),
        (loopback, "'code=abc&state=s'", "abc"),
        (loopback, "`http://localhost:51873/?state=s&code=abc`", "abc"),
        (loopback, "\u{201C}http://localhost:51873/?state=s&code=abc\u{201D}", "abc"),
        (loopback, "\u{201E}http://localhost:51873/?state=s&code=abc\u{201C}", "abc"),
        (loopback, "\u{2018}http://localhost:51873/?state=s&code=abc\u{2019}", "abc"),
        (loopback, "\u{AB}\u{A0}http://localhost:51873/?state=s&code=abc\u{202F}\u{BB}", "abc"),
        (loopback, "\u{BB}http://localhost:51873/?state=s&code=abc\u{AB}", "abc"),
        (loopback, "\u{FEFF}http://localhost:51873/?state=s&code=abc\r\n", "abc"),
        (loopback, "\u{A0}http://localhost:51873/?code=abc&state=s\u{200B}\u{2060}", "abc"),
        (loopback, "code=abc&state=s", "abc"),
        (loopback, "?code=abc&state=s", "abc"),
        (loopback, "  #state=s&code=abc\r\n", "abc"),
        (outOfBand, "urn:ietf:wg:oauth:2.0:oob?code=abc&state=s", "abc"),
        (outOfBand, "URN:ietf:wg:oauth:2.0:oob?code=abc&state=s", "abc"),
        (outOfBand, "code=abc&state=s", "abc"),
        (outOfBand, " 4/0AX4-abc= \n", "4/0AX4-abc="),
        (outOfBand, "M.C1:abc", "M.C1:abc"),
        (
            "com.example.apps.1234-tepulg5joaks7:/",
            "com.example.apps.1234-tepulg5joaks7:/?state=s&code=4/WQAstm4iiN_0Qi-n4mEo-jL-85CvQ&scope=https://x/a+b#",
            "4/WQAstm4iiN_0Qi-n4mEo-jL-85CvQ"
        ),
        ("https://app.example/cb?tenant=1", "https://app.example/cb?tenant=1&code=abc&state=s", "abc"),
    ]) func `takes the code`(redirectURI: String, text: String, code: String) throws {
        let response = try AuthorizationResponse.parse(text, redirectURI: redirectURI)
        let checked = try response.checkedCode(state: "s", issuer: nil, requiresIssuer: false) { _ in
            CredentialError(.internalFault, "no refusal was expected")
        }
        #expect(checked == code)
    }

    @Test(arguments: [
        (loopback, ""),
        (loopback, "   "),
        (loopback, "abc"),
        (loopback, "http://localhost:51873/"),
        (loopback, "http://localhost:51873/?state=s"),
        (loopback, "http://localhost:51873/other?code=abc&state=s"),
        (loopback, "http://LOCALHOST:51873/%2F?code=abc&state=s"),
        (loopback, "https://localhost:51873/?code=abc&state=s"),
        (loopback, "http://localhost.example:51873/?code=abc&state=s"),
        (loopback, "http://evil@localhost:51873/?code=abc&state=s"),
        (loopback, "http://localhost:51873/?code=abc"),
        (loopback, "http://localhost:51873/?code=abc&state=S"),
        (loopback, "http://localhost:51873/?code=abc&state="),
        (loopback, "http://localhost:51873/?code=abc&code=def&state=s"),
        (loopback, "http://localhost:51873/?code=abc&code=abc&state=s"),
        (loopback, "http://localhost:51873/?code=abc&state=s&state=s"),
        (loopback, "http://localhost:51873/?code=abc&state=s&error=access_denied"),
        (loopback, "http://localhost:51873/?code=a%00b&state=s"),
        (loopback, "http://localhost:51873/?code=a%0db&state=s"),
        (loopback, "http://localhost:51873/?code=a%zz&state=s"),
        (loopback, "http://localhost:51873/?code=&state=s"),
        (loopback, "https://localhost:51873/?a=1&code=abc&state=s"),
        (loopback, "x:y?a=1&code=abc&state=s"),
        (outOfBand, "https://evil.example/?a=1&code=abc&state=s"),
        (outOfBand, "urn:ietf:wg:oauth:2.0:oob:other?code=abc&state=s"),
        (loopback, "http://localhost:51873/?Code=abc&state=s"),
        (outOfBand, "code=abc&state=t"),
        (outOfBand, "code=abc"),
        (outOfBand, "two words"),
        (outOfBand, "https://evil.example/?code=abc&state=t"),
        ("https://app.example/cb", "https://app.example:444/cb?code=abc&state=s"),
        ("https://app.example/cb", "https://app.example/CB?code=abc&state=s"),
        ("https://app.example/cb?tenant=1", "https://app.example/cb?tenant=10&code=abc&state=s"),
        ("com.example:/cb", "com.example.evil:/cb?code=abc&state=s"),
    ]) func `refuses`(redirectURI: String, text: String) {
        let error = #expect(throws: CredentialError.self) {
            let response = try AuthorizationResponse.parse(text, redirectURI: redirectURI)
            _ = try response.checkedCode(state: "s", issuer: nil, requiresIssuer: false) { _ in
                CredentialError(.denied, "refused")
            }
        }
        #expect(error?.code == .validationFailed)
        #expect(error.map { !$0.message.contains("abc") } ?? false)
    }

    @Test(
        arguments: [
            ("&iss=https%3A%2F%2Fgood", "https://good", false, true),
            ("&iss=https%3A%2F%2Fgood", "https://good", true, true),
            ("", "https://good", false, true),
            ("&iss=https%3A%2F%2Fgood", nil, false, true),
            ("", "https://good", true, false),
            ("&iss=https%3A%2F%2Fevil", "https://good", false, false),
            ("&iss=https%3A%2F%2Fgood%2F", "https://good", false, false),
            ("&iss=", "https://good", false, false),
        ] as [(String, String?, Bool, Bool)])
    func `checks the issuer`(items: String, issuer: String?, requires: Bool, isAccepted: Bool) throws {
        let response = try AuthorizationResponse.parse(
            Self.loopback + "?code=c&state=s" + items, redirectURI: Self.loopback)
        let code = try? response.checkedCode(state: "s", issuer: issuer, requiresIssuer: requires) { _ in
            CredentialError(.denied, "refused")
        }
        #expect((code != nil) == isAccepted)
    }

    @Test func `keeps the text of a refusal, and checks its state first`() throws {
        let text =
            Self.loopback
            + "?error=access_denied&error_description=AADB2C90118%3a+The+user%0d%0aCorrelation+ID%3a+1%0d%0a"
            + "&error_uri=https%3A%2F%2Fx&state=s"
        let response = try AuthorizationResponse.parse(text, redirectURI: Self.loopback)
        #expect(
            response.error
                == OAuthError(
                    code: "access_denied", description: "AADB2C90118: The user\r\nCorrelation ID: 1\r\n",
                    uri: "https://x"))
        let refusal = #expect(throws: CredentialError.self) {
            _ = try response.checkedCode(state: "s", issuer: nil, requiresIssuer: false) {
                OAuthErrorMapping.error($0, in: .authorize, type: "T")
            }
        }
        #expect(refusal?.code == .denied)
        let stray = #expect(throws: CredentialError.self) {
            _ = try response.checkedCode(state: "other", issuer: nil, requiresIssuer: false) {
                OAuthErrorMapping.error($0, in: .authorize, type: "T")
            }
        }
        #expect(stray?.code == .validationFailed)
    }

    @Test(arguments: [
        "error=access_denied&error_description=100%&state=s",
        "error=access_denied&error_description=%E9t%E9&state=s",
        "error=access_denied&state=s&x=%zz", "error=access_denied&error_description=a&error_description=b&state=s",
        "error_description=%e&error_uri=%&error=access_denied&state=s",
        "error=access_denied&error=access_denied&state=s", "error=access_denied&error=server_error&state=s",
    ]) func `an unreadable text beside it does not hide a refusal`(parameters: String) throws {
        let text = Self.loopback + "?" + parameters
        #expect(RedirectState.isPresent("s", in: text))
        let response = try AuthorizationResponse.parse(text, redirectURI: Self.loopback)
        let error = #expect(throws: CredentialError.self) {
            _ = try response.checkedCode(state: "s", issuer: nil, requiresIssuer: false) {
                OAuthErrorMapping.error($0, in: .authorize, type: "T")
            }
        }
        #expect(response.error?.code == "access_denied" && error?.code == .denied)
    }

    @Test(arguments: ["code=c%&state=s", "code=c&state=s%", "code=c&state=s&iss=%ff"])
    func `the parameters that decide are parsed strictly`(parameters: String) {
        let error = #expect(throws: CredentialError.self) {
            try AuthorizationResponse.parse(Self.loopback + "?" + parameters, redirectURI: Self.loopback)
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func `a refusal without the promised issuer is shown, a code is not taken`() throws {
        func error(_ parameters: String) throws -> CredentialError? {
            let response = try AuthorizationResponse.parse(
                Self.loopback + "?state=s&" + parameters, redirectURI: Self.loopback)
            return #expect(throws: CredentialError.self) {
                _ = try response.checkedCode(state: "s", issuer: "https://good", requiresIssuer: true) {
                    OAuthErrorMapping.error($0, in: .authorize, type: "T")
                }
            }
        }
        let bare = try #require(try error("error=access_denied"))
        #expect(bare.code == .denied && bare.message.contains("no issuer"))
        let proven = try #require(try error("error=access_denied&iss=https://good"))
        #expect(proven.code == .denied && !proven.message.contains("issuer"))
        #expect(try error("error=access_denied&iss=https://evil")?.code == .validationFailed)
        #expect(try error("code=c")?.code == .validationFailed)
    }

    @Test func `takes a code of 64 KiB`() throws {
        let code = String(repeating: "x", count: 1 << 16)
        let response = try AuthorizationResponse.parse(
            Self.loopback + "?state=s&code=" + code, redirectURI: Self.loopback)
        #expect(response.code == code)
    }
}

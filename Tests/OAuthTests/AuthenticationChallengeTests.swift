import OAuth
import Testing

@Suite struct AuthenticationChallengeTests {
    @Test func `reads the example of RFC 6750`() {
        let challenges = AuthenticationChallenge.parse([
            #"Bearer realm="example", error="invalid_token", error_description="The access token expired""#
        ])
        #expect(challenges.map(\.scheme) == ["bearer"])
        #expect(
            challenges.first?.parameters == [
                "realm": "example", "error": "invalid_token", "error_description": "The access token expired",
            ])
        #expect(challenges.first?.asksForFreshToken ?? false)
    }

    @Test(arguments: [
        ([#"Bearer realm="Users""#], true), (["Bearer"], true), (["bearer"], true),
        (["Bearer error=invalid_token"], true),
        ([#"BEARER error = "expired_token""#], true), ([#"Bearer realm="a, b=c", error="invalid_token""#], true),
        ([#"Bearer realm="say \"hi\"", error="invalid_token""#], true),
        ([#"Basic realm="x", Bearer error="invalid_token""#], true),
        (["Negotiate", "Bearer"], true), (["Negotiate YII=, Bearer"], true), (["Digest a=b,,Bearer c=d"], true),
        ([#"Bearer error="insufficient_scope", scope="a b""#], false),
        ([#"Bearer error="invalid_request""#], false),
        ([#"Basic realm="Bearer""#], false), ([#"Basic realm="x, Bearer y=z""#], false), ([""], false), ([], false),
        ([#""Bearer""#], false), (["Bearerx realm=1"], false), (["=Bearer"], true),
        ([#"Bearer realm="open"#], true),
        ([",,;;== \u{0}"], false),
    ]) func `tells whether a fresh token may help`(fields: [String], helps: Bool) {
        #expect(AuthenticationChallenge.parse(fields).contains(where: \.asksForFreshToken) == helps)
    }

    @Test(arguments: [
        "Bearer resource_metadata=https://api.example/a?b=c;d",
        "Bearer resource_metadata=https://api.example/a?b=c;d ",
        "Bearer realm=x, resource_metadata=https://api.example/a?b=c;d, scope=y",
        "Bearer Resource_Metadata = https://api.example/a?b=c;d,Basic realm=z",
    ])
    func `reads an address without quotes up to a comma or a blank`(field: String) {
        #expect(
            AuthenticationChallenge.parse([field]).first?.parameters["resource_metadata"]
                == "https://api.example/a?b=c;d")
    }

    @Test func `takes the first of a repeated parameter`() {
        let challenges = AuthenticationChallenge.parse([
            #"Bearer error="invalid_token", ERROR="insufficient_scope""#
        ])
        #expect(challenges.first?.parameters["error"] == "invalid_token")
    }

    @Test func `ends on every prefix of a long field`() {
        let field = #"Basic YWJj==, Bearer realm="a\"b", error=x, scope="", Digest qop="auth, int""#
        for length in 0...field.count { _ = AuthenticationChallenge.parse([String(field.prefix(length))]) }
        #expect(AuthenticationChallenge.parse([field]).map(\.scheme) == ["basic", "bearer", "digest"])
    }
}

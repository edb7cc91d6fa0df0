import CredentialCore
import OAuth
import StrictJSON
import TestAdapters
import Testing

/// A sign-in of another person than the one that the provider's session in the browser has.
@Suite struct AnotherPersonTests {
    private func begin(
        _ fixture: GenericFixture, _ more: JSONObject = JSONObject(),
        _ change: (inout SignInRequest) -> Void = { _ in }
    ) throws -> (fields: [String: String], pending: JSONObject) {
        var request = fixture.request()
        request.wantsAnother = true
        change(&request)
        var metadata = try #require(GenericFixture.metadata.object)
        for (name, value) in more.members { metadata[name] = value }
        fixture.provider.expect("GET", GenericFixture.discovery, .object(metadata))
        let (_, fields, pending) = try fixture.adapter.begin(request, in: fixture.world.context).opened()
        return (fields, pending)
    }

    @Test(
        arguments: [
            (["none", "login", "select_account"], "select_account"), (["none", "login"], "login"), (nil, "login"),
        ] as [([String]?, String)])
    func `the provider is asked in the way that it lists`(listed: [String]?, sent: String) throws {
        var more = JSONObject()
        more["prompt_values_supported"] = listed.map { JSONValue($0) }
        #expect(try begin(GenericFixture(), more).fields["prompt"] == sent)
    }

    @Test func `a prompt that is given counts, and without OpenID Connect none is sent`() throws {
        #expect(try begin(GenericFixture()) { $0.prompt = "consent" }.fields["prompt"] == "consent")
        var fixture = try GenericFixture()
        fixture.type.scope = ["api"]
        let (fields, pending) = try begin(fixture)
        #expect(fields["prompt"] == nil && pending[CodeFlow.ownPrompt] == nil)
    }

    @Test(arguments: [
        "error=invalid_request", "error=server_error&error_description=unknown+prompt",
        "error=invalid_request&error_description=prompt",
    ])
    func `a provider that refuses the prompt is asked once more without it`(answer: String) throws {
        let fixture = try GenericFixture()
        let (fields, pending) = try begin(fixture)
        var request = fixture.request()
        request.wantsAnother = true
        func redirect(_ state: String?) -> InteractionReply {
            .redirect("http://127.0.0.1:4711/cb?\(answer)&state=\(state ?? "")")
        }
        let again = try fixture.adapter.resume(
            request, pending: pending, with: redirect(fields["state"]), in: fixture.world.context
        ).opened()
        #expect(again.fields["prompt"] == nil)
        #expect(again.fields["state"] != fields["state"] && again.fields["nonce"] != fields["nonce"])
        // The second refusal is one.
        #expect(throws: CredentialError.self) {
            _ = try fixture.adapter.resume(
                request, pending: again.pending, with: redirect(again.fields["state"]), in: fixture.world.context)
        }
        // Nor is it asked again for anybody who has not this sign-in's state.
        #expect(throws: CredentialError.self) {
            _ = try fixture.adapter.resume(
                request, pending: pending, with: redirect("another"), in: fixture.world.context)
        }
    }

    @Test func `a user's refusal is not followed by another prompt`() throws {
        let fixture = try GenericFixture()
        let (fields, pending) = try begin(fixture)
        #expect(throws: CredentialError.self) {
            _ = try fixture.adapter.resume(
                fixture.request(), pending: pending,
                with: .redirect("http://127.0.0.1:4711/cb?error=access_denied&state=\(fields["state"] ?? "")"),
                in: fixture.world.context)
        }
    }
}

/// The request of our own to the authorization endpoint, beside the browser.
@Suite struct AuthorizationProbeTests {
    private let fixture: GenericFixture
    private let page: URI
    private let fields: [String: String]

    init() throws {
        fixture = try GenericFixture()
        var request = fixture.request()
        request.loginHint = "ada@example.com"
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        (page, fields, _) = try fixture.adapter.begin(request, in: fixture.world.context).opened()
    }

    private func probe(_ page: URI, redirectURI: String = "http://127.0.0.1:4711/cb") -> AuthorizationProbe? {
        AuthorizationProbe(page, of: fixture.adapter, redirectURI: redirectURI, in: fixture.world.context)
    }

    private func page(adding query: String) throws -> URI {
        try #require(URI(page.description + "&" + query))
    }

    @Test(arguments: [
        (400, true), (404, true), (401, false), (403, false), (200, false), (302, false), (500, false),
    ])
    func `it has nothing of the browser's own, and 400 and 404 count alone`(status: Int, isRefused: Bool) throws {
        let transport = OneAnswer(status: status)
        let context = fixture.world.context.sending { _ in transport }
        let probe = try #require(
            AuthorizationProbe(page, of: fixture.adapter, redirectURI: "http://127.0.0.1:4711/cb", in: context))
        #expect(probe.isRefused() == isRefused)
        let sent = try #require(transport.requests.first)
        #expect(transport.requests.count == 1 && sent.method == "GET" && sent.headers.isEmpty)
        #expect(sent.timeout == 5 && sent.maximumReplySize == 64 << 10)
        let own = Dictionary(FormURLEncoding.decode(sent.address.query ?? "") ?? []) { $1 }
        #expect(own["login_hint"] == nil)
        for name in ["state", "nonce", "code_challenge"] {
            #expect(own[name] != fields[name] && own[name]?.utf8.count ?? 0 >= 43, "\(name)")
        }
        for name in ["client_id", "redirect_uri", "scope", "response_type", "code_challenge_method"] {
            #expect(own[name] == fields[name], "\(name)")
        }
    }

    @Test func `it is not made for single-use requests, prompt none, or remote redirect URIs`() throws {
        #expect(probe(page) != nil)
        for query in ["request_uri=urn%3Aone", "request=ey", "prompt=none"] {
            #expect(probe(try page(adding: query)) == nil, "\(query)")
        }
        #expect(probe(page, redirectURI: "https://app.example/cb") == nil)
        #expect(probe(page, redirectURI: "myapp://auth") == nil)
    }

    @Test func `no answer is no refusal`() throws {
        let transport = OneAnswer(status: nil)
        let context = fixture.world.context.sending { _ in transport }
        let probe = AuthorizationProbe(
            page, of: fixture.adapter, redirectURI: "http://127.0.0.1:4711/cb", in: context)
        #expect(probe?.isRefused() == false)
    }
}

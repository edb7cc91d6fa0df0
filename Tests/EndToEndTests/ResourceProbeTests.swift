import CredentialCore
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// Resources that answer a request without a token in an odd way.
@Suite struct `Asking a resource how tokens are had` {
    private let home: Home
    private let provider: ScriptedProvider

    init() throws {
        home = try Home()
        provider = try ScriptedProvider()
    }

    /// Begins a sign-in for a resource on a server that answers by `answer`, and by its metadata at `place`.
    private func begin(
        at place: String = "/.well-known/oauth-protected-resource/mcp",
        answer: @escaping @Sendable (_ request: ServerRequest, _ base: String) -> ServerResponse
    ) throws {
        let issuer = provider.base
        let server = try LoopbackServer(at: .ipv4) { request in
            let base = "http://" + (request.value(of: "host") ?? "")
            guard request.path == place else {
                return request.path == "/mcp" ? answer(request, base) : .text(404, "nothing here")
            }
            return .json(
                200, ["resource": .string(base + "/mcp"), "authorization_servers": [.string(issuer)]])
        }
        defer { server.stop() }
        try home.run([
            "login", "--resource", "http://127.0.0.1:\(server.port)/mcp", "--client-id", "app", "--print-url",
        ])
    }

    private static func unauthorized(_ challenges: String...) -> ServerResponse {
        ServerResponse(status: 401, headers: challenges.map { ("WWW-Authenticate", $0) })
    }

    @Test func `The challenge that points to metadata is followed, whichever it is`() throws {
        let place = "/elsewhere"
        try begin(at: place) { _, base in
            Self.unauthorized("Bearer realm=\"a\"", "Bearer resource_metadata=\"\(base)\(place)\"")
        }
        try begin(at: place) { _, base in
            Self.unauthorized("Bearer realm=\"a\", Bearer resource_metadata=\"\(base)\(place)\"")
        }
    }

    @Test func `Metadata that is missing at the challenge's address is fetched from the well-known places`() throws
    {
        try begin { _, base in Self.unauthorized("Bearer resource_metadata=\"\(base)/elsewhere\"") }
    }

    @Test(arguments: [
        "Bearer resource_metadata=\"\"", "Bearer resource_metadata=\"/.well-known/oauth-protected-resource/mcp\"",
        "Bearer resource_metadata=\"http://internal:8080/meta\"",
        "Bearer resource_metadata=\"https://127.0.0.2:1/meta\"",
        "Bearer resource_metadata=http://internal:8080/meta",
    ])
    func `A challenge that cannot be followed leads to the well-known places`(challenge: String) throws {
        try begin { _, _ in Self.unauthorized(challenge) }
    }

    @Test func `An address without quotes in a challenge is followed`() throws {
        try begin(at: "/elsewhere") { _, base in
            Self.unauthorized("Bearer resource_metadata=\(base)/elsewhere, scope=a")
        }
    }

    @Test func `A GET that is answered by nothing but silence leads to POST`() throws {
        let start = ContinuousClock.now
        try begin(at: "/elsewhere") { request, base in
            var response = Self.unauthorized("Bearer resource_metadata=\"\(base)/elsewhere\"")
            if request.method == "GET" {
                response = .text(200, "late")
                response.trickleMilliseconds = 60_000
            }
            return response
        }
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func `A resource that tells nothing is told of with each step`() throws {
        let server = try LoopbackServer(at: .ipv4) { _ in .text(404, "nothing here") }
        defer { server.stop() }
        let base = "http://127.0.0.1:\(server.port)"
        let error = try home.run(
            ["login", "--resource", base + "/mcp", "--client-id", "app", "--print-url", "--verbose"], exits: 2
        ).standardError
        #expect(error.contains("GET \(base)/mcp: HTTP status 404"))
        let place = "\(base)/.well-known/oauth-protected-resource/mcp"
        #expect(error.contains("resource metadata of \(place) was not found"))
    }
}

import CredentialCore
import Credentials
import Foundation
import StrictJSON
import TestSupport
import Testing

/// One token for every caller: `token`, `exec` and the library give the same one, and `refresh` renews that one.
/// The test covers every way in which a type shapes its tokens, with a built-in adapter and with a plugin.
@Suite struct KeyMatrixTests {
    enum Shape: String, CaseIterable {
        case unbound, bound, exchanged, withResource

        /// The members that the shape adds to the definition.
        var members: [String] {
            switch self {
            case .unbound: []
            case .bound: ["dpop_bound_access_tokens=true"]
            case .exchanged: ["token_exchange=true"]
            case .withResource: ["resource=https://api.example.com"]
            }
        }

        /// The audience of the requested token, in addition to the account's own API.
        var audience: String? { self == .exchanged ? "https://other.example.com" : nil }
    }

    enum Adapter: String, CaseIterable {
        case oauth2
        case plugin = "oauth-example"
    }

    private let world: LibraryWorld
    private let provider: HeldProvider

    init() throws {
        world = try LibraryWorld()
        provider = try HeldProvider()
    }

    private func run(_ words: [String], input: String = "") async throws -> String {
        let outcome = try await world.command(words, input: input)
        #expect(outcome.exitStatus == 0, "credmgr \(words.joined(separator: " "))\n\(outcome.standardError)")
        return String(outcome.standardOutput.prefix { !$0.isNewline })
    }

    /// Puts the example in place, as its README says.
    private func installPlugin() async throws {
        let source = String(#filePath.split(separator: "/Tests/")[0]) + "/Plugins/examples/oauth-example"
        let folder = world.path + "/.local/share/credmgr/providers"
        let copying = ChildProcess(
            "/bin/sh", ["-c", "umask 022; mkdir -p '\(folder)' && cp -r '\(source)' '\(folder)/'"],
            environment: ["PATH": "/usr/bin:/bin"])
        try #require(try await offPool { try copying.run() }.exitStatus == 0)
    }

    /// Defines the type, and signs in under it.
    private func signIn(_ adapter: Adapter, _ shape: Shape) async throws {
        if adapter == .plugin { try await installPlugin() }
        _ = try await run([
            "types", "add", "Shaped", "--adapter", adapter.rawValue, "--client-id", "client",
            "--authorization-endpoint", provider.base + "/authorize", "--token-endpoint", provider.base + "/token",
            "--scope", "tasks", "--redirect-uri", "urn:ietf:wg:oauth:2.0:oob",
        ])
        if !shape.members.isEmpty { _ = try await run(["types", "set", "Shaped"] + shape.members) }
        let url = try await run(["login", "--type", "Shaped", "--print-url", "--store", "file"])
        let state = try #require(
            URLComponents(string: url)?.queryItems?.first { $0.name == "state" }?.value, "no state in \(url)")
        let redirect = "urn:ietf:wg:oauth:2.0:oob?code=c&state=\(state)"
        _ = try await run(["login", "--complete", "-"], input: redirect + "\n")
    }

    private var requests: Int { provider.received.count { $0.path == "/token" } }

    @Test(arguments: Adapter.allCases, Shape.allCases)
    func `every caller has the same token, and the new one after a refresh`(
        adapter: Adapter, shape: Shape
    ) async throws {
        try await signIn(adapter, shape)
        let words = ["--type", "Shaped"] + (shape.audience.map { ["--audience", $0] } ?? [])
        let store = try world.store(configuring: false)
        let account = try #require(try store.accounts().first)

        /// The result that each of them gives, without a request to the provider.
        func everybody(_ expected: String) async throws {
            let before = requests
            #expect(try await run(["token"] + words) == expected)
            #expect(try await run(["exec"] + words + ["--", "printenv", "ACCESS_TOKEN"]) == expected)
            let inProgram = try await store.token(of: account, ofType: "Shaped", audience: shape.audience)
            #expect(inProgram.token.reveal() == expected)
            _ = try await run(["refresh", "--type", "Shaped"])
            #expect(requests == before, "a token that is fresh was asked for again")
        }

        let first = try await run(["token"] + words)
        try await everybody(first)

        // No token lives so long: each is renewed, the account's own and the one that it is exchanged for.
        let before = requests
        _ = try await run(["refresh", "--type", "Shaped", "--min-valid", "7200"])
        #expect(requests == before + (shape.audience == nil ? 1 : 2))
        let second = try await run(["token"] + words)
        #expect(second != first)
        try await everybody(second)

        let third = try await store.token(
            of: account, ofType: "Shaped", audience: shape.audience, forceRefresh: true)
        #expect(third.token.reveal() != second)
        try await everybody(third.token.reveal())
    }
}

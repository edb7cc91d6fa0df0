import Foundation

/// A real OAuth 2.0 and OpenID Connect server, glewlwyd, on a free port of the loopback with a database of its own.
///
/// It ends with ``stop()``, with the last reference, and with the test process. Its behaviour differs from others:
/// redirect URIs are compared exactly, `nonce` is demanded with `openid`, a used refresh token is answered by
/// status 400 with an empty body.
public final class Glewlwyd: Sendable {
    /// The settings that can be chosen for a server.
    public struct Settings: Sendable {
        /// Lifetime of access tokens in seconds.
        public var accessTokenLifetime = 3_600
        /// Lifetime of refresh tokens in seconds.
        public var refreshTokenLifetime = 1_209_600
        /// Whether a refresh token can be used once: `always`, `never` or `client-driven`.
        public var rotation = "always"
        /// The key that signs: `rs1` (RS256), `es1` (ES256) or `ed1` (EdDSA).
        public var signingKey = "rs1"
        /// Whether a DPoP nonce is demanded (RFC 9449 §8).
        public var demandsDPoPNonce = false
        /// Whether it speaks https, with an authority of its own.
        public var usesTLS = false
        /// The redirect URIs of the clients `native` and `web`, matched exactly.
        public var redirectURIs = ["http://127.0.0.1:43110/callback"]

        /// The server's usual settings.
        public init() {}
    }

    /// A registered client.
    public struct Client: Sendable {
        /// Its identifier.
        public let id: String
        /// Its secret; `nil` for a public client and for one with a key.
        public let secret: String?
    }

    private struct Facts: Decodable {
        let issuer: String, authorization_endpoint: String, token_endpoint: String
        let device_authorization_endpoint: String, revocation_endpoint: String, introspection_endpoint: String
        let userinfo_endpoint: String, jwks_uri: String, redirect_uris: [String], pkjwt_key: String
        let ca: String?, certificates: String?, pid: Int32, users: [String: String], clients: [String: String?]
    }

    private let script: ServerScript
    private let facts: Facts

    /// Starts a server and waits until it is ready.
    ///
    /// - Throws: ``ServerFailure`` with its output; when it is not installed, with the words "run scripts/setup
    ///   test".
    public init(_ settings: Settings = Settings()) throws {
        script = try ServerScript(
            "glewlwyd",
            environment: [
                "AT_TTL": String(settings.accessTokenLifetime), "RT_TTL": String(settings.refreshTokenLifetime),
                "ROTATE": settings.rotation, "KID": settings.signingKey,
                "DPOP_NONCE": settings.demandsDPoPNonce ? "1" : "0", "TLS": settings.usesTLS ? "1" : "0",
                "REDIRECTS": settings.redirectURIs.joined(separator: " "),
            ])
        facts = try JSONDecoder().decode(Facts.self, from: script.facts)
    }

    /// Ends the server; a second call has no effect.
    public func stop() { script.stop() }

    /// The issuer; discovery is at `/.well-known/openid-configuration` below it.
    public var issuer: String { facts.issuer }
    /// The authorization endpoint.
    public var authorizationEndpoint: String { facts.authorization_endpoint }
    /// The token endpoint.
    public var tokenEndpoint: String { facts.token_endpoint }
    /// The device authorization endpoint (RFC 8628).
    public var deviceAuthorizationEndpoint: String { facts.device_authorization_endpoint }
    /// The revocation endpoint (RFC 7009); glewlwyd refuses it to public clients.
    public var revocationEndpoint: String { facts.revocation_endpoint }
    /// The introspection endpoint (RFC 7662).
    public var introspectionEndpoint: String { facts.introspection_endpoint }
    /// The userinfo endpoint.
    public var userinfoEndpoint: String { facts.userinfo_endpoint }
    /// The address of the public keys.
    public var keysAddress: String { facts.jwks_uri }
    /// The registered redirect URIs of the clients `native` and `web`.
    public var redirectURIs: [String] { facts.redirect_uris }
    /// The certificate authority's file of a server with TLS.
    public var certificateFile: String? { facts.ca }
    /// Confidential, authenticating by a certificate of a server with TLS (RFC 8705 §2.1).
    public var certificateClient: Client { Client(id: "mtls", secret: nil) }
    /// The PEM files of a certificate that ``certificateFile`` issued: `client` for ``certificateClient``,
    /// `stranger` for a different client; `forged` bears the name of the former but is signed by itself.
    public func clientCertificate(_ name: String) -> (certificate: String, key: String) {
        let start = (facts.certificates ?? "") + "/" + name
        return (start + ".pem", start + ".key")
    }
    /// The server's process.
    public var processIdentifier: Int32 { facts.pid }

    /// Public, for authorization code with PKCE, device and refresh grants.
    public var nativeClient: Client { Client(id: "native", secret: nil) }
    /// Public, for the device grant.
    public var deviceClient: Client { Client(id: "device", secret: nil) }
    /// Confidential, with a secret.
    public var webClient: Client { Client(id: "web", secret: facts.clients["web"] ?? nil) }
    /// Confidential, authenticating by `private_key_jwt` with the key of ``keyFile``.
    public var keyClient: Client { Client(id: "pkjwt", secret: nil) }
    /// The JWK set with the private ES256 key of ``keyClient``.
    public var keyFile: String { facts.pkjwt_key }

    /// The password of a user (alice or bob); empty for anybody else.
    public func password(of user: String) -> String { facts.users[user] ?? "" }

    /// Signs `user` (alice or bob) in, as a browser and a person would.
    ///
    /// - Parameters:
    ///   - address: the authorization URL.
    ///   - delivers: whether the final redirect is visited too, as the browser visits a loopback listener.
    /// - Returns: the URL of the final redirect.
    /// - Throws: ``ServerFailure`` with the robot's words.
    public func signIn(
        authorizationURL address: String, user: String = "alice", delivers: Bool = false
    ) throws -> String {
        try robot([address] + (delivers ? ["--deliver"] : []), user: user)
    }

    /// Signs `user` in at the verification page of a device sign-in and approves the code.
    ///
    /// - Throws: ``ServerFailure`` with the robot's words.
    public func approveDevice(verificationURI: String, userCode: String, user: String = "alice") throws {
        let outcome = try robot([verificationURI, "--user-code", userCode], user: user)
        guard outcome == "device-ok" else {
            throw ServerFailure(description: "the device page ended at \(outcome)")
        }
    }

    private func robot(_ arguments: [String], user: String) throws -> String {
        var arguments = arguments + ["--user", user]
        if let certificateFile { arguments += ["--ca", certificateFile] }
        let outcome = try ChildProcess(
            ServerScript.folder.appendingPathComponent("oidc-login").path, arguments,
            environment: ["PATH": "/usr/bin:/bin", "OIDC_LOGIN_PASSWORD": facts.users[user] ?? ""]
        ).run()
        guard outcome.exitStatus == 0 else { throw ServerFailure(description: outcome.standardError) }
        return outcome.standardOutput.trimmingCharacters(in: .newlines)
    }
}

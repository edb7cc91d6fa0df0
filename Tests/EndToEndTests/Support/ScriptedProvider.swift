import CredentialCore
import CryptoSupport
import Foundation
import LoopbackHTTP
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// An authorization server whose answers a test writes. The user that opens its authorization URL is signed in at
/// once.
final class ScriptedProvider: Sendable {
    /// The answers of the server.
    struct Script: Sendable {
        /// Put over the members of the metadata; `null` takes one away.
        var metadata: JSONObject = JSONObject()
        /// In place of the metadata.
        var discovery: ServerResponse?
        /// Members of its RFC 8414 document beside the issuer's, each the path of an endpoint; empty for no
        /// document.
        var more: [String: String] = [:]
        /// In place of the authorization endpoint's redirect.
        var authorization: ServerResponse?
        /// The registration endpoint's answer.
        var registration: ServerResponse?
        /// The token endpoint's answer.
        var token = ServerResponse.json(
            200, ["access_token": "at-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-1"])
        /// The subject of the ID token; without it the response has no ID token.
        var idTokenSubject: String?
        /// Put over the claims of the id token; `null` takes one away.
        var idTokenClaims: JSONObject = JSONObject()
        /// Whether a refresh token comes beside an id token.
        var refreshesIDTokens = false
        /// The fate of a refresh token that was used. Without it every request gets ``token``.
        var rotation: Rotation?
        /// With ``Rotation/grantsScopes``: the scopes that a sign-in gets in place of those that it asks for, and
        /// the refresh tokens that were revoked.
        var grantedScope: String?
        var revoked: Set<String> = []
        /// Whether a refresh without `scope` is refused, as Microsoft Entra ID does.
        var wantsScope = false
        /// The answer of the endpoint `/revoke`.
        var revocation = ServerResponse.json(200, [:])
        /// Whether an invalid refresh token ends no sign-in.
        var forgives = false
        /// Makes the response to a refresh of the members that a sound one has.
        var refresh: (@Sendable (JSONObject) -> ServerResponse)?
        /// Put over the claims of an access token by RFC 9068; `null` takes one away. Without it the token is
        /// opaque.
        var accessTokenClaims: JSONObject?
        /// The `typ` of that access token.
        var accessTokenType: JSONValue = "at+jwt"
        /// The UserInfo endpoint's answer.
        var userInfo = ServerResponse.json(200, ["sub": "ada", "preferred_username": "ada@example.test"])
        /// The client id metadata documents that it can fetch, by their URLs.
        var documents: [String: JSONObject] = [:]
    }

    /// The fate of a refresh token that was used.
    enum Rotation {
        /// The provider rotates it, and ends the sign-in on reuse (RFC 9700 §4.14.2).
        case revokesReused
        /// It stays good.
        case keeps
        /// Each sign-in has one that stays good, if `offline_access` was asked for, and the scopes that were asked
        /// for.
        case grantsScopes
    }

    private struct State: Sendable {
        /// How many refresh tokens were given out, the one that is good, and how often another one came.
        var issued = 0
        var current: String?
        /// The scopes of each refresh token of ``Rotation/grantsScopes``, and of the sign-in on its way.
        var scopes: [String: String] = [:]
        var askedScope = ""
        var refusals = 0
        var script = Script()
        var paths: [String] = []
        var forms: [[String: String]] = []
        var nonce: String?
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
        let key: (privateKey: Secret, publicJWK: JSONObject)
        init() throws { key = try LibCryptography().generateKey(.es256) }
    }

    /// Its address, which is its issuer.
    let base: String
    private let shared: Shared
    private let server: LoopbackServer

    init(_ change: (inout Script) -> Void = { _ in }) throws {
        let shared = try Shared()
        self.shared = shared
        server = try LoopbackServer(at: .ipv4) { Self.answer($0, shared) }
        base = "http://127.0.0.1:\(server.port)"
        self.change(change)
    }

    deinit { server.stop() }

    /// Changes its responses.
    func change(_ change: (inout Script) -> Void) { shared.state.withLock { change(&$0.script) } }

    /// The paths asked for so far.
    var paths: [String] { shared.state.withLock { $0.paths } }
    /// The fields of the requests that had some, in the query or the body.
    var forms: [[String: String]] { shared.state.withLock { $0.forms } }

    /// How often a refresh token came that is not good.
    var refusals: Int { shared.state.withLock { $0.refusals } }
    /// The refresh tokens that were sent, in order.
    var sentTokens: [String] {
        forms.compactMap { $0["grant_type"] == "refresh_token" ? $0["refresh_token"] : nil }
    }

    /// The URL that a browser ends at.
    func redirect(from url: String) throws -> String {
        let response = try LoopbackClient().send("GET", url)
        guard let location = response.value(of: "location") else {
            throw CredentialError(.denied, "the provider's page says \(response.status)")
        }
        return location
    }

    /// Signs in by the two halves at a type.
    @discardableResult func signIn(
        at home: Home, type: String = "Work", more: [String] = [], exits status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        let url = try home.run(["login", "--type", type, "--print-url"] + more, sourceLocation: sourceLocation).line
        return try home.run(
            ["login", "--complete", "-"], input: try redirect(from: url) + "\n", exits: status,
            sourceLocation: sourceLocation)
    }

    // MARK: Answers

    private static func answer(_ request: ServerRequest, _ shared: Shared) -> ServerResponse {
        let base = "http://" + (request.value(of: "host") ?? "")
        let fields = self.fields(request)
        let script = shared.state.withLock { state in
            state.paths.append(request.path)
            if !fields.isEmpty { state.forms.append(fields) }
            if request.path == "/authorize" {
                state.nonce = fields["nonce"]
                state.askedScope = fields["scope"] ?? ""
            }
            return state.script
        }
        switch request.path {
        case "/.well-known/openid-configuration":
            return script.discovery ?? .json(200, .object(metadata(base, script)))
        case "/.well-known/oauth-authorization-server" where !script.more.isEmpty:
            var members = metadata(base, script)
            for (name, path) in script.more { members[name] = .string(base + path) }
            return .json(200, .object(members))
        case "/register": return script.registration ?? .text(404, "nothing here")
        case "/authorize": return script.authorization ?? authorize(fields, script)
        case "/device":
            return .json(
                200,
                [
                    "device_code": "dc-1", "user_code": "WDJB-MJHT", "verification_uri": .string(base + "/enter"),
                    "verification_uri_complete": .string(base + "/enter?user_code=WDJB-MJHT"), "expires_in": 600,
                    "interval": 1,
                ])
        case "/token":
            if let rotation = script.rotation {
                return rotating(rotation, script, fields, base, shared)
            }
            guard script.idTokenSubject != nil || script.accessTokenClaims != nil else { return script.token }
            return tokens(script, shared.state.withLock { $0.nonce }, base, shared)
        case "/revoke": return script.revocation
        case "/userinfo": return script.userInfo
        case "/keys":
            var key = shared.key.publicJWK
            key["kid"] = "k-1"
            return .json(200, ["keys": [.object(key)]])
        default: return .text(404, "nothing here")
        }
    }

    private static func fields(_ request: ServerRequest) -> [String: String] {
        let text = request.method == "POST" ? String(decoding: request.body, as: UTF8.self) : request.query ?? ""
        let items = URLComponents(string: "?" + text.replacingOccurrences(of: "+", with: "%20"))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
    }

    private static func metadata(_ base: String, _ script: Script) -> JSONObject {
        var members = JSONObject([
            "issuer": .string(base), "authorization_endpoint": .string(base + "/authorize"),
            "token_endpoint": .string(base + "/token"), "userinfo_endpoint": .string(base + "/userinfo"),
            "device_authorization_endpoint": .string(base + "/device"), "jwks_uri": .string(base + "/keys"),
            "id_token_signing_alg_values_supported": ["ES256"],
        ])
        for (name, value) in script.metadata.members { members[name] = value == .null ? nil : value }
        return members
    }

    /// A client that is a URL is known by its document, and redirects to the addresses in the document, at any port
    /// of localhost.
    private static func authorize(_ fields: [String: String], _ script: Script) -> ServerResponse {
        let client = fields["client_id"] ?? "", redirect = fields["redirect_uri"] ?? ""
        if client.hasPrefix("https://") {
            let document = script.documents[client]
            let allowed = document?["redirect_uris"]?.array?.compactMap(\.string) ?? []
            let portless = redirect.replacing(/:\d+/, with: "", maxReplacements: 1)
            guard document?["client_id"]?.string == client, allowed.contains(redirect) || allowed.contains(portless)
            else { return .text(400, "unknown client") }
        }
        return ServerResponse(
            status: 302, headers: [("Location", "\(redirect)?code=c-1&state=\(fields["state"] ?? "")")])
    }

    private static func tokens(
        _ script: Script, _ nonce: String?, _ base: String, _ shared: Shared
    ) -> ServerResponse {
        let now = Int64(time(nil))
        var reply = JSONObject([
            "access_token": "at-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-1",
        ])
        if let subject = script.idTokenSubject {
            let claims = JSONObject([
                "iss": .string(base), "sub": .string(subject), "aud": "app", "iat": .integer(now),
                "exp": .integer(now + 600), "nonce": nonce.map(JSONValue.string) ?? .null,
            ])
            if !script.refreshesIDTokens { reply["refresh_token"] = nil }
            reply["id_token"] = .string(signed(claims, script.idTokenClaims, type: .null, shared))
        }
        if let changes = script.accessTokenClaims {
            let claims = JSONObject([
                "iss": .string(base), "sub": "ada", "aud": "https://api.example.test", "client_id": "app",
                "jti": "j-1", "iat": .integer(now), "exp": .integer(now + 600),
            ])
            reply["access_token"] = .string(signed(claims, changes, type: script.accessTokenType, shared))
        }
        return .json(200, .object(reply))
    }

    /// The answer of a provider whose refresh tokens are counted.
    private static func rotating(
        _ rotation: Rotation, _ script: Script, _ fields: [String: String], _ base: String, _ shared: Shared
    ) -> ServerResponse {
        let isRefresh = fields["grant_type"] == "refresh_token"
        if isRefresh, script.wantsScope, fields["scope"] == nil { return .json(400, ["error": "invalid_request"]) }
        if rotation == .grantsScopes { return granting(script, fields, base, shared) }
        let number: Int? = shared.state.withLock { state in
            if isRefresh, state.current != fields["refresh_token"] {
                state.refusals += 1
                if !script.forgives { state.current = nil }
                return nil
            }
            if rotation == .keeps, state.current != nil { return state.issued }
            state.issued += 1
            state.current = "a-refresh-token-\(state.issued)"
            return state.issued
        }
        guard let number else { return .json(400, ["error": "invalid_grant"]) }
        let now = Int64(time(nil))
        var claims = JSONObject([
            "iss": .string(base), "sub": .string(script.idTokenSubject ?? "ada"), "aud": "app",
            "iat": .integer(now),
            "exp": .integer(now + 600),
        ])
        if !isRefresh { claims["nonce"] = shared.state.withLock { $0.nonce }.map(JSONValue.string) }
        let members = JSONObject([
            "access_token": .string("an-access-token-\(shared.state.withLock { $0.forms.count })"),
            "token_type": "Bearer", "expires_in": 3600, "refresh_token": .string("a-refresh-token-\(number)"),
            "id_token": .string(
                signed(claims, isRefresh ? script.idTokenClaims : JSONObject(), type: .null, shared)),
        ])
        guard isRefresh, let refresh = script.refresh else { return .json(200, .object(members)) }
        let response = refresh(members)
        // A refusal uses no code or token.
        if response.status >= 400 {
            shared.state.withLock { state in
                if rotation == .revokesReused { state.issued -= 1 }
                state.current = fields["refresh_token"]
            }
        }
        return response
    }

    private static func granting(
        _ script: Script, _ fields: [String: String], _ base: String, _ shared: Shared
    ) -> ServerResponse {
        let isRefresh = fields["grant_type"] == "refresh_token"
        let (token, scope, number): (String?, String?, Int) = shared.state.withLock { state in
            if isRefresh {
                let known = fields["refresh_token"].flatMap { script.revoked.contains($0) ? nil : state.scopes[$0] }
                if known == nil { state.refusals += 1 }
                return (fields["refresh_token"], known.map { fields["scope"] ?? $0 }, state.forms.count)
            }
            guard state.askedScope.contains("offline_access") else {
                return (nil, state.askedScope, state.forms.count)
            }
            state.issued += 1
            let token = "a-refresh-token-\(state.issued)"
            let granted = script.grantedScope ?? state.askedScope
            state.scopes[token] = granted
            return (token, granted, state.forms.count)
        }
        guard let scope else { return .json(400, ["error": "invalid_grant"]) }
        if isRefresh {
            let granted = shared.state.withLock { $0.scopes[token ?? ""] } ?? ""
            guard Set(scope.split(separator: " ")).isSubset(of: granted.split(separator: " ")) else {
                return .json(400, ["error": "invalid_scope"])
            }
        }
        let now = Int64(time(nil))
        var claims = JSONObject([
            "iss": .string(base), "sub": "ada", "aud": "app", "iat": .integer(now), "exp": .integer(now + 600),
        ])
        if !isRefresh { claims["nonce"] = shared.state.withLock { $0.nonce }.map(JSONValue.string) }
        var members = JSONObject([
            "access_token": .string("an-access-token-\(number)"), "token_type": "Bearer", "expires_in": 3600,
            "scope": .string(scope),
            "id_token": .string(signed(claims, JSONObject(), type: .null, shared)),
        ])
        members["refresh_token"] = token.map(JSONValue.string)
        if !scope.contains("openid") { members["id_token"] = nil }
        guard isRefresh, let refresh = script.refresh else { return .json(200, .object(members)) }
        return refresh(members)
    }

    private static func signed(
        _ claims: JSONObject, _ changes: JSONObject, type: JSONValue, _ shared: Shared
    ) -> String {
        var claims = claims
        for (name, value) in changes.members { claims[name] = value == .null ? nil : value }
        var header = JSONObject(["alg": "ES256", "kid": "k-1"])
        header["typ"] = type == .null ? nil : type
        let input =
            Base64URL.encode(JSONValue.object(header).bytes()) + "."
            + Base64URL.encode(JSONValue.object(claims).bytes())
        let signature = try? LibCryptography().sign(
            Array(input.utf8), algorithm: .es256, privateKey: shared.key.privateKey)
        return input + "." + Base64URL.encode(signature ?? [])
    }
}

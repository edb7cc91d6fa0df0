import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// Refusals of providers in their own words: the result of the sign-in, and the message to the user.
///
/// A new refusal is a line of the table.
@Suite struct RefusalTests {
    /// A refusal of a refresh.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int
        let body: String
        /// How `token --force-refresh` ends.
        let exitStatus: Int32
        /// A part of the error, the provider's reason.
        let reason: String

        init(_ name: String, _ status: Int, _ body: String, exits exitStatus: Int32, says reason: String) {
            (testDescription, self.status, self.body) = (name, status, body)
            (self.exitStatus, self.reason) = (exitStatus, reason)
        }

        var response: ServerResponse {
            ServerResponse(
                status: status,
                headers: [("Content-Type", body.hasPrefix("{") ? "application/json" : "text/plain")],
                body: Array(body.utf8))
        }
    }

    static let refusals = [
        Refusal("RFC 6749", 400, #"{"error":"invalid_grant"}"#, exits: 4, says: "invalid_grant"),
        Refusal(
            "Auth0", 403, #"{"error":"invalid_grant","error_description":"Unknown or invalid refresh token."}"#,
            exits: 4, says: "Unknown or invalid refresh token"),
        Refusal(
            "Atlassian", 403, #"{"error":"unauthorized_client","error_description":"refresh_token is invalid"}"#,
            exits: 4, says: "refresh_token is invalid"),
        Refusal(
            "better-auth", 400, #"{"error":"invalid_request","error_description":"session not found"}"#, exits: 4,
            says: "session not found"),
        Refusal(
            "Slack", 200, #"{"ok":false,"error":"invalid_refresh_token"}"#, exits: 4, says: "invalid_refresh_token"),
        Refusal("a resource's word", 401, #"{"error":"invalid_token"}"#, exits: 4, says: "invalid_token"),
        Refusal("an inactive token", 400, #"{"error":"token_inactive"}"#, exits: 4, says: "token_inactive"),
        Refusal("an expired token", 400, #"{"error":"token_expired"}"#, exits: 4, says: "token_expired"),
        Refusal("capitals", 400, #"{"error":"INVALID_GRANT"}"#, exits: 4, says: "INVALID_GRANT"),
        Refusal("a code's word", 400, #"{"error":"invalid_code"}"#, exits: 4, says: "invalid_code"),
        Refusal(
            "no OAuth error", 400, #"{"status":"BAD_REFRESH_TOKEN","message":"unknown refresh token"}"#, exits: 4,
            says: "unknown refresh token"),
        Refusal(
            "an object", 400, #"{"error":{"code":"invalid_grant","message":"it is gone"}}"#, exits: 4,
            says: "it is gone"),
        Refusal(
            "Fitbit", 400, #"{"errors":[{"errorType":"invalid_grant","message":"Refresh token invalid: x"}]}"#,
            exits: 4,
            says: "Refresh token invalid"),
        Refusal(
            "WeChat", 200, #"{"errcode":40030,"errmsg":"invalid refresh_token"}"#, exits: 4,
            says: "invalid refresh_token"),
        Refusal(
            "form coding", 400, "error=invalid_grant&error_description=gone", exits: 4, says: "invalid_grant: gone"),
        Refusal(
            "Facebook", 400,
            #"{"error":{"message":"Error validating access token","type":"OAuthException","code":190}}"#,
            exits: 7, says: "Error validating access token"),
        Refusal("a gateway", 400, "no healthy upstream", exits: 7, says: "no healthy upstream, HTTP status 400"),
        Refusal(
            "another status", 422, #"{"detail":[{"msg":"field required"}]}"#, exits: 7, says: "HTTP status 422"),
        Refusal(
            "League", 400, #"{"error":"invalid_request","message":"Wrong.","hint":"Token has been revoked"}"#,
            exits: 2,
            says: "Token has been revoked"),
        Refusal(
            "a null beside it", 200,
            #"{"access_token":null,"error":"invalid_grant","error_description":"dead"}"#, exits: 4, says: "dead"),
        Refusal(
            "an empty token", 200, #"{"access_token":"","error":"invalid_grant"}"#, exits: 4, says: "invalid_grant"),
        Refusal(
            "GitHub", 200, "error=bad_refresh_token&error_description=The+token+is+incorrect", exits: 4,
            says: "The token is incorrect"),
        Refusal("form coding and success", 200, "error=invalid_grant", exits: 4, says: "invalid_grant"),
        Refusal(
            "a comma too many", 200, #"{"error":"invalid_grant","error_description":"gone",}"#, exits: 4,
            says: "invalid_grant: gone"),
        Refusal("a list", 400, #"{"error":["invalid_grant"]}"#, exits: 4, says: "invalid_grant"),
        Refusal(
            "Lark", 200, #"{"code":20037,"msg":"refresh token expired"}"#, exits: 7, says: "20037: refresh token"),
        Refusal(
            "no success", 200, #"{"success":false,"message":"unknown"}"#, exits: 7, says: "unknown, HTTP status"),
        Refusal(
            "Supabase", 400, #"{"code":400,"error_code":"refresh_token_not_found","msg":"Not Found"}"#, exits: 4,
            says: "Not Found"),
        Refusal(
            "a consent that lacks", 400,
            #"{"error":"invalid_grant","suberror":"consent_required","error_codes":[65001]}"#, exits: 7,
            says: "requires a new sign-in"),
        Refusal(
            "an action that lacks", 400, #"{"error":"invalid_grant","suberror":"basic_action"}"#, exits: 7,
            says: "requires a new sign-in"),
        Refusal(
            "a scope that lacks", 400, #"{"error":"invalid_grant","error_codes":[70000]}"#, exits: 7,
            says: "requires a new sign-in"),
    ]

    private func signedIn() throws -> (Home, ScriptedProvider) {
        let home = try Home(), provider = try ScriptedProvider { $0.rotation = .revokesReused }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid"])
        try provider.signIn(at: home)
        return (home, provider)
    }

    private func status(_ home: Home) throws -> String? {
        try home.json(["accounts", "--json"]).array?.first?.object?["status"]?.string
    }

    @Test(arguments: refusals)
    func `A refusal of a refresh has its reason and the sign-in that helps`(refusal: Refusal) throws {
        let (home, provider) = try signedIn()
        provider.change { script in script.refresh = { _ in refusal.response } }
        let outcome = try home.run(["token", "--force-refresh"], exits: refusal.exitStatus)
        #expect(outcome.standardError.contains(refusal.reason), "\(outcome.standardError)")
        let id = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string)
        #expect(
            outcome.standardError.contains("credmgr login --account \(id)")
                || outcome.standardError.contains("credmgr login --account ada"), "\(outcome.standardError)")
        #expect(try status(home) == (refusal.exitStatus == 4 ? "needs-login" : "active"))
    }

    @Test(arguments: [["token", "--force-refresh"], ["login", "--type", "Work", "--if-needed"]])
    func `A grant that was refused in words of the provider's own is tried once more before a browser opens`(
        command: [String]
    ) throws {
        let (home, provider) = try signedIn()
        provider.change { $0.refresh = { .json(200, .object($0.with("expires_in", 1))) } }
        try home.run(["token", "--force-refresh"])
        let end = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["expires_on"]?.integer)
        while time(nil) <= Int(end) { usleep(20_000) }
        provider.change { $0.refresh = { _ in .json(400, ["error": "token_inactive"]) } }
        try home.run(["token"], exits: 4)
        #expect(try status(home) == "needs-login")
        // A plain call sends no request.
        let asked = provider.sentTokens.count
        try home.run(["token"], exits: 4)
        #expect(provider.sentTokens.count == asked)
        provider.change { $0.refresh = nil }
        let pages = provider.paths.count { $0 == "/authorize" }
        try home.run(command)
        #expect(try status(home) == "active")
        #expect(provider.sentTokens.count == asked + 1 && provider.refusals == 0)
        #expect(provider.paths.count { $0 == "/authorize" } == pages)
    }

    @Test func `A grant that RFC 6749 calls gone is not tried again`() throws {
        let (home, provider) = try signedIn()
        provider.change { $0.refresh = { _ in .json(400, ["error": "invalid_grant"]) } }
        try home.run(["token", "--force-refresh"], exits: 4)
        let asked = provider.sentTokens.count
        try home.run(["token", "--force-refresh"], exits: 4)
        #expect(provider.sentTokens.count == asked)
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_token","error_description":"Token expired or revoked"}"#),
        (400, #"{"error":"invalid_grant"}"#), (200, ""), (400, #"{"error":"token_not_found"}"#),
        (404, #"{"error":"token_not_found"}"#), (400, #"{"error":"token_inactive"}"#),
        (400, #"{"error":"invalid_request","error_description":"Token is not active"}"#),
    ])
    func `A token that the provider does not know any more is revoked`(status: Int, body: String) throws {
        let home = try Home(), provider = try ScriptedProvider { $0.rotation = .keeps }
        provider.change { $0.metadata["revocation_endpoint"] = .string(provider.base + "/revoke") }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid"])
        try provider.signIn(at: home)
        provider.change {
            $0.revocation = ServerResponse(
                status: status, headers: [("Content-Type", "application/json")], body: Array(body.utf8))
        }
        let outcome = try home.run(["logout", "--type", "Work", "--revoke", "--yes"])
        #expect(!outcome.standardError.contains("code"), "\(outcome.standardError)")
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }

    @Test(arguments: ["refresh_expires_in", "refresh_token_expires_in"], [0, -1] as [Int64])
    func `A refresh token with a lifetime of 0 does not expire`(member: String, seconds: Int64) throws {
        let home = try Home(), provider = try ScriptedProvider { $0.rotation = .keeps }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid"])
        try provider.signIn(at: home)
        provider.change { $0.refresh = { .json(200, .object($0.with(member, .integer(seconds)))) } }
        try home.run(["token", "--force-refresh"])
        let account = try #require(try home.json(["accounts", "--json"]).array?.first?.object)
        #expect(account["refresh_expires_at"] == .null || account["refresh_expires_at"] == nil)
    }

    @Test(arguments: [400, 200, 401]) func `An error with an echo of the request shows no secret`(status: Int)
        throws
    {
        let home = try Home(), provider = try ScriptedProvider { $0.rotation = .keeps }
        let secret = "a-secret+of/the client"
        try home.run(
            ["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid"]
                + ["--client-secret-file", home.write(secret + "\n", to: "secret")])
        try provider.signIn(at: home)
        provider.change { script in
            script.refresh = { _ in
                let echo = "no token a-refresh-token-1 of a-secret+of/the client, a-secret%2Bof%2Fthe+client"
                return .json(status, ["error": "strange", "error_description": .string(echo)])
            }
        }
        let outcome = try home.run(["token", "--force-refresh", "--verbose"], exits: 7)
        #expect(
            outcome.standardError.contains("no token [redacted] of [redacted], [redacted]"),
            "\(outcome.standardError)")
        let files = home.files.filter { $0.key != "secret" }.values.map { String(decoding: $0, as: UTF8.self) }
        for text in [outcome.standardError] + files {
            #expect(!text.contains("a-refresh-token-1") && !text.contains("of/the client"))
        }
    }

    @Test func `A refresh without scope that is refused is sent once more with it`() throws {
        let (home, provider) = try signedIn()
        provider.change { $0.wantsScope = true }
        try home.run(["token", "--force-refresh"])
        #expect(provider.forms.suffix(2).map { $0["scope"] } == [nil, "openid"])
        #expect(provider.refusals == 0)
    }

    @Test func `A scope that the provider leaves out in silence requires the sign-in that asks for it`() throws {
        let (home, provider) = try signedIn()
        let id = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string)
        provider.change { $0.refresh = { .json(200, .object($0.with("scope", "openid"))) } }
        let refused = try home.run(["token", "--scope", "admin"], exits: 4)
        #expect(refused.standardOutput.isEmpty)
        #expect(refused.standardError.contains("the grant does not include the requested scope"))
        #expect(
            refused.standardError.contains("hint: credmgr login --account \(id) --scope "),
            "\(refused.standardError)")
        #expect(try status(home) == "active")
        // The new refresh token is the next one that is sent. A response without scope grants what was asked for.
        provider.change { $0.refresh = nil }
        try home.run(["token", "--scope", "admin"])
        #expect(provider.sentTokens == ["a-refresh-token-1", "a-refresh-token-2"])
        #expect(provider.refusals == 0)
    }
}

extension JSONObject {
    /// The object with another member.
    fileprivate func with(_ name: String, _ value: JSONValue) -> JSONObject {
        var changed = self
        changed[name] = value
        return changed
    }
}

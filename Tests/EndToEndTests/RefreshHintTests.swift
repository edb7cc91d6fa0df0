import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// Responses to a refresh that credmgr refuses, and refusals in the words of another operation: each has a hint.
///
/// A new refusal is a line of the table.
@Suite struct RefreshHintTests {
    /// A refresh without a token, and its hint.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// How `token --force-refresh` ends.
        let exitStatus: Int32
        /// The beginning of the hint; the account's ID replaces `ID`.
        let hint: String
        /// The provider's reason, as the message shows it; `nil` if there is none.
        let reason: String?
        let response: @Sendable (JSONObject) -> ServerResponse

        init(
            _ name: String, exits status: Int32, hint: String, reason: String? = nil,
            _ response: @escaping @Sendable (JSONObject) -> ServerResponse
        ) {
            testDescription = name
            exitStatus = status
            self.hint = hint
            self.reason = reason
            self.response = response
        }

        /// A successful response that cannot be read.
        init(_ name: String, body: String) {
            self.init(name, exits: 1, hint: "try again") { _ in
                ServerResponse(status: 200, headers: [("Content-Type", "application/json")], body: Array(body.utf8))
            }
        }

        /// A successful response with another member.
        init(_ name: String, exits status: Int32, hint: String, member: String, _ value: JSONValue) {
            self.init(name, exits: status, hint: hint) { .json(200, .object($0.with(member, value))) }
        }

        /// A refusal in a word of RFC 7591.
        init(word: String, hint: String) {
            self.init(word, exits: 2, hint: hint) { _ in .json(400, ["error": .string(word)]) }
        }

        /// A refusal in the form of Okta's own APIs.
        init(okta code: String, _ summary: String, status: Int) {
            self.init(
                "Okta's \(code)", exits: 7, hint: "credmgr login --account ID",
                reason: "(\(code): \(summary), HTTP status \(status))"
            ) { _ in
                .json(
                    status,
                    [
                        "errorCode": .string(code), "errorSummary": .string(summary), "errorLink": .string(code),
                        "errorId": "oae-1", "errorCauses": [],
                    ])
            }
        }
    }

    static let refusals = [
        Refusal("an empty body", body: ""),
        Refusal("text", body: "Not today."),
        Refusal("form coding", body: "result=strange"),
        Refusal(
            "form coding with an error", exits: 7, hint: "credmgr login --account ID",
            reason: "(strange, HTTP status 200)"
        ) { _ in
            ServerResponse(
                status: 200, headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array("error=strange".utf8))
        },
        Refusal("no end", body: #"{"access_token":"t""#),
        Refusal("an array", body: "[]"),
        Refusal("a number as token", exits: 1, hint: "try again", member: "access_token", 7),
        Refusal("a token with a line break", exits: 1, hint: "try again", member: "access_token", "a\nb"),
        Refusal("a number as type", exits: 1, hint: "try again", member: "token_type", 7),
        Refusal(
            "an ID token that is none", exits: 7, hint: "credmgr login --account ID", member: "id_token", "a.b.c"),
        Refusal(word: "invalid_redirect_uri", hint: "check redirect_uri of account type 'Work'"),
        Refusal(word: "invalid_client_metadata", hint: "check client_id of account type 'Work'"),
        Refusal(word: "deleted_client", hint: "check client_id of account type 'Work'"),
        Refusal(word: "unapproved_software_statement", hint: "check client_id of account type 'Work'"),
        Refusal(okta: "E0000011", "Invalid token provided", status: 401),
        Refusal(okta: "E0000006", "You do not have permission to perform the requested action", status: 403),
        Refusal(okta: "E0000003", "The request body was not well-formed.", status: 400),
    ]

    @Test(arguments: refusals) func `A refresh that fails for good has a hint`(refusal: Refusal) throws {
        let home = try Home(), provider = try ScriptedProvider { $0.rotation = .keeps }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid"])
        try provider.signIn(at: home)
        provider.change { $0.refresh = refusal.response }
        let said = try home.run(["token", "--force-refresh"], exits: refusal.exitStatus).standardError
        let account = try #require(try home.json(["accounts", "--json"]).array?.first?.object)
        let id = try #require(account["id"]?.string)
        let hint = refusal.hint.replacing(" ID", with: " " + id)
        #expect(said.contains("credmgr: hint: \(hint)"), "\(said)")
        #expect(!said.contains("to register"), "\(said)")
        if let reason = refusal.reason { #expect(said.contains(reason), "\(said)") }
        #expect(account["status"]?.string == "active")
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

import CredentialCore
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// Every number of Azure AD B2C that has a meaning of its own here, and its result.
@Suite struct AzureB2CErrorTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let number: String
        let error: String
        let code: ErrorCode
        let exitStatus: Int32
        /// The beginning of the message.
        let message: String
        let hint: String?

        var testDescription: String { "AADB2C\(number)" }
    }

    private static let login = "credmgr login --type Tasks --policy b2c_1_sign_in"

    private static func check(_ keys: String) -> String { "check \(keys) of account type 'Tasks'" }

    private static func rows(
        _ numbers: [String], _ error: String, _ code: ErrorCode, _ exitStatus: Int32, _ message: String,
        _ hint: String?
    ) -> [Row] {
        numbers.map {
            Row(number: $0, error: error, code: code, exitStatus: exitStatus, message: message, hint: hint)
        }
    }

    static let table: [Row] =
        rows(
            ["90118"], "access_denied", .denied, 7, "the user has forgotten the password",
            "set password_reset_policy in account type 'Tasks' to the policy that resets passwords")
        + rows(["90091"], "access_denied", .cancelled, 7, "the sign-in was cancelled", nil)
        + rows(
            ["90273", "90037"], "server_error", .temporary, 6, "the provider is temporarily unavailable",
            "try again later")
        + rows(
            ["90077"], "interaction_required", .signInRequired, 4, "no session for a silent sign-in",
            login)
        + rows(
            ["90080", "90128", "90129"], "invalid_grant", .signInRequired, 4,
            "the sign-in has expired or was revoked", login)
        + rows(
            ["90088"], "invalid_grant", .configuration, 2,
            "the grant belongs to a different policy than 'b2c_1_sign_in'",
            "sign in with this policy: \(login)")
        + rows(
            ["90085"], "invalid_grant", .denied, 7, "the provider refused the request for an internal reason",
            "use --verbose, and look up the correlation ID in the tenant's logs")
        + rows(["90225"], "access_denied", .denied, 7, "the username or the password is wrong", nil)
        + rows(
            ["90224", "90057", "90058"], "unauthorized_client", .configuration, 2,
            "the policy or the client does not allow this flow", check("flow and policies"))
        + rows(
            ["90055", "90010", "90012", "90117", "90146", "99068"], "invalid_scope", .configuration, 2,
            "the provider refused the scope", check("scope"))
        + rows(
            ["90079", "90081"], "invalid_client", .configuration, 2, "the provider refused the client secret",
            "credmgr types set Tasks --client-secret-file -")
        + rows(
            ["90084"], "invalid_client", .configuration, 2, "the provider refused the client secret",
            "credmgr types set Tasks --unset client_secret")
        + rows(
            ["90006", "90287"], "redirect_uri_mismatch", .configuration, 2, "the redirect URI is not registered",
            check("redirect_uri"))
        + rows(
            [
                "90008", "90018", "90013", "90014", "90043", "90083", "90086", "90107", "90110", "90115", "90205",
                "90248", "99005",
            ], "invalid_request", .configuration, 2, "the provider rejected the request",
            check("client_id, policies and extra_parameters"))
        + rows(
            ["90182", "90183", "90184", "99059"], "invalid_grant", .denied, 7,
            "the provider refused the PKCE code verifier", login)
        + rows(
            ["90279"], "invalid_grant", .configuration, 2, "the grant belongs to a different client",
            check("client_id"))
        + rows(
            ["90111", "90114", "90244", "90035"], "temporarily_unavailable", .temporary, 6,
            "the provider is temporarily unavailable", "try again later")

    @Test(arguments: table)
    func `every error number has its message, hint and exit status, and keeps the IDs for the logs`(row: Row) throws
    {
        let fixture = try B2CFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect(
            "POST", B2CFixture.token, 400,
            [
                "error": .string(row.error),
                "error_description": .string(
                    "AADB2C\(row.number): Something.\r\nCorrelation ID: 5a1d0f6e-9d2b-4f61-8c8f-0d6f3b7e2a10\r\n"
                        + "Timestamp: 2024-01-30 13:35:09Z\r\n"),
            ])
        let request = RefreshRequest(
            type: fixture.type,
            key: TokenRequestKey(policy: "b2c_1_sign_in", scope: ["openid"]),
            scope: ["openid"], grant: grant, subject: "3f0c9a52")
        let error = try #require(
            #expect(throws: CredentialError.self) {
                try fixture.adapter.refresh(request, in: fixture.world.context)
            })
        #expect(error.code == row.code)
        #expect(error.code.exitStatus == row.exitStatus)
        #expect(error.message == "\(row.message) (AADB2C\(row.number): Something.)")
        #expect(error.hint == row.hint)
        let sent = fixture.provider.received.last?.header("client-request-id")
        #expect(
            error.details == [
                "AADB2C\(row.number): Something.", "error: \(row.error)",
                "correlation id: 5a1d0f6e-9d2b-4f61-8c8f-0d6f3b7e2a10", "timestamp: 2024-01-30 13:35:09Z",
                "status: 400", "client-request-id: \(sent ?? "")",
            ])
    }

    @Test func `a provider in trouble is told with the request's id too`() throws {
        let fixture = try B2CFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect("POST", B2CFixture.token, 503, ["error": "temporarily_unavailable"])
        let request = RefreshRequest(
            type: fixture.type, key: TokenRequestKey(policy: "b2c_1_sign_in", scope: ["openid"]),
            scope: ["openid"], grant: grant, subject: "3f0c9a52")
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.refresh(request, in: fixture.world.context)
        }
        let sent = fixture.provider.received.last?.header("client-request-id")
        #expect(error?.details.contains("client-request-id: \(sent ?? "")") ?? false)
    }
}

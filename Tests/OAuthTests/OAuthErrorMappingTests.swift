import CredentialCore
import OAuth
import Testing

@Suite struct OAuthErrorMappingTests {
    @Test(arguments: [
        ("invalid_grant", ProviderOperation.exchangeCode, 400, ErrorCode.signInRequired),
        ("invalid_grant", .refresh, 400, .signInRequired),
        ("invalid_grant", .refresh, 401, .signInRequired),
        ("bad_refresh_token", .refresh, 400, .signInRequired),
        ("", .refresh, 400, .signInRequired),
        ("invalid_grant", .refresh, 403, .signInRequired), ("invalid_grant", .refresh, 404, .denied),
        ("", .refresh, 403, .configuration), ("", .refresh, 401, .configuration), ("", .refresh, 402, .denied),
        ("unknown", .refresh, 400, .denied), ("invalid_request", .refresh, 400, .configuration),
        ("invalid_client", .refresh, 401, .configuration), ("unauthorized_client", .refresh, 400, .configuration),
        ("invalid_scope", .refresh, 400, .configuration), ("access_denied", .refresh, 400, .denied),
        ("interaction_required", .refresh, 400, .denied), ("consent_required", .refresh, 400, .denied),
        ("server_error", .refresh, 400, .temporary), ("temporarily_unavailable", .refresh, 400, .temporary),
        ("invalid_grant ", .refresh, 400, .denied), ("INVALID_GRANT", .refresh, 400, .signInRequired),
        ("invalid_grant", .password, 400, .denied), ("invalid_grant", .machine, 400, .denied),
        ("invalid_code", .exchangeCode, 403, .denied), ("", .exchangeCode, 403, .configuration),
        ("", .exchangeCode, 400, .denied), ("", .password, 403, .denied),
        ("invalid_grant", .revoke, 400, .denied), ("expired_token", .refresh, 400, .signInRequired),
        ("expired_token", .exchangeCode, 400, .denied), ("deleted_client", .refresh, 400, .configuration),
        ("disabled_client", .refresh, 401, .configuration), ("invalid_resource", .refresh, 400, .configuration),
        ("incorrect_client_credentials", .refresh, 200, .configuration),
        ("device_flow_disabled", .deviceAuthorization, 400, .configuration),
        ("unauthorized_scope_error", .authorize, 0, .configuration),
        ("access_denied", .authorize, 0, .denied), ("login_required", .authorize, 0, .signInRequired),
        ("interaction_required", .authorize, 0, .signInRequired),
        ("consent_required", .authorize, 0, .signInRequired),
        ("unsupported_response_type", .authorize, 0, .configuration),
        ("redirect_uri_mismatch", .authorize, 0, .configuration), ("server_error", .authorize, 0, .temporary),
        ("token_not_found", .refresh, 404, .signInRequired),
        ("refresh_token_not_found", .refresh, 400, .signInRequired),
        ("expired_token", .devicePoll, 400, .temporary), ("something_new", .authorize, 0, .denied),
    ]) func `maps a refusal`(code: String, operation: ProviderOperation, status: Int, expected: ErrorCode) {
        let refusal = OAuthError(code: code, status: status == 0 ? nil : status)
        #expect(OAuthErrorMapping.error(refusal, in: operation, type: "T").code == expected)
    }

    @Test func `shows foreign text without controls and within bounds`() {
        let refusal = OAuthError(
            code: "access_denied\u{1B}[31m", description: String(repeating: "x", count: 5_000) + "\u{202E}\r\n",
            uri: "\u{7}", status: 400)
        let error = OAuthErrorMapping.error(refusal, in: .authorize, type: "T")
        for text in [error.message] + error.details {
            #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E && $0.value != 0x7F })
            #expect(text.count < 600)
        }
    }

    @Test func `names the command that signs in`() {
        let error = OAuthErrorMapping.error(
            OAuthError(code: "invalid_grant", status: 400), in: .refresh, type: "Tasks")
        #expect(error.hint == "credmgr login --type Tasks")
    }

    @Test(arguments: ["deleted_client", "invalid_resource", "device_flow_disabled", "unauthorized_scope_error"])
    func `gives the hint of its kind`(code: String) {
        let error = OAuthErrorMapping.error(OAuthError(code: code, status: 400), in: .refresh, type: "T")
        #expect(error.hint != nil && error.hint?.hasPrefix("credmgr login") == false)
    }
}

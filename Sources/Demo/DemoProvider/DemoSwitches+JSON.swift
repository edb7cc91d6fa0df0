package import StrictJSON

extension DemoSwitches {
    /// Sets the switch that JSON calls `name` (the property's name in snake case).
    ///
    /// - Returns: whether there is one and `value` suits it.
    package mutating func set(_ name: String, to value: JSONValue) -> Bool {
        switch name {
        case "issuer_form": Self.set(&issuerForm, value.string.map(IssuerForm.init))
        case "numbers_as_strings": Self.set(&numbersAsStrings, value.bool)
        case "id_token_only_without_resource": Self.set(&idTokenOnlyWithoutResource, value.bool)
        case "policy_in_acr": Self.set(&policyInACR, value.bool)
        case "old_subject": Self.set(&oldSubject, value.bool)
        case "issuer_ends_with_slash": Self.set(&issuerEndsWithSlash, value.bool)
        case "includes_tenant_claim": Self.set(&includesTenantClaim, value.bool)
        case "refuses_empty_secret": Self.set(&refusesEmptySecret, value.bool)
        case "refuses_policy_in_body": Self.set(&refusesPolicyInBody, value.bool)
        case "code_lifetime": Self.set(&codeLifetime, value.integer)
        case "codes_are_single_use": Self.set(&codesAreSingleUse, value.bool)
        case "requires_pkce": Self.set(&requiresPKCE, value.bool)
        case "rotation": Self.set(&rotation, value.string.flatMap(Rotation.init))
        case "refresh_token_lifetime": Self.set(&refreshTokenLifetime, value.integer)
        case "sliding_window": Self.set(&slidingWindow, value.integer)
        case "access_token_lifetime": Self.set(&accessTokenLifetime, value.integer)
        case "id_token_lifetime": Self.set(&idTokenLifetime, value.integer)
        case "signing_key": Self.set(&signingKey, value.integer)
        case "unknown_kid": Self.set(&unknownKid, value.bool)
        case "keys_status": Self.set(&keysStatus, value.integer)
        case "keys_have_algorithm": Self.set(&keysHaveAlgorithm, value.bool)
        case "profile_info_has_nulls": Self.set(&profileInfoHasNulls, value.bool)
        case "includes_client_info": Self.set(&includesClientInfo, value.bool)
        case "failures": Self.set(&failures, value.integer)
        case "failure_status": Self.set(&failureStatus, value.integer)
        case "retry_after": Self.set(&retryAfter, value.integer)
        case "reply_milliseconds": Self.set(&replyMilliseconds, value.integer)
        case "truncates_replies": Self.set(&truncatesReplies, value.bool)
        case "token_reply": Self.set(&tokenReply, value.string)
        case "id_token_fault": Self.set(&idTokenFault, value.string.flatMap(IDTokenFault.init))
        case "code_size": Self.set(&codeSize, value.integer)
        case "repeats_redirect_parameters": Self.set(&repeatsRedirectParameters, value.bool)
        case "api_status": Self.set(&apiStatus, value.integer)
        case "api_reply": Self.set(&apiReply, value.string)
        case "state_form": Self.set(&stateForm, value.string.flatMap(StateForm.init))
        case "checks_sign_out_target": Self.set(&checksSignOutTarget, value.bool)
        case "discovery_issuer_host": Self.set(&discoveryIssuerHost, value.string)
        default: false
        }
    }

    /// The switches as JSON.
    package var json: JSONValue {
        [
            "issuer_form": .string(issuerForm.text),
            "numbers_as_strings": .bool(numbersAsStrings),
            "id_token_only_without_resource": .bool(idTokenOnlyWithoutResource),
            "policy_in_acr": .bool(policyInACR),
            "old_subject": .bool(oldSubject),
            "issuer_ends_with_slash": .bool(issuerEndsWithSlash),
            "includes_tenant_claim": .bool(includesTenantClaim),
            "refuses_empty_secret": .bool(refusesEmptySecret),
            "refuses_policy_in_body": .bool(refusesPolicyInBody),
            "code_lifetime": .integer(codeLifetime),
            "codes_are_single_use": .bool(codesAreSingleUse),
            "requires_pkce": .bool(requiresPKCE),
            "rotation": .string(rotation.rawValue),
            "refresh_token_lifetime": .integer(refreshTokenLifetime),
            "sliding_window": .integer(slidingWindow),
            "access_token_lifetime": .integer(accessTokenLifetime),
            "id_token_lifetime": .integer(idTokenLifetime),
            "signing_key": .integer(signingKey),
            "unknown_kid": .bool(unknownKid),
            "keys_status": .integer(keysStatus),
            "keys_have_algorithm": .bool(keysHaveAlgorithm),
            "profile_info_has_nulls": .bool(profileInfoHasNulls),
            "includes_client_info": .bool(includesClientInfo),
            "failures": .integer(failures),
            "failure_status": .integer(failureStatus),
            "retry_after": .integer(retryAfter),
            "reply_milliseconds": .integer(replyMilliseconds),
            "truncates_replies": .bool(truncatesReplies),
            "token_reply": .string(tokenReply),
            "id_token_fault": .string(idTokenFault.rawValue),
            "code_size": .integer(codeSize),
            "repeats_redirect_parameters": .bool(repeatsRedirectParameters),
            "api_status": .integer(apiStatus),
            "api_reply": .string(apiReply),
            "state_form": .string(stateForm.rawValue),
            "checks_sign_out_target": .bool(checksSignOutTarget),
            "discovery_issuer_host": .string(discoveryIssuerHost),
        ]
    }

    private static func set<Value>(_ property: inout Value, _ value: Value?) -> Bool {
        guard let value else { return false }
        property = value
        return true
    }
}

extension DemoSwitches.IssuerForm {
    /// `guid`, `tfp`, or the custom issuer itself.
    init(_ text: String) {
        switch text {
        case "guid": self = .guid
        case "tfp": self = .tfp
        default: self = .custom(text)
        }
    }

    /// `guid`, `tfp`, or the custom issuer itself.
    var text: String {
        switch self {
        case .guid: "guid"
        case .tfp: "tfp"
        case .custom(let text): text
        }
    }
}

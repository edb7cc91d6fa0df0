/// How the provider behaves or misbehaves. Every one may change while it runs.
package struct DemoSwitches: Sendable {
    /// `iss` of tokens and discovery documents.
    package enum IssuerForm: Sendable, Equatable {
        /// `<host>/<GUID>/v2.0`
        case guid
        /// `<host>/tfp/<GUID>/<policy>/v2.0`
        case tfp
        /// This text, as a custom domain would make it.
        case custom(String)
    }

    /// The treatment of a refresh token that was used.
    package enum Rotation: String, Sendable, CaseIterable {
        /// It stays valid beside the new one, as Azure AD B2C does.
        case keepsOld = "keeps_old"
        /// It is revoked; using it again revokes the whole family (RFC 9700 §4.14.2) and is counted.
        case revokesOld = "revokes_old"
        /// There is no new refresh token: the response does not have one.
        case none
    }

    /// The `state` that the redirect brings back.
    package enum StateForm: String, Sendable, CaseIterable {
        /// The one that was sent.
        case correct
        /// Another text.
        case wrong
        /// That of the sign-in started before this one.
        case ofAnotherSignIn = "of_another_sign_in"
    }

    /// The fault of ID tokens.
    package enum IDTokenFault: String, Sendable, CaseIterable {
        /// Nothing.
        case none
        /// The signature is of other text.
        case signature
        /// It has no signature: `alg` is `none`.
        case unsigned
        /// It names another issuer than the discovery document.
        case issuer
        /// It is for another client.
        case audience
        /// It answers another sign-in.
        case nonce
        /// It has run out long ago.
        case expired
        /// It is of another policy.
        case policy
    }

    /// Numbers of token replies are strings.
    package var numbersAsStrings = false
    /// Without a resource in the scope there is no access token.
    package var idTokenOnlyWithoutResource = true
    /// The policy is in `acr`, not in `tfp`.
    package var policyInACR = false
    /// `sub` is the sentence of 2015, not the object id.
    package var oldSubject = false
    /// The form of the issuer.
    package var issuerForm = IssuerForm.guid
    /// Whether the issuer ends with a slash.
    package var issuerEndsWithSlash = true
    /// Tokens have the claim `tid`.
    package var includesTenantClaim = false
    /// A public client may not send `client_secret`, not even an empty one (AADB2C90084).
    package var refusesEmptySecret = true
    /// `p` in a token request's body is refused; else ignored.
    package var refusesPolicyInBody = false
    /// How long an authorization code may be used, in seconds.
    package var codeLifetime: Int64 = 600
    /// An authorization code may be used once.
    package var codesAreSingleUse = true
    /// Authorization requests need a `code_challenge`.
    package var requiresPKCE = false
    /// The treatment of used refresh tokens.
    package var rotation = Rotation.keepsOld
    /// How long a refresh token lives, in seconds.
    package var refreshTokenLifetime: Int64 = 1_209_600
    /// How long a grant may be refreshed after the sign-in, in seconds (AADB2C90080 then).
    package var slidingWindow: Int64 = 7_776_000
    /// How long an access token lives, in seconds.
    package var accessTokenLifetime: Int64 = 3_600
    /// How long an id token lives, in seconds.
    package var idTokenLifetime: Int64 = 3_600
    /// Which of the signing keys signs; the key set has the keys up to it.
    package var signingKey: Int64 = 0
    /// Tokens name a key that the key set lacks.
    package var unknownKid = false
    /// The status of the key set.
    package var keysStatus: Int64 = 200
    /// Keys of the key set say their `alg`.
    package var keysHaveAlgorithm = false
    /// The user's members of `profile_info` are null.
    package var profileInfoHasNulls = true
    /// Token replies have `client_info`.
    package var includesClientInfo = true
    /// How many token requests to come fail with ``failureStatus``; negative for all of them.
    package var failures: Int64 = 0
    /// The status of a failing token request: 429, 500, 503.
    package var failureStatus: Int64 = 503
    /// The `Retry-After` of a failing token request, in seconds; negative to send no such field.
    package var retryAfter: Int64 = -1
    /// How long token replies take to trickle out, in milliseconds.
    package var replyMilliseconds: Int64 = 0
    /// Token replies stop in the middle of the JSON.
    package var truncatesReplies = false
    /// The body of token replies, in place of the right one, when it is not empty.
    package var tokenReply = ""
    /// The fault of ID tokens.
    package var idTokenFault = IDTokenFault.none
    /// The size of authorization codes in bytes, at least.
    package var codeSize: Int64 = 1_024
    /// Redirects bring each of their parameters twice.
    package var repeatsRedirectParameters = false
    /// The status of every response of the to-do API to an authorized request; 0 for the right one.
    package var apiStatus: Int64 = 0
    /// The JSON of every response of the to-do API to an authorized request, in place of the right one, when it is
    /// not empty.
    package var apiReply = ""
    /// The `state` that redirects bring.
    package var stateForm = StateForm.correct
    /// Sign-out refuses a target that is not registered even without `id_token_hint`.
    package var checksSignOutTarget = false
    /// The host that discovery documents name in `issuer`; empty for the right one.
    package var discoveryIssuerHost = ""

    /// The behaviour of a healthy tenant.
    package init() {}
}

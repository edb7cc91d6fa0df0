import CredentialCore
import OAuth
import StrictJSON

/// The behavior of B2C that differs once a request is on its way.
struct B2CDialect: ProviderDialect {
    let type: AccountType
    let policy: B2CPolicy
    /// The GUID of the tenant, by the issuer; `nil` if no ID token is expected.
    let tenantID: String?
    /// Finds the request in the logs of B2C.
    let requestID: String

    let authorizeParameters = ["client_info": "1", "response_mode": "query"]
    let tokenParameters = ["client_info": "1"]
    let secretMethod = ClientAuthentication.Method.secretPost
    let alwaysSendsScope = true
    /// B2C has no choice of accounts.
    let promptForAnother: String? = "login"
    var requestFacts: [String] { ["client-request-id: " + requestID] }

    private static let tenantKey = "tid"
    private static let personKey = "person"
    private static let policyKey = "policy"

    var headers: [(name: String, value: String)] {
        [("client-request-id", requestID), ("return-client-request-id", "true")]
    }

    /// The id that the caller has chosen, else a new one.
    ///
    /// - Throws: ``ErrorCode/usage`` for one that is no UUID: B2C would leave it out of its logs.
    static func requestID(in context: AdapterContext) throws(CredentialError) -> String {
        guard let chosen = context.correlationID else { return newRequestID(context.random) }
        guard B2CAuthority.isGUID(chosen) else {
            throw CredentialError(
                .usage, "CREDMGR_CORRELATION_ID '\(UntrustedText.shown(chosen, limit: 60))' is not a UUID",
                hint: "CREDMGR_CORRELATION_ID=\(newRequestID(context.random))")
        }
        return chosen.lowercased()
    }

    /// A random UUID (RFC 9562 §5.4).
    static func newRequestID(_ random: any RandomSource) -> String {
        var bytes = random.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return text
    }

    func error(for refusal: OAuthError, in operation: ProviderOperation) -> CredentialError {
        B2CErrorDetail(refusal).map { $0.error(for: refusal, in: operation, type: type, policy: policy) }
            ?? OAuthErrorMapping.error(refusal, in: operation, type: type.name, clientKeys: type.clientKeys)
    }

    /// The policy (`tfp`, in older tokens `acr`), the tenant if the token names it, and on a refresh that tenant
    /// and user are those of the sign-in.
    func check(_ claims: IDTokenClaims, against state: JSONObject) throws(CredentialError) {
        guard let named = claims.text("tfp") ?? claims.text("acr"), B2CPolicy(named) == policy else {
            let named = claims.text("tfp") ?? claims.text("acr") ?? ""
            throw Self.refused(
                "it is for policy '\(UntrustedText.shown(named, limit: 80))', not for '\(policy)'")
        }
        if let named = claims.text("tid"), let tenantID, !ConstantTime.equal(named.lowercased(), tenantID) {
            throw Self.refused("it is for a different tenant")
        }
        if let pinned = state[Self.tenantKey]?.string, let tenantID, !ConstantTime.equal(pinned, tenantID) {
            throw Self.refused("the tenant is not the tenant of the sign-in")
        }
        if let person = state[Self.personKey]?.string, let now = B2CIdentity(claims: claims, profile: nil).subject,
            !ConstantTime.equal(person, now)
        {
            throw Self.refused("it is for a different user than before")
        }
    }

    func state(of received: VerifiedTokenResponse) -> JSONObject {
        var state = JSONObject()
        state[Self.policyKey] = .string(policy.canonical)
        state[Self.tenantKey] = tenantID.map { .string($0) }
        if let claims = received.claims {
            state[Self.personKey] = B2CIdentity(claims: claims, profile: nil).subject.map { .string($0) }
        }
        return state
    }

    func identity(
        of received: VerifiedTokenResponse, for request: SignInRequest, by client: OAuthClient
    ) throws(CredentialError) -> Identity {
        if request.flow == .clientCredentials {
            return Identity(issuer: client.metadata.issuer, subject: type.clientID)
        }
        guard let claims = received.claims else {
            throw Self.refused("it is missing, so the user is unknown")
        }
        let person = B2CIdentity(claims: claims, profile: B2CIdentity.profile(of: received.reply))
        guard let subject = person.subject else {
            throw CredentialError(
                .validationFailed, "the policy '\(policy)' does not identify the user: neither oid nor sub",
                hint: "add the claim \"User's Object ID\" to the application claims of the policy")
        }
        return Identity(
            issuer: claims.issuer, subject: subject, username: person.username ?? request.username,
            displayName: person.displayName)
    }

    private static func refused(_ reason: LocalizedMessage) -> CredentialError {
        CredentialError(.validationFailed, "the ID token cannot be trusted: \(reason)")
    }
}

import CredentialCore

/// The rules that make a code or a refresh token unusable.
enum GrantRules {
    /// The client and the policy must be those of the sign-in (AADB2C90279, 90088).
    static func check(_ grant: DemoGrant, client: DemoClient, policy: DemoPolicy) throws(B2CError) {
        guard grant.clientID == client.id else {
            throw B2CError(
                error: "invalid_grant", number: 90279,
                text: "The provided client id '\(client.id)' does not match the client id that issued the grant.")
        }
        guard grant.policy == policy else {
            throw B2CError(
                error: "invalid_grant", number: 90088,
                text:
                    "The provided grant has not been issued for this endpoint. Actual Value : \(grant.policy.name) "
                    + "and Expected Value : \(policy.name)")
        }
    }

    /// The verifier must be that of the challenge (RFC 7636 §4.6).
    static func check(
        _ verifier: String?, against challenge: DemoChallenge?, _ cryptography: any Cryptography
    ) throws(B2CError) {
        guard let challenge else { return }
        guard let verifier, (43...128).contains(verifier.utf8.count) else {
            throw B2CError(
                error: "invalid_request", number: 90183, text: "The supplied code_verifier is invalid")
        }
        var value = verifier
        if challenge.isHashed {
            do {
                value = Base64URL.encode(try cryptography.sha256(Array(verifier.utf8)))
            } catch {
                throw .internalFault
            }
        }
        guard ConstantTime.equal(value, challenge.value) else {
            throw B2CError(
                error: "invalid_grant", number: 90182,
                text: "The supplied code_verifier does not match associated code_challenge")
        }
    }

    /// The grant is too old, or its code was used.
    static func expired(_ grant: DemoGrant, now: Timestamp, _ switches: DemoSwitches) -> B2CError {
        let issued = grant.signedInAt
        return B2CError(
            error: "invalid_grant", number: 90080,
            text: "The provided grant has expired. Please re-authenticate and try again. Current time: "
                + "\(now.epochSeconds), Grant issued time: \(issued.epochSeconds), Grant sliding window expiration "
                + "time: \(issued.adding(switches.slidingWindow).epochSeconds)")
    }

    /// The code or refresh token was never given out.
    static let unreadable = B2CError(
        error: "invalid_grant", number: 90090, text: "The provided JWE is not a valid 5 segment token.")
    /// The refresh token was revoked.
    static let revoked = B2CError(
        error: "invalid_grant", number: 90129,
        text: "The provided grant has been revoked. Please reauthenticate and try again.")
    /// The user was removed.
    static let accountGone = B2CError(
        error: "invalid_grant", number: 90128,
        text: "The account associated with this grant no longer exists. Please reauthenticate and try again.")
}

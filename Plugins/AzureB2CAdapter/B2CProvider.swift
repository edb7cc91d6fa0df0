import CredentialCore
import OAuth

/// One policy of one tenant: its endpoints, and the rules for its metadata.
struct B2CProvider {
    /// The policy.
    let policy: B2CPolicy
    private let authority: B2CAuthority
    /// The issuer that the type names, if the tenant's is at another host: a custom domain.
    private let alias: URI?

    /// Finds the authority of a type and the policy.
    ///
    /// - Throws: ``ErrorCode/configuration``, ``ErrorCode/usage``.
    init(_ type: AccountType, policy: String?) throws(CredentialError) {
        authority = try B2CAuthority(of: type)
        alias = type.issuer.flatMap(URI.init)
        self.policy = try B2CPolicy.named(policy, of: type)
    }

    /// The endpoints of the policy, without network.
    var endpoints: ServerMetadata {
        var metadata = ServerMetadata(endpoints: [
            .authorization: authority.address(of: .authorize, policy: policy),
            .token: authority.address(of: .token, policy: policy),
            .endSession: authority.address(of: .logout, policy: policy),
            .jwks: authority.address(of: .keys, policy: policy),
        ])
        metadata.signingAlgorithms = [.rs256]
        return metadata
    }

    /// The endpoints with issuer and key set, by discovery.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` for an issuer or key set that is not the tenant's;
    ///   ``ErrorCode/temporary``; ``ErrorCode/configuration`` when there is no such policy.
    func metadata(
        source: MetadataFetcher, in context: AdapterContext
    ) throws(CredentialError) -> ServerMetadata {
        var metadata = endpoints
        let found: ServerMetadata
        do throws(CredentialError) {
            found = try source.metadata(
                at: [authority.address(of: .discovery, policy: policy)], in: context, issuerRule: check(issuer:))
        } catch {
            throw error.code == .configuration
                ? CredentialError(
                    .configuration,
                    "policy '\(policy)' or its tenant not found: \(error)",
                    hint: "check authority, tenant and policies of the account type", details: error.details)
                : error
        }
        metadata.issuer = found.issuer
        if let keys = found.endpoints[.jwks] {
            guard keys.origin == authority.base.origin else {
                throw CredentialError(
                    .validationFailed,
                    "the metadata of policy '\(policy)' points to keys on a different host: \(keys.origin)")
            }
            metadata.endpoints[.jwks] = keys
        }
        return metadata
    }

    /// Checks the issuer: B2C's is not the URL of its metadata. It must be at the host of the authority or of the
    /// type's own issuer, name a tenant by its GUID (the configured one, if any), and name no other policy.
    private func check(issuer: String) throws(CredentialError) {
        guard let address = URI(issuer), address.isSecure, address.origin == (alias ?? authority.base).origin
        else {
            throw refused(
                issuer, "has a different host than the \(alias == nil ? "authority" : "account type's issuer")",
                hint: alias == nil ? "for a custom domain of the tenant, set issuer in the account type" : nil)
        }
        guard let tenant = Self.tenantID(issuer) else { throw refused(issuer, "names no tenant") }
        let configured = authority.isTenantGUID ? authority.tenant.lowercased() : alias.flatMap(Self.tenantID)
        if let configured, !ConstantTime.equal(tenant, configured) {
            throw refused(issuer, "is for a different tenant")
        }
        var components = address.pathComponents[...]
        if components.first?.lowercased() == "tfp" {
            components = components.dropFirst(2)
            guard let named = components.first.flatMap(B2CPolicy.init), named == policy else {
                throw refused(issuer, "is for a different policy")
            }
        }
    }

    /// The GUID of the tenant in an issuer, in lower case.
    static func tenantID(_ issuer: String) -> String? { URI(issuer).flatMap(tenantID) }

    private static func tenantID(_ issuer: URI) -> String? {
        let components = issuer.pathComponents
        let tenant = components.first?.lowercased() == "tfp" ? components.dropFirst().first : components.first
        return tenant.flatMap { B2CAuthority.isGUID($0) ? $0.lowercased() : nil }
    }

    private func refused(_ issuer: String, _ reason: LocalizedMessage, hint: LocalizedMessage? = nil)
        -> CredentialError
    {
        CredentialError(
            .validationFailed,
            "the issuer '\(UntrustedText.shown(issuer))' in the metadata of policy '\(policy)' \(reason)",
            hint: hint)
    }
}

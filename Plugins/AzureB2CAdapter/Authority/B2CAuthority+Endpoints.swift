package import CredentialCore

extension B2CAuthority {
    /// The endpoints that a tenant serves for each policy.
    package enum Endpoint: Sendable, CaseIterable {
        /// RFC 6749 §3.1.
        case authorize
        /// RFC 6749 §3.2.
        case token
        /// OpenID Connect RP-Initiated Logout 1.0.
        case logout
        /// OpenID Connect Discovery 1.0 §4.
        case discovery
        /// RFC 7517 §5.
        case keys
        /// OpenID Connect Core §5.3; custom policies only.
        case userinfo

        fileprivate var path: String {
            switch self {
            case .authorize: "oauth2/v2.0/authorize"
            case .token: "oauth2/v2.0/token"
            case .logout: "oauth2/v2.0/logout"
            case .discovery: "v2.0/.well-known/openid-configuration"
            case .keys: "discovery/v2.0/keys"
            case .userinfo: "openid/v2.0/userinfo"
            }
        }
    }

    /// The URL of an endpoint for a policy, in the form that the authority was given in.
    package func address(of endpoint: Endpoint, policy: B2CPolicy) -> URI {
        address(policy: policy, ending: "/" + endpoint.path)
    }

    /// The authority itself for a policy, as a definition holds it: `https://HOST/TENANT?p=POLICY` or
    /// `https://HOST/TENANT/POLICY`; for no policy without one.
    package func address(policy: B2CPolicy?) -> URI { address(policy: policy, ending: "") }

    private func address(policy: B2CPolicy?, ending: String) -> URI {
        let root = (hasTFP ? "/tfp/" : "/") + tenant
        guard let policy else { return base.replacing(path: root + ending) }
        // A policy's name holds only characters that need no escape.
        return switch form {
        case .path: base.replacing(path: "\(root)/\(policy.written)\(ending)")
        case .query: base.replacing(path: root + ending, query: "p=\(policy.written)")
        }
    }

    /// The provider, equal for types that share accounts: host and tenant, `b2c:https://HOST/TENANT`.
    ///
    /// The tenant is in lower case. That a name and a GUID are the same tenant cannot be known without asking the
    /// network, so they count as different providers, and so do two hosts of one tenant.
    package var provider: String { "b2c:\(base.origin)/\(tenant.lowercased())" }

    /// Whether `other` is the same tenant at the same host.
    package func isSameTenant(as other: B2CAuthority) -> Bool { provider == other.provider }

    // MARK: From a definition

    /// The authority that a type's definition gives: by `authority`, with the tenant in it or in `tenant`; else by
    /// its endpoints; else by `tenant` alone, at its place on b2clogin.com.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key.
    package init(of type: AccountType) throws(CredentialError) {
        if let text = type.authority {
            self = try Self.read(text, at: "authority", of: type)
        } else if let text = type.endpoints[.authorization] {
            self = try Self.read(text, at: "authorization_endpoint", of: type)
        } else if let text = type.endpoints[.token] {
            self = try Self.read(text, at: "token_endpoint", of: type)
        } else {
            self = try Self.usual(of: type)
            return
        }
        if let tenant = type.tenant, tenant.lowercased() != self.tenant.lowercased() {
            throw Self.fault("tenant", "differs from the tenant of the authority", of: type)
        }
        for endpoint in [AccountType.Endpoint.authorization, .token] {
            guard let text = type.endpoints[endpoint] else { continue }
            let other = try Self.read(text, at: endpoint.rawValue, of: type)
            guard other.isSameTenant(as: self) else {
                throw Self.fault(endpoint.rawValue, "has a different host or tenant than the authority", of: type)
            }
            if let policy, let otherPolicy = other.policy, policy != otherPolicy {
                throw Self.fault(endpoint.rawValue, "names a different policy than the authority", of: type)
            }
        }
    }

    private static func read(
        _ text: String, at key: String, of type: AccountType
    ) throws(CredentialError) -> B2CAuthority {
        if let tenant = type.tenant, let base = URI(text), base.isSecure, base.query == nil,
            ["", "/", "/tfp", "/tfp/"].contains(base.path), isTenant(tenant)
        {
            return B2CAuthority(base: base, tenant: tenant, hasTFP: base.path.contains("tfp"))
        }
        let authority: B2CAuthority
        do throws(Problem) {
            authority = try B2CAuthority(text)
        } catch {
            throw fault(key, error.message, of: type)
        }
        if !authority.otherQuery.isEmpty {
            throw fault(key, "has a query other than 'p': use 'extra_parameters'", of: type)
        }
        return authority
    }

    /// The place of `tenant` on b2clogin.com.
    private static func usual(of type: AccountType) throws(CredentialError) -> B2CAuthority {
        guard let tenant = type.tenant else {
            throw CredentialError(
                .configuration, "account type '\(type.name)' has neither 'authority' nor 'tenant'")
        }
        let suffix = ".onmicrosoft.com"
        let lowered = tenant.lowercased()
        let label = lowered.hasSuffix(suffix) ? String(lowered.dropLast(suffix.count)) : lowered
        guard isTenant(tenant), !isGUID(tenant), !label.contains("."),
            let base = URI("https://\(label).b2clogin.com")
        else {
            throw CredentialError(
                .configuration, "key 'tenant' of account type '\(type.name)' does not identify the host",
                hint: "add 'authority': \"https://HOST/\(UntrustedText.shown(tenant, limit: 80))\"")
        }
        return B2CAuthority(base: base, tenant: lowered == label ? label + suffix : tenant)
    }

    private static func fault(_ key: String, _ problem: LocalizedMessage, of type: AccountType) -> CredentialError {
        CredentialError(.configuration, "key '\(key)' of account type '\(type.name)' \(problem)")
    }
}

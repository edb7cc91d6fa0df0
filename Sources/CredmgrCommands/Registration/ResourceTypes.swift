import CredentialCore
import OAuth

/// The account types of `login --resource`: found by the resource, or defined from what it tells of itself.
struct ResourceTypes: Sendable {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// The type for a resource.
    ///
    /// - Parameters:
    ///   - url: the resource, or an address below it.
    ///   - name: the name of the type; `nil` for one made of the host.
    ///   - clientID: the client to sign in with; `nil` to register one.
    /// - Throws: ``ErrorCode/usage`` for an address that is none, or a name that is taken; what the discovery, the
    ///   registration or the store throws.
    func type(
        for url: String, named name: String?, clientID: String?
    ) throws(CredentialError) -> AccountType {
        guard let address = WebAddress(url), address.isWeb, address.isSecure, address.fragment == nil else {
            throw CredentialError(.usage, "--resource takes an https URL")
        }
        let chosen = try Name.checked(name ?? Self.name(of: address), kind: "account type")
        if try session.catalog.isDefined(chosen) {
            let type = try TargetResolver(session).type(named: chosen)
            guard name != nil || Self.covers(type, address) else {
                throw CredentialError(
                    .usage, "account type '\(chosen)' is for something else than \(address.origin)\(address.path)",
                    hint: "choose another name with --type")
            }
            return type
        }
        return try define(chosen, for: address, clientID: clientID)
    }

    /// Whether a type is for the resource at an address.
    static func covers(_ type: AccountType, _ address: WebAddress) -> Bool {
        guard let resource = type.resource.flatMap(WebAddress.init), resource.origin == address.origin else {
            return false
        }
        return address.pathComponents.starts(with: resource.pathComponents)
    }

    private func define(
        _ name: String, for address: WebAddress, clientID: String?
    ) throws(CredentialError) -> AccountType {
        let discovery = ResourceDiscovery(in: session.adapterContext(session.stores()))
        let finding = try discovery.find(address)
        var type = AccountType(name: name, adapter: "oauth2", clientID: clientID ?? "unregistered")
        type.issuer = finding.server.issuer
        type.resource = finding.resource.resource
        type.apiBase = finding.resource.resource
        type.scope = Self.scope(finding)
        type.bindsAccessTokens = finding.resource.demandsBoundTokens
        type.keychainGroup = session.options.group ?? .standard
        let path: String
        if let clientID {
            if clientID.hasPrefix("https://"), !finding.server.takesClientDocuments {
                session.notices.warning("the provider does not say that a URL serves it as client id")
            }
            try session.context.adapters.adapter(of: type).check(type)
            path = try session.catalog.add(type)
        } else {
            path = try ClientRegistrar(session).define(type, at: finding.server, force: false)
        }
        session.notices.note("account type \(name) is defined in \(path)")
        return try TargetResolver(session).type(named: name)
    }

    /// What the challenge asked for, else what the resource lists; and what tells who signed in and lets the sign-in
    /// be renewed, where the server has it.
    private static func scope(_ finding: ResourceDiscovery.Finding) -> [String] {
        let wanted = finding.challengedScope.isEmpty ? finding.resource.scopes : finding.challengedScope
        return Scope.distinct(
            wanted + ["openid", "offline_access"].filter { finding.server.scopes?.contains($0) ?? false })
    }

    /// A name of the host, with the port where there is one.
    private static func name(of address: WebAddress) -> String {
        let host = address.host.map { $0 == ":" ? "-" : $0 }
        return String(host) + (address.port.map { "-\($0)" } ?? "")
    }
}

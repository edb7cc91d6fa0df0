import CredentialCore

/// Finds the account whose token a server may have: what the credential helpers of other programs are asked for.
///
/// A token goes to a server only if the type's `api_base` or `api_origins` name it, or a rule of `config.json` with
/// this `host` chooses the type. The `--type` of a helper that is set up for every server does not suffice.
struct HostTarget: Sendable {
    private let session: Session
    private let resolver: TargetResolver

    init(_ session: Session) {
        self.session = session
        resolver = TargetResolver(session)
    }

    /// The target for `address`; `nil` when no token of this user is for that server.
    ///
    /// - Throws: ``ErrorCode/ambiguousAccount`` when several types or accounts fit; ``ErrorCode/noSuchAccount`` when
    ///   a type fits and nobody has signed in.
    func find(_ address: WebAddress, _ options: TargetOptions) throws(CredentialError) -> Target? {
        guard address.isWeb, address.isSecure else {
            session.notices.detail("a token is not sent over plain http to \(address.host)")
            return nil
        }
        var options = options
        options.host = address.host
        if let name = try resolver.namedType(options) {
            let type = try resolver.type(named: name)
            guard try isFor(type, address, options) else {
                session.notices.detail(
                    "account type \(name) is not for \(address.origin): api_base, api_origins and rules do not name it"
                )
                return nil
            }
            return try resolver.target(ofType: type, options)
        }
        for rule in resolver.rules(options) {
            if let name = rule.type {
                let type = try resolver.type(named: name)
                // A rule for the folder alone may be about another server.
                if try isFor(type, address, options) { return try resolver.target(ofType: type, options) }
            } else if rule.host != nil {
                return try resolver.target(options, rule)
            }
        }
        guard let type = try typeWithAPI(at: address) else {
            session.notices.detail("no account type names \(address.origin) in its api_base or api_origins")
            return nil
        }
        return try resolver.target(ofType: type, options)
    }

    /// The user name that a rule gives for the server beside a token of `type`.
    func username(_ address: WebAddress, _ type: AccountType) -> String? {
        resolver.rules(TargetOptions(host: address.host)).lazy
            .filter { $0.host != nil && ($0.type ?? type.name) == type.name }.compactMap(\.username).first
    }

    /// Whether a token of `type` may go to the server. A rule for the host without a type says so only of the account
    /// that it chooses.
    private func isFor(
        _ type: AccountType, _ address: WebAddress, _ options: TargetOptions
    ) throws(CredentialError) -> Bool {
        if resolver.rules(options).contains(where: { $0.host != nil && $0.type == type.name }) { return true }
        if let rule = try resolver.rule(options, for: type), rule.host != nil, rule.type == nil { return true }
        return try RequestOrigins(of: type).allows(address)
    }

    /// The one type whose API is there.
    private func typeWithAPI(at address: WebAddress) throws(CredentialError) -> AccountType? {
        var found: [AccountType] = []
        for entry in try session.catalog.entries() {
            // A definition that cannot be used is told by the commands that name it.
            guard case .success(let type) = entry.type, try RequestOrigins(of: type).allows(address) else {
                continue
            }
            found.append(try resolver.type(named: type.name))
        }
        guard found.count > 1 else { return found.first }
        throw CredentialError(
            .ambiguousAccount,
            "several account types are for \(address.origin): \(found.map(\.name).joined(separator: ", "))",
            hint: #"add to config.json: "rules": [{"host": "\#(address.host)", "type": "\#(found[0].name)"}]"#)
    }
}

internal import CredentialCore
internal import PropertyLists

/// The rules that the forms share.
extension ImportedDefinition {
    /// The type's name: the one asked for, else the one in the file. It is kept as spelled, three c's included:
    /// tools look the type up by it.
    ///
    /// - Throws: ``ErrorCode/usage`` for no name, or one that is not valid here, with the command that gives one.
    static func name(
        _ wished: String?, inFile found: String?, place: String
    ) throws(CredentialError) -> String {
        guard let chosen = wished ?? found else {
            throw CredentialError(
                .usage, "\(place) does not name the account type", hint: "set the name with --name")
        }
        do throws(CredentialError) {
            return try Identifier.checked(chosen, kind: .accountType)
        } catch {
            guard let near = Identifier.near(chosen) else { throw error }
            throw CredentialError(
                error.code, error.text,
                hint: LocalizedMessage(
                    verbatim: ShellQuoting.line(["credmgr", "types", "import", place, "--name", near])))
        }
    }

    /// The client id, at `key`.
    mutating func readClientID(_ key: String) {
        guard let clientID = required(key) else { return }
        // The forms ask for a token for the client itself: its id is a scope too.
        if let problem = DefinitionValidation.clientID(clientID)
            ?? DefinitionValidation.scopeToken(clientID).map({ _ in
                "has characters that are not valid in a client ID used as a scope"
            })
        {
            return refuse(key, problem)
        }
        type.clientID = clientID
        use(key, "as client_id")
    }

    /// The client secret. An empty one counts as missing, for B2C refuses any secret, an empty one too, from a
    /// public client (AADB2C90084).
    mutating func readClientSecret(_ key: String) {
        guard settings[key] != nil else { return }
        if let secret = text(key) {
            type.clientSecret = .literal(Secret(secret))
            use(key, "as client_secret, saved in the definition; only you can read its file")
        } else if fate(of: key) == nil {
            ignore(key, "empty: a public client, no secret is sent")
        }
    }

    /// The redirect URI, at `key`.
    mutating func readRedirectURI(_ key: String) {
        guard settings[key] != nil else { return }
        guard let text = text(key, DefinitionValidation.redirectURI), let address = URI(text) else {
            if fate(of: key) == nil { ignore(key, "empty: login redirects to localhost") }
            return
        }
        type.redirectURI = text
        if address.scheme == "urn" {
            use(
                key,
                "as redirect_uri; no browser can open it: login uses http://localhost if it is registered, and "
                    + "otherwise prompts for the redirect URL")
        } else if address.isLoopback, address.path.hasSuffix("/auth/openid/return") {
            use(
                key,
                "as redirect_uri; it belongs to the sample's web application, which requires a secret: if B2C "
                    + "refuses the sign-in, register a native client")
        } else {
            use(key, "as redirect_uri")
        }
    }

    /// The API, at `key`; `mend` gives the URL meant by a slip in it and describes the fault.
    mutating func readAPI(_ key: String, mend: (String) -> (fixed: String, problem: LocalizedMessage)?, fix: Bool) {
        guard let text = text(key) else {
            if settings[key] != nil, fate(of: key) == nil { ignore(key, "empty: relative URLs have no base") }
            return
        }
        let slip = mend(text).flatMap { DefinitionValidation.webAddress($0.fixed) == nil ? $0 : nil }
        if let slip, fix {
            type.apiBase = slip.fixed
            return change(key, "into api_base \(slip.fixed): \(slip.problem)")
        }
        guard let base = self.text(key, DefinitionValidation.webAddress) else { return }
        type.apiBase = base
        if let slip {
            use(key, "as api_base, but \(slip.problem): expected \(slip.fixed), --fix sets this URL")
        } else {
            use(key, "as api_base")
        }
    }

    /// Takes the authority over, with `defaultPolicy` in it, so that the form of its URLs stays known.
    ///
    /// For hosts that B2C has left, with `fix`, the tenant's own one is taken.
    ///
    /// - Returns: the report's words about the host, to follow those about the key.
    mutating func setAuthority(_ authority: B2CAuthority, defaultPolicy: B2CPolicy, fix: Bool) -> LocalizedMessage {
        var authority = authority
        var remark: LocalizedMessage = ""
        if let own = authority.ownHost {
            let left = authority.base.host
            if let own = B2CAuthority.base(own), fix {
                remark = "; B2C no longer responds at \(left): \(own.host) is used instead"
                authority = authority.at(own)
            } else if own.isEmpty {
                remark = "; B2C no longer responds at \(left): its new host is TENANT.b2clogin.com"
            } else {
                remark = "; B2C no longer responds at \(left): its new host is \(own), --fix sets this host"
            }
        }
        type.authority = authority.address(policy: defaultPolicy).description
        type.tenant = authority.tenant
        return remark
    }

    /// The scopes: those of the app, and `offline_access` unless `exact`, without which sign-ins end within the
    /// hour.
    ///
    /// - Parameter key: the key that the report names for them.
    mutating func setScope(_ scope: [String], exact: Bool, key: String) {
        var seen: Set<String> = []
        type.scope = scope.filter { seen.insert($0).inserted }
        if !exact, seen.insert("offline_access").inserted {
            type.scope.append("offline_access")
            change(
                key,
                "into scope \"\(type.scope.joined(separator: " "))\": offline_access added, which refresh requires "
                    + "(--exact omits it)")
        } else {
            use(key, "as scope \"\(type.scope.joined(separator: " "))\"")
        }
    }
}

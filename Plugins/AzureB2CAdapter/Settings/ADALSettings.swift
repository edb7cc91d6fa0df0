internal import CredentialCore
internal import PropertyLists

/// Form B, the settings of the sample built on the ADAL preview, and form C, their older shape.
struct ADALSettings {
    private var draft: ImportedDefinition
    private let options: SettingsPlist.Options

    /// The keys that name policies, with the alias of each; the first one present is the default.
    static let policies: [(key: String, alias: String)] = [
        ("emailSignInPolicyId", "email-sign-in"), ("signInPolicyId", "sign-in"),
        ("faceBookSignInPolicyId", "facebook-sign-in"), ("emailSignUpPolicyId", "email-sign-up"),
        ("signUpPolicyId", "sign-up"),
    ]

    /// Keys without meaning here, with the reason.
    static var ignored: [(key: String, reason: LocalizedMessage)] {
        [
            ("fullScreen", "the layout of the app's web view; sign-in uses the browser"),
            ("userId", "--login-hint sets the suggested user"),
            ("correlationId", "each request gets a new ID; CREDMGR_CORRELATION_ID sets a different ID"),
            ("policyName", "not in the sample's plist; policies have separate keys"),
            ("policyID", "not in the sample's plist; policies have separate keys"),
            ("resourceString", "legacy: B2C accepts scopes, not resources"),
        ]
    }

    /// The keys of the forms.
    static let keys =
        [
            "authority", "clientId", "clientSecret", "scopes", "additionalScopes", "redirectUri", "taskWebAPI",
            "showClaims",
        ] + policies.map(\.key) + ignored.map(\.key)

    /// Takes settings to read.
    init(_ settings: PropertyListDictionary, _ options: SettingsPlist.Options) {
        draft = ImportedDefinition(settings, name: "")
        self.options = options
    }

    /// Reads them all.
    mutating func read(
        name: String?, place: String
    ) throws(CredentialError) -> (type: AccountType, report: [ImportLine]) {
        draft.type.name = try ImportedDefinition.name(name, inFile: nil, place: place)
        draft.readClientID("clientId")
        draft.readClientSecret("clientSecret")
        readPolicies()
        readAuthority()
        readScopes()
        draft.readRedirectURI("redirectUri")
        draft.readAPI("taskWebAPI", mend: Self.portAfterPath, fix: options.fix)
        if let showClaims = draft.flag("showClaims") {
            draft.type.showClaims = showClaims
            draft.use("showClaims", "as show_claims")
        }
        for (key, reason) in Self.ignored where draft.settings[key] != nil { draft.ignore(key, reason) }
        draft.readRest(known: Self.keys, options)
        return try draft.finished(place: place)
    }

    private mutating func readPolicies() {
        for (key, alias) in Self.policies {
            guard let policy = draft.text(key, DefinitionValidation.name) else {
                if draft.settings[key] != nil, draft.fate(of: key) == nil { draft.ignore(key, "empty") }
                continue
            }
            draft.type.policies[alias] = policy
            if draft.type.defaultPolicy == nil {
                draft.type.defaultPolicy = alias
                draft.use(key, "as policy \(alias), the default")
            } else {
                draft.use(key, "as policy \(alias)")
            }
        }
    }

    /// The authority is a base without a policy; ADAL put `p` into the query of the URLs that it built on it.
    private mutating func readAuthority() {
        guard let authority = draft.authority("authority", isRequired: true) else { return }
        let written = draft.type.defaultPolicy.flatMap { draft.type.policies[$0] }
        guard let policy = written.flatMap(B2CPolicy.init) ?? authority.policy else {
            return draft.refuse("authority", "requires a policy, such as emailSignInPolicyId")
        }
        if draft.type.defaultPolicy == nil { draft.type.defaultPolicy = policy.written }
        let inQuery = authority.policy == nil ? authority.with(form: .query) : authority
        let host = draft.setAuthority(inQuery, defaultPolicy: policy, fix: options.fix)
        let isMoved = draft.type.authority?.contains(authority.base.host) == false
        if authority.isLegacy {
            draft.change("authority", "into the v2.0 endpoints of the same tenant: the URL form is legacy\(host)")
        } else if authority.isCollapsed {
            draft.change("authority", "into authority and tenant, '//' in its path collapsed\(host)")
        } else if !authority.otherQuery.isEmpty {
            draft.change("authority", "into authority and tenant, without its query\(host)")
        } else if isMoved {
            draft.change("authority", "into authority and tenant\(host)")
        } else {
            draft.use("authority", "as authority and tenant\(host)")
        }
    }

    private mutating func readScopes() {
        let scopes = draft.texts("scopes")
        let additional = draft.texts("additionalScopes")
        for (key, list) in [("scopes", scopes), ("additionalScopes", additional)] {
            if let problem = list.lazy.compactMap(DefinitionValidation.scopeToken).first {
                draft.refuse(key, problem)
            }
        }
        if draft.settings["additionalScopes"] != nil, draft.fate(of: "additionalScopes") == nil {
            additional.isEmpty
                ? draft.ignore("additionalScopes", "empty")
                : draft.use("additionalScopes", "as additional_scope, requested only on the sign-in page")
            draft.type.additionalScope = additional
        }
        if draft.fate(of: "scopes") == .refused { return }
        // ADAL asked for openid by itself; without it B2C gives no ID token to validate a sign-in by.
        let named = scopes.isEmpty ? [draft.type.clientID] : scopes
        let all = (options.exact && !scopes.isEmpty ? [] : ["openid"]) + named
        draft.setScope(all, exact: options.exact, key: draft.settings["scopes"] == nil ? "(scope)" : "scopes")
    }

    /// The URL meant by `http://HOST/PATH:PORT`, as the seed has it: `http://HOST:PORT/PATH`.
    static func portAfterPath(_ text: String) -> (fixed: String, problem: LocalizedMessage)? {
        guard let address = URI(text), address.port == nil, address.query == nil, address.fragment == nil,
            let colon = address.path.lastIndex(of: ":"), colon != address.path.startIndex
        else { return nil }
        let digits = address.path[address.path.index(after: colon)...]
        guard digits.allSatisfy(\.isNumber), let port = UInt16(digits) else { return nil }
        let host = address.host.contains(":") ? "[\(address.host)]" : address.host
        let fixed = "\(address.scheme)://\(host):\(port)\(address.path[..<colon])"
        return (fixed, "the port is after the path")
    }
}

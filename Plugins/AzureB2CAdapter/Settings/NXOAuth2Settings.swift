internal import CredentialCore
internal import PropertyLists

/// Form A: the settings of the sample built on NXOAuth2Client.
struct NXOAuth2Settings {
    private var draft: ImportedDefinition
    private let options: SettingsPlist.Options

    /// The keys of the form.
    static let keys = [
        "accountIdentifier", "clientID", "clientSecret", "authURL", "loginURL", "bhh", "tokenURL", "keychain",
        "contentType", "taskAPI", "kIDMOAuth2SuccessPagePrefix",
    ]

    /// Takes settings to read.
    init(_ settings: PropertyListDictionary, _ options: SettingsPlist.Options) {
        draft = ImportedDefinition(settings, name: "")
        self.options = options
    }

    /// Reads them all.
    mutating func read(
        name: String?, place: String
    ) throws(CredentialError) -> (type: AccountType, report: [ImportLine]) {
        try readName(name, place: place)
        draft.readClientID("clientID")
        draft.readClientSecret("clientSecret")
        readProvider()
        draft.readRedirectURI("bhh")
        readKeychain()
        readContentType()
        draft.readAPI("taskAPI", mend: { _ in nil }, fix: false)
        if draft.settings["kIDMOAuth2SuccessPagePrefix"] != nil {
            draft.ignore("kIDMOAuth2SuccessPagePrefix", "not used by the sample")
        }
        // The sample has its scopes in its code, not in its settings.
        draft.setScope(["openid", draft.type.clientID], exact: options.exact, key: "(scope)")
        draft.readRest(known: Self.keys, options)
        return try draft.finished(place: place)
    }

    private mutating func readName(_ name: String?, place: String) throws(CredentialError) {
        let identifier = draft.text("accountIdentifier")
        let chosen = try ImportedDefinition.name(name, inFile: identifier, place: place)
        draft.type.name = chosen
        guard let identifier else { return }
        if identifier == chosen {
            draft.use("accountIdentifier", "as the name of the account type")
        } else {
            draft.change("accountIdentifier", "into \(chosen), the requested name")
        }
    }

    private mutating func readProvider() {
        guard let authority = draft.authority("authURL", isRequired: true) else {
            for key in ["loginURL", "tokenURL"] where draft.settings[key] != nil {
                draft.ignore(key, "it depends on authURL")
            }
            return
        }
        guard let policy = authority.policy else {
            draft.refuse("authURL", "names no policy: …/authorize?p=POLICY")
            return
        }
        let host = draft.setAuthority(authority, defaultPolicy: policy, fix: options.fix)
        let isMoved = draft.type.authority?.contains(authority.base.host) == false
        draft.type.defaultPolicy = policy.written
        readExtraQuery(authority)
        if authority.isCollapsed {
            draft.change("authURL", "into authority, tenant and default_policy, '//' in its path collapsed\(host)")
        } else if isMoved {
            draft.change("authURL", "into authority, tenant and default_policy\(host)")
        } else {
            draft.use("authURL", "for authority, tenant and default_policy\(host)")
        }
        readTokenURL(authority, policy)
        if let login = draft.authority("loginURL") {
            if login.isSameTenant(as: authority) {
                draft.ignore("loginURL", "same host and tenant as authURL; not used otherwise")
            } else {
                draft.refuse("loginURL", "has a different host or tenant than authURL")
            }
        }
    }

    private mutating func readTokenURL(_ authority: B2CAuthority, _ policy: B2CPolicy) {
        guard let token = draft.authority("tokenURL") else {
            if draft.settings["tokenURL"] == nil {
                draft.change("tokenURL", "into the value from authURL: tokenURL is missing")
            }
            return
        }
        if !token.isSameTenant(as: authority) {
            draft.refuse("tokenURL", "has a different host or tenant than authURL")
        } else if let tokenPolicy = token.policy, tokenPolicy != policy {
            draft.refuse(
                "tokenURL", "names policy \(tokenPolicy), but authURL names \(policy): B2C would refuse each code")
        } else {
            draft.use(
                "tokenURL",
                token.policy == nil
                    ? "to check authURL: they agree; the policy of authURL is added"
                    : "to check authURL: they agree")
        }
    }

    /// Keeps the other parameters that the sample's authorization URL sent.
    private mutating func readExtraQuery(_ authority: B2CAuthority) {
        for item in authority.otherQuery {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let value = parts.count == 2 ? parts[1] : ""
            if item.contains("%") || item.contains("+") {
                draft.refuse("authURL", "has an escaped parameter in its query: put it into extra_parameters")
            } else if let problem = DefinitionValidation.parameter(parts[0], value) {
                draft.refuse(
                    "authURL", "has the parameter '\(UntrustedText.shown(parts[0], limit: 40))', which \(problem)")
            } else {
                draft.type.authorizeParameters[parts[0]] = value
                draft.change("authURL", "into extra_parameters.authorize.\(parts[0]) too")
            }
        }
    }

    private mutating func readKeychain() {
        guard let keychain = draft.text("keychain") else {
            if draft.settings["keychain"] != nil, draft.fate(of: "keychain") == nil {
                draft.ignore("keychain", "empty: the default group")
            }
            return
        }
        let name = Self.withoutTeamPrefix(keychain)
        guard let group = try? KeychainGroup(name) else {
            return draft.refuse("keychain", "is not a valid keychain group name")
        }
        draft.type.keychainGroup = group
        if name == keychain {
            draft.use("keychain", "as keychain_group")
        } else {
            draft.change("keychain", "into keychain_group \(name): the Team prefix has no meaning here")
        }
    }

    /// `text` without the ten letters and digits that Apple puts before a group's name, or their placeholder in a
    /// project.
    private static func withoutTeamPrefix(_ text: String) -> String {
        for variable in ["$(AppIdentifierPrefix)", "$(TeamIdentifierPrefix)"] where text.hasPrefix(variable) {
            return String(text.dropFirst(variable.count))
        }
        let prefix = Array(text.utf8.prefix(11))
        let isTeam =
            prefix.count == 11 && prefix[10] == UInt8(ascii: ".")
            && prefix[..<10].allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
        return isTeam ? String(text.dropFirst(11)) : text
    }

    private mutating func readContentType() {
        guard let contentType = draft.text("contentType") else {
            if draft.settings["contentType"] != nil, draft.fate(of: "contentType") == nil {
                draft.ignore("contentType", "token requests are always form-urlencoded")
            }
            return
        }
        let essence = contentType.lowercased().prefix { $0 != ";" && $0 != " " }
        if essence == "application/x-www-form-urlencoded" {
            draft.ignore("contentType", "token requests are always form-urlencoded")
        } else {
            draft.refuse("contentType", "must be application/x-www-form-urlencoded, which OAuth requires")
        }
    }
}

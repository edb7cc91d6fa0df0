import CredentialCore
import StrictJSON

/// `credmgr types add`: builds the definition as a file would hold it, so that one reader checks both.
struct TypesAddCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let name = try Name.checked(try arguments.required("name"), kind: "account type")
        var json = JSONObject()
        for (option, key) in Self.plainOptions { json[key] = arguments.string(option).map(JSONValue.string) }
        let scope = arguments.strings("scope").flatMap { $0.split(separator: " ").map(String.init) }
        if !scope.isEmpty { json["scope"] = .string(scope.joined(separator: " ")) }
        json["policies"] = try Self.object(try arguments.pairs("policy"), "--policy")
        json["headers"] = try Self.object(try arguments.pairs("header"), "--header")
        json["extra_parameters"] = try extraParameters()
        let secret = try arguments.string("client-secret-file").map { (path) throws(CredentialError) in
            try session.secret(from: path, what: "client secret")
        }
        if secret != nil { json["client_secret"] = ["store": true] }
        let type = try AccountType(name: name, json: json, isPrivateFile: true, place: "the options")
        try session.context.adapters.adapter(of: type).check(type)
        if let secret { try keep(secret, of: type, session) }
        let path = try session.catalog.add(type, force: arguments.flag("force"))
        session.notices.note("account type \(name) is defined in \(path)")
    }

    private static let plainOptions = [
        ("adapter", "adapter"), ("issuer", "issuer"), ("authorization-endpoint", "authorization_endpoint"),
        ("token-endpoint", "token_endpoint"), ("client-id", "client_id"), ("redirect-uri", "redirect_uri"),
        ("tenant", "tenant"), ("authority", "authority"), ("default-policy", "default_policy"),
        ("keychain-group", "keychain_group"), ("api-base", "api_base"), ("flow", "flow"),
    ]

    private static func object(
        _ pairs: [(name: String, value: String)], _ option: String
    ) throws(CredentialError) -> JSONValue? {
        guard !pairs.isEmpty else { return nil }
        var object = JSONObject()
        for (name, value) in pairs {
            guard object[name] == nil else {
                throw CredentialError(.usage, "\(option) names \(ForeignText.shown(name, limit: 60)) twice")
            }
            object[name] = .string(value)
        }
        return .object(object)
    }

    /// `--param authorize:K=V` and `--param token:K=V`.
    private func extraParameters() throws(CredentialError) -> JSONValue? {
        var kinds: [String: [(name: String, value: String)]] = [:]
        for (name, value) in try arguments.pairs("param") {
            let parts = name.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0] == "authorize" || parts[0] == "token" else {
                throw CredentialError(.usage, "--param takes authorize:KEY=VALUE or token:KEY=VALUE")
            }
            kinds[String(parts[0]), default: []].append((String(parts[1]), value))
        }
        guard !kinds.isEmpty else { return nil }
        var object = JSONObject()
        for (kind, pairs) in kinds.sorted(by: { $0.key < $1.key }) {
            object[kind] = try Self.object(pairs, "--param")
        }
        return .object(object)
    }

    private func keep(_ secret: Secret, of type: AccountType, _ session: Session) throws(CredentialError) {
        let stores = session.stores()
        let kind = try StoreChoice(session: session).choose(stores)
        try stores.store(kind).write(
            Array(secret.reveal().utf8),
            for: SecretItem(group: type.keychainGroup, owner: type.name, kind: .clientSecret),
            label: "credmgr: \(type.name) client secret")
    }
}

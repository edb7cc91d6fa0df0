import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr types set`: changes some keys of a definition and keeps all others.
struct TypesSetCommand: Command {
    static let spec = CommandSpec(
        ["types", "set"], "change an account type's definition",
        details: """
            Sets keys of a definition and keeps all others. Name a key inside an object with its path, such as \
            policies.edit or extra_parameters.authorize.prompt. credmgr checks the new definition as 'types add' \
            does, and writes only a valid definition.

            A definition outside your own directory stays unchanged; your changed definition takes precedence.

            Accounts belong to the provider and the client in the definition. If you change the provider or the \
            client, credmgr lists the accounts that were signed in under the type. It moves these accounts with \
            --move-accounts or a yes on a terminal.
            """,
        parameters: [name, changes],
        options: [unset, clientSecretFile, privateKeyFile, moveAccounts],
        examples: [
            .init("another scope", "credmgr types set Work scope=\"openid profile email\""),
            .init("remove api_base", "credmgr types set Work --unset api_base"),
            .init("a new client secret", "credmgr types set Work --client-secret-file -"),
        ],
        exitStatuses: [5, 7], remedy: Self.remedy)

    /// The change of a key for an option of `types add`.
    private static let remedy: @Sendable (CommandSpec.Slip, [String]) -> LocalizedMessage? = { slip, words in
        guard case .unknownOption(let name, let value) = slip,
            let key = DefinitionBuilder.key(ofOption: name)
        else { return nil }
        let place = words.firstIndex(of: "set").map { $0 + 1 } ?? words.count
        guard let value, words.indices.contains(place), !words[place].hasPrefix("-"), words[place] != value else {
            return "'credmgr types set' changes a key of a type as \(key)=…: credmgr types set --help"
        }
        let line = ["credmgr", "types", "set", words[place], "\(key)=\(value)"]
        guard line.allSatisfy({ UntrustedText.shown($0) == $0 }) else { return nil }
        return LocalizedMessage(verbatim: ShellQuoting.line(line))
    }

    private static let name = Parameter.required("name", .type, "the account type")
    private static let changes = Parameter.variadic(
        "changes", .any("KEY=VALUE", .words(AccountType.keys.map { $0 + "=" })), "a key and its new value")
    private static let unset = Option.list(
        "unset", .any("KEY", .words(AccountType.keys)), "remove a key, so that its default applies again")
    private static let clientSecretFile = Option.value(
        "client-secret-file", .file, "a file with the client secret; - for standard input")
    private static let privateKeyFile = Option.value(
        "private-key-file", .file, "a file with the client's private key, PEM or JWK; - for standard input")

    private static let moveAccounts = Option.flag(
        "move-accounts", "move the type's accounts to the new provider or client")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    /// The keys whose values are not strings.
    private static let flags = [
        "require_pushed_authorization_requests", "dpop_bound_access_tokens", "token_exchange", "show_claims",
        "issuer_named_by_api",
    ]
    private static let secrets = ["client_secret", "private_key"]
    private static let objects = ["extra_parameters", "headers", "policies", "adapter_settings"]

    func run(_ session: CommandSession) throws(CredentialError) {
        let changes = try arguments[Self.changes].map { (text) throws(CredentialError) in
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw CredentialError(
                    .usage, "a change must be KEY=VALUE", hint: "credmgr types set --help")
            }
            return (key: String(text[..<equals]), text: String(text[text.index(after: equals)...]))
        }
        let old = try session.catalog.definition(of: arguments[Self.name])
        let secrets = TypeSecrets(session)
        let clientSecret = try secrets.clientSecret(from: arguments[Self.clientSecretFile])
        let privateKey = try secrets.privateKey(from: arguments[Self.privateKeyFile])
        guard !changes.isEmpty || !arguments[Self.unset].isEmpty || clientSecret != nil || privateKey != nil else {
            throw CredentialError(
                .usage, "a change is required", hint: "credmgr types show \(old.type.name)")
        }
        var json = old.type.json
        for key in arguments[Self.unset] { try Self.remove(key, from: &json) }
        for (key, text) in changes { try Self.put(text, at: key, in: &json, of: old.type.name) }
        if clientSecret != nil { json["client_secret"] = ["store": true] }
        if privateKey != nil { json["private_key"] = ["store": true] }
        var type = try AccountType(name: old.type.name, json: json, isPrivateFile: true, place: nil)
        let adapter = try session.context.adapters.adapter(of: type)
        try adapter.check(type)
        if changes.contains(where: { $0.key == ConnectionSettings.certificateKey }) {
            try AuthorityFile(session).check(ConnectionSettings(of: type))
        }
        ExplicitEndpoints(session).leaveOut(
            of: &type, among: Set(changes.compactMap { AccountType.Endpoint(rawValue: $0.key) }),
            isTrusted: session.context.machine.trust.isConfirmed(type.name))
        let orphans = OrphanedAccounts(session)
        let before = orphans.ids
        try move(from: old.type, to: type, session)
        try secrets.keep(clientSecret: clientSecret, privateKey: privateKey, of: type)
        try keepComments(of: old.path, session)
        let path = try session.definitions.put(type, force: true)
        session.notices.note("account type \(type.name) is defined in \(path)")
        if path != old.path { session.notices.note("\(old.path) stays unchanged and no longer applies") }
        orphans.tell(besides: before)
    }

    /// Takes the accounts of the type along if the new definition is another registration. They go first: the same
    /// command again finds those that an interruption has left.
    private func move(from old: AccountType, to type: AccountType, _ session: CommandSession)
        throws(CredentialError)
    {
        let adapters = session.context.adapters
        // A definition that could not be used saw no accounts.
        guard let before = try? ClientIdentity(of: old, adapters) else { return }
        let now = try ClientIdentity(of: type, adapters)
        guard before != now else { return }
        let services = session.services(session.stores())
        let accounts = try services.registrationMove.accounts(of: old)
        guard !accounts.isEmpty else { return }
        let names = accounts.map { "\(UntrustedText.shown($0.account.shownName)) (\($0.account.id))" }
            .joined(separator: ", ")
        if !arguments[Self.moveAccounts] {
            guard session.mayAsk else {
                throw CredentialError(
                    .usage,
                    "the new provider or client differs from that of the accounts of \(type.name): \(names)",
                    hint: LocalizedMessage(
                        verbatim: arguments.commandLine(
                            adding: [Self.moveAccounts.spec.written], quoting: ShellQuoting.word)))
            }
            let answer = try session.context.console.ask(
                "Move the accounts to \(UntrustedText.shown(now.provider, limit: 200)): \(names)? [y/N] ",
                isSecret: false
            ).reveal()
            guard ["y", "Y", "yes"].contains(answer) else {
                throw CredentialError(.denied, "nothing was changed: the accounts of \(type.name) stay as they are")
            }
        }
        for (group, account) in accounts {
            try services.registrationMove.move(account.id, in: group, to: now)
        }
        session.notices.note("moved the type's accounts: \(names)")
    }

    /// A rewritten file has no comments: one that has some is kept beside it.
    private func keepComments(of path: String, _ session: CommandSession) throws(CredentialError) {
        guard path.hasSuffix(".json"), let file = try session.context.typeFiles.read(path),
            (try? JSONValue.parse(file.bytes.withoutByteOrderMark, limits: .ownFile)) == nil
        else { return }
        // In another folder the file itself stays.
        guard path.hasPrefix((session.context.typeFolders.first ?? "/") + "/") else { return }
        try session.context.typeFiles.write(file.bytes, to: path + ".before")
        session.notices.note("the comments of the definition are in \(path).before")
    }

    // MARK: Keys

    private static func path(_ key: String) throws(CredentialError) -> [String] {
        let parts = key.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, objects.contains(parts[0]) else { return [key] }
        if parts[0] != "extra_parameters" { return parts }
        let inner = parts[1].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard inner.count == 2, ["authorize", "token"].contains(inner[0]) else {
            throw CredentialError(
                .usage,
                "a key of extra_parameters must be extra_parameters.authorize.NAME or extra_parameters.token.NAME")
        }
        return [parts[0]] + inner
    }

    private static func put(
        _ text: String, at key: String, in json: inout JSONObject, of type: String
    ) throws(CredentialError) {
        let path = try path(key)
        guard path.count == 1 else { return try change(&json, path[...], to: .string(text)) }
        json[key] = try value(text, of: key, in: type)
    }

    private static func remove(_ key: String, from json: inout JSONObject) throws(CredentialError) {
        let path = try path(key)
        guard AccountType.keys.contains(path[0]) else {
            throw CredentialError(
                .usage, "unknown key '\(UntrustedText.shown(key, limit: 60))'",
                hint: SpellingSuggestion.to(key, among: AccountType.keys).map { "did you mean '\($0)'?" })
        }
        try change(&json, path[...], to: nil)
    }

    private static func change(
        _ json: inout JSONObject, _ path: ArraySlice<String>, to value: JSONValue?
    ) throws(CredentialError) {
        guard let key = path.first else { return }
        guard path.count > 1 else {
            json[key] = value
            return
        }
        var inner = json[key]?.object ?? JSONObject()
        try change(&inner, path.dropFirst(), to: value)
        json[key] = inner.isEmpty ? nil : .object(inner)
    }

    /// The value as the definition holds it.
    private static func value(
        _ text: String, of key: String, in type: String
    ) throws(CredentialError) -> JSONValue {
        if flags.contains(key) {
            guard text == "true" || text == "false" else {
                throw CredentialError(.usage, "\(key) must be true or false")
            }
            return .bool(text == "true")
        }
        if key == "api_origins", !text.hasPrefix("[") {
            return JSONValue(text.split { $0 == " " || $0 == "," }.map(String.init))
        }
        if key == "identity_token" {
            // A value that is not JSON gets the definition's own error, which names the forms.
            return (try? JSONValue.parse(text)) ?? .string(text)
        }
        guard secrets.contains(key) || objects.contains(key) || key == "api_origins" else { return .string(text) }
        let parsed = try? JSONValue.parse(text)
        if secrets.contains(key), parsed?.object == nil {
            // Not even if it is in the message: others see the arguments of a program, and so does the history.
            throw CredentialError(
                .usage, "a secret is not accepted on the command line",
                hint: key == "client_secret"
                    ? "credmgr types set \(type) --client-secret-file -"
                    : "credmgr types set \(type) --private-key-file -")
        }
        guard let parsed else {
            throw CredentialError(.usage, "\(key) must be JSON, or set one of its keys: \(key).NAME=VALUE")
        }
        return parsed
    }
}

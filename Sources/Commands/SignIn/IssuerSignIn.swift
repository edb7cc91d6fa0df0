import CommandLine
import CredentialCore
import OAuth

/// `credmgr login URL`: the account type for an issuer that the user names.
struct IssuerSignIn {
    private let url: String
    private let client: IssuerTypes.Client
    private let name: String?
    private let scope: [String]
    /// The command line that has a client registered.
    private let registering: String
    private let session: CommandSession

    /// Takes the arguments of `login`; `nil` if they name no issuer.
    ///
    /// - Throws: ``ErrorCode/usage`` for a text that is no URL, or options that exclude each other.
    init?(_ arguments: Arguments, _ session: CommandSession) throws(CredentialError) {
        guard let url = arguments[LoginCommand.issuer] else {
            if arguments[LoginCommand.clientID] != nil, arguments[LoginCommand.resource] == nil {
                throw CredentialError(.usage, "--client-id requires a URL or --resource")
            }
            guard !arguments[LoginCommand.register], arguments[LoginCommand.name] == nil else {
                throw CredentialError(
                    .usage, "--register and --name require the URL of an issuer", hint: "credmgr login --help")
            }
            return nil
        }
        guard arguments[LoginCommand.resource] == nil, arguments[SharedOption.type] == nil else {
            throw CredentialError(
                .usage,
                "a URL excludes --type and --resource: it names an issuer", hint: "--name names the new type")
        }
        if arguments[LoginCommand.register], arguments[LoginCommand.clientID] != nil {
            throw CredentialError(.usage, "--register and --client-id exclude each other")
        }
        try Self.check(url, session)
        self.url = url
        self.session = session
        client =
            arguments[LoginCommand.register]
            ? .registered : arguments[LoginCommand.clientID].map { .id($0) } ?? .any
        name = try arguments[LoginCommand.name].map { (name) throws(CredentialError) in
            try Identifier.checked(name, kind: .accountType)
        }
        scope = arguments[SharedOption.scope]
        registering = arguments.commandLine(
            adding: [LoginCommand.register.spec.written], quoting: ShellQuoting.word)
    }

    /// Refuses a text that is no issuer. The message does not show the rest, which may be a token, or a redirect
    /// URL with a code.
    private static func check(_ url: String, _ session: CommandSession) throws(CredentialError) {
        guard url.contains("://") else {
            let word = MisplacedArgument(url)
            let hint: LocalizedMessage? =
                word.hint(for: LoginCommand.spec, session.context)
                ?? (word.isHost ? "credmgr login https://\(UntrustedText.shown(url))" : nil)
            let shown: String = hint == nil ? "" : " '\(UntrustedText.shown(url, limit: 200))'"
            throw CredentialError(.usage, "unexpected argument\(shown)", hint: hint ?? "credmgr login --help")
        }
        guard let address = URI(url), address.isWeb, address.query == nil, address.fragment == nil else {
            throw CredentialError(
                .usage, "login requires the URL of an issuer without a query",
                hint: "to finish a sign-in with the redirect URL: credmgr login --complete -")
        }
        guard address.isSecure else {
            throw CredentialError(.usage, "the issuer must have an https URL: \(address.origin)")
        }
    }

    /// The types that are defined already for the issuer and the client.
    func defined() throws(CredentialError) -> [AccountType] {
        try IssuerTypes(session.definitions).defined(for: url, client, named: name)
    }

    /// The issuer to begin a guided sign-in with: the user gives only the issuer, no type is for it, and the
    /// terminal can ask.
    func issuerToAskAbout(_ arguments: Arguments) throws(CredentialError) -> String? {
        guard session.mayAsk, case .any = client,
            arguments.hasOnly([LoginCommand.issuer.spec.name, LoginCommand.name.spec.name]),
            session.configuration.clientMetadataURL == nil, try defined().isEmpty
        else { return nil }
        return url
    }

    /// The type to sign in under, and whether it was defined just now.
    ///
    /// - Throws: ``ErrorCode/usage`` if several types can be meant and no user can be asked, or no client is named;
    ///   as ``IssuerTypes/define(for:_:named:scope:)``.
    func type() throws(CredentialError) -> (type: AccountType, isNew: Bool) {
        let types = try defined()
        guard let first = types.first else {
            return (
                try IssuerTypes(session.definitions).define(
                    for: url, client, named: name, scope: scope, registering: registering), true
            )
        }
        guard types.count > 1 else {
            if name != first.name {
                session.notices.note("using account type \(first.name), which has this issuer and client")
            }
            return (try TargetResolver(session).type(named: first.name), false)
        }
        let names = types.map(\.name)
        guard session.mayAsk else {
            throw CredentialError(
                .usage,
                "\(names.count) account types are for this issuer: \(names.prefix(20).joined(separator: ", "))",
                hint: session.loginHint(among: names))
        }
        let place = try session.pick("Which account type?", among: names.map { Picker.Item(name: $0) })
        return (try TargetResolver(session).type(named: names[place]), false)
    }
}
